/* gopt_dynamic_matmul.c: gopt DynamicMatMul: DynamicQuantizeLinear of the left operand, MatMulInteger, and the sums
 * times the scale. Made by passes. */
#include "ref/matrix.h"
#include "ref/quantize.h"

enum { A, B, NONE, B_ZERO }; /* as MatMulInteger has them */

static const gopt_matrix_view left = {.input = A}, right = {.input = B};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, A, GOPT_REF_FLOAT, "A", e));
    GOPT_TRY(gopt_ref_type(x, B, GOPT_REF_BYTE, "B", e));
    GOPT_TRY(gopt_ref_same_type(x, B, B_ZERO, e));
    GOPT_TRY(gopt_matmul_infer_quant(x, right, false, B_ZERO, "b_zero_point", e));
    return gopt_matmul_infer(x, left, right, GOPT_DTYPE_F32, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_matmul mm;
    gopt_tensor quantized = *x->in[A];
    const gopt_tensor *in[] = {&quantized, x->in[B], NULL, x->n_in > B_ZERO ? x->in[B_ZERO] : NULL};
    double *a, *y, zero;
    float scale;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, A, &a, e));
    int64_t n = gopt_tensor_count(x->out[0]);
    gopt_quantize_by_range(a, gopt_tensor_count(&quantized), &scale, &zero);
    quantized.dtype = GOPT_DTYPE_F64;
    quantized.data = a;
    gopt_exec inner = *x;
    inner.in = in;
    gopt_matmul_bind(&inner, left, right, &mm);
    mm.a.zero = (gopt_matrix_quant){.v = &zero};
    GOPT_TRY(gopt_matmul_bind_quant(&inner, &mm, false, B_ZERO, &mm.b.zero, e));
    GOPT_TRY(gopt_ref_buffer(x, n, &y, e));
    GOPT_TRY(gopt_matmul_run(&inner, &mm, y, e));
    for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_gopt_DynamicMatMul = {.name = "DynamicMatMul",
                                            .domain = "gopt",
                                            .in_min = 2,
                                            .in_max = 4,
                                            .out_min = 1,
                                            .out_max = 1,
                                            .traits = GOPT_TRAIT_HEAVY,
                                            .infer = infer,
                                            .run = run};
