/* qlinear_matmul.c: QLinearMatMul. Sums are rescaled in float, as in every other runtime: roundings depend on it. */
#include "ref/matrix.h"
#include "ref/quantize.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static const gopt_matrix_view left = {.input = A}, right = {.input = B};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const int scales[] = {A_SCALE, B_SCALE, Y_SCALE};
    const unsigned types = GOPT_REF_BYTE | GOPT_REF_FLOAT8;
    for (int i = 0; i < GOPT_COUNT(scales); i++)
        GOPT_TRY(gopt_ref_type(x, scales[i], GOPT_REF_FLOAT, "scale", e));
    GOPT_TRY(gopt_ref_type(x, A, types, "a", e));
    GOPT_TRY(gopt_ref_type(x, B, types, "b", e));
    GOPT_TRY(gopt_ref_type(x, Y_ZERO, types, "y_zero_point", e));
    GOPT_TRY(gopt_ref_same_type(x, A, A_ZERO, e));
    GOPT_TRY(gopt_ref_same_type(x, B, B_ZERO, e));
    GOPT_TRY(gopt_matmul_infer_quant(x, left, true, A_SCALE, "a_scale", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, left, true, A_ZERO, "a_zero_point", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, right, false, B_SCALE, "b_scale", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, right, false, B_ZERO, "b_zero_point", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, left, true, Y_SCALE, "y_scale", e));
    GOPT_TRY(gopt_matmul_infer_quant(x, left, true, Y_ZERO, "y_zero_point", e));
    return gopt_matmul_infer(x, left, right, gopt_infer_has(x, Y_ZERO) ? x->in[Y_ZERO].dtype : GOPT_DTYPE_NONE, e);
}

typedef struct scales {
    gopt_matrix_quant a, b, y, zero;
} scales;

static gopt_status bind(gopt_exec *x, gopt_matmul *mm, scales *s, gopt_err *e)
{
    gopt_matmul_bind(x, left, right, mm);
    GOPT_TRY(gopt_matmul_bind_quant(x, mm, true, A_ZERO, &mm->a.zero, e));
    GOPT_TRY(gopt_matmul_bind_quant(x, mm, false, B_ZERO, &mm->b.zero, e));
    GOPT_TRY(gopt_matmul_bind_quant(x, mm, true, A_SCALE, &s->a, e));
    GOPT_TRY(gopt_matmul_bind_quant(x, mm, false, B_SCALE, &s->b, e));
    GOPT_TRY(gopt_matmul_bind_quant(x, mm, true, Y_SCALE, &s->y, e));
    return gopt_matmul_bind_quant(x, mm, true, Y_ZERO, &s->zero, e);
}

/* One matrix of the batch. */
static void rescale(const gopt_matmul *mm, const scales *s, const int64_t *index, gopt_dtype d, double *y)
{
    for (int64_t i = 0; i < mm->m; i++)
        for (int64_t j = 0; j < mm->n; j++) {
            float a = (float)gopt_matrix_quant_at(&s->a, index, mm->rank, i, j);
            float b = (float)gopt_matrix_quant_at(&s->b, index, mm->rank, i, j);
            float factor = a * b / (float)gopt_matrix_quant_at(&s->y, index, mm->rank, i, j);
            double zero = gopt_matrix_quant_at(&s->zero, index, mm->rank, i, j);
            double *v = &y[i * mm->n + j], scaled = (float)*v * factor;
            *v = gopt_dtype_is_int(d) ? gopt_quantize_int(d, scaled, zero) : scaled + zero;
        }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_matmul mm;
    scales s;
    double *y;
    int64_t index[GOPT_RANK_MAX] = {0};
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(bind(x, &mm, &s, e));
    int64_t n = gopt_tensor_count(x->out[0]), size = mm.m * mm.n;
    GOPT_TRY(gopt_ref_buffer(x, n, &y, e));
    GOPT_TRY(gopt_matmul_run(x, &mm, y, e));
    for (int64_t at = 0; at < n; at += size, gopt_ref_next(index, mm.dim, mm.rank))
        rescale(&mm, &s, index, x->out[0]->dtype, y + at);
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_QLinearMatMul = {.name = "QLinearMatMul",
                                       .domain = "",
                                       .in_min = 8,
                                       .in_max = 8,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .traits = GOPT_TRAIT_HEAVY,
                                       .infer = infer,
                                       .run = run};
