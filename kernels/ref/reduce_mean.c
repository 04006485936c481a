/* reduce_mean.c: ReduceMean: the sum divided by the number of elements; integers are truncated. */
#include "ref/reduce.h"

static double mean(double sum, int64_t n)
{
    return sum / (double)n;
}

static uint64_t mean_int(uint64_t sum, int64_t n, bool is_signed)
{
    if (n == 0)
        return 0;
    return is_signed ? (uint64_t)((int64_t)sum / n) : sum / (uint64_t)n;
}

static const gopt_reduce leaf = {.types = GOPT_REF_FLOAT | GOPT_REF_WIDE,
                                 .step = gopt_reduce_add,
                                 .finish = mean,
                                 .init_int = gopt_reduce_zero,
                                 .step_int = gopt_reduce_add_int,
                                 .finish_int = mean_int};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceMean = {.name = "ReduceMean",
                                    .domain = "",
                                    .in_min = 1,
                                    .in_max = 2,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .infer = infer,
                                    .run = run};
