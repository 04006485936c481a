/* softmax_f32: Softmax and LogSoftmax along any axis. */
#include "cpu/group.h"
#include "cpu/post.h"

typedef struct spec {
    const gopt_simd *simd;
    int64_t outer, n, inner; /* n along the axis */
    bool log;
    gopt_post post;
} spec;

static void shape(const gopt_group *g, spec *s)
{
    const gopt_operand *in = &g->in[0];
    int axis = 0;
    if (in->rank)
        gopt_axis(gopt_attr_int(g->attrs, "axis", -1), in->rank, &axis, NULL);
    s->outer = s->n = s->inner = 1;
    for (int d = 0; d < in->rank; d++)
        *(d < axis ? &s->outer : d == axis ? &s->n : &s->inner) *= in->dim[d];
    if (gopt_attr_int(g->attrs, "coerce_2d", 0)) {
        s->n *= s->inner;
        s->inner = 1;
    }
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const char *const ops[] = {"Softmax", "LogSoftmax", NULL};
    (void)knob, (void)t;
    return gopt_group_is_any(g, ops) && g->n_out == 1 && gopt_group_has(g, 0) && g->in[0].dtype == GOPT_DTYPE_F32 &&
           gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    return (80 + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)), .phases = 1};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    shape(g, s);
    s->simd = gopt_simd_for(t->isa);
    s->log = gopt_group_is(g, "", "LogSoftmax");
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* Neighbours [lo, hi) of outer index o. */
static void run_columns(const spec *s, const gopt_task *t, int64_t o, int64_t lo, int64_t hi)
{
    int64_t first = o * s->n * s->inner + lo;
    float *out = (float *)t->out[0] + first;
    s->simd->softmax_columns(out, (const float *)t->in[0] + first, s->n, s->inner, hi - lo, s->log);
    for (int64_t i = 0; s->post.active && i < s->n; i++, first += s->inner, out += s->inner)
        gopt_post_run(&s->post, t->in, out, out, first, hi - lo);
}

enum { SHORT = 16, ROWS = 64 };

static void turn(float *to, const float *from, int64_t rows, int64_t cols, int64_t to_row, int64_t from_row)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            to[c * to_row + r] = from[r * from_row + c];
}

/* Rows [lo, hi) too short to fill vectors: many at a time, as columns. */
static void run_short_rows(const spec *s, const gopt_task *t, int64_t lo, int64_t hi)
{
    float columns[SHORT * ROWS];
    for (int64_t at = lo; at < hi; at += ROWS) {
        int64_t rows = GOPT_MIN(hi - at, (int64_t)ROWS), first = at * s->n;
        float *out = (float *)t->out[0] + first;
        turn(columns, (const float *)t->in[0] + first, rows, s->n, ROWS, s->n);
        s->simd->softmax_columns(columns, columns, s->n, ROWS, rows, s->log);
        turn(out, columns, s->n, rows, s->n, ROWS);
        gopt_post_run(&s->post, t->in, out, out, first, rows * s->n);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->outer * s->inner, s->inner == 1 ? 1 : 64, t->part, t->parts, &lo, &hi);
    if (s->n == 0)
        return;
    if (s->inner == 1 && s->n <= SHORT) {
        run_short_rows(s, t, lo, hi);
        return;
    }
    while (lo < hi) {
        int64_t o = lo / s->inner, from = lo % s->inner, to = GOPT_MIN(s->inner, from + hi - lo);
        if (s->inner == 1) {
            float *out = (float *)t->out[0] + o * s->n;
            s->simd->softmax_row(out, (const float *)t->in[0] + o * s->n, s->n, s->log);
            gopt_post_run(&s->post, t->in, out, out, o * s->n, s->n);
        } else {
            run_columns(s, t, o, from, to);
        }
        lo += to - from;
    }
}

const gopt_kernel gopt_kernel_softmax_f32 = {
    .name = "softmax_f32",
    .doc = "softmax and its logarithm along an axis",
    .revision = 2,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
