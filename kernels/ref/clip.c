/* clip.c: Clip: min(max(x, low), high); either bound may be missing. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_NUMBER);
    if (n > 1 && a[1] >= 0)
        v = gopt_expr_op2(x, GOPT_EXPR_MAX, v, gopt_term_like(x, a[1], a[0]));
    if (n > 2 && a[2] >= 0)
        v = gopt_expr_op2(x, GOPT_EXPR_MIN, v, gopt_term_like(x, a[2], a[0]));
    return v;
}

const gopt_op gopt_op_Clip = {
    .name = "Clip",
    .domain = "",
    .in_min = 1,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
