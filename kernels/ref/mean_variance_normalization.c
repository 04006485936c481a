/* mean_variance_normalization.c: MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) over a set of axes. */
#include <math.h>

#include "ref/operand.h"

static const int64_t default_axes[] = {0, 2, 3};

static gopt_status read_axes(gopt_attrs a, int rank, bool *reduced, gopt_err *e)
{
    int64_t n;
    const int64_t *axes = gopt_attr_ints(a, "axes", &n);
    if (!axes) {
        axes = default_axes;
        n = GOPT_COUNT(default_axes);
    }
    for (int64_t i = 0; i < n; i++) {
        int d;
        gopt_status s = gopt_axis(axes[i], rank, &d, e);
        if (s)
            return gopt_within(e, s, "attribute axes");
        reduced[d] = true;
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    bool reduced[GOPT_RANK_MAX] = {0};
    GOPT_TRY(gopt_ref_infer_float(x, 0, e));
    return gopt_ref_ranked(x, 0) ? read_axes(x->attrs, x->in[0].rank, reduced, e) : GOPT_OK;
}

/* Adds (v - mean)^power of every element to the sum of its set. */
static void add(const gopt_tensor *t, const int64_t *stride, const double *v, const double *mean, double *sum)
{
    int64_t index[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++, gopt_ref_next(index, t->dim, t->rank)) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++)
            at += index[d] * stride[d];
        sum[at] += mean ? (v[i] - mean[at]) * (v[i] - mean[at]) : v[i];
    }
}

static void normalize(const gopt_tensor *t, const int64_t *stride, double *v, const double *mean, const double *var)
{
    int64_t index[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++, gopt_ref_next(index, t->dim, t->rank)) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++)
            at += index[d] * stride[d];
        v[i] = (v[i] - mean[at]) / (sqrt(var[at]) + 1e-9);
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    bool reduced[GOPT_RANK_MAX] = {0};
    int64_t stride[GOPT_RANK_MAX], sets = 1, each = 1;
    double *v, *mean, *var;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *t = x->in[0];
    GOPT_TRY(read_axes(x->attrs, t->rank, reduced, e));
    for (int d = t->rank - 1; d >= 0; d--) {
        stride[d] = reduced[d] ? 0 : sets;
        *(reduced[d] ? &each : &sets) *= t->dim[d];
    }
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    GOPT_TRY(gopt_ref_buffer(x, sets, &mean, e));
    GOPT_TRY(gopt_ref_buffer(x, sets, &var, e));
    add(t, stride, v, NULL, mean);
    for (int64_t i = 0; i < sets; i++)
        mean[i] /= (double)each;
    add(t, stride, v, mean, var);
    for (int64_t i = 0; i < sets; i++)
        var[i] /= (double)each;
    normalize(t, stride, v, mean, var);
    gopt_ref_store(x, 0, v);
    return GOPT_OK;
}

const gopt_op gopt_op_MeanVarianceNormalization = {.name = "MeanVarianceNormalization",
                                                   .domain = "",
                                                   .in_min = 1,
                                                   .in_max = 1,
                                                   .out_min = 1,
                                                   .out_max = 1,
                                                   .infer = infer,
                                                   .run = run};
