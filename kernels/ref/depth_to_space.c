/* depth_to_space.c: DepthToSpace: channels become blocks of pixels. */
#include "ref/move.h"

#include <string.h>

static gopt_status read_block(gopt_attrs a, gopt_dim *block, bool *column_row, gopt_err *e)
{
    const char *mode = gopt_attr_string(a, "mode", "DCR");
    *block = gopt_dim_of(gopt_attr_int(a, "blocksize", 0));
    *column_row = !strcmp(mode, "CRD");
    if (block->k < 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute blocksize: %lld", (long long)block->k);
    if (!*column_row && strcmp(mode, "DCR") != 0)
        return gopt_fail(e, GOPT_EINPUT, "attribute mode: unknown value \"%s\"", mode);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim block;
    bool column_row;
    GOPT_TRY(read_block(x->attrs, &block, &column_row, e));
    GOPT_TRY(gopt_ref_rank(x, 0, 4, 4, "input", e));
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, 0));
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    gopt_fact in = x->in[0];
    gopt_dim square = gopt_dim_mul(x->dims, block, block), rest = gopt_dim_mod(x->dims, in.dim[1], square);
    if (gopt_dim_is_const(rest) && rest.k != 0)
        return gopt_fail(e, GOPT_EINPUT, "%lld channels do not divide by %lld", (long long)in.dim[1].k,
                         (long long)square.k);
    in.dim[1] = gopt_dim_div(x->dims, in.dim[1], square);
    in.dim[2] = gopt_dim_mul(x->dims, in.dim[2], block);
    in.dim[3] = gopt_dim_mul(x->dims, in.dim[3], block);
    gopt_infer_set(x, 0, in.dtype, in.rank, in.dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_dim block;
    bool column_row;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_block(x->attrs, &block, &column_row, e));
    const gopt_tensor *in = x->in[0];
    gopt_tensor *out = x->out[0];
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    int64_t b = block.k, c = out->dim[1], h = in->dim[2], w = in->dim[3], image = h * w;
    /* both sides as N, C, H, block row, W, block column of the output */
    gopt_tensor view = {.dtype = out->dtype, .rank = 6, .dim = {in->dim[0], c, h, b, w, b}, .data = out->data};
    const int64_t depth_first[] = {c * b * b * image, image, w, b * c * image, 1, c * image};
    const int64_t column_first[] = {c * b * b * image, b * b * image, w, b * image, 1, image};
    return gopt_move_strided(x, &view, in, 0, column_row ? column_first : depth_first, e);
}

const gopt_op gopt_op_DepthToSpace = {
    .name = "DepthToSpace",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
