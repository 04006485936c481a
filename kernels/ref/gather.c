/* gather.c: Gather: slices along one axis, picked by indices. */
#include "ref/move.h"

enum { DATA, INDICES };

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA], *indices = x->in[INDICES];
    int64_t n = gopt_tensor_count(indices), from;
    int axis;
    GOPT_TRY(gopt_move_axis(x->attrs, 0, in->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(in, axis);
    for (int64_t o = 0; gopt_tensor_count(x->out[0]) > 0 && o < s.outer; o++) {
        for (int64_t k = 0; k < n; k++) {
            GOPT_TRY(gopt_move_index(indices, k, s.n, &from, e));
            gopt_move(x->out[0], (o * n + k) * s.inner, in, (o * s.n + from) * s.inner, s.inner);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim dim[2 * GOPT_RANK_MAX];
    int axis, rank = 0;
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_ref_type(x, INDICES, GOPT_REF_INDEX, "indices", e));
    if (!gopt_ref_ranked(x, DATA) || !gopt_ref_ranked(x, INDICES))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA], *indices = &x->in[INDICES];
    GOPT_TRY(gopt_move_axis(x->attrs, 0, in->rank, &axis, e));
    for (int d = 0; d < axis; d++)
        dim[rank++] = in->dim[d];
    for (int d = 0; d < indices->rank; d++)
        dim[rank++] = indices->dim[d];
    for (int d = axis + 1; d < in->rank; d++)
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

const gopt_op gopt_op_Gather = {
    .name = "Gather",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
