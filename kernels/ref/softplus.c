/* softplus.c: Softplus: log(1 + e^x). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_softplus(x, gopt_term_operand(x, a[0], GOPT_TERM_FLOAT));
}

const gopt_op gopt_op_Softplus = {
    .name = "Softplus",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
