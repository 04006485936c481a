/* prelu.c: PRelu: x, or slope * x below 0; the slope broadcasts to x, not x to the slope. */
#include "ref/operand.h"
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_bend(x, a[0], gopt_term_binary(x, GOPT_EXPR_MUL, a, GOPT_TERM_NUMBER));
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_broadcasts(x, 1, 0, "slope", e));
    GOPT_TRY(gopt_pointwise_infer(x, e));
    if (gopt_ref_ranked(x, 0) && x->out[0].rank >= 0)
        gopt_infer_set(x, 0, x->out[0].dtype, x->in[0].rank, x->in[0].dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return gopt_pointwise_run(x, e);
}

const gopt_op gopt_op_PRelu = {
    .name = "PRelu",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = infer,
    .run = run,
    .expr = expr,
};
