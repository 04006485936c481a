/* convolution.c: convolution over any number of spatial axes, as a matrix product with unfolded input: a block of
 * output positions is unfolded to (channels x taps) rows, each contiguous over the positions. */
#include "ref/convolution.h"

#include <string.h>

#include "ref/multiply.h"
#include "ref/unfold.h"

gopt_status gopt_conv_read_kernel(gopt_window *w, const gopt_fact *weight, gopt_err *e)
{
    for (int i = 0; i < w->n; i++) {
        gopt_dim k = weight->dim[2 + i];
        if (!gopt_dim_is_const(k))
            continue;
        if (w->kernel[i] && w->kernel[i] != k.k)
            return gopt_fail(e, GOPT_EINPUT, "attribute kernel_shape: %lld, but the filters have %lld in axis %d",
                             (long long)w->kernel[i], (long long)k.k, 2 + i);
        if (k.k < 1)
            return gopt_fail(e, GOPT_EINPUT, "the filters are empty in axis %d", 2 + i);
        w->kernel[i] = k.k;
    }
    return GOPT_OK;
}

static gopt_status check_channels(gopt_infer *x, const gopt_fact *in, const gopt_fact *weight, gopt_err *e)
{
    int64_t groups = gopt_attr_int(x->attrs, "group", 1);
    if (groups < 1 || groups > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute group: %lld, 1 or more expected", (long long)groups);
    gopt_dim filters = weight->dim[0];
    if (gopt_dim_is_const(filters) && filters.k % groups)
        return gopt_fail(e, GOPT_EINPUT, "%lld filters do not divide into %lld groups", (long long)filters.k,
                         (long long)groups);
    return gopt_ref_equal(in->dim[1], gopt_dim_mul(x->dims, weight->dim[1], gopt_dim_of(groups)),
                          "channels of the input and of the filters times groups", e);
}

static gopt_status infer_shape(gopt_infer *x, const gopt_fact *in, const gopt_fact *weight, gopt_dim *dim, gopt_err *e)
{
    gopt_window w;
    GOPT_TRY(gopt_window_read(&w, x->attrs, in->rank - 2, e));
    if (weight) {
        GOPT_TRY(gopt_conv_read_kernel(&w, weight, e));
        GOPT_TRY(check_channels(x, in, weight, e));
    }
    dim[0] = in->dim[0];
    dim[1] = weight ? weight->dim[0] : GOPT_DIM_UNKNOWN;
    for (int i = 0; i < w.n; i++) {
        dim[2 + i] = gopt_window_out(x->dims, &w, i, in->dim[2 + i]);
        GOPT_TRY(gopt_window_check(&w, i, in->dim[2 + i], dim[2 + i], e));
    }
    return GOPT_OK;
}

gopt_status gopt_conv_infer(gopt_infer *x, int xi, int wi, gopt_dtype out, gopt_err *e)
{
    GOPT_TRY(gopt_ref_rank(x, xi, 3, GOPT_RANK_MAX, "X", e));
    GOPT_TRY(gopt_ref_rank(x, wi, 3, GOPT_RANK_MAX, "W", e));
    if (out != GOPT_DTYPE_NONE)
        gopt_ref_infer_type(x, 0, out);
    if (!gopt_ref_ranked(x, xi) || out == GOPT_DTYPE_NONE)
        return GOPT_OK;
    const gopt_fact *in = &x->in[xi], *weight = gopt_ref_ranked(x, wi) ? &x->in[wi] : NULL;
    if (weight && weight->rank != in->rank)
        return gopt_fail(e, GOPT_EINPUT, "input X has rank %d, filters W rank %d: the same expected", in->rank,
                         weight->rank);
    gopt_dim dim[GOPT_RANK_MAX];
    GOPT_TRY(infer_shape(x, in, weight, dim, e));
    gopt_infer_set(x, 0, out, in->rank, dim);
    return GOPT_OK;
}

gopt_status gopt_conv_bind(gopt_exec *x, int xi, int wi, gopt_conv *c, gopt_err *e)
{
    const gopt_tensor *in = x->in[xi], *weight = x->in[wi];
    GOPT_TRY(gopt_window_read(&c->w, x->attrs, in->rank - 2, e));
    memcpy(c->w.kernel, weight->dim + 2, (size_t)c->w.n * sizeof *c->w.kernel);
    gopt_window_bind(&c->w, in->dim + 2);
    c->batch = in->dim[0];
    c->channels = in->dim[1];
    c->filters = weight->dim[0];
    c->groups = gopt_attr_int(x->attrs, "group", 1);
    return GOPT_OK;
}

/* All filters of one group for one image. */
static gopt_status run_group(gopt_exec *x, const gopt_conv *c, const double *in, const double *weight, double *columns,
                             int64_t block, double *y, gopt_err *e)
{
    int64_t size = gopt_ref_count(c->w.out, c->w.n), channels = c->channels / c->groups;
    int64_t depth = channels * gopt_ref_count(c->w.kernel, c->w.n);
    for (int64_t first = 0; first < size; first += block) {
        gopt_unfold u = {.w = &c->w, .first = first, .n = GOPT_MIN(block, size - first)};
        gopt_unfold_read(&u, in, channels, columns);
        gopt_ref_multiply(c->filters / c->groups, u.n, depth, weight, depth, columns, u.n, y + first, size);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static void set_bias(const double *bias, int64_t filters, int64_t size, double *y)
{
    for (int64_t m = 0; m < filters; m++)
        for (int64_t i = 0; i < size; i++)
            y[m * size + i] = bias ? bias[m] : 0.0;
}

gopt_status gopt_conv_run(gopt_exec *x, const gopt_conv *c, const double *in, const double *weight, const double *bias,
                          double *y, gopt_err *e)
{
    int64_t size = gopt_ref_count(c->w.out, c->w.n), in_size = gopt_ref_count(c->w.in, c->w.n);
    int64_t filters = c->filters / c->groups, channels = c->channels / c->groups;
    int64_t depth = channels * gopt_ref_count(c->w.kernel, c->w.n), block;
    double *columns;
    block = gopt_unfold_block(size, depth);
    GOPT_TRY(gopt_ref_buffer(x, depth * block, &columns, e));
    for (int64_t n = 0; n < c->batch; n++, y += c->filters * size, in += c->channels * in_size) {
        set_bias(bias, c->filters, size, y);
        for (int64_t g = 0; g < c->groups; g++)
            GOPT_TRY(run_group(x, c, in + g * channels * in_size, weight + g * filters * depth, columns, block,
                               y + g * filters * size, e));
    }
    return GOPT_OK;
}
