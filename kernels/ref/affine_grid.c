/* affine_grid.c: AffineGrid: sampling places of an affine map, for images and volumes. */
#include "ref/operand.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "theta", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_INDEX, "size", e));
    GOPT_TRY(gopt_ref_rank(x, 0, 3, 3, "theta", e));
    GOPT_TRY(gopt_ref_rank(x, 1, 1, 1, "size", e));
    gopt_ref_infer_type(x, 0, x->in[0].dtype);
    const gopt_dim *size = gopt_infer_ints(x, 1, &n);
    if (!size || !gopt_ref_ranked(x, 0))
        return GOPT_OK;
    if (n != 4 && n != 5)
        return gopt_fail(e, GOPT_EINPUT, "input size: %lld values, 4 or 5 expected", (long long)n);
    int axes = (int)n - 2;
    GOPT_TRY(gopt_ref_equal(x->in[0].dim[0], size[0], "batch sizes of theta and size", e));
    GOPT_TRY(gopt_ref_equal(x->in[0].dim[1], gopt_dim_of(axes), "rows of theta", e));
    GOPT_TRY(gopt_ref_equal(x->in[0].dim[2], gopt_dim_of(axes + 1), "columns of theta", e));
    gopt_dim dim[5] = {size[0]};
    for (int d = 0; d < axes; d++) {
        dim[1 + d] = size[2 + d];
        if (gopt_dim_is_const(size[2 + d]) && size[2 + d].k < 0)
            return gopt_fail(e, GOPT_EINPUT, "input size: %lld is negative", (long long)size[2 + d].k);
    }
    dim[1 + axes] = gopt_dim_of(axes);
    gopt_infer_set(x, 0, x->in[0].dtype, axes + 2, dim);
    return GOPT_OK;
}

/* The place of cell i of n in [-1, 1]. */
static double place(int64_t i, int64_t n, bool corners)
{
    if (corners)
        return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : -1;
    return (2 * (double)i + 1) / (double)n - 1;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *theta, *out;
    bool corners = gopt_attr_int(x->attrs, "align_corners", 0) != 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *to = x->out[0];
    int axes = to->rank - 2;
    GOPT_TRY(gopt_ref_load(x, 0, &theta, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(to), &out, e));
    int64_t index[GOPT_RANK_MAX] = {0}, cells = gopt_ref_count(to->dim, to->rank - 1);
    for (int64_t i = 0; i < cells; i++, gopt_ref_next(index, to->dim, to->rank - 1))
        for (int r = 0; r < axes; r++) {
            const double *row = theta + (index[0] * axes + r) * (axes + 1);
            double sum = row[axes];
            for (int c = 0; c < axes; c++) /* coordinates come innermost axis first */
                sum += row[c] * place(index[axes - c], to->dim[axes - c], corners);
            out[i * axes + r] = sum;
        }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_AffineGrid = {.name = "AffineGrid",
                                    .domain = "",
                                    .in_min = 2,
                                    .in_max = 2,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .infer = infer,
                                    .run = run};
