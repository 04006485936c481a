/* graph_check.c: what every pass must leave intact. */
#include <string.h>

#include "graph.h"
#include "name_map.h"

enum { ENDLESS = 64 }; /* deeper nesting of bodies is taken for a cycle */

typedef struct checking {
    unsigned char *defined;   /* by value id */
    int *uses, *results;      /* by value id, counted */
    const gopt_value **value; /* by id: those met */
    gopt_name_map values, nodes;
    int n_ids;
} checking;

static gopt_status broken(const gopt_node *n, gopt_err *e, const char *what)
{
    return gopt_fail(e, GOPT_EBUG, "node %s (%s): %s", n->name, n->op->name, what);
}

static bool encloses(const gopt_graph *outer, const gopt_graph *g)
{
    while (g && g != outer)
        g = g->parent;
    return g;
}

static gopt_status meet(checking *c, const gopt_value *v, gopt_err *e)
{
    if (v->id < 0 || v->id >= c->n_ids)
        return gopt_fail(e, GOPT_EBUG, "value %s: id %d out of range", v->name, v->id);
    if (c->value[v->id] == v)
        return GOPT_OK;
    if (c->value[v->id])
        return gopt_fail(e, GOPT_EBUG, "values %s and %s share an id", v->name, c->value[v->id]->name);
    c->value[v->id] = v;
    if (!gopt_name_map_add(&c->values, v->name, NULL))
        return c->values.failed ? gopt_oom(e) : gopt_fail(e, GOPT_EBUG, "two values are called %s", v->name);
    const gopt_tensor *t = v->fact.constant;
    if (!t)
        return GOPT_OK;
    int64_t dim[GOPT_RANK_MAX];
    bool same = !v->producer && t->dtype == v->fact.dtype && t->rank == v->fact.rank &&
                gopt_fact_static(&v->fact, dim) && !memcmp(dim, t->dim, (size_t)t->rank * sizeof *dim);
    return same ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "constant %s: type or shape is not its tensor's", v->name);
}

static gopt_status check_reader(checking *c, const gopt_value *v, const gopt_graph *g, gopt_err *e)
{
    GOPT_TRY(meet(c, v, e));
    if (!encloses(v->graph, g))
        return gopt_fail(e, GOPT_EBUG, "value %s belongs to another graph", v->name);
    if (!v->fact.constant && !c->defined[v->id])
        return gopt_fail(e, GOPT_EBUG, "value %s is read before it is computed", v->name);
    return GOPT_OK;
}

static gopt_status check_post(const gopt_node *n, gopt_err *e)
{
    bool live[GOPT_EXPR_LIMIT];
    if (n->n_anchor > n->n_in)
        return broken(n, e, "more operands of the operator than operands");
    if (n->post.result < 0)
        return n->n_in == n->n_anchor ? GOPT_OK : broken(n, e, "operands that nothing reads");
    gopt_expr_live(&n->post, live);
    for (int k = 0; k < n->post.n; k++) {
        const gopt_instr *in = &n->post.at[k];
        if (!live[k])
            continue;
        if (in->code == GOPT_EXPR_LOAD) {
            const gopt_value *v = in->i < n->n_in ? n->in[in->i] : NULL;
            if (!v || v->fact.dtype != in->dtype)
                return broken(n, e, "post reads an operand that is absent or of another type");
        }
        if (in->code == GOPT_EXPR_ACC && n->n_anchor == 0)
            return broken(n, e, "post reads the result of no operator");
    }
    return GOPT_OK;
}

static gopt_status check_graph(checking *c, const gopt_graph *g, int depth, gopt_err *e);

static gopt_status check_operands(checking *c, const gopt_node *n, gopt_err *e)
{
    for (int k = 0; k < n->n_in; k++) {
        if (!n->in[k])
            continue;
        gopt_status s = check_reader(c, n->in[k], n->graph, e);
        if (s)
            return gopt_within(e, s, "node %s (%s)", n->name, n->op->name);
        c->uses[n->in[k]->id]++;
    }
    return check_post(n, e);
}

static gopt_status check_outputs(checking *c, const gopt_node *n, gopt_err *e)
{
    for (int k = 0; k < n->n_out; k++) {
        const gopt_value *v = n->out[k];
        if (!v)
            continue;
        GOPT_TRY(meet(c, v, e));
        if (v->producer != n || v->output != k || v->graph != n->graph || v->is_input)
            return broken(n, e, "its output does not know it");
        if (c->defined[v->id])
            return broken(n, e, "its output is computed twice");
        if (v->fact.dtype == GOPT_DTYPE_NONE && (v->n_users || v->n_results))
            return broken(n, e, "the type of its output is unknown");
        c->defined[v->id] = 1;
    }
    return GOPT_OK;
}

static gopt_status check_node(checking *c, const gopt_node *n, const gopt_graph *g, int depth, gopt_err *e)
{
    if (n->dead)
        return GOPT_OK;
    if (n->graph != g)
        return broken(n, e, "it belongs to another graph");
    if (!gopt_name_map_add(&c->nodes, n->name, NULL))
        return c->nodes.failed ? gopt_oom(e) : broken(n, e, "another node has its name");
    GOPT_TRY(check_operands(c, n, e));
    for (int b = 0; b < n->n_bodies; b++) {
        if (n->body[b]->parent != g)
            return broken(n, e, "its body belongs to another graph");
        GOPT_TRY(check_graph(c, n->body[b], depth + 1, e));
    }
    return check_outputs(c, n, e);
}

static gopt_status check_graph(checking *c, const gopt_graph *g, int depth, gopt_err *e)
{
    if (depth > ENDLESS)
        return gopt_fail(e, GOPT_EBUG, "graph %s: bodies nested too deeply", g->name);
    for (int i = 0; i < g->n_inputs; i++) {
        GOPT_TRY(meet(c, g->inputs[i], e));
        if (!g->inputs[i]->is_input || g->inputs[i]->graph != g || g->inputs[i]->producer)
            return gopt_fail(e, GOPT_EBUG, "input %s of graph %s does not know it", g->inputs[i]->name, g->name);
        c->defined[g->inputs[i]->id] = 1;
    }
    for (int i = 0; i < g->n_nodes; i++)
        GOPT_TRY(check_node(c, g->nodes[i], g, depth, e));
    for (int i = 0; i < g->n_outputs; i++) {
        GOPT_TRY(check_reader(c, g->outputs[i], g, e));
        c->results[g->outputs[i]->id]++;
    }
    return GOPT_OK;
}

static bool reads(const gopt_node *n, const gopt_value *v)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == v)
            return true;
    return false;
}

static gopt_status check_counts(const checking *c, gopt_err *e)
{
    for (int id = 0; id < c->n_ids; id++) {
        const gopt_value *v = c->value[id];
        if (!v)
            continue;
        if (v->n_users != c->uses[id] || v->n_results != c->results[id])
            return gopt_fail(e, GOPT_EBUG, "value %s: %d readers and %d results known, %d and %d found", v->name,
                             v->n_users, v->n_results, c->uses[id], c->results[id]);
        for (int k = 0; k < v->n_users; k++)
            if (v->users[k]->dead || !reads(v->users[k], v))
                return gopt_fail(e, GOPT_EBUG, "value %s: node %s does not read it", v->name, v->users[k]->name);
    }
    return GOPT_OK;
}

gopt_status gopt_graph_check(const gopt_graph *g, gopt_err *e)
{
    size_t n = (size_t)g->family->next_id;
    checking c = {.n_ids = g->family->next_id,
                  .defined = gopt_calloc(n, 1),
                  .uses = gopt_calloc(n, sizeof *c.uses),
                  .results = gopt_calloc(n, sizeof *c.results),
                  .value = gopt_calloc(n, sizeof *c.value)};
    gopt_status s = c.defined && c.uses && c.results && c.value ? check_graph(&c, g, 0, e) : gopt_oom(e);
    if (!s)
        s = check_counts(&c, e);
    gopt_free(c.defined);
    gopt_free(c.uses);
    gopt_free(c.results);
    gopt_free(c.value);
    gopt_name_map_fini(&c.values);
    gopt_name_map_fini(&c.nodes);
    return s;
}
