/* non_zero.c: NonZero: the indices of what is not 0, one column each, in row-major order. */
#include "ref/move.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim dim[] = {GOPT_DIM_UNKNOWN, GOPT_DIM_UNKNOWN};
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_DATA, "X", e));
    if (gopt_ref_ranked(x, 0))
        dim[0] = gopt_dim_of(x->in[0].rank);
    gopt_infer_set(x, 0, GOPT_DTYPE_I64, 2, dim);
    return GOPT_OK;
}

/* Not through an integer: 0.5 is not 0. */
static bool is_zero(const gopt_tensor *t, int64_t i)
{
    return gopt_dtype_is_float(t->dtype) ? gopt_tensor_get(t, i) == 0 : gopt_tensor_get_int(t, i) == 0;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = gopt_ref_in(x, 0);
    if (!in || !gopt_move_is_number(in->dtype))
        return gopt_fail(e, GOPT_EINPUT, "input X: %s", in ? gopt_dtype_name(in->dtype) : "missing");
    int64_t n = gopt_tensor_count(in), found = 0, index[GOPT_RANK_MAX] = {0};
    for (int64_t i = 0; i < n; i++)
        found += !is_zero(in, i);
    GOPT_TRY(gopt_exec_out(x, 0, GOPT_DTYPE_I64, 2, (int64_t[]){in->rank, found}, e));
    if (!x->out[0])
        return GOPT_OK;
    for (int64_t i = 0, column = 0; i < n; i++, gopt_ref_next(index, in->dim, in->rank)) {
        for (int d = 0; !is_zero(in, i) && d < in->rank; d++)
            gopt_tensor_set_int(x->out[0], d * found + column, index[d]);
        column += !is_zero(in, i);
        if (i % 4096 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_NonZero = {
    .name = "NonZero",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
