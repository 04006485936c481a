/* slice.c: Slice: from starts to ends by steps, on all axes or those that are named. */
#include "ref/move.h"

enum { DATA, STARTS, ENDS, AXES, STEPS, FAR = INT32_MAX }; /* FAR: exporters' way to say "to the end" */

/* ---- one axis with numbers ---- */

typedef struct cut {
    int64_t start, step, n;
} cut;

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static cut cut_of(int64_t size, int64_t start, int64_t end, int64_t step)
{
    cut c = {.step = GOPT_MAX(step, -INT64_MAX)};
    bool forward = step > 0;
    int64_t last = forward ? size : size - 1;
    start = clamp(start < 0 ? start + size : start, 0, last);
    end = clamp(end < 0 ? end + size : end, forward ? 0 : -1, last);
    c.start = start;
    if (size > 0 && forward && end > start)
        c.n = (end - start - 1) / c.step + 1;
    if (size > 0 && !forward && end < start)
        c.n = (start - end - 1) / -c.step + 1;
    return c;
}

/* ---- one axis with symbols ---- */

static bool is_far(gopt_dim d, bool up)
{
    return gopt_dim_is_const(d) && (up ? d.k >= FAR : d.k <= -FAR);
}

static gopt_dim forward(gopt_dims *t, gopt_dim size, gopt_dim start, gopt_dim end)
{
    gopt_dim zero = gopt_dim_of(0);
    start = is_far(start, false) ? zero : start;
    bool from_front = gopt_dim_lower(t, start) >= 0, from_back = gopt_dim_is_const(start) && start.k < 0;
    bool to_front = gopt_dim_lower(t, end) >= 0, to_back = gopt_dim_is_const(end) && end.k < 0;
    if (!(from_front || from_back) || !(to_front || to_back))
        return GOPT_DIM_UNKNOWN;
    gopt_dim stop = is_far(end, true) ? size : to_front ? gopt_dim_min(t, end, size) : gopt_dim_add(t, size, end);
    if (from_front) /* a start beyond the size makes the difference negative, too */
        return gopt_dim_max(t, zero, gopt_dim_sub(t, stop, start));
    if (gopt_dim_equal(stop, size))
        return gopt_dim_min(t, size, gopt_dim_sub(t, zero, start));
    gopt_dim first = gopt_dim_max(t, zero, gopt_dim_add(t, size, start));
    return gopt_dim_max(t, zero, gopt_dim_sub(t, gopt_dim_max(t, zero, stop), first));
}

static gopt_dim length(gopt_dims *t, gopt_dim size, gopt_dim start, gopt_dim end, int64_t step)
{
    if (!gopt_dim_is_known(size) || !gopt_dim_is_known(start) || !gopt_dim_is_known(end))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(size) && gopt_dim_is_const(start) && gopt_dim_is_const(end))
        return gopt_dim_of(cut_of(size.k, start.k, end.k, step).n);
    if (step > 0)
        return gopt_dim_ceil_div(t, forward(t, size, start, end), gopt_dim_of(step));
    bool whole = is_far(end, false) && (is_far(start, true) || gopt_dim_equal(start, gopt_dim_of(-1)));
    return whole ? gopt_dim_ceil_div(t, size, gopt_dim_of(-GOPT_MAX(step, -INT64_MAX))) : GOPT_DIM_UNKNOWN;
}

/* ---- all axes ---- */

/* Number k of a list that may be missing. */
static int64_t number(const gopt_tensor *t, int64_t k, int64_t fallback)
{
    return t ? gopt_tensor_get_int(t, k) : fallback;
}

static gopt_status move(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *in = x->in[DATA], *axes = gopt_ref_in(x, AXES), *steps = gopt_ref_in(x, STEPS);
    int64_t stride[GOPT_RANK_MAX], base = 0, n = gopt_tensor_count(x->in[STARTS]);
    gopt_dims_strides(in->dim, in->rank, stride);
    for (int64_t k = 0; k < n; k++) {
        int d;
        GOPT_TRY(gopt_axis(number(axes, k, k), in->rank, &d, e));
        cut c = cut_of(in->dim[d], gopt_tensor_get_int(x->in[STARTS], k), gopt_tensor_get_int(x->in[ENDS], k),
                       number(steps, k, 1));
        base += c.start * stride[d];
        stride[d] = c.n > 1 ? stride[d] * c.step : 0;
    }
    return gopt_move_strided(x, x->out[0], in, base, stride, e);
}

/* The lists as inference knows them; NULL where it does not. */
typedef struct lists {
    const gopt_dim *starts, *ends, *axes, *steps;
    int64_t n; /* their length, -1 when unknown */
} lists;

static gopt_status read_lists(gopt_infer *x, lists *l, gopt_err *e)
{
    static const char *const name[] = {"data", "starts", "ends", "axes", "steps"};
    int64_t n;
    l->n = -1;
    for (int i = STARTS; i <= STEPS; i++) {
        gopt_dim have = l->n < 0 ? GOPT_DIM_UNKNOWN : gopt_dim_of(l->n);
        GOPT_TRY(gopt_ref_type(x, i, GOPT_REF_INDEX, name[i], e));
        GOPT_TRY(gopt_ref_vector(x, i, have, name[i], e));
        if (gopt_ref_ranked(x, i) && gopt_dim_is_const(x->in[i].dim[0]))
            l->n = x->in[i].dim[0].k;
    }
    l->starts = gopt_move_content(x, STARTS, &n);
    l->ends = gopt_move_content(x, ENDS, &n);
    l->axes = gopt_move_constants(x, AXES, &n);
    l->steps = gopt_move_constants(x, STEPS, &n);
    return GOPT_OK;
}

static gopt_status infer_axis(gopt_infer *x, const lists *l, int64_t k, bool *seen, gopt_err *e)
{
    gopt_fact *out = &x->out[0];
    int d;
    gopt_status s = gopt_axis(l->axes ? l->axes[k].k : k, out->rank, &d, e);
    if (s)
        return gopt_within(e, s, "input axes");
    if (seen[d])
        return gopt_fail(e, GOPT_EINPUT, "input axes: axis %d comes twice", d);
    seen[d] = true;
    int64_t step = l->steps ? l->steps[k].k : 1;
    if (step == 0)
        return gopt_fail(e, GOPT_EINPUT, "input steps: the step of axis %d is 0", d);
    bool known = l->starts && l->ends && (l->steps || !gopt_infer_has(x, STEPS));
    out->dim[d] = known ? length(x->dims, out->dim[d], l->starts[k], l->ends[k], step) : GOPT_DIM_UNKNOWN;
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    lists l;
    bool seen[GOPT_RANK_MAX] = {0};
    gopt_ref_infer_type(x, 0, gopt_move_infer_dtype(x, DATA));
    GOPT_TRY(read_lists(x, &l, e));
    if (!gopt_ref_ranked(x, DATA))
        return GOPT_OK;
    if (l.n < 0 || (!l.axes && gopt_infer_has(x, AXES))) {
        gopt_move_infer_rank(x, 0, x->in[DATA].dtype, x->in[DATA].rank);
        return GOPT_OK;
    }
    gopt_infer_like(x, 0, DATA);
    for (int64_t k = 0; k < l.n; k++)
        GOPT_TRY(infer_axis(x, &l, k, seen, e));
    gopt_move_follow(x, 1, move);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    return move(x, e);
}

const gopt_op gopt_op_Slice = {
    .name = "Slice",
    .domain = "",
    .in_min = 3,
    .in_max = 5,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
