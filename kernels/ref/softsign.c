/* softsign.c: Softsign: x / (1 + |x|). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    return gopt_expr_op2(x, GOPT_EXPR_DIV, v, gopt_term_with(x, GOPT_EXPR_ADD, gopt_expr_op1(x, GOPT_EXPR_ABS, v), 1));
}

const gopt_op gopt_op_Softsign = {
    .name = "Softsign",
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
