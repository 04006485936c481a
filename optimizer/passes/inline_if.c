/* inline_if.c: replaces an If whose condition is known by the branch that it takes.
 *
 * Legal when the condition is a constant, is computed by deterministic operators without bodies from constants alone (a
 * small result at every step), or inference knows its element; branches have no inputs and compute nothing but their
 * outputs. What was known of the outputs was true of either branch, so facts are inferred anew afterwards. */
#include "passes/rewrite.h"

enum { THEN, ELSE, DEPTH_MOST = 16, BYTES_MOST = 4096 };

/* Puts the constant that n computes in the place of its only output; *done: it could be computed. */
static gopt_status fold(gopt_node *n, gopt_pass_run *r, bool *done, gopt_err *e)
{
    gopt_err why;
    gopt_value *old = n->out[0];
    gopt_tensor *t = GOPT_NEW(&n->graph->family->arena, gopt_tensor, 1);
    if (!t)
        return gopt_oom(e);
    gopt_status s = gopt_node_eval(n, t, &n->graph->family->arena, r->deadline, BYTES_MOST, &why);
    *done = !s;
    if (s)
        return s == GOPT_ENOMEM ? gopt_oom(e) : GOPT_OK;
    gopt_value *by = gopt_graph_constant(n->graph, NULL, t);
    if (!by)
        return gopt_oom(e);
    by->name = old->name;
    gopt_value_replace(old, by);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
}

/* Computes what depends on constants alone, from the operands on. Depth is bounded: conditions are short. */
static gopt_status compute(gopt_value *v, gopt_pass_run *r, int depth, bool *done, gopt_err *e)
{
    gopt_node *n = v->producer;
    *done = gopt_value_is_const(v);
    if (*done || !n || depth == DEPTH_MOST || n->n_out != 1 || n->n_bodies || v->n_results || n->n_in == 0 ||
        n->op->traits & (GOPT_TRAIT_RANDOM | GOPT_TRAIT_CONTROL))
        return GOPT_OK;
    for (int k = 0; k < n->n_in; k++) {
        bool known = true;
        if (n->in[k])
            GOPT_TRY(compute(n->in[k], r, depth + 1, &known, e));
        if (!known)
            return GOPT_OK;
    }
    return fold(n, r, done, e);
}

static bool known(const gopt_value *v, bool *out)
{
    double c;
    if (gopt_value_scalar(v, &c)) {
        *out = c != 0;
        return true;
    }
    int64_t dim[GOPT_RANK_MAX], count;
    if (!v->fact.content || !gopt_fact_static(&v->fact, dim) || !gopt_dims_count(dim, v->fact.rank, &count) ||
        count != 1 || !gopt_dim_is_const(v->fact.content[0]))
        return false;
    *out = v->fact.content[0].k != 0;
    return true;
}

static gopt_status inline_at(gopt_graph *g, int i, gopt_pass_run *r, gopt_err *e)
{
    bool taken;
    while (i < g->n_nodes && gopt_rewrite_is(g->nodes[i], "If") && g->nodes[i]->n_bodies == 2) {
        gopt_node *n = g->nodes[i];
        GOPT_TRY(compute(n->in[0], r, 0, &taken, e));
        if (!known(n->in[0], &taken))
            break;
        gopt_node *condition = n->in[0]->producer;
        if (!gopt_node_inline(n,
                              taken ? THEN : ELSE)) /* the branch's nodes stand at i from here on, n after them, dead */
            return gopt_oom(e);
        if (condition)
            gopt_rewrite_drop(condition);
        r->changed++;
    }
    return GOPT_OK;
}

static gopt_status walk(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    for (int i = 0; i < g->n_nodes; i++) {
        GOPT_TRY(inline_at(g, i, r, e));
        gopt_node *n = g->nodes[i];
        for (int b = 0; b < n->n_bodies; b++)
            GOPT_TRY(walk(n->body[b], r, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    GOPT_TRY(walk(g, r, e));
    if (r->changed == 0)
        return GOPT_OK;
    gopt_graph_compact(g);
    return gopt_graph_infer(g, e);
}

const gopt_pass gopt_pass_inline_if = {
    .name = "inline_if",
    .doc = "replace an If by its branch where the condition is known",
    .revision = 2,
    .run = run,
};
