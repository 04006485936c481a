/* bit_shift.c: BitShift. */
#include "ref/term.h"

#include <string.h>

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    const char *direction = gopt_attr_string(attrs, "direction", "");
    bool left = !strcmp(direction, "LEFT");
    if (!left && strcmp(direction, "RIGHT") != 0)
        return -1;
    return gopt_term_binary(x, left ? GOPT_EXPR_SHL : GOPT_EXPR_SHR, a, GOPT_TERM_WHOLE);
}

const gopt_op gopt_op_BitShift = {
    .name = "BitShift",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = gopt_pointwise_infer,
    .run = gopt_pointwise_run,
    .expr = expr,
};
