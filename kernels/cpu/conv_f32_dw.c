/* conv_f32_dw: convolutions of single channels (depthwise): a channel is laid out in planes in the cache, then every
 * output row is a sum of shifted runs. */
#include "cpu/group.h"
#include "cpu/planes.h"
#include "cpu/post.h"

#include <string.h>

enum { MAX_TAPS = 64, SLACK = 16 /* floats read past the last one */ };

typedef struct spec {
    gopt_conv2d c;
    gopt_planes planes;
    const gopt_simd *simd;
    bool flat;      /* rows are short: all are computed as one, then those over the edge dropped */
    int64_t pixels; /* numbers of a plane that count */
    int64_t part;   /* floats of a part's room: planes, then results */
    int64_t offset[MAX_TAPS];
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    gopt_planes p;
    (void)knob, (void)t;
    return gopt_conv2d_of(g, &c) && c.channels == 1 && c.kh * c.kw <= MAX_TAPS && gopt_planes_of(&p, &c) &&
           gopt_conv2d_post_fits(g);
}

/* Bound by the first cache, not by products. */
static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv2d_of(g, &c);
    return 4 * (gopt_conv2d_flops(&c) + gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]));
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    memset(s, 0, sizeof *s);
    gopt_conv2d *c = &s->c;
    gopt_conv2d_of(g, c);
    gopt_planes_of(&s->planes, c);
    s->simd = gopt_simd_for(t->isa);
    s->flat = c->ow < 3 * s->simd->width;
    s->pixels = c->oh > 0 && c->ow > 0 ? (c->oh - 1) * s->planes.cols + c->ow : 0;
    s->part = gopt_whole_vectors(s->planes.size + SLACK + (s->flat ? s->pixels + SLACK : 0));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, t);
    return (gopt_work){.parts = parts, .phases = 1, .workspace = (size_t)(parts * s.part) * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_planes_taps(&s->planes, &s->c, s->offset);
    gopt_conv2d_post_prepare(&s->post, g, s->simd);
}

static void run_filter(const spec *s, gopt_taps *taps, float *own, float *out)
{
    const gopt_conv2d *c = &s->c;
    const float *plane = taps->src;
    if (s->flat) {
        s->simd->taps(taps, own, s->pixels);
        s->simd->compact(out, own, 0, s->pixels, s->planes.cols, c->ow);
        return;
    }
    for (int64_t y = 0; y < c->oh; y++) {
        taps->src = plane + y * s->planes.cols;
        s->simd->taps(taps, out + y * c->ow, c->ow);
    }
    taps->src = plane;
}

static void run_channel(const spec *s, const gopt_task *t, int64_t image, int64_t channel)
{
    const gopt_conv2d *c = &s->c;
    float *plane = (float *)t->workspace + t->part * s->part, *own = plane + s->planes.size + SLACK;
    int64_t pixels = c->oh * c->ow, at = image * c->groups + channel;
    memset(plane + s->planes.size, 0, SLACK * sizeof *plane);
    s->simd->spread(&s->planes, (const float *)t->in[0] + at * c->ih * c->iw, plane);
    for (int64_t i = 0; i < c->filters; i++) {
        int64_t filter = channel * c->filters + i, first = (at * c->filters + i) * pixels;
        float *out = (float *)t->out[0] + first;
        gopt_taps taps = {.src = plane, .offset = s->offset, .n = c->kh * c->kw};
        taps.weight = (const float *)t->in[1] + filter * taps.n;
        taps.begin = c->bias ? ((const float *)t->in[2])[filter] : 0;
        run_filter(s, &taps, own, out);
        gopt_post_run(&s->post, t->in, out, out, first, pixels);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->c.batch * s->c.groups, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        run_channel(s, t, lo / s->c.groups, lo % s->c.groups);
}

const gopt_kernel gopt_kernel_conv_f32_dw = {
    .name = "conv_f32_dw",
    .doc = "convolution of each channel by itself, as sums of shifted rows",
    .revision = 2,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
