/* pool_nhwc_f32: pooling with the channels innermost (gopt.PoolNhwc): pixels of a window are folded, all channels at
 * once. */
#include <math.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"
#include "ref/window.h"

typedef struct spec {
    const gopt_simd *simd;
    gopt_window w;
    int64_t batch, channels;
    bool max;
    gopt_post post;
} spec;

/* Two dimensions; one is a row of height 1. */
static bool bind(const gopt_group *g, spec *s)
{
    const gopt_operand *x = &g->in[0];
    int n = x->rank - 2;
    if (n < 1 || n > 2 || gopt_window_read(&s->w, g->attrs, n, NULL) || !s->w.kernel[0])
        return false;
    gopt_window_bind(&s->w, x->dim + 1);
    s->batch = x->dim[0];
    s->channels = x->dim[n + 1];
    s->max = !strcmp(gopt_attr_string(g->attrs, "mode", ""), "max");
    return true;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob, (void)t;
    return gopt_group_is(g, "gopt", "PoolNhwc") && g->n_out == 1 && g->in[0].dtype == GOPT_DTYPE_F32 && bind(g, &s) &&
           gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    spec s;
    bind(g, &s);
    double taps = (double)(s.w.kernel[0] * (s.w.n > 1 ? s.w.kernel[1] : 1));
    return (taps + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
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
    s->simd = gopt_simd_for(t->isa);
    bind(g, s);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* The window at (oy, ox) of an image; oy is 0 where there is one dimension. */
static void pool(const spec *s, const float *image, int64_t oy, int64_t ox, float *out)
{
    const gopt_window *w = &s->w;
    gopt_reduction kind = s->max ? GOPT_REDUCE_MAX : GOPT_REDUCE_SUM;
    int last = w->n - 1;
    int64_t y0 = 0, y1 = 1, x0, x1, channels = s->channels;
    if (last)
        gopt_window_taps(w, 0, oy, &y0, &y1);
    gopt_window_taps(w, last, ox, &x0, &x1);
    s->simd->fill(out, s->max ? -INFINITY : 0, (int)channels);
    for (int64_t ty = y0; ty < y1; ty++) {
        int64_t y = last ? oy * w->stride[0] - w->pad[0] + ty * w->dilation[0] : 0;
        for (int64_t tx = x0; tx < x1; tx++) {
            int64_t x = ox * w->stride[last] - w->pad[last] + tx * w->dilation[last];
            s->simd->reduce_into(kind, out, image + (y * w->in[last] + x) * channels, channels, NULL);
        }
    }
    if (!s->max)
        s->simd->affine(out, out, channels, 0, 1.0f / (float)((y1 - y0) * (x1 - x0)), 0);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_window *w = &s->w;
    int last = w->n - 1;
    int64_t lo, hi, oh = last ? w->out[0] : 1, ow = w->out[last], ih = last ? w->in[0] : 1, iw = w->in[last];
    gopt_share(s->batch * oh * ow, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi && s->channels > 0; lo++) {
        float *out = (float *)t->out[0] + lo * s->channels;
        const float *image = (const float *)t->in[0] + lo / (oh * ow) * ih * iw * s->channels;
        pool(s, image, lo / ow % oh, lo % ow, out);
        gopt_post_run(&s->post, t->in, out, out, lo * s->channels, s->channels);
    }
}

const gopt_kernel gopt_kernel_pool_nhwc_f32 = {
    .name = "pool_nhwc_f32",
    .doc = "pooling, channels innermost",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
