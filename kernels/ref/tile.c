/* tile.c: Tile: the input repeated along every axis. */
#include "ref/move.h"

enum { DATA, REPEATS };

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA];
    gopt_tensor *out = x->out[0];
    int last = out->rank - 1;
    int64_t index[GOPT_RANK_MAX] = {0}, stride[GOPT_RANK_MAX], to = 0;
    int64_t row = out->rank ? in->dim[last] : 1, rows = out->rank ? out->dim[last] : 1;
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    gopt_dims_strides(in->dim, in->rank, stride);
    do {
        int64_t from = 0;
        for (int d = 0; d < last; d++)
            from += index[d] % in->dim[d] * stride[d];
        for (int64_t i = 0; i < rows; i += row, to += row)
            gopt_move(out, to, in, from, row);
        GOPT_TRY(gopt_ref_tick(x, e));
    } while (gopt_ref_next(index, out->dim, last));
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_ref_type(x, REPEATS, GOPT_REF_INDEX, "repeats", e));
    if (!gopt_ref_ranked(x, DATA))
        return GOPT_OK;
    gopt_fact in = x->in[DATA];
    GOPT_TRY(gopt_ref_vector(x, REPEATS, gopt_dim_of(in.rank), "repeats", e));
    const gopt_dim *repeats = gopt_move_content(x, REPEATS, &n);
    for (int d = 0; d < in.rank; d++) {
        gopt_dim times = repeats ? repeats[d] : GOPT_DIM_UNKNOWN;
        if (gopt_dim_is_const(times) && times.k < 0)
            return gopt_fail(e, GOPT_EINPUT, "input repeats: %lld times", (long long)times.k);
        in.dim[d] = gopt_dim_mul(x->dims, in.dim[d], times);
    }
    gopt_infer_set(x, 0, in.dtype, in.rank, in.dim);
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Tile = {
    .name = "Tile",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
