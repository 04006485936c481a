/* gather_elements.c: GatherElements: the index replaces the position along one axis. */
#include "ref/element_index.h"

enum { DATA, INDICES };

static void take(void *ctx, int64_t k, int64_t place)
{
    gopt_exec *x = ctx;
    gopt_move(x->out[0], k, x->in[DATA], place, 1);
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    return gopt_element_index_each(x, x->in[DATA], x->in[INDICES], take, x, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_element_index_infer(x, e));
    if (!gopt_infer_has(x, DATA) || !gopt_ref_ranked(x, INDICES))
        return GOPT_OK;
    gopt_infer_set(x, 0, x->in[DATA].dtype, x->in[INDICES].rank, x->in[INDICES].dim);
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_GatherElements = {
    .name = "GatherElements",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
