/* pool_f32: MaxPool and AveragePool in one or two dimensions. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"
#include "ref/window.h"

enum { MOST = 1 << 15 }; /* elements along a row: products of them stay far from overflow */

typedef struct spec {
    gopt_windows c; /* of a channel */
    int64_t channels;
    const gopt_simd *simd;
    bool max;
    bool even;            /* all windows have as many elements */
    int64_t part;         /* floats of a part's room */
    int64_t rim_h, rim_w; /* where counted elements end: input and, if it counts, padding below and right */
    bool padded;          /* padding counts */
    gopt_post post;
} spec;

static bool bind(const gopt_group *g, gopt_window *w, gopt_windows *c)
{
    const gopt_operand *x = &g->in[0];
    int n = x->rank - 2, last = n - 1;
    if (n < 1 || n > 2 || gopt_window_read(w, g->attrs, n, NULL) || !w->kernel[0])
        return false;
    gopt_window_bind(w, x->dim + 2);
    c->ih = n == 2 ? x->dim[2] : 1;
    c->iw = x->dim[2 + last];
    c->oh = n == 2 ? w->out[0] : 1;
    c->ow = w->out[last];
    c->kh = n == 2 ? w->kernel[0] : 1;
    c->kw = w->kernel[last];
    c->stride_h = n == 2 ? w->stride[0] : 1;
    c->stride_w = w->stride[last];
    c->dilation_h = n == 2 ? w->dilation[0] : 1;
    c->dilation_w = w->dilation[last];
    c->pad_h = n == 2 ? w->pad[0] : 0;
    c->pad_w = w->pad[last];
    return true;
}

/* Of a row with its padding: whole vectors are written at its end, and read from where the last window's begin. */
static int64_t row_room(const gopt_windows *c, int width)
{
    int64_t written = c->pad_w + c->iw + width, read = (c->ow + 2 * width) * c->stride_w + c->kw * c->dilation_w;
    return GOPT_MAX(written, read);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const char *const ops[] = {"MaxPool", "AveragePool", NULL};
    gopt_window w;
    gopt_windows c;
    (void)knob;
    return gopt_group_is_any(g, ops) && g->n_out == 1 && gopt_group_has(g, 0) && g->in[0].dtype == GOPT_DTYPE_F32 &&
           bind(g, &w, &c) && c.kw <= MOST && c.stride_w <= MOST && c.dilation_w <= MOST &&
           row_room(&c, gopt_simd_for(t->isa)->width) <= INT32_MAX && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    gopt_window w;
    gopt_windows c;
    bind(g, &w, &c);
    return (4 * (double)(c.kh + c.kw) + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
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
    gopt_windows *c = &s->c;
    bind(g, &w, c);
    s->simd = gopt_simd_for(t->isa);
    s->max = gopt_group_is(g, "", "MaxPool");
    s->padded = gopt_attr_int(g->attrs, "count_include_pad", 0);
    s->rim_h = c->ih + (s->padded && w.n == 2 ? w.pad_end[0] : 0);
    s->rim_w = c->iw + (s->padded ? w.pad_end[w.n - 1] : 0);
    int64_t reach_h = (c->oh - 1) * c->stride_h + (c->kh - 1) * c->dilation_h - c->pad_h;
    int64_t reach_w = (c->ow - 1) * c->stride_w + (c->kw - 1) * c->dilation_w - c->pad_w;
    s->even = reach_h < s->rim_h && reach_w < s->rim_w && (s->padded || (c->pad_h == 0 && c->pad_w == 0));
    s->channels = g->in[0].dim[0] * g->in[0].dim[1];
    c->room = row_room(c, s->simd->width);
    s->part = gopt_ceil_div(c->room + (s->max ? 0 : c->ow), 16) * 16;
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
    const gopt_windows *c = &s->c;
    if (s->even) {
        s->simd->affine(out, out, c->oh * c->ow, 0, share_of(c->kh * c->kw), 0);
        return;
    }
    int64_t top = s->padded ? -c->pad_h : 0, left = s->padded ? -c->pad_w : 0;
    for (int64_t x = 0; x < c->ow; x++)
        by_column[x] = share_of(inside(x * c->stride_w - c->pad_w, c->kw, c->dilation_w, left, s->rim_w));
    for (int64_t y = 0; y < c->oh; y++) {
        float a = share_of(inside(y * c->stride_h - c->pad_h, c->kh, c->dilation_h, top, s->rim_h));
        s->simd->scale_row(out + y * c->ow, out + y * c->ow, c->ow, 0, a, 0, by_column, NULL);
    }
}

static void run_channel(const spec *s, const gopt_task *t, int64_t channel)
{
    const gopt_windows *c = &s->c;
    float *row = (float *)t->workspace + t->part * s->part;
    const float *in = (const float *)t->in[0] + channel * c->ih * c->iw;
    float *out = (float *)t->out[0] + channel * c->oh * c->ow;
    if (s->max)
        s->simd->windows_max(c, in, out, row);
    else {
        s->simd->windows_sum(c, in, out, row);
        average(s, out, row + c->room);
    }
    gopt_post_run(&s->post, t->in, out, out, channel * c->oh * c->ow, c->oh * c->ow);
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
