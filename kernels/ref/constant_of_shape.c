/* constant_of_shape.c: ConstantOfShape: one value everywhere, 0.0f unless the attribute says otherwise. */
#include "ref/move.h"

/* The one-element tensor to fill with; NULL: a float32 zero. */
static gopt_status read_value(gopt_attrs a, const gopt_tensor **out, gopt_err *e)
{
    const gopt_attr *value = gopt_attr_find(a, "value");
    *out = value && value->kind == GOPT_ATTR_TENSOR ? value->tensor : NULL;
    if (*out && gopt_tensor_count(*out) != 1)
        return gopt_fail(e, GOPT_EINPUT, "attribute value: %lld elements, 1 expected",
                         (long long)gopt_tensor_count(*out));
    return GOPT_OK;
}

static void infer_content(gopt_infer *x, const gopt_tensor *value)
{
    int64_t dim[GOPT_RANK_MAX], n;
    bool whole = gopt_dtype_is_int(value->dtype) || value->dtype == GOPT_DTYPE_BOOL;
    if (!whole || !gopt_fact_static(&x->out[0], dim) || !gopt_dims_count(dim, x->out[0].rank, &n) ||
        n > GOPT_CONTENT_MAX)
        return;
    gopt_dim *content = GOPT_NEW(x->arena, gopt_dim, n);
    for (int64_t i = 0; content && i < n; i++)
        content[i] = gopt_dim_of(gopt_tensor_get_int(value, 0));
    x->out[0].content = content;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    const gopt_tensor *value;
    GOPT_TRY(read_value(x->attrs, &value, e));
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_INDEX, "input", e));
    GOPT_TRY(gopt_ref_vector(x, 0, GOPT_DIM_UNKNOWN, "input", e));
    gopt_dtype d = value ? value->dtype : GOPT_DTYPE_F32;
    gopt_ref_infer_type(x, 0, d);
    if (!gopt_ref_ranked(x, 0) || !gopt_dim_is_const(x->in[0].dim[0]))
        return GOPT_OK;
    GOPT_TRY(gopt_move_check_rank(x->in[0].dim[0].k, e));
    gopt_move_infer_rank(x, 0, d, (int)x->in[0].dim[0].k);
    const gopt_dim *shape = gopt_move_content(x, 0, &n);
    for (int i = 0; shape && i < x->out[0].rank; i++) {
        if (gopt_dim_is_const(shape[i]) && shape[i].k < 0)
            return gopt_fail(e, GOPT_EINPUT, "dimension %d is %lld", i, (long long)shape[i].k);
        x->out[0].dim[i] = shape[i];
    }
    if (value)
        infer_content(x, value);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    enum { CHUNK = 4096 }; /* elements between two looks at the clock */
    const gopt_tensor *value;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_value(x->attrs, &value, e));
    int64_t n = gopt_tensor_count(x->out[0]);
    for (int64_t i = 0; i < n; i += CHUNK) {
        gopt_move_fill(x->out[0], i, GOPT_MIN(CHUNK, n - i), value, 0);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_ConstantOfShape = {
    .name = "ConstantOfShape",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
