/* reduce.c: reduction over any set of axes. The input is walked once in its own order; every element goes to the
 * accumulator of its output. */
#include "ref/reduce.h"

#include <math.h>

uint64_t gopt_reduce_zero(gopt_dtype d)
{
    (void)d;
    return 0;
}

double gopt_reduce_add(double sum, double v)
{
    return sum + v;
}

uint64_t gopt_reduce_add_int(uint64_t sum, uint64_t v)
{
    return sum + v;
}

double gopt_reduce_add_square(double sum, double v)
{
    return sum + v * v;
}

double gopt_reduce_log(double sum, int64_t n)
{
    (void)n;
    return log(sum);
}

double gopt_reduce_max(double sum, double v)
{
    return v > sum || isnan(v) ? v : sum;
}

/* ---- which axes ---- */

/* No axes: all, or none with noop_with_empty_axes. */
static void default_axes(gopt_attrs a, int rank, bool *reduced)
{
    bool all = gopt_attr_int(a, "noop_with_empty_axes", 0) == 0;
    for (int d = 0; d < rank; d++)
        reduced[d] = all;
}

static gopt_status mark_axis(int64_t axis, int rank, bool *reduced, gopt_err *e)
{
    int d;
    gopt_status s = gopt_axis(axis, rank, &d, e);
    if (s)
        return gopt_within(e, s, "input axes");
    reduced[d] = true;
    return GOPT_OK;
}

static gopt_status infer_axes(gopt_infer *x, int rank, const gopt_dim *axes, int64_t n, bool *reduced, gopt_err *e)
{
    if (n == 0)
        default_axes(x->attrs, rank, reduced);
    for (int64_t i = 0; i < n; i++)
        GOPT_TRY(mark_axis(axes[i].k, rank, reduced, e));
    return GOPT_OK;
}

/* The axes are a value that only a run will know: the rank may still follow from their number. */
static void infer_unknown(gopt_infer *x)
{
    const gopt_fact *in = &x->in[0], *axes = &x->in[1];
    gopt_dim dim[GOPT_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        dim[d] = GOPT_DIM_UNKNOWN;
    if (gopt_attr_int(x->attrs, "keepdims", 1))
        gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    else if (axes->rank == 1 && gopt_dim_is_const(axes->dim[0]) && axes->dim[0].k > 0 && axes->dim[0].k <= in->rank)
        gopt_infer_set(x, 0, in->dtype, in->rank - (int)axes->dim[0].k, dim);
}

static bool all_const(const gopt_dim *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!gopt_dim_is_const(v[i]))
            return false;
    return true;
}

/* The one value that a list of known integers reduces to. */
static void infer_content(gopt_infer *x, const gopt_reduce *r)
{
    int64_t n;
    const gopt_dim *v = r->step_dim && x->in[0].rank == 1 ? gopt_infer_ints(x, 0, &n) : NULL;
    if (!v || n == 0)
        return;
    gopt_dim sum = v[0];
    for (int64_t i = 1; i < n; i++)
        sum = r->step_dim(x->dims, sum, v[i]);
    gopt_infer_content(x, 0, &sum, 1);
}

gopt_status gopt_reduce_infer(gopt_infer *x, const gopt_reduce *r, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    int64_t n = 0;
    const gopt_dim *axes = NULL;
    bool reduced[GOPT_RANK_MAX] = {0};
    GOPT_TRY(gopt_ref_type(x, 0, r->types, "data", e));
    GOPT_TRY(gopt_ref_rank(x, 1, 0, 1, "axes", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    if (gopt_infer_has(x, 1) && (!(axes = gopt_infer_ints(x, 1, &n)) || !all_const(axes, n))) {
        infer_unknown(x);
        return GOPT_OK;
    }
    GOPT_TRY(infer_axes(x, in->rank, axes, n, reduced, e));
    gopt_dim dim[GOPT_RANK_MAX];
    int rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (!reduced[d])
            dim[rank++] = in->dim[d];
        else if (gopt_attr_int(x->attrs, "keepdims", 1))
            dim[rank++] = gopt_dim_of(1);
    gopt_infer_set(x, 0, in->dtype, rank, dim);
    if (in->rank == 1 && reduced[0] && gopt_dtype_is_int(in->dtype))
        infer_content(x, r);
    return GOPT_OK;
}

/* ---- the walk ---- */

typedef struct walk {
    int rank;                                          /* at least 1 */
    int64_t dim[GOPT_RANK_MAX], stride[GOPT_RANK_MAX]; /* of the input; distances in the output, 0 along reduced axes */
    int64_t n, out_n, each;                            /* elements in, out, and in for each one out */
} walk;

static gopt_status plan(const gopt_exec *x, walk *w, gopt_err *e)
{
    const gopt_tensor *in = x->in[0], *axes = gopt_ref_in(x, 1);
    bool reduced[GOPT_RANK_MAX] = {0};
    int64_t n = axes ? gopt_tensor_count(axes) : 0;
    if (n == 0)
        default_axes(x->attrs, in->rank, reduced);
    for (int64_t i = 0; i < n; i++)
        GOPT_TRY(mark_axis(gopt_tensor_get_int(axes, i), in->rank, reduced, e));
    *w = (walk){.rank = GOPT_MAX(in->rank, 1), .dim = {1}, .n = gopt_tensor_count(in), .out_n = 1, .each = 1};
    for (int d = in->rank - 1; d >= 0; d--) {
        w->dim[d] = in->dim[d];
        w->stride[d] = reduced[d] ? 0 : w->out_n;
        *(reduced[d] ? &w->each : &w->out_n) *= in->dim[d];
    }
    return GOPT_OK;
}

/* Calls row(ctx, first input element, first output element, n, distance in the output) for every innermost row. */
static gopt_status each_row(const gopt_exec *x, const walk *w,
                            void (*row)(void *ctx, int64_t in, int64_t out, int64_t n, int64_t stride), void *ctx,
                            gopt_err *e)
{
    int64_t index[GOPT_RANK_MAX] = {0}, n = w->dim[w->rank - 1], at = 0;
    int64_t count = 0;
    if (w->n == 0)
        return GOPT_OK;
    do {
        int64_t out = 0;
        for (int d = 0; d < w->rank - 1; d++)
            out += index[d] * w->stride[d];
        row(ctx, at, out, n, w->stride[w->rank - 1]);
        at += n;
        if ((++count & 1023) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    } while (gopt_ref_next(index, w->dim, w->rank - 1));
    return GOPT_OK;
}

typedef struct floats {
    double (*step)(double sum, double v);
    double *in, *out;
} floats;

static void float_row(void *ctx, int64_t in, int64_t out, int64_t n, int64_t stride)
{
    floats *f = ctx;
    for (int64_t j = 0; j < n; j++)
        f->out[out + j * stride] = f->step(f->out[out + j * stride], f->in[in + j]);
}

static void shift_row(void *ctx, int64_t in, int64_t out, int64_t n, int64_t stride)
{
    floats *f = ctx;
    for (int64_t j = 0; j < n; j++)
        f->in[in + j] -= f->out[out + j * stride];
}

/* Takes the maxima away from the input; infinite ones count as 0. */
static gopt_status shift(gopt_exec *x, const walk *w, double *in, double *max, gopt_err *e)
{
    floats f = {.step = gopt_reduce_max, .in = in, .out = max};
    for (int64_t i = 0; i < w->out_n; i++)
        max[i] = -INFINITY;
    GOPT_TRY(each_row(x, w, float_row, &f, e));
    for (int64_t i = 0; i < w->out_n; i++)
        max[i] = isinf(max[i]) ? 0 : max[i];
    return each_row(x, w, shift_row, &f, e);
}

static gopt_status run_float(gopt_exec *x, const gopt_reduce *r, const walk *w, gopt_err *e)
{
    double *in, *out, *max = NULL;
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, w->out_n, &out, e));
    if (r->shifted) {
        GOPT_TRY(gopt_ref_buffer(x, w->out_n, &max, e));
        GOPT_TRY(shift(x, w, in, max, e));
    }
    for (int64_t i = 0; i < w->out_n; i++)
        out[i] = r->init;
    floats f = {.step = r->step, .in = in, .out = out};
    GOPT_TRY(each_row(x, w, float_row, &f, e));
    for (int64_t i = 0; i < w->out_n; i++)
        out[i] = (r->finish ? r->finish(out[i], w->each) : out[i]) + (max ? max[i] : 0);
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

typedef struct ints {
    uint64_t (*step)(uint64_t sum, uint64_t v);
    const gopt_tensor *in;
    uint64_t *out;
    uint64_t flip; /* makes unsigned 64-bit integers compare as signed ones */
} ints;

static void int_row(void *ctx, int64_t in, int64_t out, int64_t n, int64_t stride)
{
    ints *f = ctx;
    for (int64_t j = 0; j < n; j++) {
        uint64_t v = (uint64_t)gopt_tensor_get_int(f->in, in + j) ^ f->flip;
        f->out[out + j * stride] = f->step(f->out[out + j * stride], v);
    }
}

static gopt_status run_int(gopt_exec *x, const gopt_reduce *r, const walk *w, gopt_err *e)
{
    gopt_tensor *y = x->out[0];
    bool is_signed = gopt_dtype_is_signed(y->dtype);
    ints f = {.step = r->step_int, .in = x->in[0], .out = GOPT_NEW(x->scratch, uint64_t, w->out_n)};
    if (!f.out)
        return gopt_oom(e);
    if (r->ordered && y->dtype == GOPT_DTYPE_U64)
        f.flip = (uint64_t)1 << 63;
    for (int64_t i = 0; i < w->out_n; i++)
        f.out[i] = r->init_int(y->dtype) ^ f.flip;
    GOPT_TRY(each_row(x, w, int_row, &f, e));
    for (int64_t i = 0; i < w->out_n; i++) {
        uint64_t v = f.out[i] ^ f.flip;
        gopt_tensor_set_int(y, i, (int64_t)(r->finish_int ? r->finish_int(v, w->each, is_signed) : v));
    }
    return GOPT_OK;
}

gopt_status gopt_reduce_run(gopt_exec *x, const gopt_reduce *r, gopt_err *e)
{
    walk w;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(plan(x, &w, e));
    if (r->step_int && !gopt_dtype_is_float(x->in[0]->dtype))
        return run_int(x, r, &w, e);
    return run_float(x, r, &w, e);
}
