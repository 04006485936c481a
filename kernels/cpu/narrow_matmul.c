/* narrow_matmul: NarrowMatMul: the right matrix stays narrow in memory; each block of a panel is widened to float32
 * right before it is multiplied. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/matmul.h"
#include "cpu/post.h"

enum { A, B };
enum { DEPTH = 128, PANEL_MAX = 64 /* columns */ };

typedef struct spec {
    const gopt_simd *simd;
    gopt_post post;
    gopt_dtype type;
    int64_t m, n, k, b_row, b_col; /* of b where it is not packed */
    int64_t panels, a_size;        /* a_size: floats of a packed */
    bool packed;
    int phases; /* 1: a single row times packed panels */
} spec;

static bool shape_of(const gopt_group *g, spec *s)
{
    if (!gopt_group_is(g, "gopt", "NarrowMatMul") || g->in[A].rank < 1 || g->in[B].rank != 2)
        return false;
    bool turned = gopt_attr_int(g->attrs, "transB", 0) != 0;
    const int64_t *dim = g->in[B].dim;
    s->type = g->in[B].dtype;
    s->k = dim[turned];
    s->n = dim[!turned];
    s->m = s->k ? gopt_operand_count(&g->in[A]) / s->k : 0;
    s->b_row = turned ? 1 : dim[1];
    s->b_col = turned ? dim[1] : 1;
    s->packed = g->in[B].packed;
    bool served = gopt_dtype_is_half(s->type) || s->type == GOPT_DTYPE_I8 || s->type == GOPT_DTYPE_U8;
    return served && g->in[A].dtype == GOPT_DTYPE_F32 && s->k > 0 && g->in[A].dim[g->in[A].rank - 1] == s->k;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob, (void)t;
    return g->op && g->n_out == 1 && shape_of(g, &s) && gopt_post_fits(g, g->post);
}

static double flops(const spec *s)
{
    return 2 * (double)s->m * (double)s->n * (double)s->k + 4 * (double)s->n * (double)s->k;
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob;
    shape_of(g, &s);
    return gopt_roofline(t, flops(&s), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    memset(s, 0, sizeof *s);
    shape_of(g, s);
    s->simd = gopt_simd_for(t->isa);
    s->panels = gopt_ceil_div(s->n, s->simd->nr);
    s->phases = s->m == 1 && s->packed ? 1 : 2;
    s->a_size = s->phases == 1 ? 0 : gopt_ceil_div(s->m, s->simd->mr) * s->simd->mr * s->k;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    plan(&s, g, t);
    return (gopt_work){.parts = gopt_parts(t, flops(&s), gopt_group_bytes(g)),
                       .phases = s.phases,
                       .workspace = (size_t)s.a_size * sizeof(float)};
}

static int64_t width(const spec *s)
{
    return gopt_dtype_bits(s->type) / 8;
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    spec s;
    (void)knob;
    if (k != B || !g->in[B].constant)
        return 0;
    plan(&s, g, t);
    return (size_t)(s.panels * s.simd->nr * s.k * width(&s));
}

/* Row p of b from column j on, `unit` elements, zeros past the end. */
static void copy_row(const spec *s, const char *b, int64_t p, int64_t j, int unit, char *dst)
{
    int64_t size = width(s), n = GOPT_MIN(unit, s->n - j);
    const char *from = b + (p * s->b_row + j * s->b_col) * size;
    memset(dst + n * size, 0, (size_t)((unit - n) * size));
    if (s->b_col == 1)
        memcpy(dst, from, (size_t)(n * size));
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * size, from + i * s->b_col * size, (size_t)size);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)knob, (void)k;
    plan(&s, g, t);
    int unit = s.simd->nr;
    for (int64_t panel = 0; panel < s.panels; panel++)
        for (int64_t p = 0; p < s.k; p++)
            copy_row(&s, g->in[B].constant, p, panel * unit, unit, (char *)dst + (panel * s.k + p) * unit * width(&s));
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

static void widen(const spec *s, const void *src, float *dst, int64_t n)
{
    if (gopt_dtype_is_half(s->type))
        s->simd->half_widen(dst, src, n, s->type == GOPT_DTYPE_BF16);
    else
        s->simd->from_integers(s->type, src, dst, n);
}

/* Rows [p, p + n) of a panel as floats. */
static void widen_block(const spec *s, const char *b, int64_t panel, int64_t p, int64_t n, float *room)
{
    _Alignas(64) char row[PANEL_MAX * sizeof(uint16_t)];
    int unit = s->simd->nr;
    if (s->packed) {
        widen(s, b + (panel * s->k + p) * unit * width(s), room, n * unit);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        copy_row(s, b, p + i, panel * unit, unit, row);
        widen(s, row, room + i * unit, unit);
    }
}

static void run_panel(const spec *s, const gopt_task *t, int64_t panel)
{
    _Alignas(64) float room[DEPTH * PANEL_MAX];
    int unit = s->simd->nr;
    int64_t j = panel * unit, n = GOPT_MIN(unit, s->n - j);
    float *out = (float *)t->out[0] + j;
    gopt_gemm g = {.m = s->m, .n = n, .a_tile = s->k * s->simd->mr, .b = room, .b_panel = (int64_t)DEPTH * unit};
    g.b_row = unit;
    g.c = out;
    g.c_row = s->n;
    for (int64_t p = 0; p < s->k; p += DEPTH) {
        g.k = GOPT_MIN(DEPTH, s->k - p);
        widen_block(s, t->in[B], panel, p, g.k, room);
        g.a = (const float *)t->workspace + p * s->simd->mr;
        g.accumulate = p > 0;
        s->simd->gemm(&g);
    }
    for (int64_t i = 0; i < s->m; i++)
        gopt_post_run(&s->post, t->in, out + i * s->n, out + i * s->n, i * s->n + j, n);
}

/* A single row, straight from the packed panel. */
static void run_row(const spec *s, const gopt_task *t, int64_t panel)
{
    float sums[PANEL_MAX];
    int unit = s->simd->nr;
    int64_t j = panel * unit, n = GOPT_MIN(unit, s->n - j);
    float *out = (float *)t->out[0] + j;
    s->simd->narrow_row(s->type, s->k, t->in[A], (const char *)t->in[B] + panel * s->k * unit * width(s), sums);
    memcpy(out, sums, (size_t)n * sizeof *out);
    gopt_post_run(&s->post, t->in, out, out, j, n);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    if (t->phase < s->phases - 1) {
        gopt_matmul_pack_rows(s->simd, t, t->in[A], s->m, s->k, t->workspace);
        return;
    }
    gopt_share(s->panels, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        if (s->phases == 1)
            run_row(s, t, lo);
        else
            run_panel(s, t, lo);
}

const gopt_kernel gopt_kernel_narrow_matmul = {
    .name = "narrow_matmul",
    .doc = "products with weights of 8 or 16 bits, widened block by block",
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
