/* matmul.c: MatMul. */
#include "ref/matrix.h"

static const gopt_matrix_view left = {.input = 0}, right = {.input = 1};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT | GOPT_REF_WIDE, "A", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    return gopt_matmul_infer(x, left, right, x->in[0].dtype, e);
}

static gopt_status run_int(gopt_exec *x, const gopt_matmul *mm, gopt_err *e)
{
    gopt_tensor *y = x->out[0];
    int64_t n = gopt_tensor_count(y);
    uint64_t *v = GOPT_NEW(x->scratch, uint64_t, n);
    if (!v)
        return gopt_oom(e);
    GOPT_TRY(gopt_matmul_run_int(x, mm, v, e));
    for (int64_t i = 0; i < n; i++)
        gopt_tensor_set_int(y, i, (int64_t)v[i]);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_matmul mm;
    double *y;
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_matmul_bind(x, left, right, &mm);
    if (gopt_dtype_is_int(x->out[0]->dtype))
        return run_int(x, &mm, e);
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_MatMul = {.name = "MatMul",
                                .domain = "",
                                .in_min = 2,
                                .in_max = 2,
                                .out_min = 1,
                                .out_max = 1,
                                .traits = GOPT_TRAIT_HEAVY,
                                .infer = infer,
                                .run = run};
