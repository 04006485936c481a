/* ms_fast_gelu.c: com.microsoft FastGelu: Gelu by tanh of x + bias; the bias may be missing. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs;
    bool biased = n > 1 && a[1] >= 0;
    return gopt_term_gelu_tanh(x, gopt_term_fold(x, GOPT_EXPR_ADD, a, biased ? 2 : 1, GOPT_TERM_FLOAT));
}

const gopt_op gopt_op_ms_FastGelu = {
    .name = "FastGelu",
    .domain = "com.microsoft",
    .in_min = 1,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
