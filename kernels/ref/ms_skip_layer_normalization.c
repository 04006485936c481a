/* ms_skip_layer_normalization.c: com.microsoft.SkipLayerNormalization. */
#include "ref/skip_norm.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_skip_norm_infer(x, false, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_skip_norm_run(x, false, e);
}

const gopt_op gopt_op_ms_SkipLayerNormalization = {.name = "SkipLayerNormalization",
                                                   .domain = "com.microsoft",
                                                   .in_min = 3,
                                                   .in_max = 5,
                                                   .out_min = 1,
                                                   .out_max = 4,
                                                   .infer = infer,
                                                   .run = run};
