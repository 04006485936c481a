/* batch_normalization.c: BatchNormalization, for inference and (training_mode = 1) with the statistics of the batch. */
#include <math.h>

#include "ref/operand.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"X", "scale", "B", "input_mean", "input_var"};
    bool training = gopt_attr_int(x->attrs, "training_mode", 0) != 0;
    for (int i = 0; i < 5; i++)
        GOPT_TRY(gopt_ref_type(x, i, GOPT_REF_FLOAT, names[i], e));
    GOPT_TRY(gopt_ref_rank(x, 0, 1, GOPT_RANK_MAX, names[0], e));
    if (x->n_out > 1 && !training)
        return gopt_fail(e, GOPT_EINPUT, "%d outputs, but only training_mode = 1 has more than one", x->n_out);
    if (!gopt_infer_has(x, 0))
        return GOPT_OK;
    gopt_infer_like(x, 0, 0);
    gopt_dim channels = GOPT_DIM_UNKNOWN;
    if (gopt_ref_ranked(x, 0))
        channels = x->in[0].rank > 1 ? x->in[0].dim[1] : gopt_dim_of(1);
    for (int i = 1; i < 5; i++)
        GOPT_TRY(gopt_ref_vector(x, i, channels, names[i], e));
    for (int k = 1; k < x->n_out && k < 3; k++)
        if (gopt_infer_has(x, 2 + k))
            gopt_infer_like(x, k, 2 + k);
    return GOPT_OK;
}

typedef struct shape {
    int64_t batch, channels, size;
} shape;

/* Mean and population variance of one channel over batch and space. */
static void statistics(const shape *s, const double *in, double *mean, double *var)
{
    int64_t step = s->channels * s->size;
    double n = (double)(s->batch * s->size), sum = 0, square = 0;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t i = 0; i < s->size; i++)
            sum += in[b * step + i];
    *mean = sum / n;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t i = 0; i < s->size; i++) {
            double d = in[b * step + i] - *mean;
            square += d * d;
        }
    *var = square / n;
}

/* Moves the running statistics towards those of the batch, which take their place for this run. */
static gopt_status train(gopt_exec *x, const shape *s, const double *in, double *mean, double *var, gopt_err *e)
{
    double momentum = gopt_attr_float(x->attrs, "momentum", 0.9f), *running_mean, *running_var;
    GOPT_TRY(gopt_ref_buffer(x, s->channels, &running_mean, e));
    GOPT_TRY(gopt_ref_buffer(x, s->channels, &running_var, e));
    for (int64_t c = 0; c < s->channels; c++) {
        double m, v;
        statistics(s, in + c * s->size, &m, &v);
        running_mean[c] = mean[c] * momentum + m * (1 - momentum);
        running_var[c] = var[c] * momentum + v * (1 - momentum);
        mean[c] = m;
        var[c] = v;
    }
    gopt_ref_store(x, 1, running_mean);
    gopt_ref_store(x, 2, running_var);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v[5], epsilon = gopt_attr_float(x->attrs, "epsilon", 1e-5f);
    GOPT_TRY(gopt_ref_begin(x, e));
    for (int i = 0; i < 5; i++)
        GOPT_TRY(gopt_ref_load(x, i, &v[i], e));
    const gopt_tensor *in = x->in[0];
    shape s = {in->dim[0], 1, 1};
    if (in->rank > 1) {
        s.channels = in->dim[1];
        s.size = gopt_ref_count(in->dim + 2, in->rank - 2);
    }
    if (gopt_attr_int(x->attrs, "training_mode", 0))
        GOPT_TRY(train(x, &s, v[0], v[3], v[4], e));
    for (int64_t i = 0; i < s.batch * s.channels; i++) {
        int64_t c = i % s.channels;
        double scale = v[1][c] / sqrt(v[4][c] + epsilon);
        for (int64_t j = 0; j < s.size; j++)
            v[0][i * s.size + j] = (v[0][i * s.size + j] - v[3][c]) * scale + v[2][c];
    }
    gopt_ref_store(x, 0, v[0]);
    return GOPT_OK;
}

const gopt_op gopt_op_BatchNormalization = {.name = "BatchNormalization",
                                            .domain = "",
                                            .in_min = 5,
                                            .in_max = 5,
                                            .out_min = 1,
                                            .out_max = 3,
                                            .infer = infer,
                                            .run = run};
