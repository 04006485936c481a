/* ms_quick_gelu.c: com.microsoft QuickGelu: x * sigmoid(alpha * x). */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    return gopt_term_swish(x, gopt_term_operand(x, a[0], GOPT_TERM_FLOAT), gopt_attr_float(attrs, "alpha", 1.702f));
}

const gopt_op gopt_op_ms_QuickGelu = {
    .name = "QuickGelu",
    .domain = "com.microsoft",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
