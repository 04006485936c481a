/* where.c: Where, for elements of any type. */
#include "ref/move.h"
#include "ref/term.h"

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    int test = gopt_term_operand(x, a[0], GOPT_TERM_BOOL);
    return gopt_expr_op3(x, GOPT_EXPR_SELECT, test, gopt_term_like(x, a[1], a[2]), a[2]);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_BOOL, "condition", e));
    GOPT_TRY(gopt_ref_same_type(x, 1, 2, e));
    for (int i = 0; i < x->n_in; i++)
        if (!gopt_infer_has(x, i))
            return GOPT_OK;
    if (gopt_move_is_number(x->in[1].dtype))
        return gopt_pointwise_infer(x, e);
    return gopt_move_infer_broadcast(x, x->in[1].dtype, e);
}

static void choose(gopt_exec *x, int64_t to, const int64_t *from)
{
    int i = gopt_tensor_get_int(x->in[0], from[0]) ? 1 : 2;
    gopt_move(x->out[0], to, x->in[i], from[i], 1);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    if (gopt_move_is_number(gopt_move_dtype(x, 1)))
        return gopt_pointwise_run(x, e);
    return gopt_move_run_broadcast(x, choose, e);
}

const gopt_op gopt_op_Where = {
    .name = "Where",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = infer,
    .run = run,
    .expr = expr,
};
