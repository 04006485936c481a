/* lp_normalization.c: LpNormalization: division by the 1- or 2-norm along an axis; a vector of zeros stays zero. */
#include "ref/axis.h"

#include <math.h>

static void normalize(gopt_attrs a, double *v, int64_t n)
{
    bool one = gopt_attr_int(a, "p", 2) == 1;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += one ? fabs(v[i]) : v[i] * v[i];
    double norm = one ? sum : sqrt(sum);
    for (int64_t i = 0; i < n; i++)
        v[i] = norm == 0 ? 0 : v[i] / norm;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t p = gopt_attr_int(x->attrs, "p", 2);
    if (p != 1 && p != 2)
        return gopt_fail(e, GOPT_EINPUT, "attribute p: %lld, 1 or 2 expected", (long long)p);
    return gopt_ref_infer_same(x, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_axis_run(x, normalize, e);
}

const gopt_op gopt_op_LpNormalization = {.name = "LpNormalization",
                                         .domain = "",
                                         .in_min = 1,
                                         .in_max = 1,
                                         .out_min = 1,
                                         .out_max = 1,
                                         .infer = infer,
                                         .run = run};
