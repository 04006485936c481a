/* resize.c: Resize, one axis after the other; nearest copies elements of any type as they are. */
#include <math.h>
#include <string.h>

#include "ref/resample.h"

enum { ROI = 1, SCALES, SIZES };

/* An input that is there and not the empty placeholder of older models. */
static bool given(const gopt_infer *x, int i)
{
    if (!gopt_infer_has(x, i))
        return false;
    return !(x->in[i].rank == 1 && gopt_dim_is_const(x->in[i].dim[0]) && x->in[i].dim[0].k == 0);
}

/* The axes that scales, sizes and roi speak of. */
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

/* floor(in * scale), in float as in every other runtime; symbolically where the scale is a short binary fraction. */
static gopt_dim scaled(gopt_dims *t, gopt_dim in, double scale)
{
    if (gopt_dim_is_const(in)) {
        float size = floorf((float)in.k * (float)scale);
        return size < 9e18f ? gopt_dim_of((int64_t)size) : GOPT_DIM_UNKNOWN;
    }
    for (int64_t d = 1; d <= 1024; d *= 2)
        if (scale * (double)d == floor(scale * (double)d) && scale * (double)d < INT32_MAX)
            return gopt_dim_div(t, gopt_dim_mul(t, in, gopt_dim_of((int64_t)(scale * (double)d))), gopt_dim_of(d));
    return GOPT_DIM_UNKNOWN;
}

static gopt_status infer_scales(gopt_infer *x, const int *axis, int n, gopt_dim *dim, gopt_err *e)
{
    const gopt_tensor *scales = x->in[SCALES].constant;
    GOPT_TRY(gopt_ref_vector(x, SCALES, gopt_dim_of(n), "scales", e));
    for (int i = 0; i < n; i++) {
        if (!scales) {
            dim[axis[i]] = GOPT_DIM_UNKNOWN;
            continue;
        }
        double scale = gopt_tensor_get(scales, i);
        if (!(scale > 0) || isinf(scale))
            return gopt_fail(e, GOPT_EINPUT, "input scales: %g, a positive number expected", scale);
        dim[axis[i]] = scaled(x->dims, dim[axis[i]], scale);
    }
    return GOPT_OK;
}

/* The common scale of a policy that keeps the aspect ratio; 0 for "stretch". */
static gopt_status policy_scale(gopt_attrs a, const int64_t *in, const int64_t *size, int n, double *scale, gopt_err *e)
{
    const char *policy = gopt_attr_string(a, "keep_aspect_ratio_policy", "stretch");
    bool smallest = !strcmp(policy, "not_larger");
    *scale = 0;
    if (!strcmp(policy, "stretch"))
        return GOPT_OK;
    if (!smallest && strcmp(policy, "not_smaller"))
        return gopt_fail(e, GOPT_EINPUT, "attribute keep_aspect_ratio_policy: unknown value \"%s\"", policy);
    for (int i = 0; i < n; i++) {
        if (in[i] < 1 || size[i] < 1)
            return gopt_fail(e, GOPT_EINPUT, "sizes of 0 have no aspect ratio");
        double s = (double)size[i] / (double)in[i];
        *scale = i == 0 ? s : smallest ? fmin(*scale, s) : fmax(*scale, s);
    }
    return GOPT_OK;
}

static gopt_status infer_sizes(gopt_infer *x, const int *axis, int n, gopt_dim *dim, gopt_err *e)
{
    int64_t count, in[GOPT_RANK_MAX] = {0}, size[GOPT_RANK_MAX] = {0};
    bool known = true;
    double scale;
    GOPT_TRY(gopt_ref_vector(x, SIZES, gopt_dim_of(n), "sizes", e));
    const gopt_dim *sizes = gopt_infer_ints(x, SIZES, &count);
    for (int i = 0; i < n; i++) {
        gopt_dim to = sizes ? sizes[i] : GOPT_DIM_UNKNOWN;
        if (gopt_dim_is_const(to) && to.k < 0)
            return gopt_fail(e, GOPT_EINPUT, "input sizes: %lld is negative", (long long)to.k);
        known = known && gopt_dim_is_const(to) && gopt_dim_is_const(dim[axis[i]]);
        in[i] = dim[axis[i]].k;
        size[i] = to.k;
        dim[axis[i]] = to;
    }
    if (!strcmp(gopt_attr_string(x->attrs, "keep_aspect_ratio_policy", "stretch"), "stretch"))
        return GOPT_OK;
    if (known)
        GOPT_TRY(policy_scale(x->attrs, in, size, n, &scale, e));
    for (int i = 0; i < n; i++)
        dim[axis[i]] = known ? gopt_dim_of((int64_t)(scale * (double)in[i] + 0.5)) : GOPT_DIM_UNKNOWN;
    return GOPT_OK;
}

static gopt_status check_roi(gopt_infer *x, const gopt_resample *r, int n, gopt_err *e)
{
    if (r->coord != GOPT_COORD_TF_CROP_AND_RESIZE)
        return GOPT_OK;
    if (!given(x, ROI))
        return gopt_fail(e, GOPT_EINPUT, "tf_crop_and_resize needs the input roi");
    GOPT_TRY(gopt_ref_type(x, ROI, GOPT_REF_FLOAT, "roi", e));
    return gopt_ref_vector(x, ROI, gopt_dim_of(2 * n), "roi", e);
}

static gopt_status check_empty(const gopt_fact *in, const gopt_dim *dim, gopt_err *e)
{
    for (int d = 0; d < in->rank; d++)
        if (gopt_dim_is_const(in->dim[d]) && in->dim[d].k == 0 && gopt_dim_is_const(dim[d]) && dim[d].k > 0)
            return gopt_fail(e, GOPT_EINPUT, "axis %d is empty and cannot grow to %lld", d, (long long)dim[d].k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    gopt_resample r;
    int axis[GOPT_RANK_MAX], n;
    GOPT_TRY(gopt_resample_read(&r, x->attrs, e));
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_REAL | GOPT_REF_BOOL, "X", e));
    GOPT_TRY(gopt_ref_type(x, SCALES, GOPT_REF_FLOAT, "scales", e));
    GOPT_TRY(gopt_ref_type(x, SIZES, GOPT_REF_INDEX, "sizes", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(read_axes(x->attrs, in->rank, axis, &n, e));
    GOPT_TRY(check_roi(x, &r, n, e));
    if (given(x, SCALES) && given(x, SIZES))
        return gopt_fail(e, GOPT_EINPUT, "both scales and sizes are given");
    gopt_dim dim[GOPT_RANK_MAX];
    memcpy(dim, in->dim, sizeof dim);
    if (given(x, SCALES))
        GOPT_TRY(infer_scales(x, axis, n, dim, e));
    else if (given(x, SIZES))
        GOPT_TRY(infer_sizes(x, axis, n, dim, e));
    else /* not known yet, or missing for good: a run will tell */
        for (int i = 0; i < n; i++)
            dim[axis[i]] = GOPT_DIM_UNKNOWN;
    GOPT_TRY(check_empty(in, dim, e));
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    return GOPT_OK;
}

/* ---- running ---- */

static const gopt_tensor *filled(const gopt_exec *x, int i)
{
    const gopt_tensor *t = gopt_ref_in(x, i);
    return t && gopt_tensor_count(t) > 0 ? t : NULL;
}

/* Plans of all axes; those that stay as they are have taps == 0. */
static gopt_status plan(gopt_exec *x, const gopt_resample *r, gopt_resample_axis *plans, gopt_err *e)
{
    const gopt_tensor *in = x->in[0], *out = x->out[0], *scales = filled(x, SCALES), *roi = filled(x, ROI);
    int axis[GOPT_RANK_MAX], n;
    int64_t from[GOPT_RANK_MAX], to[GOPT_RANK_MAX];
    double common = 0;
    GOPT_TRY(read_axes(x->attrs, in->rank, axis, &n, e));
    for (int i = 0; i < n; i++) {
        from[i] = in->dim[axis[i]];
        to[i] = scales ? 0 : gopt_tensor_get_int(x->in[SIZES], i);
    }
    if (!scales)
        GOPT_TRY(policy_scale(x->attrs, from, to, n, &common, e));
    for (int d = 0; d < in->rank; d++)
        plans[d] = (gopt_resample_axis){.in = in->dim[d], .out = out->dim[d], .scale = 1, .end = 1};
    for (int i = 0; i < n; i++) {
        gopt_resample_axis *p = &plans[axis[i]];
        p->scale = scales ? gopt_tensor_get(scales, i) : common != 0 ? common : (double)p->out / (double)p->in;
        if (roi && r->coord == GOPT_COORD_TF_CROP_AND_RESIZE) {
            p->start = gopt_tensor_get(roi, i);
            p->end = gopt_tensor_get(roi, n + i);
        }
        if (p->in != p->out || p->scale != 1 || p->start != 0 || p->end != 1)
            GOPT_TRY(gopt_resample_plan(r, p, x->scratch, e));
    }
    return GOPT_OK;
}

/* dst[outer][out][inner] from src[outer][in][inner]. */
static gopt_status resample(gopt_exec *x, const gopt_resample *r, const gopt_resample_axis *p, int64_t outer,
                            int64_t inner, const double *src, double *dst, gopt_err *e)
{
    for (int64_t o = 0; o < outer; o++, src += p->in * inner) {
        for (int64_t j = 0; j < p->out; j++, dst += inner) {
            for (int64_t t = 0; t < p->taps; t++) {
                const double *from = src + gopt_resample_cell(p, j, t) * inner;
                double w = p->weight[j * p->taps + t];
                for (int64_t i = 0; i < inner && w != 0; i++)
                    dst[i] += w * from[i];
            }
            for (int64_t i = 0; i < inner && p->outside[j]; i++)
                dst[i] = r->extrapolation;
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

/* Integers are rounded to the nearest and saturate. */
static void store(gopt_exec *x, double *v)
{
    gopt_dtype d = x->out[0]->dtype;
    int64_t n = gopt_tensor_count(x->out[0]);
    if (gopt_dtype_is_int(d)) {
        bool is_signed = gopt_dtype_is_signed(d);
        double top = ldexp(1, gopt_dtype_bits(d) - is_signed), low = is_signed ? -top : 0;
        double high = gopt_dtype_bits(d) == 64 ? nextafter(top, 0) : top - 1;
        for (int64_t i = 0; i < n; i++)
            v[i] = fmin(fmax(rint(v[i]), low), high);
    }
    gopt_ref_store(x, 0, v);
}

static gopt_status interpolate(gopt_exec *x, const gopt_resample *r, const gopt_resample_axis *plans, gopt_err *e)
{
    const gopt_tensor *in = x->in[0];
    int64_t shape[GOPT_RANK_MAX];
    double *v, *next;
    memcpy(shape, in->dim, sizeof shape);
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    for (int d = 0; d < in->rank; d++) {
        if (plans[d].taps == 0)
            continue;
        int64_t outer = gopt_ref_count(shape, d), inner = gopt_ref_count(shape + d + 1, in->rank - d - 1);
        GOPT_TRY(gopt_ref_buffer(x, outer * plans[d].out * inner, &next, e));
        GOPT_TRY(resample(x, r, &plans[d], outer, inner, v, next, e));
        shape[d] = plans[d].out;
        v = next;
    }
    store(x, v);
    return GOPT_OK;
}

static gopt_status copy_nearest(gopt_exec *x, const gopt_resample *r, const gopt_resample_axis *plans, gopt_err *e)
{
    const gopt_tensor *in = x->in[0];
    gopt_tensor *out = x->out[0];
    size_t size = (size_t)gopt_dtype_bits(in->dtype) / 8;
    int64_t index[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(out);
    for (int64_t i = 0; i < n; i++, gopt_ref_next(index, out->dim, out->rank)) {
        int64_t at = 0;
        bool outside = false;
        for (int d = 0; d < in->rank; d++) {
            const gopt_resample_axis *p = &plans[d];
            at = at * in->dim[d] + (p->taps ? gopt_resample_cell(p, index[d], 0) : index[d]);
            outside = outside || (p->taps && p->outside[index[d]]);
        }
        if (outside)
            gopt_tensor_set(out, i, r->extrapolation);
        else
            memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)at * size, size);
        if ((i & 0xffff) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_resample r;
    gopt_resample_axis plans[GOPT_RANK_MAX];
    if (!filled(x, SCALES) && !filled(x, SIZES))
        return gopt_fail(e, GOPT_EINPUT, "neither scales nor sizes are given");
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_resample_read(&r, x->attrs, e));
    if (gopt_tensor_count(x->out[0]) == 0)
        return GOPT_OK;
    GOPT_TRY(plan(x, &r, plans, e));
    if (r.mode == GOPT_RESAMPLE_NEAREST)
        return copy_nearest(x, &r, plans, e);
    return interpolate(x, &r, plans, e);
}

const gopt_op gopt_op_Resize = {
    .name = "Resize", .domain = "", .in_min = 1, .in_max = 4, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
