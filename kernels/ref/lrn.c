/* lrn.c: LRN: every channel is divided by a power of the sum of squares over its neighbours. */
#include <math.h>

#include "ref/operand.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t size = gopt_attr_int(x->attrs, "size", 0);
    if (size < 1 || size > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute size: %lld, 1 or more expected", (long long)size);
    return gopt_ref_infer_float(x, 2, e);
}

static void normalize(gopt_attrs a, const double *in, int64_t channels, int64_t n, double *out)
{
    int64_t size = gopt_attr_int(a, "size", 0), before = (size - 1) / 2, after = size - 1 - before;
    double alpha = gopt_attr_float(a, "alpha", 1e-4f) / (double)size, beta = gopt_attr_float(a, "beta", 0.75);
    double bias = gopt_attr_float(a, "bias", 1);
    for (int64_t c = 0; c < channels; c++) {
        int64_t lo = GOPT_MAX(0, c - before), hi = GOPT_MIN(channels - 1, c + after);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = lo; k <= hi; k++)
                sum += in[k * n + i] * in[k * n + i];
            out[c * n + i] = in[c * n + i] / pow(bias + alpha * sum, beta);
        }
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->in[0]), &out, e));
    const int64_t *dim = x->in[0]->dim;
    int64_t n = gopt_ref_count(dim + 2, x->in[0]->rank - 2);
    for (int64_t b = 0; b < dim[0]; b++) {
        normalize(x->attrs, in + b * dim[1] * n, dim[1], n, out + b * dim[1] * n);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_LRN = {
    .name = "LRN", .domain = "", .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
