/* compress.c: Compress: the slices along an axis, or the elements of the whole input, for which a condition holds. */
#include "ref/move.h"

enum { DATA, CONDITION };

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int axis;
    bool flat;
    GOPT_TRY(gopt_ref_type(x, CONDITION, GOPT_REF_BOOL, "condition", e));
    GOPT_TRY(gopt_ref_vector(x, CONDITION, GOPT_DIM_UNKNOWN, "condition", e));
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    if (!gopt_ref_ranked(x, DATA))
        return GOPT_OK;
    gopt_fact in = x->in[DATA];
    GOPT_TRY(gopt_move_flat_axis(x->attrs, in.rank, &axis, &flat, e));
    in.dim[axis] = GOPT_DIM_UNKNOWN;
    gopt_infer_set(x, 0, in.dtype, flat ? 1 : in.rank, in.dim);
    return GOPT_OK;
}

/* The positions of at most n slices that stay. */
static gopt_status choose(gopt_exec *x, int64_t n, int64_t **out, int64_t *chosen, gopt_err *e)
{
    const gopt_tensor *condition = x->in[CONDITION];
    n = GOPT_MIN(n, gopt_tensor_count(condition));
    *chosen = 0;
    *out = GOPT_NEW(x->scratch, int64_t, n);
    if (!*out)
        return gopt_oom(e);
    for (int64_t i = 0; i < n; i++)
        if (gopt_tensor_get_int(condition, i))
            (*out)[(*chosen)++] = i;
    return GOPT_OK;
}

static gopt_status check(const gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *condition = gopt_ref_in(x, CONDITION);
    char have[160];
    if (!condition || !gopt_ref_in(x, DATA))
        return gopt_fail(e, GOPT_EINPUT, "an input is missing");
    if (condition->dtype != GOPT_DTYPE_BOOL || condition->rank != 1)
        return gopt_fail(e, GOPT_EINPUT, "input condition: %s, a vector of bool expected",
                         gopt_tensor_describe(have, sizeof have, condition));
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int axis;
    bool flat;
    int64_t *chosen, n, dim[GOPT_RANK_MAX];
    GOPT_TRY(check(x, e));
    const gopt_tensor *in = x->in[DATA];
    GOPT_TRY(gopt_move_flat_axis(x->attrs, in->rank, &axis, &flat, e));
    gopt_axis_split s = flat ? (gopt_axis_split){1, gopt_tensor_count(in), 1} : gopt_axis_of(in, axis);
    GOPT_TRY(choose(x, s.n, &chosen, &n, e));
    for (int d = 0; d < in->rank; d++)
        dim[d] = in->dim[d];
    dim[axis] = n;
    GOPT_TRY(gopt_exec_out(x, 0, in->dtype, flat ? 1 : in->rank, dim, e));
    for (int64_t o = 0; x->out[0] && gopt_tensor_count(x->out[0]) > 0 && o < s.outer; o++) {
        for (int64_t i = 0; i < n; i++)
            gopt_move(x->out[0], (o * n + i) * s.inner, in, (o * s.n + chosen[i]) * s.inner, s.inner);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_Compress = {
    .name = "Compress",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
