/* leaky_relu.c: LeakyRelu: x, or alpha * x below 0. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    return gopt_term_bend(x, v, gopt_term_with(x, GOPT_EXPR_MUL, v, gopt_attr_float(attrs, "alpha", 0.01f)));
}

const gopt_op gopt_op_LeakyRelu = {
    .name = "LeakyRelu",
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
