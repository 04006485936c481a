/* layer_normalization.c: LayerNormalization. */
#include "ref/layer_norm.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_layer_norm_infer(x, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_layer_norm_run(x, false, e);
}

const gopt_op gopt_op_LayerNormalization = {.name = "LayerNormalization",
                                            .domain = "",
                                            .in_min = 2,
                                            .in_max = 3,
                                            .out_min = 1,
                                            .out_max = 3,
                                            .infer = infer,
                                            .run = run};
