/* global_max_pool.c: GlobalMaxPool. */
#include <math.h>

#include "ref/pool.h"

static double largest(gopt_attrs a, const double *v, int64_t n)
{
    double best = -INFINITY;
    (void)a;
    for (int64_t i = 0; i < n; i++)
        best = v[i] > best || isnan(v[i]) ? v[i] : best;
    return best;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_pool_global_run(x, largest, e);
}

const gopt_op gopt_op_GlobalMaxPool = {.name = "GlobalMaxPool",
                                       .domain = "",
                                       .in_min = 1,
                                       .in_max = 1,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .infer = gopt_pool_global_infer,
                                       .run = run};
