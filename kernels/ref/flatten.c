/* flatten.c: Flatten: the dimensions before `axis` become one, and those from there on another. */
#include "ref/move.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t axis = gopt_attr_int(x->attrs, "axis", 1);
    int rank = gopt_ref_ranked(x, 0) ? x->in[0].rank : -1;
    if (!gopt_infer_has(x, 0))
        return GOPT_OK;
    if (rank < 0) {
        gopt_move_infer_rank(x, 0, x->in[0].dtype, 2);
        return GOPT_OK;
    }
    if (axis < -rank || axis > rank)
        return gopt_fail(e, GOPT_EINPUT, "attribute axis: %lld is outside [%d, %d]", (long long)axis, -rank, rank);
    int at = (int)(axis < 0 ? axis + rank : axis);
    const gopt_dim dim[] = {gopt_ref_product(x->dims, x->in[0].dim, at),
                            gopt_ref_product(x->dims, x->in[0].dim + at, rank - at)};
    gopt_move_infer_view(x, 2, dim);
    return GOPT_OK;
}

const gopt_op gopt_op_Flatten = {
    .name = "Flatten",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_VIEW,
    .infer = infer,
    .run = gopt_move_run_view,
};
