/* shrink.c: Shrink: moves x towards 0 by bias; what lies within lambd of 0 becomes 0. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_NUMBER);
    double lambd = gopt_attr_float(attrs, "lambd", 0.5), bias = gopt_attr_float(attrs, "bias", 0);
    int low = gopt_term_with(x, GOPT_EXPR_LT, v, -lambd), high = gopt_term_with(x, GOPT_EXPR_GT, v, lambd);
    int up = gopt_term_with(x, GOPT_EXPR_ADD, v, bias), down = gopt_term_with(x, GOPT_EXPR_SUB, v, bias);
    int inner = gopt_expr_op3(x, GOPT_EXPR_SELECT, high, down, gopt_expr_float(x, 0));
    int moved = gopt_expr_op3(x, GOPT_EXPR_SELECT, low, up, inner);
    return moved < 0 ? -1 : gopt_expr_cast(x, moved, x->at[v].dtype);
}

const gopt_op gopt_op_Shrink = {
    .name = "Shrink",
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
