/* carried_infer.c: facts that hold in every iteration of a body. */
#include "ref/carried.h"

/* How many levels of loops within loops are inferred with care, that is, up to three times each: more of them would
 * multiply. */
enum { CAREFUL = 4 };
static _Thread_local int level;

/* Takes from f what does not hold for `by`, too; whether that was anything. */
static bool weaken(gopt_fact *f, const gopt_fact *by)
{
    bool changed = false;
    if (f->rank < 0)
        return false;
    if (f->rank != by->rank) {
        f->rank = -1;
        return true;
    }
    for (int d = 0; d < f->rank; d++)
        if (gopt_dim_is_known(f->dim[d]) && !gopt_dim_equal(f->dim[d], by->dim[d])) {
            f->dim[d] = GOPT_DIM_UNKNOWN;
            changed = true;
        }
    return changed;
}

static gopt_status check_types(const gopt_carried_shape *s, const gopt_fact *in, const gopt_fact *out, gopt_err *e)
{
    for (int j = 0; j < s->n_state; j++) {
        gopt_dtype before = in[s->first_in + j].dtype, after = out[s->first_out + j].dtype;
        if (before != GOPT_DTYPE_NONE && after != GOPT_DTYPE_NONE && before != after)
            return gopt_fail(e, GOPT_EINPUT, "state %d is %s, the body makes it %s", j, gopt_dtype_name(before),
                             gopt_dtype_name(after));
    }
    return GOPT_OK;
}

/* Infers the body once; *changed when the state that it gives is not the one that it took. */
static gopt_status pass(gopt_infer *x, const gopt_carried_shape *s, gopt_fact *in, gopt_fact *out, bool *changed,
                        gopt_err *e)
{
    *changed = false;
    for (int k = 0; k < s->n_out; k++)
        out[k] = (gopt_fact){.rank = -1};
    GOPT_TRY(x->body(x, 0, in, s->n_in, out, s->n_out, e));
    GOPT_TRY(check_types(s, in, out, e));
    for (int j = 0; j < s->n_state; j++)
        *changed |= weaken(&in[s->first_in + j], &out[s->first_out + j]);
    return GOPT_OK;
}

static void forget_shapes(const gopt_carried_shape *s, gopt_fact *in)
{
    for (int j = 0; j < s->n_state; j++)
        in[s->first_in + j].rank = -1;
}

static gopt_status settle(gopt_infer *x, const gopt_carried_shape *s, gopt_fact *in, gopt_fact *out, gopt_err *e)
{
    bool changed = true;
    for (int i = 0; changed && level <= CAREFUL && i < 2; i++)
        GOPT_TRY(pass(x, s, in, out, &changed, e));
    if (!changed)
        return GOPT_OK;
    forget_shapes(s, in);
    return pass(x, s, in, out, &changed, e);
}

gopt_status gopt_carried_infer(gopt_infer *x, const gopt_carried_shape *s, gopt_fact *in, gopt_fact *out, gopt_err *e)
{
    for (int j = 0; j < s->n_state; j++) {
        in[s->first_in + j].content = NULL;
        in[s->first_in + j].constant = NULL;
    }
    level++;
    gopt_status status = settle(x, s, in, out, e);
    level--;
    for (int j = 0; !status && j < s->n_state; j++) {
        x->out[j] = in[s->first_in + j];
        if (x->out[j].dtype == GOPT_DTYPE_NONE)
            x->out[j].dtype = out[s->first_out + j].dtype;
    }
    return status;
}

gopt_status gopt_carried_infer_rows(gopt_infer *x, int k, const gopt_fact *row, gopt_dim n, int64_t axis, gopt_err *e)
{
    gopt_dim dim[GOPT_RANK_MAX + 1];
    int at;
    gopt_ref_infer_type(x, k, row->dtype);
    if (row->rank < 0 || row->dtype == GOPT_DTYPE_NONE)
        return GOPT_OK;
    GOPT_TRY(gopt_move_check_rank(row->rank + 1, e));
    GOPT_TRY(gopt_axis(axis, row->rank + 1, &at, e));
    for (int d = 0, from = 0; d < row->rank + 1; d++)
        dim[d] = d == at ? n : row->dim[from++];
    gopt_infer_set(x, k, row->dtype, row->rank + 1, dim);
    return GOPT_OK;
}
