/* ms_fused_matmul.c: com.microsoft.FusedMatMul: alpha A B with transpositions, also of the batch axes. */
#include "ref/matrix.h"

static gopt_matrix_view view(gopt_attrs a, int input)
{
    return (gopt_matrix_view){.input = input,
                              .transposed = gopt_attr_int(a, input ? "transB" : "transA", 0) != 0,
                              .batch_first = gopt_attr_int(a, input ? "transBatchB" : "transBatchA", 0) != 0};
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "A", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    return gopt_matmul_infer(x, view(x->attrs, 0), view(x->attrs, 1), x->in[0].dtype, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *y, alpha = gopt_attr_float(x->attrs, "alpha", 1);
    gopt_matmul mm;
    GOPT_TRY(gopt_ref_begin(x, e));
    int64_t n = gopt_tensor_count(x->out[0]);
    gopt_matmul_bind(x, view(x->attrs, 0), view(x->attrs, 1), &mm);
    GOPT_TRY(gopt_ref_buffer(x, n, &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    for (int64_t i = 0; i < n; i++)
        y[i] *= alpha;
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_ms_FusedMatMul = {.name = "FusedMatMul",
                                        .domain = "com.microsoft",
                                        .in_min = 2,
                                        .in_max = 2,
                                        .out_min = 1,
                                        .out_max = 1,
                                        .traits = GOPT_TRAIT_HEAVY,
                                        .infer = infer,
                                        .run = run};
