/* ms_skip_simplified_layer_normalization.c: com.microsoft.SkipSimplifiedLayerNormalization. */
#include "ref/skip_norm.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_skip_norm_infer(x, true, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_skip_norm_run(x, true, e);
}

const gopt_op gopt_op_ms_SkipSimplifiedLayerNormalization = {.name = "SkipSimplifiedLayerNormalization",
                                                             .domain = "com.microsoft",
                                                             .in_min = 3,
                                                             .in_max = 4,
                                                             .out_min = 1,
                                                             .out_max = 4,
                                                             .infer = infer,
                                                             .run = run};
