/* center_crop_pad.c: CenterCropPad: the middle of the input, or the input in the middle of zeros. */
#include <string.h>

#include "ref/operand.h"

static gopt_status read_axes(gopt_attrs a, int rank, int *axis, int *n, gopt_err *e)
{
    int64_t count;
    const int64_t *v = gopt_attr_ints(a, "axes", &count);
    if (count > rank)
        return gopt_fail(e, GOPT_EINPUT, "attribute axes: %lld values for rank %d", (long long)count, rank);
    *n = v ? (int)count : rank;
    for (int i = 0; i < *n; i++) {
        axis[i] = i;
        gopt_status s = v ? gopt_axis(v[i], rank, &axis[i], e) : GOPT_OK;
        if (s)
            return gopt_within(e, s, "attribute axes");
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    int axis[GOPT_RANK_MAX], n = 0;
    int64_t count;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_REAL | GOPT_REF_BOOL, "input_data", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_INDEX, "shape", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(read_axes(x->attrs, in->rank, axis, &n, e));
    GOPT_TRY(gopt_ref_vector(x, 1, gopt_dim_of(n), "shape", e));
    const gopt_dim *shape = gopt_infer_ints(x, 1, &count);
    gopt_fact out = *in;
    for (int i = 0; i < n; i++) {
        out.dim[axis[i]] = shape ? shape[i] : GOPT_DIM_UNKNOWN;
        if (shape && gopt_dim_is_const(shape[i]) && shape[i].k < 0)
            return gopt_fail(e, GOPT_EINPUT, "input shape: %lld is negative", (long long)shape[i].k);
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, out.dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[0];
    gopt_tensor *out = x->out[0];
    size_t size = (size_t)gopt_dtype_bits(in->dtype) / 8;
    int64_t index[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(out);
    memset(out->data, 0, gopt_tensor_bytes(out));
    for (int64_t i = 0; i < n; i++, gopt_ref_next(index, out->dim, out->rank)) {
        int64_t at = 0;
        bool inside = true;
        for (int d = 0; d < in->rank; d++) {
            int64_t more = in->dim[d] - out->dim[d], from = index[d] + (more > 0 ? more / 2 : -(-more / 2));
            inside = inside && from >= 0 && from < in->dim[d];
            at = at * in->dim[d] + from;
        }
        if (inside)
            memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)at * size, size);
    }
    return GOPT_OK;
}

const gopt_op gopt_op_CenterCropPad = {.name = "CenterCropPad",
                                       .domain = "",
                                       .in_min = 2,
                                       .in_max = 2,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .infer = infer,
                                       .run = run};
