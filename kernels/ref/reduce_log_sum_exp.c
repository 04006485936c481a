/* reduce_log_sum_exp.c: ReduceLogSumExp: the logarithm of the sum of exponentials. */
#include "ref/reduce.h"

#include <math.h>

static double add_exp(double sum, double v)
{
    return sum + exp(v);
}

static const gopt_reduce leaf = {
    .types = GOPT_REF_FLOAT | GOPT_REF_WIDE, .step = add_exp, .finish = gopt_reduce_log, .shifted = true};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceLogSumExp = {.name = "ReduceLogSumExp",
                                         .domain = "",
                                         .in_min = 1,
                                         .in_max = 2,
                                         .out_min = 1,
                                         .out_max = 1,
                                         .infer = infer,
                                         .run = run};
