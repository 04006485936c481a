/* shape.c: Shape: the dimensions from `start` up to `end`. */
#include "ref/move.h"

/* Both ends count from the back when negative and are held in [0, rank]. */
static void range(gopt_attrs a, int rank, int *lo, int *hi)
{
    int64_t start = gopt_attr_int(a, "start", 0), end = gopt_attr_int(a, "end", rank);
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    *lo = (int)GOPT_MAX(0, GOPT_MIN(start, rank));
    *hi = (int)GOPT_MAX(*lo, GOPT_MIN(end, rank));
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    (void)e;
    int lo = 0, hi = 0;
    gopt_dim n = GOPT_DIM_UNKNOWN;
    if (gopt_ref_ranked(x, 0)) {
        range(x->attrs, x->in[0].rank, &lo, &hi);
        n = gopt_dim_of(hi - lo);
    }
    gopt_infer_set(x, 0, GOPT_DTYPE_I64, 1, &n);
    if (gopt_dim_is_known(n))
        gopt_infer_content(x, 0, x->in[0].dim + lo, hi - lo);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int lo, hi;
    GOPT_TRY(gopt_ref_begin(x, e));
    range(x->attrs, x->in[0]->rank, &lo, &hi);
    for (int d = lo; d < hi; d++)
        gopt_tensor_set_int(x->out[0], d - lo, x->in[0]->dim[d]);
    return GOPT_OK;
}

const gopt_op gopt_op_Shape = {
    .name = "Shape",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_SHAPE_ONLY,
    .infer = infer,
    .run = run,
};
