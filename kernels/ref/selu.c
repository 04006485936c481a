/* selu.c: Selu: gamma * (x, or alpha * (e^x - 1) below 0). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    int bend = gopt_term_with(x, GOPT_EXPR_MUL, gopt_expr_op1(x, GOPT_EXPR_EXPM1, v),
                              gopt_attr_float(attrs, "alpha", 1.67326319217681884765625));
    return gopt_term_with(x, GOPT_EXPR_MUL, gopt_term_bend(x, v, bend),
                          gopt_attr_float(attrs, "gamma", 1.05070102214813232421875));
}

const gopt_op gopt_op_Selu = {
    .name = "Selu",
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
