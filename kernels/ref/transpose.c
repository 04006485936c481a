/* transpose.c: Transpose: without perm the dimensions are reversed. */
#include "ref/move.h"

static gopt_status read_perm(gopt_attrs a, int rank, int *perm, gopt_err *e)
{
    int64_t n;
    bool seen[GOPT_RANK_MAX] = {0};
    const int64_t *v = gopt_attr_ints(a, "perm", &n);
    if (v && n != rank)
        return gopt_fail(e, GOPT_EINPUT, "attribute perm: %lld values, %d expected", (long long)n, rank);
    for (int d = 0; d < rank; d++) {
        if (v && (v[d] < 0 || v[d] >= rank)) /* not even counted from the end, as axes are elsewhere */
            return gopt_fail(e, GOPT_EINPUT, "attribute perm: axis %lld is outside [0, %d)", (long long)v[d], rank);
        perm[d] = v ? (int)v[d] : rank - 1 - d;
        if (seen[perm[d]])
            return gopt_fail(e, GOPT_EINPUT, "attribute perm: axis %d comes twice", perm[d]);
        seen[perm[d]] = true;
    }
    return GOPT_OK;
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[0];
    int perm[GOPT_RANK_MAX];
    int64_t stride[GOPT_RANK_MAX], moved[GOPT_RANK_MAX];
    GOPT_TRY(read_perm(x->attrs, in->rank, perm, e));
    gopt_dims_strides(in->dim, in->rank, stride);
    for (int d = 0; d < in->rank; d++)
        moved[d] = stride[perm[d]];
    return gopt_move_strided(x, x->out[0], in, 0, moved, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int perm[GOPT_RANK_MAX];
    gopt_dim dim[GOPT_RANK_MAX];
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, 0));
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    const gopt_fact *in = &x->in[0];
    GOPT_TRY(read_perm(x->attrs, in->rank, perm, e));
    for (int d = 0; d < in->rank; d++)
        dim[d] = in->dim[perm[d]];
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Transpose = {
    .name = "Transpose",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
