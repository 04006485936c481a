/* reduce_l2.c: ReduceL2: the root of the sum of squares. */
#include "ref/reduce.h"

#include <math.h>

static double root(double sum, int64_t n)
{
    (void)n;
    return sqrt(sum);
}

static const gopt_reduce leaf = {
    .types = GOPT_REF_FLOAT | GOPT_REF_WIDE, .step = gopt_reduce_add_square, .finish = root};

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_reduce_infer(x, &leaf, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_reduce_run(x, &leaf, e);
}

const gopt_op gopt_op_ReduceL2 = {
    .name = "ReduceL2", .domain = "", .in_min = 1, .in_max = 2, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
