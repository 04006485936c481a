/* concat.c: Concat. */
#include "ref/move.h"

#include <limits.h>

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    gopt_tensor *out = x->out[0];
    int axis;
    int64_t at = 0;
    GOPT_TRY(gopt_move_axis(x->attrs, 0, out->rank, &axis, e));
    int64_t row = gopt_axis_of(out, axis).n;
    for (int i = 0; i < x->n_in; i++) {
        gopt_axis_split s = gopt_axis_of(x->in[i], axis);
        for (int64_t o = 0; gopt_tensor_count(x->in[i]) > 0 && o < s.outer; o++)
            gopt_move(out, (o * row + at) * s.inner, x->in[i], o * s.n * s.inner, s.n * s.inner);
        at += s.n;
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

/* Takes input i into the shape so far. */
static gopt_status join(const gopt_infer *x, int i, int axis, gopt_dim *dim, int rank, gopt_err *e)
{
    const gopt_fact *in = &x->in[i];
    if (in->rank != rank)
        return gopt_fail(e, GOPT_EINPUT, "input %d: rank %d, %d expected", i, in->rank, rank);
    for (int d = 0; d < rank; d++) {
        if (d == axis) {
            dim[d] = gopt_dim_add(x->dims, dim[d], in->dim[d]);
            continue;
        }
        gopt_status s = gopt_ref_equal(dim[d], in->dim[d], "size", e);
        if (s)
            return gopt_within(e, s, "input %d: dimension %d", i, d);
        if (!gopt_dim_is_const(dim[d]) && (gopt_dim_is_const(in->dim[d]) || !gopt_dim_is_known(dim[d])))
            dim[d] = in->dim[d];
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim dim[GOPT_RANK_MAX];
    int first = -1, axis = 0;
    bool all = true;
    for (int i = 0; i < x->n_in; i++) {
        GOPT_TRY(gopt_ref_same_type(x, 0, i, e));
        if (gopt_infer_has(x, i))
            gopt_ref_infer_type(x, 0, x->in[i].dtype);
        bool ranked = gopt_ref_ranked(x, i);
        first = first < 0 && ranked ? i : first;
        all &= ranked;
    }
    if (first < 0)
        return GOPT_OK;
    int rank = x->in[first].rank;
    GOPT_TRY(gopt_move_axis(x->attrs, 0, rank, &axis, e));
    for (int d = 0; d < rank; d++)
        dim[d] = d == axis ? gopt_dim_of(0) : x->in[first].dim[d];
    for (int i = 0; i < x->n_in; i++)
        if (gopt_ref_ranked(x, i))
            GOPT_TRY(join(x, i, axis, dim, rank, e));
    dim[axis] = all ? dim[axis] : GOPT_DIM_UNKNOWN;
    gopt_infer_set(x, 0, x->in[first].dtype, rank, dim);
    gopt_move_follow(x, ~0U, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    for (int i = 0; i < x->n_in; i++)
        if (!x->in[i])
            return gopt_fail(e, GOPT_EINPUT, "input %d is missing", i);
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Concat = {
    .name = "Concat",
    .domain = "",
    .in_min = 1,
    .in_max = INT_MAX,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
