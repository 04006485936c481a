/* pow.c: Pow: the result has the base's type, whatever the exponent's. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_expr_op2(x, GOPT_EXPR_POW, gopt_term_operand(x, a[0], GOPT_TERM_NUMBER),
                         gopt_term_operand(x, a[1], GOPT_TERM_NUMBER));
}

const gopt_op gopt_op_Pow = {
    .name = "Pow",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
