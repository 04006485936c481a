/* max_unpool.c: MaxUnpool: puts every value back where MaxPool found it; the rest is zero. */
#include "ref/operand.h"
#include "ref/window.h"

enum { X, INDICES, SHAPE };

static gopt_status infer_size(gopt_infer *x, const gopt_window *w, int axis, gopt_dim *out, gopt_err *e)
{
    gopt_dim last = gopt_dim_sub(x->dims, x->in[X].dim[2 + axis], gopt_dim_of(1));
    int64_t more = w->kernel[axis] - w->pad[axis] - w->pad_end[axis];
    *out = gopt_dim_add(x->dims, gopt_dim_mul(x->dims, last, gopt_dim_of(w->stride[axis])), gopt_dim_of(more));
    if (gopt_dim_is_const(*out) && out->k < 0)
        return gopt_fail(e, GOPT_EINPUT, "spatial axis %d: padding leaves no output", axis);
    return GOPT_OK;
}

/* The shape that kernel, strides and pads give: indices count in it. */
static gopt_status plain_shape(gopt_infer *x, gopt_dim *dim, gopt_err *e)
{
    const gopt_fact *in = &x->in[X];
    gopt_window w;
    GOPT_TRY(gopt_window_read(&w, x->attrs, in->rank - 2, e));
    dim[0] = in->dim[0];
    dim[1] = in->dim[1];
    for (int i = 0; i < w.n; i++) {
        if (!w.kernel[i])
            return gopt_fail(e, GOPT_EINPUT, "attribute kernel_shape is missing");
        GOPT_TRY(infer_size(x, &w, i, &dim[2 + i], e));
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[X];
    gopt_dim dim[GOPT_RANK_MAX];
    int64_t n;
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_type(x, INDICES, GOPT_REF_INDEX, "I", e));
    GOPT_TRY(gopt_ref_type(x, SHAPE, GOPT_REF_INDEX, "output_shape", e));
    GOPT_TRY(gopt_ref_rank(x, X, 3, GOPT_RANK_MAX, "X", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_rank(x, INDICES, in->rank, in->rank, "I", e));
    for (int d = 0; gopt_ref_ranked(x, INDICES) && d < in->rank; d++)
        GOPT_TRY(gopt_ref_equal(in->dim[d], x->in[INDICES].dim[d], "shapes of X and I", e));
    GOPT_TRY(plain_shape(x, dim, e));
    if (gopt_infer_has(x, SHAPE)) {
        GOPT_TRY(gopt_ref_vector(x, SHAPE, gopt_dim_of(in->rank), "output_shape", e));
        const gopt_dim *shape = gopt_infer_ints(x, SHAPE, &n);
        for (int d = 0; d < in->rank; d++) {
            gopt_dim to = shape ? shape[d] : GOPT_DIM_UNKNOWN;
            if (gopt_dim_is_const(to) && (to.k < 0 || (gopt_dim_is_const(dim[d]) && to.k < dim[d].k)))
                return gopt_fail(e, GOPT_EINPUT, "input output_shape: %lld in axis %d, at least %lld expected",
                                 (long long)to.k, d, (long long)dim[d].k);
            dim[d] = to;
        }
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    return GOPT_OK;
}

/* Indices count in the plain shape, which lies at the beginning of every axis of the output. */
static int64_t place(const gopt_tensor *out, const int64_t *plain, int64_t index)
{
    int64_t at = 0, stride = 1;
    for (int d = out->rank - 1; d >= 0; d--) {
        at += index % plain[d] * stride;
        index /= plain[d];
        stride *= out->dim[d];
    }
    return at;
}

static gopt_status read_plain(const gopt_exec *x, int64_t *plain, gopt_err *e)
{
    const gopt_tensor *in = x->in[X];
    gopt_fact fact = {.dtype = in->dtype, .rank = in->rank};
    gopt_dim dim[GOPT_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        fact.dim[d] = gopt_dim_of(in->dim[d]);
    gopt_infer shape = {.attrs = x->attrs, .n_in = 1, .in = &fact};
    GOPT_TRY(plain_shape(&shape, dim, e));
    for (int d = 0; d < in->rank; d++)
        plain[d] = dim[d].k;
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *out;
    int64_t plain[GOPT_RANK_MAX];
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_plain(x, plain, e));
    GOPT_TRY(gopt_ref_load(x, X, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &out, e));
    int64_t cells = gopt_ref_count(plain, x->in[X]->rank);
    for (int64_t i = 0; i < gopt_tensor_count(x->in[X]); i++) {
        int64_t index = gopt_tensor_get_int(x->in[INDICES], i);
        if (index < 0 || index >= cells)
            return gopt_fail(e, GOPT_EINPUT, "index %lld is outside [0, %lld)", (long long)index, (long long)cells);
        out[place(x->out[0], plain, index)] = in[i];
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_MaxUnpool = {.name = "MaxUnpool",
                                   .domain = "",
                                   .in_min = 2,
                                   .in_max = 3,
                                   .out_min = 1,
                                   .out_max = 1,
                                   .infer = infer,
                                   .run = run};
