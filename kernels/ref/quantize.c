/* quantize.c: linear quantization and its inverse. */
#include "ref/quantize.h"

#include <math.h>

enum { X, SCALE, ZERO };

enum { QUANTIZED = GOPT_REF_BYTE | GOPT_REF_INT | GOPT_REF_FLOAT8 | GOPT_REF_SMALL };

double gopt_quantize_int(gopt_dtype d, double v, double zero)
{
    bool is_signed = gopt_dtype_is_signed(d);
    double top = ldexp(1, gopt_dtype_bits(d) - is_signed);
    if (isnan(v))
        return 0;
    return fmin(fmax(rint(v) + zero, is_signed ? -top : 0), top - 1);
}

/* ---- which scale ---- */

/* x as outer x n x inner, with n along the axis, in blocks; every block has its own scale for each outer and inner
 * index when `blocked`, else one for each index of the axis, or one for all. */
typedef struct layout {
    int64_t outer, n, inner, block, blocks;
    bool blocked, per_axis;
} layout;

static gopt_status read_axis(gopt_attrs a, int rank, int *axis, gopt_err *e)
{
    *axis = 0;
    if (rank <= 1)
        return GOPT_OK;
    gopt_status s = gopt_axis(gopt_attr_int(a, "axis", 1), rank, axis, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

static gopt_status check_blocks(const gopt_infer *x, int64_t size, int axis, gopt_err *e)
{
    const gopt_fact *in = &x->in[X], *scale = &x->in[SCALE];
    GOPT_TRY(gopt_ref_rank(x, SCALE, in->rank, in->rank, "scale", e));
    for (int d = 0; d < in->rank; d++) {
        gopt_dim want = d == axis ? gopt_dim_ceil_div(x->dims, in->dim[d], gopt_dim_of(size)) : in->dim[d];
        gopt_status s = gopt_ref_equal(scale->dim[d], want, "shape", e);
        if (s)
            return gopt_within(e, s, "input scale");
    }
    return GOPT_OK;
}

static bool is_one(const gopt_fact *f)
{
    return f->rank == 0 || (f->rank == 1 && gopt_dim_is_const(f->dim[0]) && f->dim[0].k == 1);
}

/* The zero point goes with the scale; one value may be a scalar or a vector. */
static gopt_status check_zero(const gopt_infer *x, gopt_err *e)
{
    const gopt_fact *scale = &x->in[SCALE], *zero = &x->in[ZERO];
    if (!gopt_ref_ranked(x, ZERO) || (is_one(scale) && is_one(zero)))
        return GOPT_OK;
    if (zero->rank != scale->rank)
        return gopt_fail(e, GOPT_EINPUT, "scale has rank %d, the zero point rank %d", scale->rank, zero->rank);
    for (int d = 0; d < scale->rank; d++)
        GOPT_TRY(gopt_ref_equal(scale->dim[d], zero->dim[d], "shapes of scale and zero point", e));
    return GOPT_OK;
}

static gopt_status check_scale(const gopt_infer *x, gopt_err *e)
{
    int64_t size = gopt_attr_int(x->attrs, "block_size", 0);
    int axis;
    if (size < 0)
        return gopt_fail(e, GOPT_EINPUT, "attribute block_size: %lld is negative", (long long)size);
    if (!gopt_ref_ranked(x, SCALE) || !gopt_ref_ranked(x, X))
        return GOPT_OK;
    const gopt_fact *in = &x->in[X];
    GOPT_TRY(check_zero(x, e));
    if (is_one(&x->in[SCALE]) && size == 0)
        return GOPT_OK;
    GOPT_TRY(read_axis(x->attrs, in->rank, &axis, e));
    if (size > 0)
        return check_blocks(x, size, axis, e);
    return gopt_ref_vector(x, SCALE, in->rank ? in->dim[axis] : gopt_dim_of(1), "scale", e);
}

static gopt_status read_layout(const gopt_exec *x, layout *l, gopt_err *e)
{
    const gopt_tensor *in = x->in[X], *scale = x->in[SCALE];
    int axis;
    *l =
        (layout){.outer = 1, .n = 1, .inner = gopt_tensor_count(in), .block = gopt_attr_int(x->attrs, "block_size", 0)};
    if (in->rank == 0 || (l->block == 0 && gopt_tensor_count(scale) == 1))
        return GOPT_OK;
    GOPT_TRY(read_axis(x->attrs, in->rank, &axis, e));
    l->outer = gopt_ref_count(in->dim, axis);
    l->n = in->dim[axis];
    l->inner = gopt_ref_count(in->dim + axis + 1, in->rank - axis - 1);
    l->blocked = l->block > 0;
    l->per_axis = !l->blocked;
    l->blocks = l->blocked ? scale->dim[axis] : 0;
    return GOPT_OK;
}

/* The first scale of row (o, a), and the distance to the next one along the inner index. */
static int64_t scale_at(const layout *l, int64_t o, int64_t a, int64_t *step)
{
    *step = l->blocked;
    if (l->blocked)
        return (o * l->blocks + a / l->block) * l->inner;
    return l->per_axis ? a : 0;
}

/* ---- quantization ---- */

static gopt_dtype quantized_type(gopt_infer *x)
{
    int64_t d = gopt_attr_int(x->attrs, "output_dtype", 0);
    if (gopt_infer_has(x, ZERO))
        return x->in[ZERO].dtype;
    return d > 0 && d < GOPT_DTYPE_COUNT ? (gopt_dtype)d : GOPT_DTYPE_U8;
}

gopt_status gopt_quantize_infer(gopt_infer *x, gopt_err *e)
{
    int64_t asked = gopt_attr_int(x->attrs, "output_dtype", 0);
    gopt_dtype d = quantized_type(x);
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT | GOPT_REF_INDEX, "x", e));
    GOPT_TRY(gopt_ref_type(x, SCALE, GOPT_REF_FLOAT | GOPT_REF_INDEX | GOPT_REF_SMALL, "y_scale", e));
    GOPT_TRY(gopt_ref_type(x, ZERO, QUANTIZED, "y_zero_point", e));
    gopt_infer made = {.n_in = 1, .in = &(gopt_fact){.dtype = d}};
    GOPT_TRY(gopt_ref_type(&made, 0, QUANTIZED, "y", e));
    if (asked && asked != (int64_t)d)
        return gopt_fail(e, GOPT_EINPUT, "attribute output_dtype is %lld, the zero point's type %s", (long long)asked,
                         gopt_dtype_name(d));
    GOPT_TRY(check_scale(x, e));
    if (!gopt_infer_has(x, X))
        return GOPT_OK;
    gopt_infer_like(x, 0, X);
    x->out[0].dtype = d;
    return GOPT_OK;
}

/* The type in which x is divided by its scale. */
static gopt_dtype precision(const gopt_exec *x)
{
    int64_t d = gopt_attr_int(x->attrs, "precision", 0);
    if (d == GOPT_DTYPE_F16 || d == GOPT_DTYPE_BF16 || d == GOPT_DTYPE_F32 || d == GOPT_DTYPE_F64)
        return (gopt_dtype)d;
    gopt_dtype s = x->in[SCALE]->dtype;
    return gopt_dtype_is_float(s) && gopt_dtype_bits(s) >= 16 ? s : GOPT_DTYPE_F32;
}

/* A float8 that must not saturate: values beyond its range become what its cast makes of them. */
static double overflow(gopt_dtype d, double v)
{
    double a = fabs(v);
    switch (d) {
    case GOPT_DTYPE_F8E4M3FN: /* 448 is the largest value; 464, halfway to the next, still goes there */
        return a > 464 ? NAN : v;
    case GOPT_DTYPE_F8E4M3FNUZ:
        return a >= 248 ? NAN : v;
    case GOPT_DTYPE_F8E5M2:
        return a >= 61440 ? copysign(INFINITY, v) : v;
    case GOPT_DTYPE_F8E5M2FNUZ:
        return a >= 61440 ? NAN : v;
    default:
        return v;
    }
}

/* Storing saturates, so infinities are written as bits. */
static void store_infinities(gopt_tensor *t, const double *v)
{
    uint8_t *bits = t->data;
    for (int64_t i = 0; i < gopt_tensor_count(t); i++)
        if (isinf(v[i]))
            bits[i] = v[i] > 0 ? 0x7c : 0xfc;
}

static bool saturates(gopt_dtype d, gopt_attrs a)
{
    return gopt_attr_int(a, "saturate", 1) != 0 || gopt_dtype_bits(d) != 8;
}

/* v[0..n) = x / scale, in the given precision. */
static gopt_status divide(gopt_exec *x, const layout *l, double *v, gopt_err *e)
{
    gopt_dtype d = precision(x);
    double *scale;
    int64_t n = gopt_tensor_count(x->in[X]), step = 0, at = 0;
    GOPT_TRY(gopt_ref_load(x, SCALE, &scale, e));
    GOPT_TRY(gopt_ref_round(x, d, v, n, e));
    GOPT_TRY(gopt_ref_round(x, d, scale, gopt_tensor_count(x->in[SCALE]), e));
    for (int64_t row = 0; row < l->outer * l->n; row++) {
        const double *s = scale + scale_at(l, row / l->n, row % l->n, &step);
        for (int64_t i = 0; i < l->inner; i++, at++)
            v[at] /= s[i * step];
    }
    return gopt_ref_round(x, d, v, n, e);
}

gopt_status gopt_quantize_run(gopt_exec *x, gopt_err *e)
{
    layout l;
    double *v, *zero;
    int64_t step = 0, at = 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_layout(x, &l, e));
    GOPT_TRY(gopt_ref_load(x, X, &v, e));
    GOPT_TRY(gopt_ref_load(x, ZERO, &zero, e));
    GOPT_TRY(divide(x, &l, v, e));
    gopt_dtype d = x->out[0]->dtype;
    bool is_int = gopt_dtype_is_int(d), bounded = saturates(d, x->attrs);
    for (int64_t row = 0; row < l.outer * l.n; row++) {
        const double *z = zero ? zero + scale_at(&l, row / l.n, row % l.n, &step) : NULL;
        for (int64_t i = 0; i < l.inner; i++, at++) {
            double offset = z ? z[i * step] : 0;
            v[at] = is_int ? gopt_quantize_int(d, v[at], offset) : v[at] + offset;
            if (!bounded)
                v[at] = overflow(d, v[at]);
        }
    }
    gopt_ref_store(x, 0, v);
    if (d == GOPT_DTYPE_F8E5M2 && !bounded)
        store_infinities(x->out[0], v);
    return GOPT_OK;
}

/* ---- dequantization ---- */

gopt_status gopt_dequantize_infer(gopt_infer *x, gopt_err *e)
{
    int64_t asked = gopt_attr_int(x->attrs, "output_dtype", 0);
    GOPT_TRY(gopt_ref_type(x, X, QUANTIZED, "x", e));
    GOPT_TRY(gopt_ref_type(x, SCALE, GOPT_REF_FLOAT | GOPT_REF_SMALL, "x_scale", e));
    GOPT_TRY(gopt_ref_same_type(x, X, ZERO, e));
    GOPT_TRY(check_scale(x, e));
    if (!gopt_infer_has(x, X) || !gopt_infer_has(x, SCALE))
        return GOPT_OK;
    gopt_dtype d = x->in[SCALE].dtype;
    if (asked)
        d = asked > 0 && asked < GOPT_DTYPE_COUNT ? (gopt_dtype)asked : GOPT_DTYPE_STRING;
    else if (d == GOPT_DTYPE_F8E8M0)
        d = GOPT_DTYPE_F32;
    gopt_infer made = {.n_in = 1, .in = &(gopt_fact){.dtype = d}};
    GOPT_TRY(gopt_ref_type(&made, 0, GOPT_REF_FLOAT, "y", e));
    gopt_infer_like(x, 0, X);
    x->out[0].dtype = d;
    return GOPT_OK;
}

gopt_status gopt_dequantize_run(gopt_exec *x, gopt_err *e)
{
    layout l;
    double *v, *scale, *zero;
    int64_t step = 0, at = 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_layout(x, &l, e));
    GOPT_TRY(gopt_ref_load(x, X, &v, e));
    GOPT_TRY(gopt_ref_load(x, SCALE, &scale, e));
    GOPT_TRY(gopt_ref_load(x, ZERO, &zero, e));
    for (int64_t row = 0; row < l.outer * l.n; row++) {
        int64_t first = scale_at(&l, row / l.n, row % l.n, &step);
        for (int64_t i = 0; i < l.inner; i++, at++)
            v[at] = (v[at] - (zero ? zero[first + i * step] : 0)) * scale[first + i * step];
    }
    gopt_ref_store(x, 0, v);
    return GOPT_OK;
}
