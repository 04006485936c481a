/* graph_edit.c: edits that keep operands, users, results, order and touched marks consistent. */
#include <string.h>

#include "graph.h"

static void touch(const gopt_node *n)
{
    gopt_family *f = n->graph->family;
    if (n->n_origin > 0 && f->n_touched < f->imported_nodes) {
        unsigned char *grown = GOPT_NEW(&f->arena, unsigned char, f->imported_nodes);
        if (!grown)
            return;
        if (f->touched)
            memcpy(grown, f->touched, (size_t)f->n_touched);
        f->touched = grown;
        f->n_touched = f->imported_nodes;
    }
    for (int i = 0; i < n->n_origin; i++)
        if (n->origin[i] < f->n_touched)
            f->touched[n->origin[i]] = 1;
}

void gopt_graph_touched_clear(gopt_family *f)
{
    if (f->touched)
        memset(f->touched, 0, (size_t)f->n_touched);
}

static bool add_user(gopt_value *v, gopt_node *n)
{
    gopt_node **users = gopt_arena_grow(&v->graph->family->arena, v->users, (size_t)v->n_users, &v->cap_users,
                                        (size_t)v->n_users + 1, sizeof *users);
    if (!users)
        return false;
    v->users = users;
    users[v->n_users++] = n;
    return true;
}

/* Forgets one of the operands of n that read v; the order of the others stays. */
static void drop_user(gopt_value *v, const gopt_node *n)
{
    int k = v->n_users - 1;
    while (k >= 0 && v->users[k] != n)
        k--;
    if (k < 0)
        return;
    memmove(&v->users[k], &v->users[k + 1], (size_t)(v->n_users - 1 - k) * sizeof *v->users);
    v->n_users--;
}

bool gopt_node_set_in(gopt_node *n, int k, gopt_value *v)
{
    if (n->in[k] == v)
        return true;
    if (v && !add_user(v, n))
        return false;
    if (n->in[k])
        drop_user(n->in[k], n);
    n->in[k] = v;
    touch(n);
    return true;
}

int gopt_node_add_in(gopt_node *n, gopt_value *v)
{
    gopt_value **in =
        gopt_arena_grow(&n->graph->family->arena, n->in, (size_t)n->n_in, &n->cap_in, (size_t)n->n_in + 1, sizeof *in);
    if (!in || (v && !add_user(v, n)))
        return -1;
    n->in = in;
    in[n->n_in] = v;
    touch(n);
    return n->n_in++;
}

static void replace_results(gopt_graph *g, gopt_value *old, gopt_value *by)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == old) {
            g->outputs[i] = by;
            old->n_results--;
            by->n_results++;
        }
    for (int i = 0; i < g->n_nodes && old->n_results; i++)
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            replace_results(g->nodes[i]->body[b], old, by);
}

/* Whether users may know v by its name: an output of the main graph (or of a body that hands out the main graph's
 * value: telling the two apart would mean a search). */
static bool is_known(const gopt_value *v)
{
    return v->n_results > 0 && !v->graph->parent;
}

bool gopt_value_can_replace(const gopt_value *old, const gopt_value *by)
{
    if (!is_known(old))
        return true;
    return by->graph == old->graph && !by->is_input && !by->fact.constant && !is_known(by);
}

void gopt_value_replace(gopt_value *old, gopt_value *by)
{
    if (old == by)
        return;
    if (is_known(old)) {
        const char *name = by->name;
        by->name = old->name;
        old->name = name;
    }
    if (old->producer)
        touch(old->producer);
    for (int i = 0; i < old->n_users; i++) {
        gopt_node *n = old->users[i];
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == old) {
                n->in[k] = by;
                add_user(by, n); /* without memory the arena has failed, and whoever runs the pass sees it */
            }
    }
    old->n_users = 0;
    if (old->n_results)
        replace_results(old->graph, old, by);
}

static void remove_graph(gopt_graph *g)
{
    for (int i = 0; i < g->n_outputs; i++)
        g->outputs[i]->n_results--;
    g->n_outputs = 0;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        if (!g->nodes[i]->dead)
            gopt_node_remove(g->nodes[i]);
}

void gopt_node_remove(gopt_node *n)
{
    touch(n);
    n->dead = true;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k])
            drop_user(n->in[k], n);
    n->n_in = 0;
    n->n_anchor = 0;
    for (int b = 0; b < n->n_bodies; b++)
        remove_graph(n->body[b]);
    n->n_bodies = 0;
}

bool gopt_node_add_origins(gopt_node *n, const gopt_node *m)
{
    int *at = GOPT_NEW(&n->graph->family->arena, int, n->n_origin + m->n_origin), count = 0;
    if (!at)
        return false;
    for (int i = 0, k = 0; i < n->n_origin || k < m->n_origin;) {
        bool first = k >= m->n_origin || (i < n->n_origin && n->origin[i] <= m->origin[k]);
        int o = first ? n->origin[i++] : m->origin[k++];
        if (count == 0 || at[count - 1] != o)
            at[count++] = o;
    }
    n->origin = at;
    n->n_origin = count;
    return true;
}

/* n moves to m's place: all that m reads is computed by then. */
static void swap_places(gopt_node *n, gopt_node *m)
{
    gopt_graph *g = n->graph;
    int a = -1, b = -1, index = n->index;
    for (int i = GOPT_MIN(n->index, m->index); i < g->n_nodes && (a < 0 || b < 0); i++) {
        if (g->nodes[i] == n)
            a = i;
        if (g->nodes[i] == m)
            b = i;
    }
    if (a < 0 || b < 0)
        return;
    g->nodes[a] = m;
    g->nodes[b] = n;
    n->index = m->index;
    m->index = index;
}

bool gopt_node_absorb(gopt_node *n, gopt_node *m)
{
    if (!gopt_node_add_origins(n, m))
        return false;
    gopt_fact fact = m->out[0]->fact;
    gopt_value_replace(m->out[0], n->out[0]);
    gopt_node_remove(m);
    touch(n);
    n->out[0]->fact = fact;
    swap_places(n, m);
    return !n->graph->family->arena.failed;
}

gopt_node *gopt_node_replace(gopt_node *old, const gopt_op *op, gopt_attrs attrs, gopt_value *const *in, int n_in,
                             gopt_node *const *from, int n_from)
{
    gopt_node *n = gopt_graph_node(old->graph, old->name, op, attrs, in, n_in, 0, old, from, n_from);
    if (!n || !gopt_node_add_origins(n, old))
        return NULL;
    n->out = old->out;
    n->n_out = old->n_out;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k])
            n->out[k]->producer = n;
    old->out = NULL;
    old->n_out = 0;
    gopt_node_remove(old);
    touch(n);
    return n;
}

/* The value that readers of n's output k get instead: the body's own, or an Identity of it. */
static gopt_value *stand_in(gopt_node *n, int k, gopt_value *v)
{
    if (gopt_value_can_replace(n->out[k], v))
        return v;
    gopt_node *copy =
        gopt_graph_node(n->graph, NULL, gopt_op_find("", "Identity"), (gopt_attrs){0}, &v, 1, 1, n, &n, 1);
    if (!copy)
        return NULL;
    copy->out[0]->fact = v->fact;
    copy->out[0]->fact.constant = NULL;
    return copy->out[0];
}

/* What was `from`'s own among the values that g, and its bodies, name becomes `to`'s. */
static void rehome(gopt_graph *g, const gopt_graph *from, gopt_graph *to)
{
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] && n->out[k]->graph == from)
                n->out[k]->graph = to;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] && n->in[k]->graph == from)
                n->in[k]->graph = to;
        for (int b = 0; b < n->n_bodies; b++)
            rehome(n->body[b], from, to);
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i]->graph == from)
            g->outputs[i]->graph = to;
}

/* Gives the body's nodes to g. */
static bool adopt(gopt_graph *g, gopt_graph *body, const gopt_node *before)
{
    int at = 0, more = body->n_nodes;
    while (g->nodes[at] != before)
        at++;
    gopt_node **nodes = gopt_arena_grow(&g->family->arena, g->nodes, (size_t)g->n_nodes, &g->cap_nodes,
                                        (size_t)(g->n_nodes + more), sizeof *nodes);
    if (!nodes)
        return false;
    rehome(body, body, g);
    g->nodes = nodes;
    memmove(&nodes[at + more], &nodes[at], (size_t)(g->n_nodes - at) * sizeof *nodes);
    for (int i = 0; i < more; i++) {
        nodes[at + i] = body->nodes[i];
        nodes[at + i]->graph = g;
        nodes[at + i]->index = at + i;
        for (int b = 0; b < nodes[at + i]->n_bodies; b++)
            nodes[at + i]->body[b]->parent = g;
    }
    g->n_nodes += more;
    body->n_nodes = 0;
    return true;
}

bool gopt_node_inline(gopt_node *n, int b)
{
    gopt_graph *g = n->graph, *body = n->body[b];
    if (!adopt(g, body, n))
        return false;
    int n_outputs = body->n_outputs;
    body->n_outputs = 0; /* its values are ordinary ones from here on */
    for (int k = 0; k < n_outputs; k++)
        body->outputs[k]->n_results--;
    for (int k = 0; k < n->n_out; k++) {
        gopt_value *by = n->out[k] ? stand_in(n, k, body->outputs[k]) : NULL;
        if (n->out[k] && !by)
            return false;
        if (by)
            gopt_value_replace(n->out[k], by);
    }
    gopt_node_remove(n);
    return !g->family->arena.failed;
}
