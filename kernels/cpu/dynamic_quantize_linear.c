/* dynamic_quantize_linear: DynamicQuantizeLinear: the range of all, then bytes. */
#include "cpu/bytes.h"

typedef struct spec {
    const gopt_simd *simd;
    int64_t count;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "DynamicQuantizeLinear") || g->post || g->n_out != 3 || g->in[0].dtype != GOPT_DTYPE_F32)
        return false;
    return g->out[0].dtype == GOPT_DTYPE_U8 && g->out[1].dtype == GOPT_DTYPE_F32 && g->out[2].dtype == GOPT_DTYPE_U8;
}

static double flops(const gopt_group *g)
{
    return 64 * (double)gopt_operand_count(&g->in[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), 2 * gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    return (gopt_work){.parts = parts, .phases = 2, .workspace = (size_t)parts * 2 * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    *(spec *)memory = (spec){.simd = gopt_simd_for(t->isa), .count = gopt_operand_count(&g->in[0])};
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const float *x = t->in[0];
    float *range = t->workspace;
    int64_t lo, hi;
    if (t->phase == 0) {
        gopt_range_find(s->simd, t, x, s->count, range);
        return;
    }
    gopt_share(s->count, 64, t->part, t->parts, &lo, &hi);
    uint8_t zero;
    float scale = gopt_range_scale(s->simd, t, range, &zero);
    s->simd->quantize((uint8_t *)t->out[0] + lo, x + lo, hi - lo, scale, zero);
    if (t->part == 0) {
        *(float *)t->out[1] = scale;
        *(uint8_t *)t->out[2] = zero;
    }
}

const gopt_kernel gopt_kernel_dynamic_quantize_linear = {
    .name = "dynamic_quantize_linear",
    .doc = "floats to bytes by their range",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
