/* cast.c: Cast. */
#include "ref/convert.h"

static gopt_dtype target(gopt_attrs a)
{
    return gopt_move_type(gopt_attr_int(a, "to", GOPT_DTYPE_NONE));
}

static int expr(gopt_expr *x, gopt_attrs attrs, const int *a, int n)
{
    (void)n;
    gopt_dtype to = target(attrs);
    return a[0] >= 0 && gopt_convert_is_plain(attrs, x->at[a[0]].dtype, to) ? gopt_expr_cast(x, a[0], to) : -1;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dtype to = target(x->attrs);
    if (to == GOPT_DTYPE_NONE)
        return gopt_fail(e, GOPT_EINPUT, "attribute to: %lld is no type",
                         (long long)gopt_attr_int(x->attrs, "to", GOPT_DTYPE_NONE));
    if (gopt_convert_is_plain(x->attrs, gopt_move_infer_dtype(x, 0), to))
        return gopt_pointwise_infer(x, e);
    return gopt_convert_infer(x, to, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_convert_run(x, target(x->attrs), e);
}

const gopt_op gopt_op_Cast = {
    .name = "Cast",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_POINTWISE,
    .infer = infer,
    .run = run,
    .expr = expr,
};
