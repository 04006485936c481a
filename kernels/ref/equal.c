/* equal.c: Equal, also of strings. */
#include "ref/move.h"
#include "ref/term.h"

#include <string.h>

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)attrs, (void)n;
    return gopt_term_binary(x, GOPT_EXPR_EQ, a, GOPT_TERM_ANY);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    bool strings = gopt_move_infer_dtype(x, 0) == GOPT_DTYPE_STRING && gopt_move_infer_dtype(x, 1) == GOPT_DTYPE_STRING;
    return strings ? gopt_move_infer_broadcast(x, GOPT_DTYPE_BOOL, e) : gopt_pointwise_infer(x, e);
}

static void compare(gopt_exec *x, int64_t to, const int64_t *from)
{
    const char *a = gopt_move_string(x->in[0], from[0]), *b = gopt_move_string(x->in[1], from[1]);
    gopt_tensor_set_int(x->out[0], to, !strcmp(a, b));
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    if (gopt_move_dtype(x, 0) == GOPT_DTYPE_STRING)
        return gopt_move_run_broadcast(x, compare, e);
    return gopt_pointwise_run(x, e);
}

const gopt_op gopt_op_Equal = {
    .name = "Equal",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE | GOPT_TRAIT_COMMUTES,
    .infer = infer,
    .run = run,
    .expr = expr,
};
