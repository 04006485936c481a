/* reduce_prod.c: ReduceProd: the product. */
#include "ref/reduce.h"

static double multiply(double a, double b)
{
    return a * b;
}

static uint64_t one(gopt_dtype d)
{
    (void)d;
    return 1;
}

static uint64_t multiply_int(uint64_t a, uint64_t b)
{
    return a * b;
}

static const gopt_reduce leaf = {.types = GOPT_REF_FLOAT | GOPT_REF_WIDE,
                                 .init = 1,
                                 .step = multiply,
                                 .init_int = one,
                                 .step_int = multiply_int,
                                 .step_dim = gopt_dim_mul};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceProd = {.name = "ReduceProd",
                                    .domain = "",
                                    .in_min = 1,
                                    .in_max = 2,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .infer = infer,
                                    .run = run};
