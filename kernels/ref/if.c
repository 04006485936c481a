/* if.c: If: body 0 (then_branch) or body 1 (else_branch); both read what they need from the enclosing graphs. */
#include <limits.h>

#include "ref/move.h"

enum { THEN, ELSE, BRANCHES };

static gopt_status check_bodies(int n_bodies, gopt_err *e)
{
    if (n_bodies != BRANCHES)
        return gopt_fail(e, GOPT_EINPUT, "%d branches, then_branch and else_branch expected", n_bodies);
    return GOPT_OK;
}

/* What holds for both branches. */
static gopt_status merge(const gopt_fact *a, const gopt_fact *b, int k, gopt_fact *out, gopt_err *e)
{
    *out = a->dtype == GOPT_DTYPE_NONE ? *b : *a;
    out->content = NULL;
    out->constant = NULL;
    if (a->dtype != GOPT_DTYPE_NONE && b->dtype != GOPT_DTYPE_NONE && a->dtype != b->dtype)
        return gopt_fail(e, GOPT_EINPUT, "output %d is %s in one branch, %s in the other", k, gopt_dtype_name(a->dtype),
                         gopt_dtype_name(b->dtype));
    if (a->rank != b->rank || a->dtype != b->dtype)
        out->rank = -1;
    for (int d = 0; d < out->rank; d++)
        if (!gopt_dim_equal(a->dim[d], b->dim[d]))
            out->dim[d] = GOPT_DIM_UNKNOWN;
    return GOPT_OK;
}

static gopt_status infer_branches(gopt_infer *x, gopt_fact *facts, gopt_err *e)
{
    int64_t condition;
    bool known = gopt_move_scalar(x, 0, &condition);
    for (int k = 0; k < BRANCHES * x->n_out; k++)
        facts[k].rank = -1;
    for (int b = THEN; b < BRANCHES; b++)
        GOPT_TRY(x->body(x, b, NULL, 0, facts + b * x->n_out, x->n_out, e));
    for (int k = 0; k < x->n_out; k++) {
        const gopt_fact *yes = &facts[k], *no = &facts[x->n_out + k];
        GOPT_TRY(merge(yes, no, k, &x->out[k], e));
        if (known)
            x->out[k] = condition ? *yes : *no;
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_arena scratch = {0};
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_BOOL, "cond", e));
    GOPT_TRY(gopt_ref_scalar(x, 0, "cond", e));
    GOPT_TRY(check_bodies(x->n_bodies, e));
    gopt_fact *facts = GOPT_NEW(&scratch, gopt_fact, BRANCHES * x->n_out);
    gopt_status s = facts ? infer_branches(x, facts, e) : gopt_oom(e);
    gopt_arena_fini(&scratch);
    return s;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *condition = gopt_ref_in(x, 0);
    GOPT_TRY(check_bodies(x->n_bodies, e));
    if (!condition || condition->dtype != GOPT_DTYPE_BOOL || gopt_tensor_count(condition) != 1)
        return gopt_fail(e, GOPT_EINPUT, "input cond: one bool expected");
    gopt_tensor *out = GOPT_NEW(x->scratch, gopt_tensor, x->n_out);
    if (!out)
        return gopt_oom(e);
    GOPT_TRY(x->body(x, gopt_tensor_get_int(condition, 0) ? THEN : ELSE, NULL, 0, out, x->n_out, e));
    for (int k = 0; k < x->n_out; k++) {
        if (!x->out[k])
            continue;
        GOPT_TRY(gopt_exec_out(x, k, out[k].dtype, out[k].rank, out[k].dim, e));
        gopt_move(x->out[k], 0, &out[k], 0, gopt_tensor_count(&out[k]));
    }
    return GOPT_OK;
}

const gopt_op gopt_op_If = {
    .name = "If",
    .domain = "",
    .in_min = 1,
    .in_max = 1,
    .out_min = 1,
    .out_max = INT_MAX,
    .traits = GOPT_TRAIT_CONTROL,
    .infer = infer,
    .run = run,
};
