/* instance_normalization.c: InstanceNormalization. */
#include "ref/group_norm.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_group_norm_infer(x, 0, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_group_norm_run(x, 0, e);
}

const gopt_op gopt_op_InstanceNormalization = {.name = "InstanceNormalization",
                                               .domain = "",
                                               .in_min = 3,
                                               .in_max = 3,
                                               .out_min = 1,
                                               .out_max = 1,
                                               .infer = infer,
                                               .run = run};
