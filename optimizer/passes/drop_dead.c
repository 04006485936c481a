/* drop_dead.c: removes what no output needs.
 *
 * Legal because no operator has side effects. A node goes when none of its outputs is read or handed out; an optional
 * output that nobody reads is marked as not wanted. Bodies are swept too; a control-flow node stays while one output is
 * read. */
#include "passes/rewrite.h"

static bool is_wanted(const gopt_value *v)
{
    return v && (v->n_users > 0 || v->n_results > 0);
}

static void sweep_node(gopt_node *n, gopt_pass_run *r)
{
    int wanted = 0;
    for (int k = 0; k < n->n_out; k++)
        wanted += is_wanted(n->out[k]);
    if (wanted == 0) {
        gopt_node_remove(n);
        r->changed++;
        return;
    }
    for (int k = GOPT_MAX(n->op->out_min, 1); n->n_bodies == 0 && k < n->n_out; k++)
        if (n->out[k] && !is_wanted(n->out[k])) {
            n->out[k] = NULL;
            r->changed++;
        }
}

/* From the end, so that one sweep reaches whole chains; a body after the node that has it, which may go as a whole. */
static gopt_status sweep(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        gopt_node *n = g->nodes[i];
        if (!n->dead)
            sweep_node(n, r);
        for (int b = 0; b < n->n_bodies; b++)
            GOPT_TRY(sweep(n->body[b], r, e));
    }
    return GOPT_OK;
}

const gopt_pass gopt_pass_drop_dead = {
    .name = "drop_dead",
    .doc = "remove nodes and outputs that nothing needs",
    .revision = 1,
    .run = sweep,
};
