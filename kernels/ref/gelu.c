/* gelu.c: Gelu, exact or by tanh. */
#include "ref/term.h"

#include <string.h>

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    int v = gopt_term_operand(x, a[0], GOPT_TERM_FLOAT);
    const char *approximate = gopt_attr_string(attrs, "approximate", "none");
    if (!strcmp(approximate, "tanh"))
        return gopt_term_gelu_tanh(x, v);
    return strcmp(approximate, "none") != 0 ? -1 : gopt_term_gelu(x, v);
}

const gopt_op gopt_op_Gelu = {
    .name = "Gelu",
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
