/* gopt_pointwise.c: gopt Pointwise: the anchor of a fused group that has none. All it computes is the group's `post`,
 * which whoever runs groups evaluates (refrun.h); alone it says nothing. */
#include <limits.h>

#include "op.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    (void)x;
    return gopt_fail(e, GOPT_EINPUT, "Pointwise without a group");
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    (void)x;
    return gopt_fail(e, GOPT_EINPUT, "Pointwise without a group");
}

const gopt_op gopt_op_gopt_Pointwise = {
    .name = "Pointwise", .domain = "gopt", .in_max = INT_MAX, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
