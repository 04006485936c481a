/* graph_order.c: the order of a graph's nodes, and forgetting dead ones. */
#include <string.h>

#include "graph.h"

void gopt_graph_compact(gopt_graph *g)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->dead)
            g->nodes[n++] = g->nodes[i];
    g->n_nodes = n;
    for (int i = 0; i < n; i++)
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            gopt_graph_compact(g->nodes[i]->body[b]);
}

/* Which nodes of g must come before which: the producers that node i reads, also inside its bodies, are
 * dep[first[i]..first[i + 1]). */
typedef struct order {
    const gopt_graph *g;
    int *first, *dep;
    size_t n_dep, cap_dep;
    gopt_arena arena;
} order;

static void add_dep(order *o, const gopt_value *v)
{
    if (!v || !v->producer || v->graph != o->g)
        return;
    int *dep = gopt_arena_grow(&o->arena, o->dep, o->n_dep, &o->cap_dep, o->n_dep + 1, sizeof *dep);
    if (!dep)
        return;
    o->dep = dep;
    dep[o->n_dep++] = v->producer->index;
}

static void add_deps(order *o, const gopt_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        add_dep(o, n->in[k]);
    for (int b = 0; b < n->n_bodies; b++) {
        const gopt_graph *body = n->body[b];
        for (int i = 0; i < body->n_nodes; i++)
            add_deps(o, body->nodes[i]);
        for (int i = 0; i < body->n_outputs; i++)
            add_dep(o, body->outputs[i]);
    }
}

typedef enum colour { NEW, OPEN, DONE } colour;

/* Depth first from node `root` with a stack of its own: a chain may be as long as the graph. */
static gopt_status visit(const order *o, int root, unsigned char *colour_of, int *stack, int *next, gopt_node **sorted,
                         int *n, gopt_err *e)
{
    int depth = 0;
    stack[depth++] = root;
    colour_of[root] = OPEN;
    while (depth > 0) {
        int at = stack[depth - 1];
        if (next[at] == o->first[at + 1]) {
            colour_of[at] = DONE;
            sorted[(*n)++] = o->g->nodes[at];
            depth--;
            continue;
        }
        int d = o->dep[next[at]++];
        if (colour_of[d] == OPEN)
            return gopt_fail(e, GOPT_EINPUT, "node %s (%s): it depends on its own output", o->g->nodes[d]->name,
                             o->g->nodes[d]->op->name);
        if (colour_of[d] == NEW) {
            colour_of[d] = OPEN;
            stack[depth++] = d;
        }
    }
    return GOPT_OK;
}

static gopt_status sort(order *o, gopt_graph *g, gopt_err *e)
{
    size_t n = (size_t)g->n_nodes;
    int count = 0;
    o->first = GOPT_NEW(&o->arena, int, n + 1);
    int *stack = GOPT_NEW(&o->arena, int, n), *next = GOPT_NEW(&o->arena, int, n);
    unsigned char *colour_of = GOPT_NEW(&o->arena, unsigned char, n);
    gopt_node **sorted = GOPT_NEW(&o->arena, gopt_node *, n);
    if (o->arena.failed)
        return gopt_oom(e);
    for (int i = 0; i < g->n_nodes; i++)
        g->nodes[i]->index = i;
    for (int i = 0; i < g->n_nodes; i++) {
        o->first[i] = next[i] = (int)o->n_dep;
        add_deps(o, g->nodes[i]);
    }
    o->first[n] = (int)o->n_dep;
    if (o->arena.failed)
        return gopt_oom(e);
    for (int i = 0; i < g->n_nodes; i++)
        if (colour_of[i] == NEW)
            GOPT_TRY(visit(o, i, colour_of, stack, next, sorted, &count, e));
    if (n)
        memcpy(g->nodes, sorted, n * sizeof *sorted);
    for (int i = 0; i < g->n_nodes; i++)
        g->nodes[i]->index = i;
    return GOPT_OK;
}

gopt_status gopt_graph_sort(gopt_graph *g, gopt_err *e)
{
    order o = {.g = g};
    gopt_status s = sort(&o, g, e);
    gopt_arena_fini(&o.arena);
    for (int i = 0; !s && i < g->n_nodes; i++)
        for (int b = 0; !s && b < g->nodes[i]->n_bodies; b++)
            s = gopt_graph_sort(g->nodes[i]->body[b], e);
    return s;
}
