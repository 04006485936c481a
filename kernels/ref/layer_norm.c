/* layer_norm.c: rows are normalized in double; scale and bias broadcast to the whole input. */
#include "ref/layer_norm.h"

#include <math.h>

enum { X, SCALE, BIAS };

void gopt_layer_norm_row(bool rms, double epsilon, double *v, int64_t n, double *mean, double *inv)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n && !rms; i++)
        sum += v[i];
    *mean = rms ? 0 : sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (v[i] - *mean) * (v[i] - *mean);
    *inv = 1 / sqrt(square / (double)n + epsilon);
    for (int64_t i = 0; i < n; i++)
        v[i] = (v[i] - *mean) * *inv;
}

static gopt_status read_axis(gopt_attrs a, int rank, int *axis, gopt_err *e)
{
    gopt_status s = gopt_axis(gopt_attr_int(a, "axis", -1), rank, axis, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

gopt_status gopt_layer_norm_infer(gopt_infer *x, gopt_err *e)
{
    int64_t stash = gopt_attr_int(x->attrs, "stash_type", GOPT_DTYPE_F32);
    int axis;
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_type(x, SCALE, GOPT_REF_FLOAT, "Scale", e));
    GOPT_TRY(gopt_ref_same_type(x, SCALE, BIAS, e));
    if (stash != GOPT_DTYPE_F32 && stash != GOPT_DTYPE_BF16 && stash != GOPT_DTYPE_F16 && stash != GOPT_DTYPE_F64)
        return gopt_fail(e, GOPT_EINPUT, "attribute stash_type: %lld is no floating point type", (long long)stash);
    if (!gopt_infer_has(x, X) || !gopt_infer_has(x, SCALE))
        return GOPT_OK;
    gopt_infer_like(x, 0, X);
    x->out[0].dtype = x->in[SCALE].dtype;
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_ref_infer_type(x, k, (gopt_dtype)stash);
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_broadcasts(x, SCALE, X, "Scale", e));
    GOPT_TRY(gopt_ref_broadcasts(x, BIAS, X, "B", e));
    GOPT_TRY(read_axis(x->attrs, x->in[X].rank, &axis, e));
    gopt_fact row = x->in[X];
    for (int d = axis; d < row.rank; d++)
        row.dim[d] = gopt_dim_of(1);
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_infer_set(x, k, (gopt_dtype)stash, row.rank, row.dim);
    return GOPT_OK;
}

/* v = v * scale + bias, where scale and bias may be NULL. */
static void scale_and_shift(const gopt_exec *x, const double *scale, const double *bias, double *v)
{
    const gopt_tensor *t = x->in[X], *ts = gopt_ref_in(x, SCALE), *tb = gopt_ref_in(x, BIAS);
    int64_t index[GOPT_RANK_MAX] = {0}, s[GOPT_RANK_MAX] = {0}, b[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(t);
    int last = t->rank - 1;
    gopt_ref_broadcast_strides(ts->dim, ts->rank, t->dim, t->rank, s);
    if (bias)
        gopt_ref_broadcast_strides(tb->dim, tb->rank, t->dim, t->rank, b);
    for (int64_t at = 0; at < n; at += t->dim[last], gopt_ref_next(index, t->dim, last)) {
        int64_t is = 0, ib = 0;
        for (int d = 0; d < last; d++) {
            is += index[d] * s[d];
            ib += index[d] * b[d];
        }
        for (int64_t j = 0; j < t->dim[last]; j++)
            v[at + j] = v[at + j] * scale[is + j * s[last]] + (bias ? bias[ib + j * b[last]] : 0);
    }
}

gopt_status gopt_layer_norm_run(gopt_exec *x, bool rms, gopt_err *e)
{
    double *v, *scale, *bias = NULL, *mean, *inv, epsilon = gopt_attr_float(x->attrs, "epsilon", 1e-5f);
    int axis;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[X];
    GOPT_TRY(read_axis(x->attrs, in->rank, &axis, e));
    GOPT_TRY(gopt_ref_load(x, X, &v, e));
    GOPT_TRY(gopt_ref_load(x, SCALE, &scale, e));
    if (!rms)
        GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    int64_t rows = gopt_ref_count(in->dim, axis), n = gopt_ref_count(in->dim + axis, in->rank - axis);
    GOPT_TRY(gopt_ref_buffer(x, rows, &mean, e));
    GOPT_TRY(gopt_ref_buffer(x, rows, &inv, e));
    for (int64_t i = 0; i < rows; i++)
        gopt_layer_norm_row(rms, epsilon, v + i * n, n, &mean[i], &inv[i]);
    scale_and_shift(x, scale, bias, v);
    gopt_ref_store(x, 0, v);
    if (!rms)
        gopt_ref_store(x, 1, mean);
    gopt_ref_store(x, rms ? 1 : 2, inv);
    return GOPT_OK;
}
