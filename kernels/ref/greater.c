/* greater.c: Greater. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_binary(x, GOPT_EXPR_GT, a, GOPT_TERM_NUMBER);
}

const gopt_op gopt_op_Greater = {
    .name = "Greater",
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
