/* resize_f32: Resize along the last two axes: rows are mixed by vectors, then their elements picked or mixed. Where
 * every cell comes from is a table, packed with the constant operand that holds scales or sizes, or else made by phase
 * 0. */
#include <math.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"
#include "ref/resample.h"

enum { ROI = 1, SCALES, SIZES };
enum { MAX_TAPS = 64 };

typedef struct axis {
    int64_t in, out;
    double scale;
    bool changes;
    int64_t taps; /* cells that make one; 1 when it does not change */
} axis;

typedef struct geometry {
    gopt_resample mode;
    axis y, x;
    int64_t planes;
    int tables; /* operand that may be packed */
} geometry;

typedef struct spec {
    geometry g;
    const gopt_simd *simd;
    bool packed;
    int64_t table, part; /* floats of the tables, of a part's room */
    gopt_post post;
} spec;

/* Scales of all axes; false when they are not known or an aspect ratio is kept. */
static bool read_scales(const gopt_group *g, double *scale)
{
    const gopt_operand *in = &g->in[0], *out = &g->out[0];
    bool by_scales = gopt_group_has(g, SCALES) && gopt_operand_count(&g->in[SCALES]) > 0;
    int64_t n;
    const int64_t *axes = gopt_attr_ints(g->attrs, "axes", &n);
    n = axes ? n : in->rank;
    for (int d = 0; d < in->rank; d++)
        scale[d] = 1;
    if (by_scales &&
        (!g->in[SCALES].constant || g->in[SCALES].dtype != GOPT_DTYPE_F32 || gopt_operand_count(&g->in[SCALES]) != n))
        return false;
    for (int i = 0; i < n; i++) {
        int d = i;
        if (axes && gopt_axis(axes[i], in->rank, &d, NULL))
            return false;
        scale[d] =
            by_scales ? (double)((const float *)g->in[SCALES].constant)[i] : (double)out->dim[d] / (double)in->dim[d];
    }
    return by_scales || !strcmp(gopt_attr_string(g->attrs, "keep_aspect_ratio_policy", "stretch"), "stretch");
}

/* As many as gopt_resample_plan will set. */
static int64_t taps_of(const gopt_resample *mode, double scale)
{
    double reach = mode->mode == GOPT_RESAMPLE_CUBIC ? 2 : 1, stretch = mode->antialias ? fmin(scale, 1) : 1;
    return mode->mode == GOPT_RESAMPLE_NEAREST ? 1 : 2 * (int64_t)ceil(reach / stretch);
}

static bool axis_of(axis *a, const gopt_resample *mode, int64_t in, int64_t out, double scale)
{
    *a = (axis){.in = in, .out = out, .scale = scale, .changes = in != out || scale != 1, .taps = 1};
    if (a->changes)
        a->taps = taps_of(mode, scale);
    return a->taps <= MAX_TAPS;
}

static bool geometry_of(const gopt_group *g, geometry *q)
{
    double scale[GOPT_RANK_MAX];
    const gopt_operand *in = &g->in[0], *out = &g->out[0];
    if (!gopt_group_is(g, "", "Resize") || g->n_out != 1 || in->dtype != GOPT_DTYPE_F32 || in->rank < 1 ||
        gopt_operand_count(in) == 0 || gopt_operand_count(out) == 0 || gopt_resample_read(&q->mode, g->attrs, NULL) ||
        q->mode.coord == GOPT_COORD_TF_CROP_AND_RESIZE || !read_scales(g, scale))
        return false;
    q->planes = 1;
    for (int d = 0; d < in->rank - 2; d++) {
        if (in->dim[d] != out->dim[d] || scale[d] != 1)
            return false;
        q->planes *= in->dim[d];
    }
    int x = in->rank - 1, y = in->rank - 2;
    q->tables = gopt_group_has(g, SCALES) && gopt_operand_count(&g->in[SCALES]) > 0 ? SCALES : SIZES;
    return axis_of(&q->x, &q->mode, in->dim[x], out->dim[x], scale[x]) &&
           axis_of(&q->y, &q->mode, y < 0 ? 1 : in->dim[y], y < 0 ? 1 : out->dim[y], y < 0 ? 1 : scale[y]);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    geometry q;
    (void)knob, (void)t;
    return g->op && geometry_of(g, &q) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    geometry q;
    geometry_of(g, &q);
    double taps = 4 * (double)(q.y.taps + q.x.taps);
    return (16 * taps + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

/* For each axis: cells as int32, then weights. */
static int64_t table_floats(const geometry *q)
{
    return gopt_whole_vectors(2 * (q->y.out * q->y.taps + q->x.out * q->x.taps));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    geometry q;
    (void)knob;
    geometry_of(g, &q);
    bool packed = g->in[q.tables].packed;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    int64_t room = gopt_whole_vectors(q.x.in) * parts + (packed ? 0 : table_floats(&q));
    return (gopt_work){.parts = parts, .phases = packed ? 1 : 2, .workspace = (size_t)room * sizeof(float)};
}

static const float *weights(const axis *a, const int32_t *cells)
{
    return (const float *)(const void *)(cells + a->out * a->taps);
}

/* Without memory for the plan, which a few kilobytes are, cells stay 0: in bounds. */
static void write_axis(const geometry *q, const axis *a, int32_t *cells)
{
    gopt_arena arena = {0};
    gopt_resample_axis p = {.in = a->in, .out = a->out, .scale = a->scale, .end = 1};
    float *w = (float *)(void *)(cells + a->out * a->taps);
    memset(cells, 0, (size_t)(2 * a->out * a->taps) * sizeof *cells);
    bool planned = a->changes && !gopt_resample_plan(&q->mode, &p, &arena, NULL);
    for (int64_t j = 0; j < a->out; j++)
        for (int64_t t = 0; t < a->taps; t++) {
            cells[j * a->taps + t] = (int32_t)(planned ? gopt_resample_cell(&p, j, t) : a->changes ? 0 : j);
            w[j * a->taps + t] = planned ? (float)p.weight[j * a->taps + t] : 1;
        }
    gopt_arena_fini(&arena);
}

static void write_tables(const geometry *q, int32_t *cells)
{
    write_axis(q, &q->y, cells);
    write_axis(q, &q->x, cells + 2 * q->y.out * q->y.taps);
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    geometry q;
    (void)knob, (void)t;
    if (!g->in[k].constant || !geometry_of(g, &q) || k != q.tables)
        return 0;
    return (size_t)table_floats(&q) * sizeof(float);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    geometry q;
    (void)knob, (void)t, (void)k;
    geometry_of(g, &q);
    memset(dst, 0, (size_t)table_floats(&q) * sizeof(float));
    write_tables(&q, dst);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    geometry_of(g, &s->g);
    s->simd = gopt_simd_for(t->isa);
    s->packed = g->in[s->g.tables].packed;
    s->table = table_floats(&s->g);
    s->part = gopt_whole_vectors(s->g.x.in);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* The mixture of input rows for output row y, in room unless it is one of them. */
static const float *mix_rows(const spec *s, const float *plane, const int32_t *cells, int64_t y, float *room)
{
    const axis *a = &s->g.y;
    int64_t offset[MAX_TAPS];
    const int32_t *cell = cells + y * a->taps;
    if (a->taps == 1)
        return plane + cell[0] * s->g.x.in;
    for (int64_t t = 0; t < a->taps; t++)
        offset[t] = cell[t] * s->g.x.in;
    gopt_taps taps = {.src = plane, .offset = offset, .weight = weights(a, cells) + y * a->taps, .n = a->taps};
    s->simd->taps(&taps, room, s->g.x.in);
    return room;
}

static void mix_elements(const axis *a, const float *row, const int32_t *cells, float *out)
{
    const float *w = weights(a, cells);
    if (!a->changes)
        memcpy(out, row, (size_t)a->out * sizeof *out);
    else if (a->taps == 1)
        for (int64_t x = 0; x < a->out; x++)
            out[x] = row[cells[x]];
    else if (a->taps == 2)
        for (int64_t x = 0; x < a->out; x++)
            out[x] = w[2 * x] * row[cells[2 * x]] + w[2 * x + 1] * row[cells[2 * x + 1]];
    else
        for (int64_t x = 0; x < a->out; x++) {
            float sum = 0;
            for (int64_t t = 0; t < a->taps; t++)
                sum += w[x * a->taps + t] * row[cells[x * a->taps + t]];
            out[x] = sum;
        }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const geometry *q = &s->g;
    int32_t *own = t->workspace;
    float *room = (float *)t->workspace + (s->packed ? 0 : s->table) + t->part * s->part;
    if (!s->packed && t->phase == 0) {
        if (t->part == 0)
            write_tables(q, own);
        return;
    }
    const int32_t *rows = s->packed ? t->in[q->tables] : own, *columns = rows + 2 * q->y.out * q->y.taps;
    int64_t lo, hi;
    gopt_share(q->planes * q->y.out, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        const float *plane = (const float *)t->in[0] + lo / q->y.out * q->y.in * q->x.in;
        float *out = (float *)t->out[0] + lo * q->x.out;
        mix_elements(&q->x, mix_rows(s, plane, rows, lo % q->y.out, room), columns, out);
        gopt_post_run(&s->post, t->in, out, out, lo * q->x.out, q->x.out);
    }
}

const gopt_kernel gopt_kernel_resize_f32 = {
    .name = "resize_f32",
    .doc = "images made larger or smaller",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
