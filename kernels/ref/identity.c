/* identity.c: Identity. */
#include "ref/move.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)x, (void)attrs, (void)n;
    return a[0];
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    (void)e;
    if (gopt_infer_has(x, 0))
        gopt_move_infer_view(x, x->in[0].rank, x->in[0].dim);
    return GOPT_OK;
}

const gopt_op gopt_op_Identity = {
    .name = "Identity",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE | GOPT_TRAIT_VIEW,
    .infer = infer,
    .run = gopt_move_run_view,
    .expr = expr,
};
