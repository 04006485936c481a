/* reduce_min.c: ReduceMin: the smallest value, NaN if there is one. */
#include "ref/reduce.h"

#include <math.h>

static double smaller(double a, double b)
{
    return b < a || isnan(b) ? b : a;
}

static uint64_t highest(gopt_dtype d)
{
    if (d == GOPT_DTYPE_BOOL)
        return 1;
    return ~(uint64_t)0 >> (64 - gopt_dtype_bits(d) + gopt_dtype_is_signed(d));
}

static uint64_t smaller_int(uint64_t a, uint64_t b)
{
    return (int64_t)b < (int64_t)a ? b : a;
}

static const gopt_reduce leaf = {.types = GOPT_REF_REAL | GOPT_REF_BOOL,
                                 .init = INFINITY,
                                 .step = smaller,
                                 .init_int = highest,
                                 .step_int = smaller_int,
                                 .ordered = true,
                                 .step_dim = gopt_dim_min};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceMin = {.name = "ReduceMin",
                                   .domain = "",
                                   .in_min = 1,
                                   .in_max = 2,
                                   .out_min = 1,
                                   .out_max = 1,
                                   .infer = infer,
                                   .run = run};
