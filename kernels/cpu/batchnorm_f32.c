/* batchnorm_f32: BatchNormalization with given statistics: one scale and one shift for each channel. */
#include <math.h>

#include "cpu/group.h"
#include "cpu/post.h"

typedef struct spec {
    const gopt_simd *simd;
    int64_t batch, channels, size;
    float epsilon;
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "BatchNormalization") || g->n_anchor != 5 || g->n_out != 1 || g->in[0].rank < 1 ||
        gopt_attr_int(g->attrs, "training_mode", 0) || !gopt_post_fits(g, g->post))
        return false;
    for (int k = 0; k < 5; k++)
        if (g->in[k].dtype != GOPT_DTYPE_F32)
            return false;
    return true;
}

static double flops(const gopt_group *g)
{
    return (8 + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
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
    s->batch = g->in[0].dim[0];
    s->channels = g->in[0].rank > 1 ? g->in[0].dim[1] : 1;
    s->size = 1;
    for (int d = 2; d < g->in[0].rank; d++)
        s->size *= g->in[0].dim[d];
    s->epsilon = (float)gopt_attr_float(g->attrs, "epsilon", 1e-5f);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const float *scale = t->in[1], *shift = t->in[2], *mean = t->in[3], *var = t->in[4];
    int64_t lo, hi;
    gopt_share(s->batch * s->channels, s->size < 16 ? 16 : 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t c = lo % s->channels, first = lo * s->size;
        float *out = (float *)t->out[0] + first;
        float a = scale[c] / sqrtf(var[c] + s->epsilon);
        s->simd->affine(out, (const float *)t->in[0] + first, s->size, mean[c], a, shift[c]);
        gopt_post_run(&s->post, t->in, out, out, first, s->size);
    }
}

const gopt_kernel gopt_kernel_batchnorm_f32 = {
    .name = "batchnorm_f32",
    .doc = "a scale and a shift for each channel, from its statistics",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
