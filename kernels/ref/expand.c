/* expand.c: Expand: broadcasts the input and a shape together. */
#include "ref/move.h"

enum { DATA, SHAPE };

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA], *out = x->out[0];
    int64_t stride[GOPT_RANK_MAX];
    gopt_ref_broadcast_strides(in->dim, in->rank, out->dim, out->rank, stride);
    return gopt_move_strided(x, x->out[0], in, 0, stride, e);
}

/* The shape as a fact; rank -1 where not even its length is known. */
static gopt_status read_shape(gopt_infer *x, gopt_fact *shape, gopt_err *e)
{
    int64_t n;
    *shape = (gopt_fact){.rank = -1};
    if (!gopt_ref_ranked(x, SHAPE) || !gopt_dim_is_const(x->in[SHAPE].dim[0]))
        return GOPT_OK;
    GOPT_TRY(gopt_move_check_rank(x->in[SHAPE].dim[0].k, e));
    shape->rank = (int)x->in[SHAPE].dim[0].k;
    const gopt_dim *content = gopt_move_content(x, SHAPE, &n);
    for (int d = 0; d < shape->rank; d++) {
        shape->dim[d] = content ? content[d] : GOPT_DIM_UNKNOWN;
        if (gopt_dim_is_const(shape->dim[d]) && shape->dim[d].k < 0)
            return gopt_fail(e, GOPT_EINPUT, "input shape: dimension %d is %lld", d, (long long)shape->dim[d].k);
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_fact shape, out = {0};
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_ref_type(x, SHAPE, GOPT_REF_INDEX, "shape", e));
    GOPT_TRY(gopt_ref_vector(x, SHAPE, GOPT_DIM_UNKNOWN, "shape", e));
    GOPT_TRY(read_shape(x, &shape, e));
    if (!gopt_ref_ranked(x, DATA) || shape.rank < 0)
        return GOPT_OK;
    GOPT_TRY(gopt_infer_broadcast(x, &x->in[DATA], &shape, &out, e));
    gopt_infer_set(x, 0, x->in[DATA].dtype, out.rank, out.dim);
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Expand = {
    .name = "Expand",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
