/* log_softmax.c: LogSoftmax. */
#include "ref/axis.h"

#include <math.h>

static void log_softmax(gopt_attrs a, double *v, int64_t n)
{
    double shift = gopt_axis_largest(v, n), sum = 0;
    (void)a;
    for (int64_t i = 0; i < n; i++)
        sum += exp(v[i] - shift);
    for (int64_t i = 0; i < n; i++)
        v[i] = v[i] - shift - log(sum);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_axis_run(x, log_softmax, e);
}

const gopt_op gopt_op_LogSoftmax = {.name = "LogSoftmax",
                                    .domain = "",
                                    .in_min = 1,
                                    .in_max = 1,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .infer = gopt_ref_infer_same,
                                    .run = run};
