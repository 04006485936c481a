/* dynamic_quantize_linear.c: DynamicQuantizeLinear: scale and zero point from the range of the input. All steps are
 * made in float, as the definition says: the result of a rounding depends on it. */
#include <math.h>

#include "ref/quantize.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const gopt_dtype types[] = {GOPT_DTYPE_U8, GOPT_DTYPE_F32, GOPT_DTYPE_U8};
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "x", e));
    if (!gopt_infer_has(x, 0))
        return GOPT_OK;
    gopt_infer_like(x, 0, 0);
    x->out[0].dtype = GOPT_DTYPE_U8;
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_infer_set(x, k, types[k], 0, NULL);
    return GOPT_OK;
}

void gopt_quantize_by_range(double *v, int64_t n, float *scale, double *zero)
{
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = fminf(low, (float)v[i]);
        high = fmaxf(high, (float)v[i]);
    }
    *scale = high == low ? 1 : (high - low) / 255;
    *zero = gopt_quantize_int(GOPT_DTYPE_U8, -low / *scale, 0);
    for (int64_t i = 0; i < n; i++)
        v[i] = gopt_quantize_int(GOPT_DTYPE_U8, (float)v[i] / *scale, *zero);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v, zero;
    float scale;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    gopt_quantize_by_range(v, gopt_tensor_count(x->in[0]), &scale, &zero);
    gopt_ref_store(x, 0, v);
    gopt_ref_store(x, 1, &(double){scale});
    gopt_ref_store(x, 2, &zero);
    return GOPT_OK;
}

const gopt_op gopt_op_DynamicQuantizeLinear = {.name = "DynamicQuantizeLinear",
                                               .domain = "",
                                               .in_min = 1,
                                               .in_max = 1,
                                               .out_min = 3,
                                               .out_max = 3,
                                               .infer = infer,
                                               .run = run};
