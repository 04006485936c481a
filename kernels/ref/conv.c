/* conv.c: Conv. */
#include "ref/convolution.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    if (gopt_ref_ranked(x, 1))
        GOPT_TRY(gopt_ref_vector(x, 2, x->in[1].rank > 0 ? x->in[1].dim[0] : GOPT_DIM_UNKNOWN, "B", e));
    return gopt_conv_infer(x, 0, 1, x->in[0].dtype, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_conv c;
    double *in, *weight, *bias, *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_conv_bind(x, 0, 1, &c, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_load(x, 1, &weight, e));
    GOPT_TRY(gopt_ref_load(x, 2, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    GOPT_TRY(gopt_conv_run(x, &c, in, weight, bias, y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_Conv = {.name = "Conv",
                              .domain = "",
                              .in_min = 2,
                              .in_max = 3,
                              .out_min = 1,
                              .out_max = 1,
                              .traits = GOPT_TRAIT_HEAVY,
                              .infer = infer,
                              .run = run};
