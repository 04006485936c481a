/* group_norm_f32: InstanceNormalization and GroupNormalization: rows of some channels of an image brought to mean 0 and
 * variance 1, then each channel scaled and shifted. */
#include <math.h>

#include "cpu/group.h"
#include "cpu/post.h"

enum { X, SCALE, BIAS };

typedef struct spec {
    const gopt_simd *simd;
    int64_t batch, groups, channels, size; /* channels of a group; elements of a channel */
    int64_t scales, biases;                /* channels that one scale, one bias serves */
    float epsilon;
    gopt_post post;
} spec;

static int64_t groups_of(const gopt_group *g)
{
    if (gopt_group_is(g, "", "InstanceNormalization"))
        return g->in[X].dim[1];
    return gopt_group_is(g, "", "GroupNormalization") ? gopt_attr_int(g->attrs, "num_groups", 0) : 0;
}

static bool is_vector(const gopt_group *g, int k, int64_t groups)
{
    const gopt_operand *o = &g->in[k];
    return o->rank == 1 && o->dtype == GOPT_DTYPE_F32 && (o->dim[0] == g->in[X].dim[1] || o->dim[0] == groups);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!g->op || g->n_anchor != 3 || g->n_out != 1 || g->in[X].rank < 2 || g->in[X].dtype != GOPT_DTYPE_F32)
        return false;
    int64_t groups = groups_of(g);
    return groups > 0 && g->in[X].dim[1] % groups == 0 && is_vector(g, SCALE, groups) && is_vector(g, BIAS, groups) &&
           gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    return (16 + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
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
    int64_t channels = g->in[X].dim[1];
    s->simd = gopt_simd_for(t->isa);
    s->batch = g->in[X].dim[0];
    s->groups = groups_of(g);
    s->channels = channels / s->groups;
    s->size = 1;
    for (int d = 2; d < g->in[X].rank; d++)
        s->size *= g->in[X].dim[d];
    s->scales = channels / g->in[SCALE].dim[0];
    s->biases = channels / g->in[BIAS].dim[0];
    s->epsilon = (float)gopt_attr_float(g->attrs, "epsilon", 1e-5f);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* As in layernorm_f32, what the rounded mean lacks is added to the differences. */
static void run_group(const spec *s, const gopt_task *t, int64_t which)
{
    int64_t n = s->channels * s->size, first = which * n, channel = which % s->groups * s->channels;
    const float *x = (const float *)t->in[X] + first, *scale = t->in[SCALE], *bias = t->in[BIAS];
    float *out = (float *)t->out[0] + first, square;
    float origin = s->simd->reduce_row(GOPT_REDUCE_SUM, x, n, 0) / (float)n;
    float rest = s->simd->moments(x, n, origin, &square) / (float)n;
    float inverse = 1 / sqrtf((square - rest * rest * (float)n) / (float)n + s->epsilon);
    for (int64_t c = 0; c < s->channels; c++) {
        float a = inverse * scale[(channel + c) / s->scales], b = bias[(channel + c) / s->biases] - rest * a;
        s->simd->affine(out + c * s->size, x + c * s->size, s->size, origin, a, b);
    }
    gopt_post_run(&s->post, t->in, out, out, first, n);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->batch * s->groups, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi && s->size > 0; lo++)
        run_group(s, t, lo);
}

const gopt_kernel gopt_kernel_group_norm_f32 = {
    .name = "group_norm_f32",
    .doc = "normalization over groups of channels",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
