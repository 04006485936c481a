/* arg.c: the place of an extreme along an axis. */
#include "ref/arg.h"

#include "ref/axis.h"
#include "ref/order.h"

static gopt_status read_axis(gopt_attrs a, int rank, int *axis, gopt_err *e)
{
    gopt_status s = gopt_axis(gopt_attr_int(a, "axis", 0), rank, axis, e);
    return s ? gopt_within(e, s, "attribute axis") : GOPT_OK;
}

gopt_status gopt_arg_infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    int axis, rank = 0;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_REAL | GOPT_REF_BOOL, "data", e));
    gopt_ref_infer_type(x, 0, GOPT_DTYPE_I64);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(read_axis(x->attrs, in->rank, &axis, e));
    if (gopt_dim_is_const(in->dim[axis]) && in->dim[axis].k == 0)
        return gopt_fail(e, GOPT_EINPUT, "axis %d is empty", axis);
    gopt_dim dim[GOPT_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        if (d != axis)
            dim[rank++] = in->dim[d];
        else if (gopt_attr_int(x->attrs, "keepdims", 1))
            dim[rank++] = gopt_dim_of(1);
    gopt_infer_set(x, 0, GOPT_DTYPE_I64, rank, dim);
    return GOPT_OK;
}

static int64_t find(const int64_t *key, int64_t n, bool largest, bool last)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if ((largest ? key[i] > key[best] : key[i] < key[best]) || (last && key[i] == key[best]))
            best = i;
    return best;
}

gopt_status gopt_arg_run(gopt_exec *x, bool largest, gopt_err *e)
{
    int axis;
    bool last = gopt_attr_int(x->attrs, "select_last_index", 0) != 0;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_axis(x->attrs, x->in[0]->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(x->in[0], axis);
    int64_t *key = GOPT_NEW(x->scratch, int64_t, s.n);
    if (!key)
        return gopt_oom(e);
    for (int64_t i = 0; i < s.outer * s.inner; i++) {
        gopt_order_keys(x->in[0], i / s.inner * s.n * s.inner + i % s.inner, s.n, s.inner, key);
        gopt_tensor_set_int(x->out[0], i, find(key, s.n, largest, last));
        if ((i & 255) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}
