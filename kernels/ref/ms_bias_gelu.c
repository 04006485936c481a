/* ms_bias_gelu.c: com.microsoft BiasGelu: exact Gelu of x + bias. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_gelu(x, gopt_term_binary(x, GOPT_EXPR_ADD, a, GOPT_TERM_FLOAT));
}

const gopt_op gopt_op_ms_BiasGelu = {
    .name = "BiasGelu",
    .domain = "com.microsoft",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
