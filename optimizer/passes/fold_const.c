/* fold_const.c: computes at compile time what does not depend on the inputs.
 *
 * Legal when all operands are constants and the operator is deterministic and has no bodies; or when inference knows
 * every element of an integer result although the operands are not constant (shapes). A result may be larger than
 * max_bytes only when it is no larger than the constants it is made from. What cannot be computed stays as it is: the
 * model may never get there. A graph output keeps a node of its own, an Identity. */
#include "base/clock.h"
#include "passes/rewrite.h"

enum { MAX_BYTES, MAX_MS };

static const gopt_knob knobs[] = {[MAX_BYTES] = {.name = "max_bytes",
                                                 .kind = GOPT_KNOB_POW2,
                                                 .lo = 1024,
                                                 .hi = 1 << 30,
                                                 .init = 512 << 20,
                                                 .doc = "largest result that may replace smaller operands"},
                                  [MAX_MS] = {.name = "max_ms",
                                              .kind = GOPT_KNOB_POW2,
                                              .lo = 1,
                                              .hi = 65536,
                                              .init = 8192,
                                              .doc = "time for computing one result"},
                                  {0}};

/* Puts a constant in the place of output k. */
static gopt_status put(gopt_node *n, int k, const gopt_tensor *t, gopt_pass_run *r, gopt_err *e)
{
    gopt_value *old = n->out[k];
    gopt_graph *g = n->graph;
    gopt_value *by = gopt_graph_constant(g, NULL, t);
    if (!by)
        return gopt_oom(e);
    r->changed++;
    if (!gopt_value_can_replace(old, by)) {
        gopt_node *copy = gopt_graph_node(g, NULL, gopt_op_find("", "Identity"), (gopt_attrs){0}, &by, 1, 1, n, &n, 1);
        if (!copy)
            return gopt_oom(e);
        copy->out[0]->fact = by->fact;
        copy->out[0]->fact.constant = NULL;
        by = copy->out[0];
    } else {
        by->name = old->name;
    }
    gopt_value_replace(old, by);
    n->out[k] = NULL;
    return GOPT_OK;
}

/* The elements as a tensor where all are known; NULL where they are not. */
static gopt_status tensor_of(const gopt_fact *f, gopt_arena *a, gopt_tensor **out, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX], count;
    *out = NULL;
    bool number = gopt_dtype_is_int(f->dtype) || gopt_dtype_is_float(f->dtype) || f->dtype == GOPT_DTYPE_BOOL;
    if (!f->content || !number || !gopt_fact_static(f, dim) || !gopt_dims_count(dim, f->rank, &count))
        return GOPT_OK;
    for (int64_t i = 0; i < count; i++)
        if (!gopt_dim_is_const(f->content[i]))
            return GOPT_OK;
    gopt_tensor *t = gopt_tensor_new(a, f->dtype, f->rank, dim);
    if (!t)
        return gopt_oom(e);
    for (int64_t i = 0; i < count; i++)
        if (gopt_dtype_is_float(f->dtype))
            gopt_tensor_set(t, i, (double)f->content[i].k);
        else
            gopt_tensor_set_int(t, i, f->content[i].k);
    *out = t;
    return GOPT_OK;
}

static gopt_status fold_contents(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    for (int k = 0; k < n->n_out; k++) {
        gopt_tensor *t;
        if (!n->out[k] || (!n->out[k]->n_users && !n->out[k]->n_results))
            continue;
        GOPT_TRY(tensor_of(&n->out[k]->fact, &n->graph->family->arena, &t, e));
        if (t)
            GOPT_TRY(put(n, k, t, r, e));
    }
    return GOPT_OK;
}

/* Bytes of all operands; false when one is not constant. */
static bool constant_operands(const gopt_node *n, size_t *bytes)
{
    *bytes = 0;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] && !n->in[k]->fact.constant)
            return false;
        if (n->in[k])
            *bytes += gopt_tensor_bytes(n->in[k]->fact.constant);
    }
    return true;
}

static gopt_status fold_outputs(gopt_node *n, gopt_tensor *out, gopt_pass_run *r, gopt_err *e)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && out[k].data)
            GOPT_TRY(put(n, k, &out[k], r, e));
    return GOPT_OK;
}

static gopt_status fold_value(gopt_node *n, size_t operands, gopt_pass_run *r, gopt_err *e)
{
    gopt_arena *a = &n->graph->family->arena;
    gopt_err why;
    int64_t limit = gopt_now() + r->knob[MAX_MS] * 1000000;
    if (r->deadline && r->deadline < limit)
        limit = r->deadline;
    gopt_tensor *out = GOPT_NEW(a, gopt_tensor, n->n_out);
    if (!out)
        return gopt_oom(e);
    gopt_status s = gopt_node_eval(n, out, a, limit, GOPT_MAX((size_t)r->knob[MAX_BYTES], operands), &why);
    if (s == GOPT_ENOMEM)
        return gopt_oom(e);
    return s ? GOPT_OK : fold_outputs(n, out, r, e);
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    size_t operands;
    if (n->op->traits & (GOPT_TRAIT_RANDOM | GOPT_TRAIT_CONTROL) || gopt_rewrite_is(n, "Identity"))
        return GOPT_OK;
    int before = r->changed;
    GOPT_TRY(fold_contents(n, r, e));
    if (r->changed == before && constant_operands(n, &operands))
        GOPT_TRY(fold_value(n, operands, r, e));
    if (r->changed > before)
        gopt_rewrite_drop(n);
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_const = {
    .name = "fold_const",
    .doc = "compute at compile time what does not depend on the inputs",
    .revision = 1,
    .knobs = knobs,
    .run = run,
};
