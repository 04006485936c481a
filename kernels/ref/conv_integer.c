/* conv_integer.c: ConvInteger. */
#include "ref/quantized_conv.h"

static const gopt_quantized_conv inputs = {.x = 0, .w = 1, .x_zero = 2, .w_zero = 3};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_quantized_conv_infer(x, &inputs, GOPT_DTYPE_I32, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_quantized_conv_run(x, &inputs, NULL, &y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_ConvInteger = {.name = "ConvInteger",
                                     .domain = "",
                                     .in_min = 2,
                                     .in_max = 4,
                                     .out_min = 1,
                                     .out_max = 1,
                                     .traits = GOPT_TRAIT_HEAVY,
                                     .infer = infer,
                                     .run = run};
