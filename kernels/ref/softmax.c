/* softmax.c: Softmax. */
#include "ref/axis.h"

#include <math.h>

static void softmax(gopt_attrs a, double *v, int64_t n)
{
    double shift = gopt_axis_largest(v, n), sum = 0;
    (void)a;
    for (int64_t i = 0; i < n; i++)
        sum += v[i] = exp(v[i] - shift);
    for (int64_t i = 0; i < n; i++)
        v[i] /= sum;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_axis_run(x, softmax, e);
}

const gopt_op gopt_op_Softmax = {.name = "Softmax",
                                 .domain = "",
                                 .in_min = 1,
                                 .in_max = 1,
                                 .out_min = 1,
                                 .out_max = 1,
                                 .infer = gopt_ref_infer_same,
                                 .run = run};
