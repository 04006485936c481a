/* inline_if.c: replaces an If whose condition is known by the branch that it takes.
 *
 * Legal when the condition is a constant, or inference knows its element; branches have no inputs and compute nothing
 * but their outputs. What was known of the outputs was true of either branch, so facts are inferred anew afterwards. */
#include "passes/rewrite.h"

enum { THEN, ELSE };

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
    while (i < g->n_nodes && gopt_rewrite_is(g->nodes[i], "If") && g->nodes[i]->n_bodies == 2 &&
           known(g->nodes[i]->in[0], &taken)) {
        gopt_node *n = g->nodes[i];
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
    .revision = 1,
    .run = run,
};
