/* group_normalization.c: GroupNormalization. */
#include "ref/group_norm.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t groups = gopt_attr_int(x->attrs, "num_groups", 0);
    if (groups < 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_groups: %lld, 1 or more expected", (long long)groups);
    return gopt_group_norm_infer(x, groups, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_group_norm_run(x, gopt_attr_int(x->attrs, "num_groups", 0), e);
}

const gopt_op gopt_op_GroupNormalization = {.name = "GroupNormalization",
                                            .domain = "",
                                            .in_min = 3,
                                            .in_max = 3,
                                            .out_min = 1,
                                            .out_max = 1,
                                            .infer = infer,
                                            .run = run};
