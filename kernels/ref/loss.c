/* loss.c: the weighted negative log-likelihood of targets. */
#include "ref/loss.h"

#include <string.h>

enum { INPUT, TARGET, WEIGHT };

static const char *const reductions[] = {"none", "sum", "mean"};

static gopt_status read_reduction(gopt_attrs a, int *r, gopt_err *e)
{
    const char *s = gopt_attr_string(a, "reduction", "mean");
    for (*r = 0; *r < GOPT_COUNT(reductions); ++*r)
        if (!strcmp(s, reductions[*r]))
            return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "attribute reduction: unknown value \"%s\"", s);
}

gopt_status gopt_loss_infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[INPUT], *target = &x->in[TARGET];
    int reduction;
    GOPT_TRY(read_reduction(x->attrs, &reduction, e));
    GOPT_TRY(gopt_ref_type(x, INPUT, GOPT_REF_FLOAT, "input", e));
    GOPT_TRY(gopt_ref_type(x, TARGET, GOPT_REF_INDEX, "target", e));
    GOPT_TRY(gopt_ref_same_type(x, INPUT, WEIGHT, e));
    GOPT_TRY(gopt_ref_rank(x, INPUT, 2, GOPT_RANK_MAX, "input", e));
    if (reduction > 0)
        gopt_infer_set(x, 0, in->dtype, 0, NULL);
    else
        gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, INPUT))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_vector(x, WEIGHT, in->dim[1], "weight", e));
    GOPT_TRY(gopt_ref_rank(x, TARGET, in->rank - 1, in->rank - 1, "target", e));
    gopt_dim dim[GOPT_RANK_MAX] = {in->dim[0]};
    for (int d = 1; d < in->rank - 1; d++)
        dim[d] = in->dim[d + 1];
    for (int d = 0; gopt_ref_ranked(x, TARGET) && d < in->rank - 1; d++)
        GOPT_TRY(gopt_ref_equal(target->dim[d], dim[d], "shapes of input and target", e));
    if (reduction == 0)
        gopt_infer_set(x, 0, in->dtype, in->rank - 1, dim);
    return GOPT_OK;
}

/* Loss and weight of target i, which is element d of image n. */
static gopt_status one(const gopt_exec *x, const double *log_prob, const double *weight, int64_t i, int64_t size,
                       double *loss, double *w, gopt_err *e)
{
    int64_t classes = x->in[INPUT]->dim[1], c = gopt_tensor_get_int(x->in[TARGET], i);
    const gopt_attr *ignore = gopt_attr_find(x->attrs, "ignore_index");
    *loss = *w = 0;
    if (ignore && c == ignore->i)
        return GOPT_OK;
    if (c < 0 || c >= classes)
        return gopt_fail(e, GOPT_EINPUT, "target %lld is outside [0, %lld)", (long long)c, (long long)classes);
    *w = weight ? weight[c] : 1;
    *loss = -log_prob[(i / size * classes + c) * size + i % size] * *w;
    return GOPT_OK;
}

gopt_status gopt_loss_run(gopt_exec *x, const double *log_prob, gopt_err *e)
{
    double *loss, *weight, w, sum = 0, weights = 0;
    int reduction;
    const gopt_tensor *in = x->in[INPUT];
    int64_t size = gopt_ref_count(in->dim + 2, in->rank - 2), n = gopt_tensor_count(x->in[TARGET]);
    GOPT_TRY(read_reduction(x->attrs, &reduction, e));
    GOPT_TRY(gopt_ref_load(x, WEIGHT, &weight, e));
    GOPT_TRY(gopt_ref_buffer(x, n, &loss, e));
    for (int64_t i = 0; i < n; i++) {
        GOPT_TRY(one(x, log_prob, weight, i, size, &loss[i], &w, e));
        sum += loss[i];
        weights += w;
    }
    if (reduction == 2)
        sum /= weights;
    gopt_ref_store(x, 0, reduction ? &sum : loss);
    return GOPT_OK;
}
