/* drop_identity.c: removes nodes that hand on their input, and pairs of moves that make one move or none.
 *
 * One node goes when its output is provably its input, bit by bit and for every input: the conditions stand with the
 * rules. A Transpose that moves only dimensions of size 1 becomes a Reshape. Of two nodes in a row (Transpose, Reshape
 * and its like, Cast) the first must be read by the second alone, unless the pair cancels. Shapes that are not proven
 * equal keep their node; so does a node that computes an output of the model from an input or another output. */
#include "passes/drop_identity.h"

static gopt_status drop(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    bool changed = true;
    while (!n->dead && changed) {
        changed = gopt_drop_identity_node(n) || gopt_drop_identity_transpose(n) || gopt_drop_identity_reshape(n) ||
                  gopt_drop_identity_cast(n);
        r->changed += changed;
        if (n->graph->family->arena.failed)
            return gopt_oom(e);
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, drop, e);
}

const gopt_pass gopt_pass_drop_identity = {
    .name = "drop_identity",
    .doc = "remove nodes that hand on their input; merge moves in a row",
    .revision = 3,
    .run = run,
};
