/* cast_like.c: CastLike: not pointwise, the second input gives its type only. */
#include "ref/convert.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_convert_infer(x, gopt_move_infer_dtype(x, 1), e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_convert_run(x, gopt_move_dtype(x, 1), e);
}

const gopt_op gopt_op_CastLike = {
    .name = "CastLike",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
