/* reduce_l1.c: ReduceL1: the sum of absolute values. */
#include "ref/reduce.h"

#include <math.h>

static double add_absolute(double sum, double v)
{
    return sum + fabs(v);
}

static const gopt_reduce leaf = {.types = GOPT_REF_FLOAT | GOPT_REF_WIDE, .step = add_absolute};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceL1 = {
    .name = "ReduceL1", .domain = "", .in_min = 1, .in_max = 2, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
