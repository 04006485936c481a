/* lrn_f32: LRN: every channel over a power of the sum of squares of those around it. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"

enum { BLOCK = 1024 /* neighbours of a channel at once: all its taps' stay in the first cache */ };

typedef struct spec {
    const gopt_simd *simd;
    int64_t outer, n, inner; /* n channels */
    int64_t before, after;   /* how many channels around one count, where there are as many */
    int64_t room;            /* floats of a part's row with what is missing at its ends; inner is 1 */
    float alpha, beta, bias;
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    return gopt_group_is(g, "", "LRN") && g->n_out == 1 && gopt_group_has(g, 0) && g->in[0].dtype == GOPT_DTYPE_F32 &&
           g->in[0].rank >= 2 && gopt_post_fits(g, g->post);
}

static void shape(const gopt_group *g, spec *s)
{
    const gopt_operand *in = &g->in[0];
    int64_t size = gopt_attr_int(g->attrs, "size", 1), most;
    s->outer = in->dim[0];
    s->n = in->dim[1];
    s->inner = 1;
    for (int d = 2; d < in->rank; d++)
        s->inner *= in->dim[d];
    most = GOPT_MAX(s->n - 1, 0);
    s->before = GOPT_MIN((size - 1) / 2, most);
    s->after = GOPT_MIN(size - 1 - (size - 1) / 2, most);
    s->room = s->inner == 1 ? gopt_whole_vectors(s->before + s->n + s->after) : 0;
    s->alpha = (float)(gopt_attr_float(g->attrs, "alpha", 1e-4f) / (double)size);
    s->beta = (float)gopt_attr_float(g->attrs, "beta", 0.75);
    s->bias = (float)gopt_attr_float(g->attrs, "bias", 1);
}

static double flops(const gopt_group *g)
{
    spec s;
    shape(g, &s);
    double power = s.beta == 0.75f ? 50 : 200;
    double each = power + 2 * (double)(s.before + s.after) + 4 * gopt_post_cost(g->post);
    return each * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    shape(g, &s);
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    return (gopt_work){.parts = parts, .phases = 1, .workspace = (size_t)(parts * s.room) * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    shape(g, s);
    s->simd = gopt_simd_for(t->isa);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

static gopt_lrn taps(const spec *s, int64_t taps, int64_t step)
{
    return (gopt_lrn){.alpha = s->alpha, .beta = s->beta, .bias = s->bias, .taps = taps, .step = step};
}

/* Rows [lo, hi) of channels side by side; zeros stand for those that are missing. */
static void run_rows(const spec *s, const gopt_task *t, int64_t lo, int64_t hi)
{
    gopt_lrn p = taps(s, s->before + 1 + s->after, 1);
    float *row = (float *)t->workspace + t->part * s->room;
    memset(row, 0, (size_t)s->room * sizeof *row);
    for (; lo < hi; lo++) {
        const float *x = (const float *)t->in[0] + lo * s->n;
        float *y = (float *)t->out[0] + lo * s->n;
        memcpy(row + s->before, x, (size_t)s->n * sizeof *row);
        s->simd->lrn(&p, x, row, y, s->n);
        gopt_post_run(&s->post, t->in, y, y, lo * s->n, s->n);
    }
}

/* `count` neighbours, from element `first` of the first channel on, in all channels. */
static void run_columns(const spec *s, const gopt_task *t, int64_t first, int64_t count)
{
    for (int64_t c = 0; c < s->n; c++) {
        int64_t lo = GOPT_MAX(0, c - s->before), hi = GOPT_MIN(s->n - 1, c + s->after), at = first + c * s->inner;
        const float *in = t->in[0];
        float *y = (float *)t->out[0] + at;
        gopt_lrn p = taps(s, hi - lo + 1, s->inner);
        s->simd->lrn(&p, in + at, in + first + lo * s->inner, y, count);
        gopt_post_run(&s->post, t->in, y, y, at, count);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->outer * s->inner, s->inner == 1 ? 1 : 64, t->part, t->parts, &lo, &hi);
    if (s->n == 0)
        return;
    if (s->inner == 1) {
        run_rows(s, t, lo, hi);
        return;
    }
    while (lo < hi) {
        int64_t o = lo / s->inner, from = lo % s->inner;
        int64_t count = GOPT_MIN(GOPT_MIN(s->inner - from, hi - lo), (int64_t)BLOCK);
        run_columns(s, t, o * s->n * s->inner + from, count);
        lo += count;
    }
}

const gopt_kernel gopt_kernel_lrn_f32 = {
    .name = "lrn_f32",
    .doc = "local response normalization over channels",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
