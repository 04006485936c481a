/* gather_nd.c: GatherND: slices picked by index tuples. */
#include "ref/tuple_index.h"

enum { DATA, INDICES };

static void take(void *ctx, int64_t k, int64_t place, int64_t n)
{
    gopt_exec *x = ctx;
    gopt_move(x->out[0], k * n, x->in[DATA], place, n);
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    int batch = (int)gopt_attr_int(x->attrs, "batch_dims", 0); /* which inference has checked */
    return gopt_tuple_index_each(x, x->in[DATA], x->in[INDICES], batch, take, x, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim dim[2 * GOPT_RANK_MAX];
    int64_t batch = gopt_attr_int(x->attrs, "batch_dims", 0);
    int width, rank = 0;
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_tuple_index_infer(x, batch, &width, e));
    if (width < 0)
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA], *indices = &x->in[INDICES];
    for (int d = 0; d < indices->rank - 1; d++)
        dim[rank++] = indices->dim[d];
    for (int d = (int)batch + width; d < in->rank; d++)
        dim[rank++] = in->dim[d];
    GOPT_TRY(gopt_move_check_rank(rank, e));
    gopt_infer_set(x, 0, in->dtype, rank, dim);
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_GatherND = {
    .name = "GatherND",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
