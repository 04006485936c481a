/* reshape.c: Reshape. A 0 copies the input's dimension unless allowzero is set, -1 is what is left over. */
#include "ref/move.h"

enum { DATA, SHAPE };

/* The wanted shape while it is being read. */
typedef struct target {
    gopt_dim dim[GOPT_RANK_MAX];
    bool copied[GOPT_RANK_MAX]; /* from the input's dimension at the same place */
    int rank;
    int rest;  /* the dimension that is -1, or -1 */
    bool zero; /* one is 0 by allowzero */
} target;

static gopt_status read_dim(const gopt_infer *x, target *t, int i, gopt_dim want, gopt_err *e)
{
    const gopt_fact *in = &x->in[DATA];
    bool zero = gopt_dim_is_const(want) && want.k == 0, allowed = gopt_attr_int(x->attrs, "allowzero", 0);
    t->dim[i] = want;
    if (zero && allowed) {
        t->zero = true;
    } else if (zero) {
        if (in->rank >= 0 && i >= in->rank)
            return gopt_fail(e, GOPT_EINPUT, "input shape: dimension %d is 0, but the data has rank %d", i, in->rank);
        t->copied[i] = true;
        t->dim[i] = in->rank >= 0 ? in->dim[i] : GOPT_DIM_UNKNOWN;
    } else if (gopt_dim_is_const(want) && want.k < 0) {
        if (want.k < -1)
            return gopt_fail(e, GOPT_EINPUT, "input shape: dimension %d is %lld", i, (long long)want.k);
        if (t->rest >= 0)
            return gopt_fail(e, GOPT_EINPUT, "input shape: dimensions %d and %d are both -1", t->rest, i);
        t->rest = i;
    }
    return GOPT_OK;
}

/* The product of the dimensions that are not copied, and of the input's that are not copied from: they are equal. */
static void products(const gopt_infer *x, const target *t, gopt_dim *have, gopt_dim *want)
{
    const gopt_fact *in = &x->in[DATA];
    *want = gopt_dim_of(1);
    *have = in->rank >= 0 ? gopt_dim_of(1) : GOPT_DIM_UNKNOWN;
    for (int i = 0; i < t->rank; i++)
        if (!t->copied[i] && i != t->rest)
            *want = gopt_dim_mul(x->dims, *want, t->dim[i]);
    for (int i = 0; i < in->rank; i++)
        if (i >= t->rank || !t->copied[i])
            *have = gopt_dim_mul(x->dims, *have, in->dim[i]);
}

static gopt_status complete(const gopt_infer *x, target *t, gopt_err *e)
{
    gopt_dim have, want;
    char from[64], to[64];
    products(x, t, &have, &want);
    bool constant = gopt_dim_is_const(have) && gopt_dim_is_const(want);
    if (t->rest < 0 && constant && have.k != want.k)
        return gopt_fail(e, GOPT_EINPUT, "input shape: %lld elements cannot become %lld", (long long)have.k,
                         (long long)want.k);
    if (t->rest < 0)
        return GOPT_OK;
    if (t->zero)
        return gopt_fail(e, GOPT_EINPUT, "input shape: it has both 0 and -1, with allowzero");
    if (constant && (want.k == 0 || have.k % want.k != 0))
        return gopt_fail(e, GOPT_EINPUT, "input shape: %s elements do not divide by %s",
                         gopt_dim_print(x->dims, have, from, sizeof from),
                         gopt_dim_print(x->dims, want, to, sizeof to));
    t->dim[t->rest] = gopt_dim_div(x->dims, have, want);
    return GOPT_OK;
}

/* The shape is a value that only a run will know: the rank may still follow from its length. */
static gopt_status infer_unknown(gopt_infer *x, gopt_err *e)
{
    bool counted = gopt_ref_ranked(x, SHAPE) && gopt_dim_is_const(x->in[SHAPE].dim[0]);
    gopt_ref_infer_type(x, 0, x->in[DATA].dtype);
    if (!counted)
        return GOPT_OK;
    GOPT_TRY(gopt_move_check_rank(x->in[SHAPE].dim[0].k, e));
    gopt_move_infer_rank(x, 0, x->in[DATA].dtype, (int)x->in[SHAPE].dim[0].k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t n;
    target t = {.rest = -1};
    GOPT_TRY(gopt_ref_type(x, SHAPE, GOPT_REF_INDEX, "shape", e));
    GOPT_TRY(gopt_ref_vector(x, SHAPE, GOPT_DIM_UNKNOWN, "shape", e));
    if (!gopt_infer_has(x, DATA))
        return GOPT_OK;
    const gopt_dim *shape = gopt_move_content(x, SHAPE, &n);
    if (!shape)
        return infer_unknown(x, e);
    GOPT_TRY(gopt_move_check_rank(n, e));
    t.rank = (int)n;
    for (int i = 0; i < t.rank; i++)
        GOPT_TRY(read_dim(x, &t, i, shape[i], e));
    GOPT_TRY(complete(x, &t, e));
    gopt_move_infer_view(x, t.rank, t.dim);
    return GOPT_OK;
}

const gopt_op gopt_op_Reshape = {
    .name = "Reshape",
    .domain = "",
    .in_min = 2,
    .in_max = 2,
    .out_min = 1,
    .out_max = 1,
    .traits = GOPT_TRAIT_VIEW,
    .infer = infer,
    .run = gopt_move_run_view,
};
