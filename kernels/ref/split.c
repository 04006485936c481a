/* split.c: Split: into given sizes, or into equal ones of which the last may be smaller. */
#include "ref/move.h"

#include <limits.h>

enum { DATA, SIZES };

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA];
    int axis;
    int64_t at = 0;
    GOPT_TRY(gopt_move_axis(x->attrs, 0, in->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(in, axis);
    const gopt_tensor *sizes = gopt_ref_in(x, SIZES);
    int64_t chunk = s.n / x->n_out + (s.n % x->n_out != 0);
    for (int k = 0; k < x->n_out; k++) {
        int64_t n = sizes ? gopt_tensor_get_int(sizes, k) : GOPT_MIN(chunk, s.n - at);
        for (int64_t o = 0; x->out[k] && gopt_tensor_count(x->out[k]) > 0 && o < s.outer; o++)
            gopt_move(x->out[k], o * n * s.inner, in, (o * s.n + at) * s.inner, n * s.inner);
        at += n;
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status check_count(const gopt_infer *x, gopt_err *e)
{
    int64_t n = gopt_attr_int(x->attrs, "num_outputs", x->n_out);
    if (x->n_out < 1)
        return gopt_fail(e, GOPT_EINPUT, "it has no outputs");
    if (!gopt_infer_has(x, SIZES) && n != x->n_out)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_outputs: %lld, but there are %d outputs", (long long)n,
                         x->n_out);
    return gopt_ref_vector(x, SIZES, gopt_dim_of(x->n_out), "split", e);
}

static gopt_status given(const gopt_infer *x, const gopt_dim *sizes, gopt_dim whole, gopt_err *e)
{
    gopt_dim sum = gopt_dim_of(0);
    for (int k = 0; k < x->n_out; k++) {
        bool large = gopt_dim_is_const(whole) && sizes[k].k > whole.k;
        if (gopt_dim_is_const(sizes[k]) && (sizes[k].k < 0 || large))
            return gopt_fail(e, GOPT_EINPUT, "input split: size %lld", (long long)sizes[k].k);
        sum = gopt_dim_add(x->dims, sum, sizes[k]);
    }
    gopt_status s = gopt_ref_equal(sum, whole, "sum and dimension", e);
    return s ? gopt_within(e, s, "input split") : GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    int axis;
    for (int k = 0; k < x->n_out; k++)
        gopt_ref_infer_type(x, k, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(gopt_ref_type(x, SIZES, GOPT_REF_INDEX, "split", e));
    GOPT_TRY(check_count(x, e));
    if (!gopt_ref_ranked(x, DATA))
        return GOPT_OK;
    gopt_fact in = x->in[DATA];
    GOPT_TRY(gopt_move_axis(x->attrs, 0, in.rank, &axis, e));
    gopt_dim whole = in.dim[axis], parts = gopt_dim_of(x->n_out), chunk = gopt_dim_ceil_div(x->dims, whole, parts);
    gopt_dim last = gopt_dim_sub(x->dims, whole, gopt_dim_mul(x->dims, chunk, gopt_dim_of(x->n_out - 1)));
    const gopt_dim *sizes = gopt_move_content(x, SIZES, &n);
    if (sizes)
        GOPT_TRY(given(x, sizes, whole, e));
    else if (!gopt_infer_has(x, SIZES) && gopt_dim_is_const(last) && last.k < 0)
        return gopt_fail(e, GOPT_EINPUT, "dimension %d: %lld elements do not make %d parts", axis, (long long)whole.k,
                         x->n_out);
    for (int k = 0; k < x->n_out; k++) {
        in.dim[axis] = gopt_infer_has(x, SIZES) ? GOPT_DIM_UNKNOWN : k < x->n_out - 1 ? chunk : last;
        if (sizes)
            in.dim[axis] = sizes[k];
        gopt_infer_set(x, k, in.dtype, in.rank, in.dim);
    }
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Split = {
    .name = "Split",
    .domain = "",
    .in_min = 1,
    .in_max = 2,
    .out_min = 1,
    .out_max = INT_MAX,
    .infer = infer,
    .run = run,
};
