/* global_average_pool.c: GlobalAveragePool. */
#include "ref/pool.h"

static double mean(gopt_attrs a, const double *v, int64_t n)
{
    double sum = 0;
    (void)a;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_pool_global_run(x, mean, e);
}

const gopt_op gopt_op_GlobalAveragePool = {.name = "GlobalAveragePool",
                                           .domain = "",
                                           .in_min = 1,
                                           .in_max = 1,
                                           .out_min = 1,
                                           .out_max = 1,
                                           .infer = gopt_pool_global_infer,
                                           .run = run};
