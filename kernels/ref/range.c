/* range.c: Range: start, start + delta, ... up to limit, which is not reached. */
#include "ref/move.h"

#include <math.h>

enum { START, LIMIT, DELTA, OPERANDS };

static bool is_int(const gopt_infer *x)
{
    return gopt_dtype_is_int(gopt_move_infer_dtype(x, START));
}

/* ---- how many ---- */

/* The number of integers; symbolic unless all three are constants. */
static gopt_status count_ints(gopt_dims *t, gopt_dim start, gopt_dim limit, gopt_dim delta, gopt_dim *n, gopt_err *e)
{
    gopt_dim zero = gopt_dim_of(0);
    *n = GOPT_DIM_UNKNOWN;
    if (!gopt_dim_is_const(delta))
        return GOPT_OK;
    if (delta.k == 0)
        return gopt_fail(e, GOPT_EINPUT, "input delta: 0");
    bool up = delta.k > 0;
    gopt_dim way = up ? gopt_dim_sub(t, limit, start) : gopt_dim_sub(t, start, limit);
    gopt_dim step = up ? delta : gopt_dim_sub(t, zero, delta);
    *n = gopt_dim_ceil_div(t, gopt_dim_max(t, zero, way), step);
    return GOPT_OK;
}

static gopt_status count_floats(double start, double limit, double delta, gopt_dim *n, gopt_err *e)
{
    double steps = ceil((limit - start) / delta);
    if (delta == 0 || isnan(steps) || steps >= 0x1p62)
        return gopt_fail(e, GOPT_EINPUT, "no range leads from %g to %g by %g", start, limit, delta);
    *n = gopt_dim_of((int64_t)GOPT_MAX(steps, 0));
    return GOPT_OK;
}

/* ---- inference ---- */

static void infer_content(gopt_infer *x, gopt_dim start, gopt_dim delta)
{
    gopt_dim n = x->out[0].dim[0];
    if (!gopt_dim_is_const(n) || n.k > GOPT_CONTENT_MAX)
        return;
    gopt_dim *content = GOPT_NEW(x->arena, gopt_dim, n.k);
    for (int64_t i = 0; content && i < n.k; i++)
        content[i] = gopt_dim_add(x->dims, start, gopt_dim_mul(x->dims, gopt_dim_of(i), delta));
    x->out[0].content = content;
}

static gopt_status infer_ints(gopt_infer *x, gopt_err *e)
{
    gopt_dim v[OPERANDS], n;
    for (int i = 0; i < OPERANDS; i++) {
        int64_t count;
        const gopt_dim *content = gopt_move_content(x, i, &count);
        v[i] = content && count == 1 ? content[0] : GOPT_DIM_UNKNOWN;
    }
    GOPT_TRY(count_ints(x->dims, v[START], v[LIMIT], v[DELTA], &n, e));
    gopt_infer_set(x, 0, x->in[START].dtype, 1, &n);
    infer_content(x, v[START], v[DELTA]);
    return GOPT_OK;
}

static gopt_status infer_floats(gopt_infer *x, gopt_err *e)
{
    double v[OPERANDS];
    gopt_dim n = GOPT_DIM_UNKNOWN;
    bool known = true;
    for (int i = 0; i < OPERANDS; i++) {
        const gopt_tensor *t = x->in[i].constant;
        known &= t && gopt_tensor_count(t) == 1;
        v[i] = known ? gopt_tensor_get(t, 0) : 0;
    }
    if (known)
        GOPT_TRY(count_floats(v[START], v[LIMIT], v[DELTA], &n, e));
    gopt_infer_set(x, 0, x->in[START].dtype, 1, &n);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const char *const name[] = {"start", "limit", "delta"};
    for (int i = START; i < OPERANDS; i++) {
        GOPT_TRY(gopt_ref_type(x, i, GOPT_REF_REAL, name[i], e));
        GOPT_TRY(gopt_ref_same_type(x, START, i, e));
        GOPT_TRY(gopt_ref_scalar(x, i, name[i], e));
    }
    for (int i = START; i < OPERANDS; i++)
        if (!gopt_infer_has(x, i))
            return GOPT_OK;
    return is_int(x) ? infer_ints(x, e) : infer_floats(x, e);
}

/* ---- execution ---- */

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    gopt_tensor *out = x->out[0];
    bool whole = gopt_dtype_is_int(out->dtype);
    double start = gopt_ref_number(x, START, 0), delta = gopt_ref_number(x, DELTA, 1);
    uint64_t first = whole ? (uint64_t)gopt_tensor_get_int(x->in[START], 0) : 0;
    uint64_t step = whole ? (uint64_t)gopt_tensor_get_int(x->in[DELTA], 0) : 0;
    for (int64_t i = 0; i < out->dim[0]; i++) {
        if (whole)
            gopt_tensor_set_int(out, i, (int64_t)(first + (uint64_t)i * step));
        else
            gopt_tensor_set(out, i, start + (double)i * delta);
        if (i % 4096 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_Range = {
    .name = "Range",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
