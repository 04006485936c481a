/* arg_min.c: ArgMin. */
#include "ref/arg.h"

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_arg_run(x, false, e);
}

const gopt_op gopt_op_ArgMin = {.name = "ArgMin",
                                .domain = "",
                                .in_min = 1,
                                .in_max = 1,
                                .out_min = 1,
                                .out_max = 1,
                                .infer = gopt_arg_infer,
                                .run = run};
