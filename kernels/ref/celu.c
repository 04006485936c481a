/* celu.c: Celu: max(0, x) + min(0, alpha * (e^(x / alpha) - 1)). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    double alpha = gopt_attr_float(attrs, "alpha", 1);
    int bend = gopt_term_with(x, GOPT_EXPR_MUL,
                              gopt_expr_op1(x, GOPT_EXPR_EXPM1, gopt_term_with(x, GOPT_EXPR_DIV, v, alpha)), alpha);
    int low = gopt_term_with(x, GOPT_EXPR_MIN, bend, 0);
    return gopt_expr_op2(x, GOPT_EXPR_ADD, gopt_term_with(x, GOPT_EXPR_MAX, v, 0), low);
}

const gopt_op gopt_op_Celu = {
    .name = "Celu",
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
