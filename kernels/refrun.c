/* refrun.c: runs an operator's reference, then its post over output 0. */
#include "refrun.h"

#include <string.h>

typedef struct driver {
    const gopt_ref_step *step;
    gopt_tensor *anchor; /* where output 0 of the operator goes when post gives it another type; else NULL */
} driver;

static gopt_status alloc(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    const driver *drive = x->driver;
    int64_t count;
    if (rank < 0 || rank > GOPT_RANK_MAX || !gopt_dims_count(dim, rank, &count))
        return gopt_fail(e, GOPT_EINPUT, "output %d is too large", k);
    if (k > 0 || !drive->anchor)
        return drive->step->alloc(drive->step->ctx, k, d, rank, dim, e);
    const gopt_tensor *made = gopt_tensor_new(x->scratch, d, rank, dim);
    if (!made)
        return gopt_oom(e);
    *drive->anchor = *made;
    return GOPT_OK;
}

static gopt_status body(gopt_exec *x, int b, const gopt_tensor *const *in, int n_in, gopt_tensor *out, int n_out,
                        gopt_err *e)
{
    const driver *drive = x->driver;
    return drive->step->body(drive->step->ctx, b, in, n_in, out, n_out, e);
}

static gopt_status run_op(const gopt_ref_step *s, gopt_tensor **out, gopt_tensor *anchor, gopt_arena *scratch,
                          gopt_err *e)
{
    driver drive = {.step = s, .anchor = anchor};
    gopt_exec x = {.op = s->op,
                   .attrs = s->attrs,
                   .n_in = s->n_anchor,
                   .n_out = s->n_out,
                   .in = s->in,
                   .out = out,
                   .scratch = scratch,
                   .n_bodies = s->n_bodies,
                   .alloc = alloc,
                   .body = body,
                   .deadline = s->deadline,
                   .driver = &drive};
    return s->op->run(&x, e);
}

/* post with the anchor's result as one more operand, number n_in; used[] gets the operands it reads, NULL for the
 * others. */
static gopt_status expression(const gopt_ref_step *s, const gopt_tensor *acc, gopt_expr *out, const gopt_tensor **used,
                              gopt_err *e)
{
    bool live[GOPT_EXPR_LIMIT];
    int *load = GOPT_NEW(out->arena, int, s->n_in + 1), at = -1;
    if (!load)
        return gopt_oom(e);
    gopt_expr_live(s->post, live);
    for (int k = 0; k < s->post->n; k++) {
        const gopt_instr *in = &s->post->at[k];
        if (live[k] && in->code == GOPT_EXPR_LOAD && in->i < s->n_in) {
            load[in->i] = gopt_expr_load(out, (int)in->i, in->dtype);
            used[in->i] = s->in[in->i];
        }
        if (live[k] && in->code == GOPT_EXPR_ACC && acc) {
            at = gopt_expr_load(out, s->n_in, in->dtype);
            used[s->n_in] = acc;
        }
    }
    if (gopt_expr_splice(out, s->post, load, s->n_in, at) < 0)
        return out->arena->failed ? gopt_oom(e) : gopt_fail(e, GOPT_EBUG, "post reads what is not there");
    return GOPT_OK;
}

static gopt_status check_operands(const gopt_ref_step *s, const gopt_tensor *acc, const gopt_expr *x, gopt_err *e)
{
    bool live[GOPT_EXPR_LIMIT];
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++) {
        if (!live[k] || x->at[k].code != GOPT_EXPR_LOAD)
            continue;
        const gopt_tensor *t = x->at[k].i < s->n_in ? s->in[x->at[k].i] : acc;
        if (!t || t->dtype != x->at[k].dtype)
            return gopt_fail(e, GOPT_EBUG, "post reads operand %d as %s, it is %s", (int)x->at[k].i,
                             gopt_dtype_name(x->at[k].dtype), t ? gopt_dtype_name(t->dtype) : "absent");
    }
    return GOPT_OK;
}

/* Operands go with the anchor's shape and never enlarge it; without an anchor they go with one another. */
static gopt_status shape_of(const gopt_ref_step *s, const gopt_tensor *acc, int64_t *dim, int *rank, gopt_err *e)
{
    char have[160];
    *rank = 0;
    if (acc) {
        *rank = acc->rank;
        memcpy(dim, acc->dim, sizeof acc->dim);
    }
    for (int i = s->n_anchor; i < s->n_in; i++) {
        const gopt_tensor *t = s->in[i];
        if (t && !gopt_dims_broadcast(dim, *rank, t->dim, t->rank, dim, rank))
            return gopt_fail(e, GOPT_EINPUT, "operand %d, %s, does not broadcast", i,
                             gopt_tensor_describe(have, sizeof have, t));
        if (acc && t && (*rank != acc->rank || memcmp(dim, acc->dim, (size_t)*rank * sizeof *dim)))
            return gopt_fail(e, GOPT_EINPUT, "operand %d, %s, is larger than what it is applied to", i,
                             gopt_tensor_describe(have, sizeof have, t));
    }
    return GOPT_OK;
}

/* acc: the operator's output 0, or NULL without one. */
static gopt_status run_post(const gopt_ref_step *s, const gopt_tensor *acc, gopt_arena *scratch, gopt_err *e)
{
    gopt_expr x = gopt_expr_new(scratch);
    int64_t dim[GOPT_RANK_MAX];
    int rank;
    const gopt_tensor **in = GOPT_NEW(scratch, const gopt_tensor *, s->n_in + 1);
    if (!in)
        return gopt_oom(e);
    GOPT_TRY(shape_of(s, acc, dim, &rank, e));
    gopt_exec out = {.op = s->op, .n_out = s->n_out, .out = s->out, .alloc = alloc};
    driver drive = {.step = s};
    out.driver = &drive;
    if (acc != s->out[0])
        GOPT_TRY(gopt_exec_out(&out, 0, gopt_expr_dtype(s->post), rank, dim, e));
    GOPT_TRY(expression(s, acc, &x, in, e));
    GOPT_TRY(check_operands(s, acc, &x, e));
    return gopt_pointwise_apply(&x, in, s->n_in + 1, s->out[0], scratch, e);
}

static gopt_dtype acc_dtype(const gopt_expr *post)
{
    for (int k = 0; k < post->n; k++)
        if (post->at[k].code == GOPT_EXPR_ACC)
            return post->at[k].dtype;
    return GOPT_DTYPE_NONE;
}

static gopt_status run_group(const gopt_ref_step *s, gopt_arena *scratch, gopt_err *e)
{
    if (!s->post || s->n_out == 0 || !s->out[0])
        return run_op(s, s->out, NULL, scratch, e);
    if (s->n_anchor == 0)
        return run_post(s, NULL, scratch, e);
    if (acc_dtype(s->post) == gopt_expr_dtype(s->post)) { /* in place: an element is read before it is written */
        GOPT_TRY(run_op(s, s->out, NULL, scratch, e));
        return run_post(s, s->out[0], scratch, e);
    }
    gopt_tensor anchor = {0};
    gopt_tensor **out = gopt_arena_copy(scratch, s->out, (size_t)s->n_out, sizeof *out);
    if (!out)
        return gopt_oom(e);
    out[0] = &anchor;
    GOPT_TRY(run_op(s, out, &anchor, scratch, e));
    return run_post(s, &anchor, scratch, e);
}

gopt_status gopt_ref_run(const gopt_ref_step *s, gopt_err *e)
{
    gopt_arena scratch = {0};
    gopt_status status = run_group(s, &scratch, e);
    gopt_arena_fini(&scratch);
    return status;
}
