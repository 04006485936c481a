/* cum_prod.c: CumProd. */
#include "ref/axis.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    int axis;
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT | GOPT_REF_WIDE, "x", e));
    GOPT_TRY(gopt_ref_type(x, 1, GOPT_REF_INDEX, "axis", e));
    GOPT_TRY(gopt_ref_scalar(x, 1, "axis", e));
    if (!gopt_infer_has(x, 0))
        return GOPT_OK;
    gopt_infer_like(x, 0, 0);
    const gopt_dim *v = gopt_infer_ints(x, 1, &n);
    if (!gopt_ref_ranked(x, 0) || !v || n != 1 || !gopt_dim_is_const(v[0]))
        return GOPT_OK;
    gopt_status s = gopt_axis(v[0].k, x->in[0].rank, &axis, e);
    return s ? gopt_within(e, s, "input axis") : GOPT_OK;
}

/* Element i of the walk along a vector of n, from its end when reversed. */
typedef struct walk {
    gopt_axis_split s;
    bool exclusive, reversed;
} walk;

static int64_t place(const walk *w, int64_t vector, int64_t i)
{
    int64_t j = w->reversed ? w->s.n - 1 - i : i;
    return (vector / w->s.inner * w->s.n + j) * w->s.inner + vector % w->s.inner;
}

static void run_int(gopt_exec *x, const walk *w, int64_t vector)
{
    uint64_t product = 1;
    for (int64_t i = 0; i < w->s.n; i++) {
        int64_t at = place(w, vector, i);
        uint64_t v = (uint64_t)gopt_tensor_get_int(x->in[0], at);
        gopt_tensor_set_int(x->out[0], at, (int64_t)(w->exclusive ? product : product * v));
        product *= v;
    }
}

static void run_float(gopt_exec *x, const walk *w, int64_t vector)
{
    double product = 1;
    for (int64_t i = 0; i < w->s.n; i++) {
        int64_t at = place(w, vector, i);
        double v = gopt_tensor_get(x->in[0], at);
        gopt_tensor_set(x->out[0], at, w->exclusive ? product : product * v);
        product *= v;
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    int axis;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_axis(gopt_tensor_get_int(x->in[1], 0), x->in[0]->rank, &axis, e));
    walk w = {.s = gopt_axis_of(x->in[0], axis),
              .exclusive = gopt_attr_int(x->attrs, "exclusive", 0) != 0,
              .reversed = gopt_attr_int(x->attrs, "reverse", 0) != 0};
    for (int64_t v = 0; v < w.s.outer * w.s.inner; v++) {
        if (gopt_dtype_is_float(x->in[0]->dtype))
            run_float(x, &w, v);
        else
            run_int(x, &w, v);
    }
    return gopt_ref_tick(x, e);
}

const gopt_op gopt_op_CumProd = {
    .name = "CumProd", .domain = "", .in_min = 2, .in_max = 2, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
