/* reduce_sum.c: ReduceSum: the sum. */
#include "ref/reduce.h"

static const gopt_reduce leaf = {.types = GOPT_REF_FLOAT | GOPT_REF_WIDE,
                                 .step = gopt_reduce_add,
                                 .init_int = gopt_reduce_zero,
                                 .step_int = gopt_reduce_add_int,
                                 .step_dim = gopt_dim_add};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceSum = {.name = "ReduceSum",
                                   .domain = "",
                                   .in_min = 1,
                                   .in_max = 2,
                                   .out_min = 1,
                                   .out_max = 1,
                                   .infer = infer,
                                   .run = run};
