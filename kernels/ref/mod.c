/* mod.c: Mod: with the sign of the divisor, or of the dividend with fmod. */
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    bool fmod = gopt_attr_int(attrs, "fmod", 0);
    return gopt_term_binary(x, fmod ? GOPT_EXPR_FMOD : GOPT_EXPR_MOD, a, GOPT_TERM_NUMBER);
}

const gopt_op gopt_op_Mod = {
    .name = "Mod",
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
