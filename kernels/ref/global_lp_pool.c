/* global_lp_pool.c: GlobalLpPool. */
#include <math.h>

#include "ref/pool.h"

static double norm(gopt_attrs a, const double *v, int64_t n)
{
    double p = (double)gopt_attr_int(a, "p", 2), sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pow(fabs(v[i]), p);
    return pow(sum, 1 / p);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_pool_global_run(x, norm, e);
}

const gopt_op gopt_op_GlobalLpPool = {.name = "GlobalLpPool",
                                      .domain = "",
                                      .in_min = 1,
                                      .in_max = 1,
                                      .out_min = 1,
                                      .out_max = 1,
                                      .infer = gopt_pool_global_infer,
                                      .run = run};
