/* ms_fused_conv.c: com.microsoft.FusedConv: Conv, an addend of the output's shape, and an activation. */
#include "ref/activation.h"
#include "ref/convolution.h"

enum { X, W, B, Z };

static gopt_status activation(gopt_attrs a, gopt_activation *act, gopt_err *e)
{
    const gopt_attr *params = gopt_attr_find(a, "activation_params");
    GOPT_TRY(gopt_activation_find(gopt_attr_string(a, "activation", ""), act, e));
    if (params && params->n > 0)
        act->alpha = params->floats[0];
    if (params && params->n > 1)
        act->beta = params->floats[1];
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_activation act;
    GOPT_TRY(activation(x->attrs, &act, e));
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    for (int i = W; i <= Z; i++)
        GOPT_TRY(gopt_ref_same_type(x, X, i, e));
    GOPT_TRY(gopt_ref_rank(x, W, 3, GOPT_RANK_MAX, "W", e));
    if (gopt_ref_ranked(x, W))
        GOPT_TRY(gopt_ref_vector(x, B, x->in[W].dim[0], "B", e));
    GOPT_TRY(gopt_conv_infer(x, X, W, x->in[X].dtype, e));
    if (x->out[0].rank < 0 || !gopt_ref_ranked(x, Z))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_rank(x, Z, x->out[0].rank, x->out[0].rank, "Z", e));
    for (int d = 0; d < x->out[0].rank; d++)
        GOPT_TRY(gopt_ref_equal(x->in[Z].dim[d], x->out[0].dim[d], "shapes of Z and the output", e));
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_activation act;
    gopt_conv c;
    double *in, *weight, *bias, *sum, *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(activation(x->attrs, &act, e));
    GOPT_TRY(gopt_conv_bind(x, X, W, &c, e));
    GOPT_TRY(gopt_ref_load(x, X, &in, e));
    GOPT_TRY(gopt_ref_load(x, W, &weight, e));
    GOPT_TRY(gopt_ref_load(x, B, &bias, e));
    GOPT_TRY(gopt_ref_load(x, Z, &sum, e));
    int64_t n = gopt_tensor_count(x->out[0]);
    GOPT_TRY(gopt_ref_buffer(x, n, &y, e));
    GOPT_TRY(gopt_conv_run(x, &c, in, weight, bias, y, e));
    for (int64_t i = 0; sum && i < n; i++)
        y[i] += sum[i];
    gopt_activation_apply(&act, y, n);
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_ms_FusedConv = {.name = "FusedConv",
                                      .domain = "com.microsoft",
                                      .in_min = 2,
                                      .in_max = 4,
                                      .out_min = 1,
                                      .out_max = 1,
                                      .traits = GOPT_TRAIT_HEAVY,
                                      .infer = infer,
                                      .run = run};
