/* reduce_max.c: ReduceMax: the largest value, NaN if there is one. */
#include "ref/reduce.h"

#include <math.h>

static uint64_t lowest(gopt_dtype d)
{
    return gopt_dtype_is_signed(d) ? ~(uint64_t)0 << (gopt_dtype_bits(d) - 1) : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return (int64_t)b > (int64_t)a ? b : a;
}

static const gopt_reduce leaf = {.types = GOPT_REF_REAL | GOPT_REF_BOOL,
                                 .init = -INFINITY,
                                 .step = gopt_reduce_max,
                                 .init_int = lowest,
                                 .step_int = larger,
                                 .ordered = true,
                                 .step_dim = gopt_dim_max};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceMax = {.name = "ReduceMax",
                                   .domain = "",
                                   .in_min = 1,
                                   .in_max = 2,
                                   .out_min = 1,
                                   .out_max = 1,
                                   .infer = infer,
                                   .run = run};
