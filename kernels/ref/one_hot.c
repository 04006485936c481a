/* one_hot.c: OneHot: a new axis of `depth` elements, on where the index is and off elsewhere. */
#include "ref/move.h"

enum { INDICES, DEPTH, VALUES };

/* The number of classes where it is known. */
static gopt_dim depth_of(gopt_infer *x)
{
    int64_t n;
    const gopt_dim *content = gopt_move_content(x, DEPTH, &n);
    const gopt_tensor *t = gopt_infer_has(x, DEPTH) ? x->in[DEPTH].constant : NULL;
    if (content && n == 1)
        return content[0];
    return t && gopt_tensor_count(t) == 1 ? gopt_dim_of(gopt_tensor_get_int(t, 0)) : GOPT_DIM_UNKNOWN;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim dim[GOPT_RANK_MAX];
    int axis;
    GOPT_TRY(gopt_ref_type(x, INDICES, GOPT_REF_REAL, "indices", e));
    GOPT_TRY(gopt_ref_type(x, DEPTH, GOPT_REF_REAL, "depth", e));
    GOPT_TRY(gopt_ref_scalar(x, DEPTH, "depth", e));
    GOPT_TRY(gopt_ref_vector(x, VALUES, gopt_dim_of(2), "values", e));
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, VALUES));
    if (!gopt_ref_ranked(x, INDICES) || !gopt_infer_has(x, VALUES))
        return GOPT_OK;
    int rank = x->in[INDICES].rank + 1;
    gopt_dim depth = depth_of(x);
    GOPT_TRY(gopt_move_check_rank(rank, e));
    GOPT_TRY(gopt_move_axis(x->attrs, -1, rank, &axis, e));
    if (gopt_dim_is_const(depth) && depth.k < 0)
        return gopt_fail(e, GOPT_EINPUT, "input depth: %lld", (long long)depth.k);
    for (int d = 0, from = 0; d < rank; d++)
        dim[d] = d == axis ? depth : x->in[INDICES].dim[from++];
    gopt_infer_set(x, 0, x->in[VALUES].dtype, rank, dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int axis;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *indices = x->in[INDICES];
    gopt_tensor *out = x->out[0];
    GOPT_TRY(gopt_move_axis(x->attrs, -1, out->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(out, axis);
    for (int64_t o = 0; gopt_tensor_count(out) > 0 && o < s.outer; o++) {
        gopt_move_fill(out, o * s.n * s.inner, s.n * s.inner, x->in[VALUES], 0);
        for (int64_t i = 0; i < s.inner; i++) {
            int64_t v = gopt_tensor_get_int(indices, o * s.inner + i);
            if (v >= -s.n && v < s.n)
                gopt_move(out, (o * s.n + (v < 0 ? v + s.n : v)) * s.inner + i, x->in[VALUES], 1, 1);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_OneHot = {
    .name = "OneHot",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
