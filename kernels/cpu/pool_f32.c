/* pool_f32: MaxPool and AveragePool in one or two dimensions. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"
#include "ref/window.h"

enum {
    MAX_STEP = 1 << 15, /* of kernels, strides and dilations: their products stay far from overflow */
    MAX_ROOM = 1 << 24  /* floats of a part */
};

typedef struct spec {
    gopt_windows windows; /* of a channel */
    int64_t channels;
    const gopt_simd *simd;
    bool max;
    bool even;            /* all windows have as many elements */
    int64_t part;         /* floats of a part's room */
    int64_t rim_h, rim_w; /* where counted elements end: input and, if it counts, padding below and right */
    bool padded;          /* padding counts */
    gopt_post post;
} spec;

static bool bind(const gopt_group *g, gopt_window *w, gopt_windows *v)
{
    const gopt_operand *x = &g->in[0];
    int n = x->rank - 2, last = n - 1;
    if (n < 1 || n > 2 || gopt_window_read(w, g->attrs, n, NULL) || !w->kernel[0])
        return false;
    gopt_window_bind(w, x->dim + 2);
    v->ih = n == 2 ? x->dim[2] : 1;
    v->iw = x->dim[2 + last];
    v->oh = n == 2 ? w->out[0] : 1;
    v->ow = w->out[last];
    v->kh = n == 2 ? w->kernel[0] : 1;
    v->kw = w->kernel[last];
    v->stride_h = n == 2 ? w->stride[0] : 1;
    v->stride_w = w->stride[last];
    v->dilation_h = n == 2 ? w->dilation[0] : 1;
    v->dilation_w = w->dilation[last];
    v->pad_h = n == 2 ? w->pad[0] : 0;
    v->pad_w = w->pad[last];
    return true;
}

/* Of a row with its padding: whole vectors are written at its end, and read from where the last window's begin. */
static int64_t row_room(const gopt_windows *v, int width)
{
    int64_t written = v->pad_w + v->iw + width, read = (v->ow + 2 * width) * v->stride_w + v->kw * v->dilation_w;
    return GOPT_MAX(written, read);
}

static bool is_moderate(const gopt_windows *v, int width)
{
    int64_t step = GOPT_MAX(GOPT_MAX(v->stride_w, v->dilation_w), GOPT_MAX(v->kh, v->kw));
    return step <= MAX_STEP && row_room(v, width) <= MAX_ROOM;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const char *const ops[] = {"MaxPool", "AveragePool", NULL};
    gopt_window w;
    gopt_windows v;
    (void)knob;
    return gopt_group_is_any(g, ops) && g->n_out == 1 && gopt_group_has(g, 0) && g->in[0].dtype == GOPT_DTYPE_F32 &&
           bind(g, &w, &v) && is_moderate(&v, gopt_simd_for(t->isa)->width) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    gopt_window w;
    gopt_windows v;
    bind(g, &w, &v);
    return (4 * (double)(v.kh + v.kw) + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    gopt_window w;
    memset(s, 0, sizeof *s);
    gopt_windows *v = &s->windows;
    bind(g, &w, v);
    s->simd = gopt_simd_for(t->isa);
    s->max = gopt_group_is(g, "", "MaxPool");
    s->padded = gopt_attr_int(g->attrs, "count_include_pad", 0);
    s->rim_h = v->ih + (s->padded && w.n == 2 ? w.pad_end[0] : 0);
    s->rim_w = v->iw + (s->padded ? w.pad_end[w.n - 1] : 0);
    int64_t reach_h = (v->oh - 1) * v->stride_h + (v->kh - 1) * v->dilation_h - v->pad_h;
    int64_t reach_w = (v->ow - 1) * v->stride_w + (v->kw - 1) * v->dilation_w - v->pad_w;
    s->even = reach_h < s->rim_h && reach_w < s->rim_w && (s->padded || (v->pad_h == 0 && v->pad_w == 0));
    s->channels = g->in[0].dim[0] * g->in[0].dim[1];
    v->room = row_room(v, s->simd->width);
    s->part = gopt_whole_vectors(v->room + (s->max ? 0 : v->ow));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    plan(&s, g, t);
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    return (gopt_work){.parts = parts, .phases = 1, .workspace = (size_t)(parts * s.part) * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* Taps of a window that begins at `start` which lie in [lo, hi). */
static int64_t inside(int64_t start, int64_t taps, int64_t dilation, int64_t lo, int64_t hi)
{
    int64_t n = 0;
    for (int64_t k = 0; k < taps; k++)
        n += start + k * dilation >= lo && start + k * dilation < hi;
    return n;
}

static float share_of(int64_t n)
{
    return n ? 1 / (float)n : 0;
}

/* Sums to averages. by_column has room for a row. */
static void average(const spec *s, float *out, float *by_column)
{
    const gopt_windows *v = &s->windows;
    if (s->even) {
        s->simd->affine(out, out, v->oh * v->ow, 0, share_of(v->kh * v->kw), 0);
        return;
    }
    int64_t top = s->padded ? -v->pad_h : 0, left = s->padded ? -v->pad_w : 0;
    for (int64_t x = 0; x < v->ow; x++)
        by_column[x] = share_of(inside(x * v->stride_w - v->pad_w, v->kw, v->dilation_w, left, s->rim_w));
    for (int64_t y = 0; y < v->oh; y++) {
        float a = share_of(inside(y * v->stride_h - v->pad_h, v->kh, v->dilation_h, top, s->rim_h));
        s->simd->scale_row(out + y * v->ow, out + y * v->ow, v->ow, 0, a, 0, by_column, NULL);
    }
}

static void run_channel(const spec *s, const gopt_task *t, int64_t channel)
{
    const gopt_windows *v = &s->windows;
    float *row = (float *)t->workspace + t->part * s->part;
    const float *in = (const float *)t->in[0] + channel * v->ih * v->iw;
    float *out = (float *)t->out[0] + channel * v->oh * v->ow;
    if (s->max)
        s->simd->windows_max(v, in, out, row);
    else {
        s->simd->windows_sum(v, in, out, row);
        average(s, out, row + v->room);
    }
    gopt_post_run(&s->post, t->in, out, out, channel * v->oh * v->ow, v->oh * v->ow);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->channels, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        run_channel(s, t, lo);
}

const gopt_kernel gopt_kernel_pool_f32 = {
    .name = "pool_f32",
    .doc = "maxima and averages of windows in one or two dimensions",
    .revision = 2,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
