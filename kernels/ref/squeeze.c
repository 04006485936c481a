/* squeeze.c: Squeeze: takes away dimensions of size 1, those that axes name or all. */
#include "ref/move.h"

enum { DATA, AXES };

static gopt_status mark(const gopt_infer *x, const gopt_dim *axes, int64_t n, bool *gone, gopt_err *e)
{
    const gopt_fact *in = &x->in[DATA];
    int d;
    for (int64_t i = 0; i < n; i++) {
        gopt_status s = gopt_axis(axes[i].k, in->rank, &d, e);
        if (s)
            return gopt_within(e, s, "input axes");
        if (gopt_dim_is_const(in->dim[d]) && in->dim[d].k != 1)
            return gopt_fail(e, GOPT_EINPUT, "input axes: dimension %d is %lld, not 1", d, (long long)in->dim[d].k);
        gone[d] = true;
    }
    return GOPT_OK;
}

/* Without axes: false when it is not known which dimensions are 1. */
static bool mark_ones(const gopt_fact *in, bool *gone)
{
    for (int d = 0; d < in->rank; d++) {
        if (!gopt_dim_is_const(in->dim[d]))
            return false;
        gone[d] = in->dim[d].k == 1;
    }
    return true;
}

static void infer_unknown(gopt_infer *x)
{
    const gopt_fact *in = &x->in[DATA];
    gopt_dim n = gopt_move_length(x, AXES);
    gopt_ref_infer_type(x, 0, in->dtype);
    if (in->rank >= 0 && gopt_dim_is_const(n) && n.k >= 0 && n.k <= in->rank)
        gopt_move_infer_rank(x, 0, in->dtype, in->rank - (int)n.k);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    int rank = 0;
    bool gone[GOPT_RANK_MAX] = {0};
    gopt_dim dim[GOPT_RANK_MAX];
    GOPT_TRY(gopt_ref_type(x, AXES, GOPT_REF_INDEX, "axes", e));
    GOPT_TRY(gopt_ref_rank(x, AXES, 0, 1, "axes", e)); /* a scalar is what some exporters write */
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    const gopt_fact *in = &x->in[DATA];
    const gopt_dim *axes = gopt_move_constants(x, AXES, &n);
    bool known = in->rank >= 0 && (gopt_infer_has(x, AXES) ? axes != NULL : mark_ones(in, gone));
    if (!known) {
        infer_unknown(x);
        return GOPT_OK;
    }
    if (axes)
        GOPT_TRY(mark(x, axes, n, gone, e));
    for (int d = 0; d < in->rank; d++)
        if (!gone[d])
            dim[rank++] = in->dim[d];
    gopt_move_infer_view(x, rank, dim);
    return GOPT_OK;
}

const gopt_op gopt_op_Squeeze = {
    .name = "Squeeze",
    .domain = "",
    .in_min = 1,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_VIEW,
    .infer = infer,
    .run = gopt_move_run_view,
};
