/* match.c: sets of matched nodes. */
#include "passes/match.h"

static bool has(const gopt_match *m, const gopt_node *n)
{
    for (int i = 0; i < m->n; i++)
        if (m->node[i] == n)
            return true;
    return false;
}

void gopt_match_add(gopt_match *m, gopt_node *n)
{
    if (has(m, n))
        return;
    if (m->n == GOPT_MATCH_NODES)
        m->full = true;
    else
        m->node[m->n++] = n;
}

bool gopt_match_closed(const gopt_match *m, const gopt_node *last)
{
    if (m->full || !has(m, last))
        return false;
    for (int i = 0; i < m->n; i++) {
        const gopt_node *n = m->node[i];
        if (n->graph != last->graph || n->n_out != 1)
            return false;
        if (n == last)
            continue;
        if (n->out[0]->n_results)
            return false;
        for (int k = 0; k < n->out[0]->n_users; k++)
            if (!has(m, n->out[0]->users[k]))
                return false;
    }
    return true;
}

bool gopt_match_replace(const gopt_match *m, gopt_node *last, const gopt_op *op, gopt_attrs attrs,
                        gopt_value *const *in, int n_in)
{
    if (!gopt_node_replace(last, op, attrs, in, n_in, m->node, m->n))
        return false;
    for (int i = 0; i < m->n; i++)
        gopt_rewrite_drop(m->node[i]);
    return true;
}
