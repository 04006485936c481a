/* qlinear_conv.c: QLinearConv. Sums are rescaled in float, as in every other runtime: roundings depend on it. */
#include "ref/quantize.h"
#include "ref/quantized_conv.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };

static const gopt_quantized_conv inputs = {.x = X, .x_zero = X_ZERO, .w = W, .w_zero = W_ZERO};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const int scales[] = {X_SCALE, W_SCALE, Y_SCALE};
    for (int i = 0; i < GOPT_COUNT(scales); i++)
        GOPT_TRY(gopt_ref_type(x, scales[i], GOPT_REF_FLOAT, "scale", e));
    GOPT_TRY(gopt_ref_type(x, Y_ZERO, GOPT_REF_BYTE, "y_zero_point", e));
    GOPT_TRY(gopt_ref_type(x, BIAS, GOPT_REF_INDEX, "B", e));
    GOPT_TRY(gopt_ref_scalar(x, X_SCALE, "x_scale", e));
    GOPT_TRY(gopt_ref_scalar(x, Y_SCALE, "y_scale", e));
    GOPT_TRY(gopt_ref_scalar(x, Y_ZERO, "y_zero_point", e));
    GOPT_TRY(gopt_ref_rank(x, W, 3, GOPT_RANK_MAX, "w", e));
    GOPT_TRY(gopt_quantized_conv_check_filters(x, &inputs, W_SCALE, "w_scale", e));
    if (gopt_ref_ranked(x, W))
        GOPT_TRY(gopt_ref_vector(x, BIAS, x->in[W].dim[0], "B", e));
    return gopt_quantized_conv_infer(x, &inputs, gopt_infer_has(x, Y_ZERO) ? x->in[Y_ZERO].dtype : GOPT_DTYPE_NONE, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *y, *bias, *w_scale;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    GOPT_TRY(gopt_ref_load(x, W_SCALE, &w_scale, e));
    GOPT_TRY(gopt_quantized_conv_run(x, &inputs, bias, &y, e));
    const gopt_tensor *out = x->out[0];
    float x_scale = (float)gopt_ref_number(x, X_SCALE, 1), y_scale = (float)gopt_ref_number(x, Y_SCALE, 1);
    double zero = gopt_ref_number(x, Y_ZERO, 0);
    bool each = gopt_tensor_count(x->in[W_SCALE]) > 1;
    int64_t filters = out->dim[1], size = gopt_ref_count(out->dim + 2, out->rank - 2);
    for (int64_t i = 0; i < out->dim[0] * filters; i++) {
        float factor = x_scale * (float)w_scale[each ? i % filters : 0] / y_scale;
        for (int64_t j = 0; j < size; j++)
            y[i * size + j] = gopt_quantize_int(out->dtype, (float)y[i * size + j] * factor, zero);
    }
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_QLinearConv = {.name = "QLinearConv",
                                     .domain = "",
                                     .in_min = 8,
                                     .in_max = 9,
                                     .out_min = 1,
                                     .out_max = 1,
                                     .traits = GOPT_TRAIT_HEAVY,
                                     .infer = infer,
                                     .run = run};
