/* ms_fused_gemm.c: com.microsoft.FusedGemm: Gemm and an activation. */
#include "ref/affine.h"

static gopt_status activation(gopt_attrs a, gopt_activation *act, gopt_err *e)
{
    GOPT_TRY(gopt_activation_find(gopt_attr_string(a, "activation", ""), act, e));
    act->alpha = gopt_attr_float(a, "activation_alpha", act->alpha);
    act->beta = gopt_attr_float(a, "activation_beta", act->beta);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_activation act;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "A", e));
    GOPT_TRY(activation(x->attrs, &act, e));
    return gopt_affine_infer(x, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_activation act;
    GOPT_TRY(activation(x->attrs, &act, e));
    return gopt_affine_run(x, &act, e);
}

const gopt_op gopt_op_ms_FusedGemm = {.name = "FusedGemm",
                                      .domain = "com.microsoft",
                                      .in_min = 2,
                                      .in_max = 3,
                                      .out_min = 1,
                                      .out_max = 1,
                                      .traits = GOPT_TRAIT_HEAVY,
                                      .infer = infer,
                                      .run = run};
