/* mish.c: Mish: x * tanh(log(1 + e^x)). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    return gopt_expr_op2(x, GOPT_EXPR_MUL, v, gopt_expr_op1(x, GOPT_EXPR_TANH, gopt_term_softplus(x, v)));
}

const gopt_op gopt_op_Mish = {
    .name = "Mish",
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
