/* eye_like.c: EyeLike: ones on a diagonal of a matrix of the input's shape. */
#include "ref/move.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t number = gopt_attr_int(x->attrs, "dtype", gopt_move_infer_dtype(x, 0));
    gopt_dtype d = gopt_move_type(number);
    GOPT_TRY(gopt_ref_rank(x, 0, 2, 2, "input", e));
    if (!gopt_infer_has(x, 0))
        return GOPT_OK;
    if (!gopt_move_is_number(d))
        return gopt_fail(e, GOPT_EINPUT, "attribute dtype: %lld is no type of numbers", (long long)number);
    gopt_infer_set(x, 0, d, x->in[0].rank, x->in[0].dim);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_tensor *out = x->out[0];
    int64_t k = gopt_attr_int(x->attrs, "k", 0), rows = out->dim[0], cols = out->dim[1];
    k = GOPT_MAX(-rows, GOPT_MIN(k, cols)); /* further out there is no element */
    for (int64_t row = 0; cols > 0 && row < rows; row++) {
        for (int64_t col = 0; col < cols; col++)
            gopt_tensor_set_int(out, row * cols + col, col == row + k);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_EyeLike = {
    .name = "EyeLike",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
