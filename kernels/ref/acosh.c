/* acosh.c: Acosh. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_unary(x, GOPT_EXPR_ACOSH, a[0], GOPT_TERM_FLOAT);
}

const gopt_op gopt_op_Acosh = {
    .name = "Acosh",
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
