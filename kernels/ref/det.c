/* det.c: Det: determinants of a batch of square matrices by elimination with row pivots. */
#include <math.h>

#include "ref/operand.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_rank(x, 0, 2, GOPT_RANK_MAX, "X", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(in->dim[in->rank - 2], in->dim[in->rank - 1], "rows and columns", e));
    gopt_infer_set(x, 0, in->dtype, in->rank - 2, in->dim);
    return GOPT_OK;
}

static int64_t pivot_row(const double *a, int64_t n, int64_t k)
{
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++)
        if (fabs(a[i * n + k]) > fabs(a[best * n + k]))
            best = i;
    return best;
}

static void swap_rows(double *a, int64_t n, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < n; j++) {
        double v = a[p * n + j];
        a[p * n + j] = a[q * n + j];
        a[q * n + j] = v;
    }
}

/* Destroys the matrix. */
static double determinant(double *a, int64_t n)
{
    double det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = pivot_row(a, n, k);
        if (p != k) {
            swap_rows(a, n, p, k);
            det = -det;
        }
        det *= a[k * n + k];
        if (a[k * n + k] == 0)
            return 0;
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int64_t j = k; j < n; j++)
                a[i * n + j] -= f * a[k * n + j];
        }
    }
    return det;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    int64_t n = x->in[0]->dim[x->in[0]->rank - 1], count = gopt_tensor_count(x->out[0]);
    GOPT_TRY(gopt_ref_buffer(x, count, &out, e));
    for (int64_t i = 0; i < count; i++) {
        out[i] = determinant(in + i * n * n, n);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_Det = {
    .name = "Det", .domain = "", .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
