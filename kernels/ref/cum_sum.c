/* cum_sum.c: CumSum: running sums along an axis; integers wrap. */
#include "ref/move.h"

enum { DATA, AXIS };

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t axis;
    int d;
    GOPT_TRY(gopt_ref_type(x, DATA, GOPT_REF_REAL, "x", e));
    GOPT_TRY(gopt_ref_type(x, AXIS, GOPT_REF_INDEX, "axis", e));
    GOPT_TRY(gopt_ref_scalar(x, AXIS, "axis", e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    gopt_infer_like(x, 0, DATA);
    if (!gopt_ref_ranked(x, DATA) || !gopt_move_scalar(x, AXIS, &axis))
        return GOPT_OK;
    gopt_status s = gopt_axis(axis, x->in[DATA].rank, &d, e);
    return s ? gopt_within(e, s, "input axis") : GOPT_OK;
}

/* One line of n elements, `step` apart, the first at `at`. */
static void sum_line(gopt_tensor *out, const gopt_tensor *in, int64_t at, int64_t step, int64_t n, bool exclusive)
{
    bool whole = gopt_dtype_is_int(in->dtype);
    double sum = 0;
    uint64_t wrapped = 0;
    for (int64_t i = 0; i < n; i++, at += step) {
        double v = whole ? 0 : gopt_tensor_get(in, at);
        uint64_t u = whole ? (uint64_t)gopt_tensor_get_int(in, at) : 0;
        if (whole)
            gopt_tensor_set_int(out, at, (int64_t)(exclusive ? wrapped : wrapped + u));
        else
            gopt_tensor_set(out, at, exclusive ? sum : sum + v);
        sum += v;
        wrapped += u;
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int axis;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[DATA];
    GOPT_TRY(gopt_axis(gopt_tensor_get_int(x->in[AXIS], 0), in->rank, &axis, e));
    gopt_axis_split s = gopt_axis_of(in, axis);
    bool exclusive = gopt_attr_int(x->attrs, "exclusive", 0), reverse = gopt_attr_int(x->attrs, "reverse", 0);
    for (int64_t o = 0; gopt_tensor_count(in) > 0 && o < s.outer; o++) {
        for (int64_t i = 0; i < s.inner; i++) {
            int64_t first = o * s.n * s.inner + i, last = first + (s.n - 1) * s.inner;
            sum_line(x->out[0], in, reverse ? last : first, reverse ? -s.inner : s.inner, s.n, exclusive);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_CumSum = {
    .name = "CumSum",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
