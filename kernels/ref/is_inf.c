/* is_inf.c: IsInf: infinities of either sign or of one. */
#include "ref/term.h"

#include <math.h>

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    bool negative = gopt_attr_int(attrs, "detect_negative", 1), positive = gopt_attr_int(attrs, "detect_positive", 1);
    if (negative && positive)
        return gopt_expr_op1(x, GOPT_EXPR_ISINF, v);
    if (!negative && !positive)
        return v < 0 ? -1 : gopt_expr_int(x, GOPT_CLASS_BOOL, 0);
    return gopt_term_with(x, GOPT_EXPR_EQ, v, positive ? INFINITY : -INFINITY);
}

const gopt_op gopt_op_IsInf = {
    .name = "IsInf",
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
