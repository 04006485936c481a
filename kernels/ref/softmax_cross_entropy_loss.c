/* softmax_cross_entropy_loss.c: SoftmaxCrossEntropyLoss, with the log-probabilities as second output. */
#include <math.h>

#include "ref/loss.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_loss_infer(x, e));
    if (x->n_out > 1 && gopt_infer_has(x, 0))
        gopt_infer_like(x, 1, 0);
    return GOPT_OK;
}

/* Log-softmax over `classes` values that lie `size` apart. */
static void normalize(double *v, int64_t classes, int64_t size)
{
    double max = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; c++)
        max = v[c * size] > max || isnan(v[c * size]) ? v[c * size] : max;
    for (int64_t c = 0; c < classes; c++)
        sum += exp(v[c * size] - max);
    for (int64_t c = 0; c < classes; c++)
        v[c * size] = v[c * size] - max - log(sum);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v;
    GOPT_TRY(gopt_ref_begin_with(x, 3, e));
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    const gopt_tensor *in = x->in[0];
    int64_t size = gopt_ref_count(in->dim + 2, in->rank - 2);
    for (int64_t i = 0; i < in->dim[0] * size; i++)
        normalize(v + i / size * in->dim[1] * size + i % size, in->dim[1], size);
    gopt_ref_store(x, 1, v);
    return gopt_loss_run(x, v, e);
}

const gopt_op gopt_op_SoftmaxCrossEntropyLoss = {.name = "SoftmaxCrossEntropyLoss",
                                                 .domain = "",
                                                 .in_min = 2,
                                                 .in_max = 3,
                                                 .out_min = 1,
                                                 .out_max = 2,
                                                 .infer = infer,
                                                 .run = run};
