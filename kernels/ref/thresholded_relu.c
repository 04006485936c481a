/* thresholded_relu.c: ThresholdedRelu: x where it is above alpha, else 0. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    int above = gopt_term_with(x, GOPT_EXPR_GT, v, gopt_attr_float(attrs, "alpha", 1));
    return gopt_expr_op3(x, GOPT_EXPR_SELECT, above, v, gopt_expr_float(x, 0));
}

const gopt_op gopt_op_ThresholdedRelu = {
    .name = "ThresholdedRelu",
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
