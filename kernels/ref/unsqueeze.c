/* unsqueeze.c: Unsqueeze: puts in dimensions of size 1, which axes name by their place in the result. */
#include "ref/move.h"

enum { DATA, AXES };

static gopt_status mark(const gopt_dim *axes, int64_t n, int rank, bool *fresh, gopt_err *e)
{
    int d;
    for (int64_t i = 0; i < n; i++) {
        gopt_status s = gopt_axis(axes[i].k, rank, &d, e);
        if (s)
            return gopt_within(e, s, "input axes");
        if (fresh[d])
            return gopt_fail(e, GOPT_EINPUT, "input axes: axis %d comes twice", d);
        fresh[d] = true;
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    bool fresh[GOPT_RANK_MAX] = {0};
    gopt_dim dim[GOPT_RANK_MAX];
    GOPT_TRY(gopt_ref_type(x, AXES, GOPT_REF_INDEX, "axes", e));
    GOPT_TRY(gopt_ref_rank(x, AXES, 0, 1, "axes", e)); /* a scalar is what some exporters write */
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_ref_infer_type(x, 0, x->in[DATA].dtype);
    gopt_dim wide = gopt_move_length(x, AXES);
    if (!gopt_ref_ranked(x, DATA) || !gopt_dim_is_const(wide))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA];
    GOPT_TRY(gopt_move_check_rank(wide.k, e));
    GOPT_TRY(gopt_move_check_rank(in->rank + wide.k, e));
    int rank = in->rank + (int)wide.k;
    const gopt_dim *axes = gopt_move_constants(x, AXES, &n);
    if (!axes) {
        gopt_move_infer_rank(x, 0, in->dtype, rank);
        return GOPT_OK;
    }
    GOPT_TRY(mark(axes, n, rank, fresh, e));
    for (int d = 0, from = 0; d < rank; d++)
        dim[d] = fresh[d] ? gopt_dim_of(1) : in->dim[from++];
    gopt_move_infer_view(x, rank, dim);
    return GOPT_OK;
}

const gopt_op gopt_op_Unsqueeze = {
    .name = "Unsqueeze",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_VIEW,
    .infer = infer,
    .run = gopt_move_run_view,
};
