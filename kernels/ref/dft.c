/* dft.c: DFT along one axis: forward, inverse, and one-sided of real signals. */
#include "ref/fourier.h"

enum { X, LENGTH, AXIS };

typedef struct options {
    bool inverse, onesided;
} options;

static options read_options(gopt_attrs a)
{
    return (options){gopt_attr_int(a, "inverse", 0) != 0, gopt_attr_int(a, "onesided", 0) != 0};
}

static gopt_status check(gopt_infer *x, gopt_err *e)
{
    options o = read_options(x->attrs);
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "input", e));
    GOPT_TRY(gopt_ref_type(x, LENGTH, GOPT_REF_INDEX, "dft_length", e));
    GOPT_TRY(gopt_ref_type(x, AXIS, GOPT_REF_INDEX, "axis", e));
    GOPT_TRY(gopt_ref_scalar(x, LENGTH, "dft_length", e));
    GOPT_TRY(gopt_ref_scalar(x, AXIS, "axis", e));
    GOPT_TRY(gopt_ref_rank(x, X, 2, GOPT_RANK_MAX, "input", e));
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    gopt_dim parts = x->in[X].dim[x->in[X].rank - 1];
    if (gopt_dim_is_const(parts) && parts.k != 1 && parts.k != 2)
        return gopt_fail(e, GOPT_EINPUT, "the last axis has %lld elements, 1 or 2 expected", (long long)parts.k);
    if (gopt_dim_is_const(parts) && parts.k == 2 && o.onesided && !o.inverse)
        return gopt_fail(e, GOPT_EINPUT, "a one-sided transform needs a real signal");
    return GOPT_OK;
}

/* The axis, which must not be the last one; -1 while it is unknown. */
static gopt_status read_axis(gopt_infer *x, int *axis, gopt_err *e)
{
    int64_t n;
    int rank = x->in[X].rank;
    const gopt_dim *v = gopt_infer_ints(x, AXIS, &n);
    *axis = -1;
    if (gopt_infer_has(x, AXIS) && (!v || n != 1 || !gopt_dim_is_const(v[0])))
        return GOPT_OK;
    gopt_status s = gopt_axis(gopt_infer_has(x, AXIS) ? v[0].k : -2, rank, axis, e);
    if (s || *axis == rank - 1)
        return s ? gopt_within(e, s, "input axis")
                 : gopt_fail(e, GOPT_EINPUT, "input axis: the last one holds the parts");
    return GOPT_OK;
}

static gopt_status read_length(gopt_infer *x, gopt_dim size, gopt_dim *length, gopt_err *e)
{
    options o = read_options(x->attrs);
    int64_t n;
    const gopt_dim *v = gopt_infer_ints(x, LENGTH, &n);
    if (gopt_infer_has(x, LENGTH))
        *length = v && n == 1 ? v[0] : GOPT_DIM_UNKNOWN;
    else if (o.inverse && o.onesided)
        *length = gopt_dim_mul(x->dims, gopt_dim_sub(x->dims, size, gopt_dim_of(1)), gopt_dim_of(2));
    else
        *length = size;
    if (gopt_dim_is_const(*length) && (length->k < 1 || length->k > INT32_MAX))
        return gopt_fail(e, GOPT_EINPUT, "transforms of length %lld are not possible", (long long)length->k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[X];
    options o = read_options(x->attrs);
    int axis;
    GOPT_TRY(check(x, e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    gopt_fact out = *in;
    out.dim[in->rank - 1] = gopt_dim_of(o.inverse && o.onesided ? 1 : 2);
    GOPT_TRY(read_axis(x, &axis, e));
    for (int d = 0; axis < 0 && d < in->rank - 1; d++)
        out.dim[d] = GOPT_DIM_UNKNOWN;
    if (axis >= 0) {
        gopt_dim length, half;
        GOPT_TRY(read_length(x, in->dim[axis], &length, e));
        half = gopt_dim_add(x->dims, gopt_dim_div(x->dims, length, gopt_dim_of(2)), gopt_dim_of(1));
        out.dim[axis] = o.onesided && !o.inverse ? half : length;
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, out.dim);
    return GOPT_OK;
}

typedef struct job {
    options o;
    gopt_fourier f;
    int64_t inner, in_n, out_n; /* elements behind the axis (of complex ones), along it */
    int64_t in_parts, out_parts;
    double *v;
} job;

/* Element k of vector (o, i) as a complex number. */
static void load(const job *j, const double *in, int64_t o, int64_t i, int64_t k, double *v)
{
    const double *from = in + ((o * j->in_n + k) * j->inner + i) * j->in_parts;
    v[0] = from[0];
    v[1] = j->in_parts == 2 ? from[1] : 0;
}

/* The half that a one-sided spectrum leaves out is the conjugate of the other. */
static void mirror(const job *j)
{
    for (int64_t k = j->f.n / 2 + 1; k < j->f.n; k++) {
        j->v[2 * k] = j->v[2 * (j->f.n - k)];
        j->v[2 * k + 1] = -j->v[2 * (j->f.n - k) + 1];
    }
}

static gopt_status run_vector(const gopt_exec *x, const job *j, const double *in, int64_t o, int64_t i, double *out,
                              gopt_err *e)
{
    bool mirrored = j->o.inverse && j->o.onesided;
    int64_t take = GOPT_MIN(mirrored ? j->f.n / 2 + 1 : j->f.n, j->in_n);
    double scale = j->o.inverse ? 1 / (double)j->f.n : 1;
    for (int64_t k = 0; k < j->f.n; k++) {
        j->v[2 * k] = j->v[2 * k + 1] = 0;
        if (k < take)
            load(j, in, o, i, k, &j->v[2 * k]);
    }
    if (mirrored)
        mirror(j);
    GOPT_TRY(gopt_fourier_run(x, &j->f, j->v, e));
    for (int64_t k = 0; k < j->out_n; k++)
        for (int64_t p = 0; p < j->out_parts; p++)
            out[((o * j->out_n + k) * j->inner + i) * j->out_parts + p] = j->v[2 * k + p] * scale;
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    job j = {.o = read_options(x->attrs)};
    double *in, *out;
    int axis;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *from = x->in[X], *to = x->out[0], *length = gopt_ref_in(x, LENGTH), *at = gopt_ref_in(x, AXIS);
    GOPT_TRY(gopt_axis(at ? gopt_tensor_get_int(at, 0) : -2, from->rank, &axis, e));
    j.in_n = from->dim[axis];
    j.out_n = to->dim[axis];
    j.in_parts = from->dim[from->rank - 1];
    j.out_parts = to->dim[to->rank - 1];
    j.inner = gopt_ref_count(from->dim + axis + 1, from->rank - axis - 2);
    int64_t n = length ? gopt_tensor_get_int(length, 0) : j.o.inverse && j.o.onesided ? 2 * (j.in_n - 1) : j.in_n;
    GOPT_TRY(gopt_fourier_plan(x, n, j.o.inverse, &j.f, e));
    GOPT_TRY(gopt_ref_buffer(x, 2 * n, &j.v, e));
    GOPT_TRY(gopt_ref_load(x, X, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(to), &out, e));
    for (int64_t o = 0; o < gopt_ref_count(from->dim, axis); o++)
        for (int64_t i = 0; i < j.inner; i++) {
            GOPT_TRY(run_vector(x, &j, in, o, i, out, e));
            GOPT_TRY(gopt_ref_tick(x, e));
        }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_DFT = {
    .name = "DFT", .domain = "", .in_min = 1, .in_max = 3, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
