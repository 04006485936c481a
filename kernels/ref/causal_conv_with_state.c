/* causal_conv_with_state.c: CausalConvWithState: a depthwise convolution over the past, which it carries along. */
#include <string.h>

#include "ref/activation.h"
#include "ref/operand.h"

enum { INPUT, WEIGHT, BIAS, PAST };

static gopt_status read_activation(gopt_attrs a, bool *silu, gopt_err *e)
{
    const char *s = gopt_attr_string(a, "activation", "none");
    *silu = !strcmp(s, "silu") || !strcmp(s, "swish");
    if (!*silu && strcmp(s, "none"))
        return gopt_fail(e, GOPT_EINPUT, "attribute activation: unknown value \"%s\"", s);
    return GOPT_OK;
}

static gopt_status check_state(const gopt_infer *x, gopt_dim rest, gopt_err *e)
{
    const gopt_fact *in = &x->in[INPUT], *past = &x->in[PAST];
    if (!gopt_ref_ranked(x, PAST))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(past->dim[0], in->dim[0], "batch sizes of input and past_state", e));
    GOPT_TRY(gopt_ref_equal(past->dim[1], in->dim[1], "channels of input and past_state", e));
    return gopt_ref_equal(past->dim[2], rest, "lengths of weight (less 1) and past_state", e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    bool silu;
    GOPT_TRY(read_activation(x->attrs, &silu, e));
    GOPT_TRY(gopt_ref_type(x, INPUT, GOPT_REF_FLOAT, "input", e));
    for (int i = WEIGHT; i <= PAST; i++)
        GOPT_TRY(gopt_ref_same_type(x, INPUT, i, e));
    GOPT_TRY(gopt_ref_rank(x, INPUT, 3, 3, "input", e));
    GOPT_TRY(gopt_ref_rank(x, WEIGHT, 3, 3, "weight", e));
    GOPT_TRY(gopt_ref_rank(x, PAST, 3, 3, "past_state", e));
    for (int k = 0; k < x->n_out && k < 2; k++)
        gopt_ref_infer_type(x, k, x->in[INPUT].dtype);
    if (!gopt_ref_ranked(x, INPUT))
        return GOPT_OK;
    const gopt_fact *in = &x->in[INPUT], *weight = &x->in[WEIGHT];
    gopt_dim rest = GOPT_DIM_UNKNOWN;
    if (gopt_ref_ranked(x, WEIGHT)) {
        GOPT_TRY(gopt_ref_equal(in->dim[1], weight->dim[0], "channels of input and weight", e));
        GOPT_TRY(gopt_ref_equal(weight->dim[1], gopt_dim_of(1), "middle axis of weight", e));
        if (gopt_dim_is_const(weight->dim[2]) && weight->dim[2].k < 1)
            return gopt_fail(e, GOPT_EINPUT, "input weight is empty");
        rest = gopt_dim_sub(x->dims, weight->dim[2], gopt_dim_of(1));
    }
    GOPT_TRY(gopt_ref_vector(x, BIAS, in->dim[1], "bias", e));
    GOPT_TRY(check_state(x, rest, e));
    gopt_infer_like(x, 0, INPUT);
    if (x->n_out > 1)
        gopt_infer_set(x, 1, in->dtype, 3, (gopt_dim[]){in->dim[0], in->dim[1], rest});
    return GOPT_OK;
}

/* The k - 1 cells before the input, and the input. */
static gopt_status join(gopt_exec *x, int64_t rest, double **out, gopt_err *e)
{
    const int64_t *dim = x->in[INPUT]->dim;
    int64_t length = dim[2] + rest;
    double *in, *past;
    GOPT_TRY(gopt_ref_load(x, INPUT, &in, e));
    GOPT_TRY(gopt_ref_load(x, PAST, &past, e));
    GOPT_TRY(gopt_ref_buffer(x, dim[0] * dim[1] * length, out, e));
    for (int64_t i = 0; i < dim[0] * dim[1]; i++) {
        if (past)
            memcpy(*out + i * length, past + i * rest, (size_t)rest * sizeof **out);
        memcpy(*out + i * length + rest, in + i * dim[2], (size_t)dim[2] * sizeof **out);
    }
    return GOPT_OK;
}

static gopt_status store_state(gopt_exec *x, int64_t rest, const double *all, gopt_err *e)
{
    const int64_t *dim = x->in[INPUT]->dim;
    double *state;
    GOPT_TRY(gopt_ref_buffer(x, dim[0] * dim[1] * rest, &state, e));
    for (int64_t i = 0; i < dim[0] * dim[1]; i++)
        memcpy(state + i * rest, all + i * (dim[2] + rest) + dim[2], (size_t)rest * sizeof *state);
    gopt_ref_store(x, 1, state);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *all, *weight, *bias, *out;
    gopt_activation sigmoid;
    bool silu;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_activation(x->attrs, &silu, e));
    GOPT_TRY(gopt_activation_find("Sigmoid", &sigmoid, e));
    const int64_t *dim = x->in[INPUT]->dim;
    int64_t k = x->in[WEIGHT]->dim[2], length = dim[2] + k - 1;
    GOPT_TRY(join(x, k - 1, &all, e));
    GOPT_TRY(gopt_ref_load(x, WEIGHT, &weight, e));
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->in[INPUT]), &out, e));
    for (int64_t i = 0; i < dim[0] * dim[1]; i++) {
        int64_t c = i % dim[1];
        for (int64_t t = 0; t < dim[2]; t++) {
            double sum = bias ? bias[c] : 0;
            for (int64_t j = 0; j < k; j++)
                sum += weight[c * k + j] * all[i * length + t + j];
            out[i * dim[2] + t] = silu ? sum * sigmoid.f(sum, 0, 0) : sum;
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return store_state(x, k - 1, all, e);
}

const gopt_op gopt_op_CausalConvWithState = {.name = "CausalConvWithState",
                                             .domain = "",
                                             .in_min = 2,
                                             .in_max = 4,
                                             .out_min = 2,
                                             .out_max = 2,
                                             .infer = infer,
                                             .run = run};
