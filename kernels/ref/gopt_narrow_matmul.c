/* gopt_narrow_matmul.c: gopt NarrowMatMul: a product of float32 with a matrix of float16, bfloat16, int8 or uint8,
 * whose elements count as the numbers they are; scales are left to `post`. Made by passes. */
#include "ref/matrix.h"

static gopt_matrix_view right(gopt_attrs a)
{
    return (gopt_matrix_view){.input = 1, .transposed = gopt_attr_int(a, "transB", 0) != 0};
}

static const gopt_matrix_view left = {.input = 0};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "A", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_FLOAT | GOPT_REF_BYTE, "B", e));
    GOPT_TRY(gopt_ref_rank(x, 1, 2, 2, "B", e));
    return gopt_matmul_infer(x, left, right(x->attrs), GOPT_DTYPE_F32, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_matmul mm;
    double *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_matmul_bind(x, left, right(x->attrs), &mm);
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_gopt_NarrowMatMul = {.name = "NarrowMatMul",
                                           .domain = "gopt",
                                           .in_min = 2,
                                           .in_max = 2,
                                           .out_min = 1,
                                           .out_max = 1,
                                           .traits = GOPT_TRAIT_HEAVY,
                                           .infer = infer,
                                           .run = run};
