/* loop.c: Loop: body 0 takes iteration number, condition and state, and gives condition, state and rows. The condition
 * that the body gives counts also where the node was given none, as in the ONNX reference implementation. */
#include <limits.h>

#include "ref/carried.h"

enum { TRIPS, CONDITION, STATE };

static gopt_status shape_of(int n_in, int n_bodies, int n_out, gopt_carried_shape *s, gopt_err *e)
{
    *s = (gopt_carried_shape){.n_in = n_in, .first_in = STATE, .first_out = 1, .n_state = n_in - STATE};
    return gopt_carried_check(s, n_bodies, n_out, e);
}

/* ---- inference ---- */

static bool is_true(const gopt_fact *f)
{
    return f->content && gopt_dim_is_const(f->content[0]) && f->content[0].k;
}

/* The number of iterations where only the trip count limits it. */
static gopt_dim trips_of(gopt_infer *x, const gopt_fact *again)
{
    int64_t n;
    const gopt_dim *trips = gopt_infer_ints(x, TRIPS, &n);
    bool starts = !gopt_infer_has(x, CONDITION), one = again->rank == 0;
    const gopt_dim *condition = starts ? NULL : gopt_move_constants(x, CONDITION, &n);
    starts |= condition && n == 1 && condition[0].k;
    if (!trips || !starts || !one || !is_true(again))
        return GOPT_DIM_UNKNOWN;
    return gopt_dim_max(x->dims, gopt_dim_of(0), trips[0]);
}

static gopt_status infer_body(gopt_infer *x, const gopt_carried_shape *s, gopt_fact *in, gopt_fact *out, gopt_err *e)
{
    in[TRIPS] = (gopt_fact){.dtype = GOPT_DTYPE_I64};
    in[CONDITION] = (gopt_fact){.dtype = GOPT_DTYPE_BOOL};
    for (int j = 0; j < s->n_state; j++)
        in[STATE + j] = x->in[STATE + j];
    GOPT_TRY(gopt_carried_infer(x, s, in, out, e));
    gopt_dim trips = trips_of(x, &out[0]);
    for (int k = s->n_state; k < x->n_out; k++)
        GOPT_TRY(gopt_carried_infer_rows(x, k, &out[1 + k], trips, 0, e));
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_arena scratch = {0};
    gopt_carried_shape s;
    GOPT_TRY(gopt_ref_type(x, TRIPS, GOPT_REF_INDEX, "M", e));
    GOPT_TRY(gopt_ref_scalar(x, TRIPS, "M", e));
    GOPT_TRY(gopt_ref_type(x, CONDITION, GOPT_REF_BOOL, "cond", e));
    GOPT_TRY(gopt_ref_scalar(x, CONDITION, "cond", e));
    GOPT_TRY(shape_of(x->n_in, x->n_bodies, x->n_out, &s, e));
    gopt_fact *in = GOPT_NEW(&scratch, gopt_fact, s.n_in), *out = GOPT_NEW(&scratch, gopt_fact, s.n_out);
    gopt_status status = in && out ? infer_body(x, &s, in, out, e) : gopt_oom(e);
    gopt_arena_fini(&scratch);
    return status;
}

/* ---- execution ---- */

static gopt_status read_scalar(const gopt_tensor *t, const char *name, int64_t fallback, int64_t *out, gopt_err *e)
{
    *out = fallback;
    if (!t)
        return GOPT_OK;
    if (gopt_tensor_count(t) != 1 || !(gopt_dtype_is_int(t->dtype) || t->dtype == GOPT_DTYPE_BOOL))
        return gopt_fail(e, GOPT_EINPUT, "%s: %s with %lld elements, one expected", name, gopt_dtype_name(t->dtype),
                         (long long)gopt_tensor_count(t));
    *out = gopt_tensor_get_int(t, 0);
    return GOPT_OK;
}

/* Iteration number and condition for the body; anew for every step because the body may hand them out. */
static gopt_status set_counters(gopt_carried *c, int64_t iteration, bool condition, gopt_err *e)
{
    gopt_tensor *number = gopt_tensor_new(c->x->scratch, GOPT_DTYPE_I64, 0, NULL);
    gopt_tensor *again = gopt_tensor_new(c->x->scratch, GOPT_DTYPE_BOOL, 0, NULL);
    if (!number || !again)
        return gopt_oom(e);
    gopt_tensor_set_int(number, 0, iteration);
    gopt_tensor_set_int(again, 0, condition);
    c->in[TRIPS] = number;
    c->in[CONDITION] = again;
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_carried_shape s;
    gopt_carried c;
    int64_t trips, again;
    GOPT_TRY(shape_of(x->n_in, x->n_bodies, x->n_out, &s, e));
    GOPT_TRY(read_scalar(x->in[TRIPS], "input M", INT64_MAX, &trips, e));
    GOPT_TRY(read_scalar(x->in[CONDITION], "input cond", 1, &again, e));
    GOPT_TRY(gopt_carried_begin(&c, x, s, x->in + STATE, e));
    while (again && c.n < trips) {
        GOPT_TRY(set_counters(&c, c.n, true, e));
        GOPT_TRY(gopt_carried_step(&c, e));
        GOPT_TRY(read_scalar(&c.out[0], "the body's condition", 1, &again, e));
    }
    if (gopt_carried_is_blank(&c)) {
        GOPT_TRY(set_counters(&c, 0, true, e));
        GOPT_TRY(gopt_carried_probe(&c, e));
    }
    GOPT_TRY(gopt_carried_write_state(&c, e));
    for (int j = 0; j < x->n_out - s.n_state; j++)
        GOPT_TRY(gopt_carried_write_rows(&c, j, 0, false, e));
    return GOPT_OK;
}

const gopt_op gopt_op_Loop = {
    .name = "Loop",
    .domain = "",
    .in_min = 2,
    .in_max = INT_MAX,
    .out_min = 1,
    .out_max = INT_MAX,
    .traits = GOPT_TRAIT_CONTROL,
    .infer = infer,
    .run = run,
};
