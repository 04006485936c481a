/* erf.c: Erf. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    int v = gopt_term_unary(x, GOPT_EXPR_ERF, a[0], GOPT_TERM_NUMBER);
    return v < 0 ? -1 : gopt_expr_cast(x, v, x->at[a[0]].dtype);
}

const gopt_op gopt_op_Erf = {
    .name = "Erf",
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
