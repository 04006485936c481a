/* trilu.c: Trilu: the part of every matrix above or below a diagonal, zeros elsewhere. */
#include "ref/move.h"

enum { DATA, DIAGONAL };

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_rank(x, DATA, 2, GOPT_RANK_MAX, "input", e));
    GOPT_TRY(gopt_ref_type(x, DIAGONAL, GOPT_REF_INDEX, "k", e));
    GOPT_TRY(gopt_ref_scalar(x, DIAGONAL, "k", e));
    if (gopt_infer_has(x, DATA))
        gopt_infer_like(x, 0, DATA);
    return GOPT_OK;
}

/* Row number r of a matrix with `cols` columns: columns [lo, hi) stay. */
static void keep(gopt_tensor *out, const gopt_tensor *in, int64_t row, int64_t cols, int64_t lo, int64_t hi)
{
    int64_t at = row * cols;
    gopt_move_fill(out, at, lo, NULL, 0);
    gopt_move(out, at + lo, in, at + lo, hi - lo);
    gopt_move_fill(out, at + hi, cols - hi, NULL, 0);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[DATA], *diagonal = gopt_ref_in(x, DIAGONAL);
    int64_t rows = in->dim[in->rank - 2], cols = in->dim[in->rank - 1];
    int64_t k = diagonal ? gopt_tensor_get_int(diagonal, 0) : 0, n = gopt_tensor_count(in);
    bool upper = gopt_attr_int(x->attrs, "upper", 1);
    k = GOPT_MAX(-rows, GOPT_MIN(k, cols)); /* further out nothing changes */
    for (int64_t row = 0; n > 0 && row < n / cols; row++) {
        int64_t edge = row % rows + k + (upper ? 0 : 1); /* the first column right of the border */
        edge = GOPT_MAX(0, GOPT_MIN(edge, cols));
        keep(x->out[0], in, row, cols, upper ? edge : 0, upper ? cols : edge);
        if (row % 1024 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_Trilu = {
    .name = "Trilu",
    .domain = "",
    .in_min = 1,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
