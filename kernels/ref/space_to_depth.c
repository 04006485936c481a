/* space_to_depth.c: SpaceToDepth: blocks of pixels become channels. */
#include "ref/move.h"

static gopt_status shrink(const gopt_infer *x, gopt_dim block, gopt_dim *dim, gopt_err *e)
{
    gopt_dim rest = gopt_dim_mod(x->dims, *dim, block);
    if (gopt_dim_is_const(rest) && rest.k != 0)
        return gopt_fail(e, GOPT_EINPUT, "%lld pixels do not divide by %lld", (long long)dim->k, (long long)block.k);
    *dim = gopt_dim_div(x->dims, *dim, block);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim block = gopt_dim_of(gopt_attr_int(x->attrs, "blocksize", 0));
    if (block.k < 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute blocksize: %lld", (long long)block.k);
    GOPT_TRY(gopt_ref_rank(x, 0, 4, 4, "input", e));
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, 0));
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    gopt_fact in = x->in[0];
    in.dim[1] = gopt_dim_mul(x->dims, in.dim[1], gopt_dim_mul(x->dims, block, block));
    GOPT_TRY(shrink(x, block, &in.dim[2], e));
    GOPT_TRY(shrink(x, block, &in.dim[3], e));
    gopt_infer_set(x, 0, in.dtype, in.rank, in.dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[0];
    gopt_tensor *out = x->out[0];
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    int64_t b = gopt_attr_int(x->attrs, "blocksize", 0), c = in->dim[1], w = in->dim[3], image = in->dim[2] * w;
    /* the output as N, block row, block column, C, H, W */
    gopt_tensor view = {
        .dtype = out->dtype, .rank = 6, .dim = {in->dim[0], b, b, c, out->dim[2], out->dim[3]}, .data = out->data};
    const int64_t stride[] = {c * image, w, 1, image, b * w, b};
    return gopt_move_strided(x, &view, in, 0, stride, e);
}

const gopt_op gopt_op_SpaceToDepth = {
    .name = "SpaceToDepth",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
