/* min.c: Min: of any number of operands. */
#include "ref/term.h"

#include <limits.h>

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs;
    return gopt_term_fold(x, GOPT_EXPR_MIN, a, n, GOPT_TERM_NUMBER);
}

const gopt_op gopt_op_Min = {
    .name = "Min",
    .domain = "",
    .in_min = 1,
    .in_max = INT_MAX,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
