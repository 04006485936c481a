/* pad.c: Pad: elements added before and after every axis, or taken away where a pad is negative. What is added is a
 * constant, the edge, a reflection or the other end. */
#include "ref/move.h"

#include <string.h>

enum { DATA, PADS, VALUE, AXES };

typedef enum mode { CONSTANT, EDGE, REFLECT, WRAP, UNKNOWN_MODE } mode;

static mode mode_of(gopt_attrs a)
{
    static const char *const names[] = {"constant", "edge", "reflect", "wrap"};
    const char *name = gopt_attr_string(a, "mode", names[0]);
    int m = 0;
    while (m < UNKNOWN_MODE && strcmp(name, names[m]) != 0)
        m++;
    return (mode)m;
}

/* ---- one axis ---- */

/* Where element i of the padded axis comes from, in [0, n); -1: it is the constant. The n elements lie `before`
 * elements in. */
static int64_t source(mode m, int64_t i, int64_t before, int64_t n)
{
    int64_t k = i - before, period = m == REFLECT ? 2 * (n - 1) : n;
    if (k >= 0 && k < n)
        return k;
    if (m == CONSTANT)
        return -1;
    if (m == EDGE || period == 0)
        return k < 0 || n == 1 ? 0 : n - 1;
    k %= period;
    k += k < 0 ? period : 0;
    return k < n ? k : period - k;
}

/* The sources of all `size` elements of a padded axis of n. Modes other than constant see only what negative pads
 * leave. */
static gopt_status map_axis(mode m, int64_t n, int64_t before, int64_t after, int64_t size, int64_t *map, gopt_err *e)
{
    int64_t lo = m == CONSTANT ? 0 : GOPT_MAX(0, -before), hi = m == CONSTANT ? n : n + GOPT_MIN(0, after);
    if (m != CONSTANT && hi <= lo && size > 0)
        return gopt_fail(e, GOPT_EINPUT, "no elements are left to fill %lld from", (long long)size);
    for (int64_t i = 0; i < size; i++) {
        int64_t k = source(m, i, m == CONSTANT ? before : GOPT_MAX(0, before), hi - lo);
        map[i] = k < 0 ? k : lo + k;
    }
    return GOPT_OK;
}

/* ---- all axes ---- */

static gopt_status map_all(gopt_exec *x, int64_t *map[GOPT_RANK_MAX], gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA], *out = x->out[0], *pads = x->in[PADS], *axes = gopt_ref_in(x, AXES);
    int64_t before[GOPT_RANK_MAX] = {0}, after[GOPT_RANK_MAX] = {0}, n = gopt_tensor_count(pads) / 2;
    for (int64_t k = 0; k < n; k++) {
        int d;
        GOPT_TRY(gopt_axis(axes ? gopt_tensor_get_int(axes, k) : k, in->rank, &d, e));
        before[d] = gopt_tensor_get_int(pads, k);
        after[d] = gopt_tensor_get_int(pads, n + k);
    }
    for (int d = 0; d < in->rank; d++) {
        map[d] = GOPT_NEW(x->scratch, int64_t, out->dim[d]);
        if (!map[d])
            return gopt_oom(e);
        gopt_status s = map_axis(mode_of(x->attrs), in->dim[d], before[d], after[d], out->dim[d], map[d], e);
        if (s)
            return gopt_within(e, s, "dimension %d", d);
    }
    return GOPT_OK;
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA], *value = gopt_ref_in(x, VALUE);
    gopt_tensor *out = x->out[0];
    int64_t index[GOPT_RANK_MAX] = {0}, stride[GOPT_RANK_MAX], *map[GOPT_RANK_MAX], to = 0;
    if (gopt_tensor_count(out) == 0)
        return GOPT_OK;
    GOPT_TRY(map_all(x, map, e));
    gopt_dims_strides(in->dim, in->rank, stride);
    do {
        int64_t from = 0;
        bool inside = true;
        for (int d = 0; d < in->rank; d++) {
            inside &= map[d][index[d]] >= 0;
            from += map[d][index[d]] * stride[d];
        }
        gopt_move_fill(out, to++, 1, inside ? in : value, inside ? from : 0);
        if (to % 1024 == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    } while (gopt_ref_next(index, out->dim, out->rank));
    return GOPT_OK;
}

static gopt_status check(const gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, PADS, GOPT_REF_INDEX, "pads", e));
    GOPT_TRY(gopt_ref_type(x, AXES, GOPT_REF_INDEX, "axes", e));
    GOPT_TRY(gopt_ref_same_type(x, DATA, VALUE, e));
    GOPT_TRY(gopt_ref_scalar(x, VALUE, "constant_value", e));
    GOPT_TRY(gopt_ref_vector(x, PADS, GOPT_DIM_UNKNOWN, "pads", e));
    GOPT_TRY(gopt_ref_vector(x, AXES, GOPT_DIM_UNKNOWN, "axes", e));
    if (mode_of(x->attrs) == UNKNOWN_MODE)
        return gopt_fail(e, GOPT_EINPUT, "attribute mode: unknown value \"%s\"",
                         gopt_attr_string(x->attrs, "mode", ""));
    return GOPT_OK;
}

/* So large that sums of a few would overflow. */
static bool is_huge(gopt_dim pad)
{
    return gopt_dim_is_const(pad) && (pad.k > INT64_MAX / 8 || pad.k < -INT64_MAX / 8);
}

static gopt_status pad_axis(gopt_infer *x, int64_t axis, gopt_dim before, gopt_dim after, bool *seen, gopt_err *e)
{
    gopt_fact *out = &x->out[0];
    int d;
    gopt_status s = gopt_axis(axis, out->rank, &d, e);
    if (s)
        return gopt_within(e, s, "input axes");
    if (seen[d])
        return gopt_fail(e, GOPT_EINPUT, "input axes: axis %d comes twice", d);
    seen[d] = true;
    if (is_huge(before) || is_huge(after))
        return gopt_fail(e, GOPT_EINPUT, "input pads: too large in dimension %d", d);
    out->dim[d] = gopt_dim_add(x->dims, out->dim[d], gopt_dim_add(x->dims, before, after));
    if (gopt_dim_is_const(out->dim[d]) && out->dim[d].k < 0)
        return gopt_fail(e, GOPT_EINPUT, "input pads: dimension %d would have %lld elements", d,
                         (long long)out->dim[d].k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n, n_axes;
    bool seen[GOPT_RANK_MAX] = {0};
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(check(x, e));
    if (!gopt_ref_ranked(x, DATA))
        return GOPT_OK;
    const gopt_dim *pads = gopt_move_content(x, PADS, &n), *axes = gopt_move_constants(x, AXES, &n_axes);
    if (!pads || (!axes && gopt_infer_has(x, AXES))) {
        gopt_move_infer_rank(x, 0, x->in[DATA].dtype, x->in[DATA].rank);
        return GOPT_OK;
    }
    n_axes = axes ? n_axes : x->in[DATA].rank;
    if (n != 2 * n_axes)
        return gopt_fail(e, GOPT_EINPUT, "input pads: %lld values, %lld expected", (long long)n, 2 * (long long)n_axes);
    gopt_infer_like(x, 0, DATA);
    for (int64_t k = 0; k < n_axes; k++)
        GOPT_TRY(pad_axis(x, axes ? axes[k].k : k, pads[k], pads[n_axes + k], seen, e));
    gopt_move_follow(x, 1U << DATA | 1U << VALUE, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Pad = {
    .name = "Pad",
    .domain = "",
    .in_min = 2,
    .in_max = 4,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
