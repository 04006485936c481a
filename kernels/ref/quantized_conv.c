/* quantized_conv.c: convolution of 8-bit integers, exact in double. */
#include "ref/quantized_conv.h"

gopt_status gopt_quantized_conv_check_filters(gopt_infer *x, const gopt_quantized_conv *q, int i, const char *name,
                                              gopt_err *e)
{
    if (!gopt_ref_ranked(x, i) || !gopt_ref_ranked(x, q->w) || x->in[i].rank == 0)
        return GOPT_OK;
    gopt_dim n = x->in[i].dim[0];
    if (x->in[i].rank == 1 && gopt_dim_is_const(n) && n.k == 1)
        return GOPT_OK;
    return gopt_ref_vector(x, i, x->in[q->w].dim[0], name, e);
}

gopt_status gopt_quantized_conv_infer(gopt_infer *x, const gopt_quantized_conv *q, gopt_dtype out, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, q->x, GOPT_REF_BYTE, "x", e));
    GOPT_TRY(gopt_ref_type(x, q->w, GOPT_REF_BYTE, "w", e));
    GOPT_TRY(gopt_ref_same_type(x, q->x, q->x_zero, e));
    GOPT_TRY(gopt_ref_same_type(x, q->w, q->w_zero, e));
    GOPT_TRY(gopt_ref_rank(x, q->w, 3, GOPT_RANK_MAX, "w", e));
    GOPT_TRY(gopt_ref_scalar(x, q->x_zero, "x_zero_point", e));
    GOPT_TRY(gopt_quantized_conv_check_filters(x, q, q->w_zero, "w_zero_point", e));
    return gopt_conv_infer(x, q->x, q->w, out, e);
}

static void subtract(double *v, int64_t n, double zero)
{
    for (int64_t i = 0; i < n; i++)
        v[i] -= zero;
}

gopt_status gopt_quantized_conv_run(gopt_exec *x, const gopt_quantized_conv *q, const double *bias, double **sums,
                                    gopt_err *e)
{
    gopt_conv c;
    double *in, *weight, *zero;
    GOPT_TRY(gopt_conv_bind(x, q->x, q->w, &c, e));
    GOPT_TRY(gopt_ref_load(x, q->x, &in, e));
    GOPT_TRY(gopt_ref_load(x, q->w, &weight, e));
    GOPT_TRY(gopt_ref_load(x, q->w_zero, &zero, e));
    subtract(in, gopt_tensor_count(x->in[q->x]), gopt_ref_number(x, q->x_zero, 0));
    int64_t size = c.filters ? gopt_tensor_count(x->in[q->w]) / c.filters : 0;
    bool each = zero && gopt_tensor_count(x->in[q->w_zero]) > 1;
    for (int64_t m = 0; zero && m < c.filters; m++)
        subtract(weight + m * size, size, zero[each ? m : 0]);
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), sums, e));
    return gopt_conv_run(x, &c, in, weight, bias, *sums, e);
}
