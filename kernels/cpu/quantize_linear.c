/* quantize_linear: QuantizeLinear, where it stands alone. */
#include "cpu/rescale.h"

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    return gopt_rescale_of(NULL, g, "QuantizeLinear", NULL);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    gopt_rescale_of(memory, g, "QuantizeLinear", gopt_simd_for(t->isa));
}

const gopt_kernel gopt_kernel_quantize_linear = {
    .name = "quantize_linear",
    .doc = "floats to small integers, by given scales",
    .revision = 1,
    .fits = fits,
    .cost = gopt_rescale_cost,
    .work = gopt_rescale_work,
    .spec_bytes = sizeof(gopt_rescale),
    .prepare = prepare,
    .run = gopt_rescale_run,
};
