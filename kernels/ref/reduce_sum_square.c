/* reduce_sum_square.c: ReduceSumSquare: the sum of squares. */
#include "ref/reduce.h"

static uint64_t add_square(uint64_t sum, uint64_t v)
{
    return sum + v * v;
}

static const gopt_reduce leaf = {.types = GOPT_REF_FLOAT | GOPT_REF_WIDE,
                                 .step = gopt_reduce_add_square,
                                 .init_int = gopt_reduce_zero,
                                 .step_int = add_square};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceSumSquare = {.name = "ReduceSumSquare",
                                         .domain = "",
                                         .in_min = 1,
                                         .in_max = 2,
                                         .out_min = 1,
                                         .out_max = 1,
                                         .infer = infer,
                                         .run = run};
