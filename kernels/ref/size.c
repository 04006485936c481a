/* size.c: Size: the number of elements. */
#include "ref/move.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    (void)e;
    gopt_infer_set(x, 0, GOPT_DTYPE_I64, 0, NULL);
    if (gopt_ref_ranked(x, 0)) {
        gopt_dim n = gopt_ref_product(x->dims, x->in[0].dim, x->in[0].rank);
        gopt_infer_content(x, 0, &n, 1);
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_tensor_set_int(x->out[0], 0, gopt_tensor_count(x->in[0]));
    return GOPT_OK;
}

const gopt_op gopt_op_Size = {
    .name = "Size",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_SHAPE_ONLY,
    .infer = infer,
    .run = run,
};
