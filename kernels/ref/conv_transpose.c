/* conv_transpose.c: ConvTranspose, the adjoint of Conv: every input position adds its filter to the output. Input and
 * output of the window geometry swap roles: the "image" is the output. */
#include "ref/convolution.h"
#include "ref/multiply.h"
#include "ref/unfold.h"

static gopt_status read_extra(gopt_attrs a, const char *name, int n, const int64_t **v, gopt_err *e)
{
    int64_t count;
    *v = gopt_attr_ints(a, name, &count);
    if (count && count != n)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld values, %d expected", name, (long long)count, n);
    for (int64_t i = 0; i < count; i++)
        if ((*v)[i] < 0 || (*v)[i] > INT32_MAX)
            return gopt_fail(e, GOPT_EINPUT, "attribute %s: value %lld is out of range", name, (long long)(*v)[i]);
    return GOPT_OK;
}

/* The size that no padding would give. */
static gopt_dim full_size(gopt_dims *t, const gopt_window *w, int axis, gopt_dim in, const int64_t *extra)
{
    int64_t more = gopt_window_extent(w, axis) + (extra ? extra[axis] : 0);
    gopt_dim last = gopt_dim_sub(t, in, gopt_dim_of(1));
    return gopt_dim_add(t, gopt_dim_mul(t, last, gopt_dim_of(w->stride[axis])), gopt_dim_of(more));
}

static bool is_same(const gopt_window *w)
{
    return w->mode == GOPT_PAD_SAME_UPPER || w->mode == GOPT_PAD_SAME_LOWER;
}

static gopt_dim out_size(gopt_dims *t, gopt_attrs a, const gopt_window *w, int axis, gopt_dim in)
{
    int64_t n;
    const int64_t *shape = gopt_attr_ints(a, "output_shape", &n), *extra = gopt_attr_ints(a, "output_padding", &n);
    if (shape)
        return gopt_dim_of(shape[axis]);
    if (is_same(w))
        return gopt_dim_mul(t, in, gopt_dim_of(w->stride[axis]));
    if (!w->kernel[axis])
        return GOPT_DIM_UNKNOWN;
    return gopt_dim_sub(t, full_size(t, w, axis, in, extra), gopt_dim_of(w->pad[axis] + w->pad_end[axis]));
}

static gopt_status read_window(gopt_window *w, gopt_attrs a, int n, gopt_err *e)
{
    const int64_t *v;
    GOPT_TRY(gopt_window_read(w, a, n, e));
    GOPT_TRY(read_extra(a, "output_padding", n, &v, e));
    return read_extra(a, "output_shape", n, &v, e);
}

static gopt_status check_filters(gopt_infer *x, gopt_window *w, gopt_dim *filters, gopt_err *e)
{
    const gopt_fact *in = &x->in[0], *weight = &x->in[1];
    int64_t groups = gopt_attr_int(x->attrs, "group", 1);
    if (weight->rank != in->rank)
        return gopt_fail(e, GOPT_EINPUT, "input X has rank %d, filters W rank %d: the same expected", in->rank,
                         weight->rank);
    if (groups < 1 || groups > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute group: %lld, 1 or more expected", (long long)groups);
    GOPT_TRY(gopt_ref_equal(in->dim[1], weight->dim[0], "channels of X and W", e));
    if (gopt_dim_is_const(weight->dim[0]) && weight->dim[0].k % groups)
        return gopt_fail(e, GOPT_EINPUT, "%lld channels do not divide into %lld groups", (long long)weight->dim[0].k,
                         (long long)groups);
    *filters = gopt_dim_mul(x->dims, weight->dim[1], gopt_dim_of(groups));
    return gopt_conv_read_kernel(w, weight, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    gopt_window w;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    GOPT_TRY(gopt_ref_rank(x, 0, 3, GOPT_RANK_MAX, "X", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(read_window(&w, x->attrs, in->rank - 2, e));
    gopt_dim dim[GOPT_RANK_MAX] = {in->dim[0], GOPT_DIM_UNKNOWN};
    if (gopt_ref_ranked(x, 1))
        GOPT_TRY(check_filters(x, &w, &dim[1], e));
    GOPT_TRY(gopt_ref_vector(x, 2, dim[1], "B", e));
    for (int i = 0; i < w.n; i++) {
        dim[2 + i] = out_size(x->dims, x->attrs, &w, i, in->dim[2 + i]);
        if (gopt_dim_is_const(dim[2 + i]) && dim[2 + i].k < 0)
            return gopt_fail(e, GOPT_EINPUT, "spatial axis %d: padding leaves no output", i);
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    return GOPT_OK;
}

/* The window over the output: its positions are the input's. */
static gopt_status bind(const gopt_exec *x, gopt_window *w, gopt_err *e)
{
    const gopt_tensor *in = x->in[0], *out = x->out[0];
    int64_t n;
    GOPT_TRY(read_window(w, x->attrs, in->rank - 2, e));
    const int64_t *shape = gopt_attr_ints(x->attrs, "output_shape", &n);
    const int64_t *extra = gopt_attr_ints(x->attrs, "output_padding", &n);
    for (int i = 0; i < w->n; i++) {
        w->kernel[i] = x->in[1]->dim[2 + i];
        w->in[i] = out->dim[2 + i];
        w->out[i] = in->dim[2 + i];
        if (!shape && !is_same(w))
            continue;
        int64_t total = full_size(NULL, w, i, gopt_dim_of(w->out[i]), extra).k - w->in[i];
        total = GOPT_MAX(total, 0);
        w->pad[i] = w->mode == GOPT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    }
    return GOPT_OK;
}

typedef struct job {
    gopt_window w;
    int64_t channels, filters, taps; /* of one group */
    int64_t in_size, out_size;
    double *columns;
} job;

/* The filters of one group, channels x depth, transposed. */
static void transpose(const double *w, int64_t channels, int64_t depth, double *t)
{
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < depth; i++)
            t[i * channels + c] = w[c * depth + i];
}

static gopt_status run_group(gopt_exec *x, const job *j, const double *in, const double *weight, double *y, gopt_err *e)
{
    int64_t depth = j->filters * j->taps, block = gopt_unfold_block(j->in_size, depth);
    for (int64_t first = 0; first < j->in_size; first += block) {
        gopt_unfold u = {.w = &j->w, .first = first, .n = GOPT_MIN(block, j->in_size - first)};
        for (int64_t i = 0; i < depth * u.n; i++)
            j->columns[i] = 0;
        gopt_ref_multiply(depth, u.n, j->channels, weight, j->channels, in + first, j->in_size, j->columns, u.n);
        gopt_unfold_add(&u, j->columns, j->filters, y);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status run_groups(gopt_exec *x, const job *j, int64_t groups, const double *in, const double *weight,
                              const double *bias, double *y, gopt_err *e)
{
    int64_t batch = x->in[0]->dim[0], depth = j->filters * j->taps;
    double *turned;
    GOPT_TRY(gopt_ref_buffer(x, depth * j->channels, &turned, e));
    for (int64_t m = 0; m < batch * groups * j->filters; m++)
        for (int64_t i = 0; i < j->out_size; i++)
            y[m * j->out_size + i] = bias ? bias[m % (groups * j->filters)] : 0;
    for (int64_t g = 0; g < groups; g++) {
        transpose(weight + g * j->channels * depth, j->channels, depth, turned);
        for (int64_t n = 0; n < batch; n++)
            GOPT_TRY(run_group(x, j, in + (n * groups + g) * j->channels * j->in_size, turned,
                               y + (n * groups + g) * j->filters * j->out_size, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    job j;
    double *in, *weight, *bias, *y;
    int64_t groups = gopt_attr_int(x->attrs, "group", 1);
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(bind(x, &j.w, e));
    j.channels = x->in[1]->dim[0] / groups;
    j.filters = x->in[1]->dim[1];
    j.taps = gopt_ref_count(j.w.kernel, j.w.n);
    j.in_size = gopt_ref_count(j.w.out, j.w.n);
    j.out_size = gopt_ref_count(j.w.in, j.w.n);
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_load(x, 1, &weight, e));
    GOPT_TRY(gopt_ref_load(x, 2, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    int64_t depth = j.filters * j.taps;
    GOPT_TRY(gopt_ref_buffer(x, depth * gopt_unfold_block(j.in_size, depth), &j.columns, e));
    GOPT_TRY(run_groups(x, &j, groups, in, weight, bias, y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_ConvTranspose = {.name = "ConvTranspose",
                                       .domain = "",
                                       .in_min = 2,
                                       .in_max = 3,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .traits = GOPT_TRAIT_HEAVY,
                                       .infer = infer,
                                       .run = run};
