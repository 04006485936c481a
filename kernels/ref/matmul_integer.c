/* matmul_integer.c: MatMulInteger. */
#include "ref/matrix.h"

static const gopt_matrix_view left = {.input = 0}, right = {.input = 1};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_BYTE, "A", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_BYTE, "B", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    GOPT_TRY(gopt_ref_same_type(x, 1, 3, e));
    GOPT_TRY(gopt_matmul_infer_quant(x, left, true, 2, "a_zero_point", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, right, false, 3, "b_zero_point", e));
    return gopt_matmul_infer(x, left, right, GOPT_DTYPE_I32, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_matmul mm;
    double *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_matmul_bind(x, left, right, &mm);
    GOPT_TRY(gopt_matmul_bind_quant(x, &mm, true, 2, &mm.a.zero, e));
    GOPT_TRY(gopt_matmul_bind_quant(x, &mm, false, 3, &mm.b.zero, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_MatMulInteger = {.name = "MatMulInteger",
                                       .domain = "",
                                       .in_min = 2,
                                       .in_max = 4,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .traits = GOPT_TRAIT_HEAVY,
                                       .infer = infer,
                                       .run = run};
