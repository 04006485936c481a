/* cosine_window.c: window functions of a length that is a value. */
#include "ref/cosine_window.h"

#include <math.h>

gopt_status gopt_cosine_window_infer(gopt_infer *x, gopt_err *e)
{
    int64_t n, type = gopt_attr_int(x->attrs, "output_datatype", GOPT_DTYPE_F32);
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_INDEX, "size", e));
    GOPT_TRY(gopt_ref_scalar(x, 0, "size", e));
    gopt_fact made = {.dtype = type > 0 && type < GOPT_DTYPE_COUNT ? (gopt_dtype)type : GOPT_DTYPE_STRING};
    gopt_infer out = {.n_in = 1, .in = &made};
    GOPT_TRY(gopt_ref_type(&out, 0, GOPT_REF_REAL, "output_datatype", e));
    const gopt_dim *size = gopt_infer_ints(x, 0, &n);
    gopt_dim dim = size && n == 1 ? size[0] : GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(dim) && dim.k < 0)
        return gopt_fail(e, GOPT_EINPUT, "input size: %lld is negative", (long long)dim.k);
    gopt_infer_set(x, 0, made.dtype, 1, &dim);
    return GOPT_OK;
}

gopt_status gopt_cosine_window_run(gopt_exec *x, const double a[3], gopt_err *e)
{
    const double pi = 3.14159265358979323846;
    double *v;
    GOPT_TRY(gopt_ref_begin(x, e));
    int64_t n = x->out[0]->dim[0];
    double period = (double)(gopt_attr_int(x->attrs, "periodic", 1) ? n : n - 1);
    GOPT_TRY(gopt_ref_buffer(x, n, &v, e));
    for (int64_t k = 0; k < n; k++) {
        double angle = period > 0 ? 2 * pi * (double)k / period : pi; /* a single cell is the middle */
        v[k] = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
    }
    gopt_ref_store(x, 0, v);
    return GOPT_OK;
}
