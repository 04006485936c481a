/* rewrite.c: what passes share. */
#include "passes/rewrite.h"

#include <string.h>

#include "base/clock.h"

static gopt_status in_time(const gopt_pass_run *r, gopt_err *e)
{
    return r->deadline && gopt_now() > r->deadline ? gopt_fail(e, GOPT_ELIMIT, "time limit reached") : GOPT_OK;
}

static gopt_status visit(gopt_node *const *nodes, int n, gopt_pass_run *r, gopt_rewrite *f, gopt_err *e)
{
    for (int i = 0; i < n; i++) {
        GOPT_TRY(in_time(r, e));
        for (int b = 0; b < nodes[i]->n_bodies; b++)
            GOPT_TRY(gopt_rewrite_each(nodes[i]->body[b], r, f, e));
        if (!nodes[i]->dead)
            GOPT_TRY(f(nodes[i], r, e));
    }
    return GOPT_OK;
}

gopt_status gopt_rewrite_each(gopt_graph *g, gopt_pass_run *r, gopt_rewrite *f, gopt_err *e)
{
    int n = g->n_nodes;
    gopt_node **nodes = gopt_calloc((size_t)n, sizeof *nodes); /* f may move them */
    if (!nodes)
        return gopt_oom(e);
    if (n)
        memcpy(nodes, g->nodes, (size_t)n * sizeof *nodes);
    gopt_status s = visit(nodes, n, r, f, e);
    gopt_free(nodes);
    return !s && g->family->arena.failed ? gopt_oom(e) : s;
}

gopt_status gopt_rewrite_each_graph(gopt_graph *g, gopt_pass_run *r, gopt_rewrite_graph *f, gopt_err *e)
{
    GOPT_TRY(in_time(r, e));
    GOPT_TRY(f(g, r, e));
    for (int i = 0; i < g->n_nodes; i++)
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            GOPT_TRY(gopt_rewrite_each_graph(g->nodes[i]->body[b], r, f, e));
    return GOPT_OK;
}

static bool is_read(const gopt_node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->n_users || n->out[k]->n_results))
            return true;
    return false;
}

/* Puts n on the list unless it is there; the last one is linked to itself. */
static void push(gopt_node **list, gopt_node *n)
{
    if (n->link)
        return;
    n->link = *list ? *list : n;
    *list = n;
}

static gopt_node *pop(gopt_node **list)
{
    gopt_node *n = *list;
    *list = n->link == n ? NULL : n->link;
    n->link = NULL;
    return n;
}

/* A list instead of recursion: what is unread may be a chain as long as the graph. */
void gopt_rewrite_drop(gopt_node *first)
{
    gopt_node *list = NULL;
    push(&list, first);
    while (list) {
        gopt_node *n = pop(&list);
        int n_in = n->n_in;
        gopt_value **in = n->in; /* arena memory: still there after the removal */
        if (n->dead || is_read(n))
            continue;
        gopt_node_remove(n);
        for (int k = 0; k < n_in; k++)
            if (in[k] && in[k]->producer && !in[k]->producer->dead && !is_read(in[k]->producer))
                push(&list, in[k]->producer);
    }
}

bool gopt_rewrite_bypass(gopt_node *n, gopt_value *v)
{
    if (!gopt_value_can_replace(n->out[0], v))
        return false;
    gopt_value_replace(n->out[0], v);
    gopt_rewrite_drop(n);
    return true;
}

bool gopt_rewrite_is(const gopt_node *n, const char *name)
{
    return n && n->post.result < 0 && !*n->op->domain && !strcmp(n->op->name, name);
}

gopt_node *gopt_rewrite_sole_reader(const gopt_value *v)
{
    if (v->n_results || v->n_users == 0)
        return NULL;
    for (int i = 1; i < v->n_users; i++)
        if (v->users[i] != v->users[0])
            return NULL;
    return v->users[0];
}

gopt_node *gopt_rewrite_producer(const gopt_value *v, const char *name)
{
    return v && v->producer && v->output == 0 && gopt_rewrite_is(v->producer, name) ? v->producer : NULL;
}

bool gopt_rewrite_same_shape(const gopt_fact *a, const gopt_fact *b)
{
    if (a->rank < 0 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!gopt_dim_equal(a->dim[i], b->dim[i]))
            return false;
    return true;
}

bool gopt_rewrite_broadcasts(const gopt_fact *a, const gopt_fact *to)
{
    if (a->rank < 0 || to->rank < a->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        gopt_dim d = a->dim[i];
        if (!(gopt_dim_is_const(d) && d.k == 1) && !gopt_dim_equal(d, to->dim[to->rank - a->rank + i]))
            return false;
    }
    return true;
}

bool gopt_rewrite_scalar_operand(const gopt_node *n, int k, double *c, gopt_value **other)
{
    if (n->n_in != 2 || !n->in[0] || !n->in[1] || !gopt_value_scalar(n->in[k], c))
        return false;
    *other = n->in[1 - k];
    return true;
}

gopt_value *gopt_rewrite_constant(gopt_graph *g, gopt_dtype d, int rank, const int64_t *dim, const double *v)
{
    gopt_tensor *t = gopt_tensor_new(&g->family->arena, d, rank, dim);
    if (!t)
        return NULL;
    gopt_dtype_store(d, t->data, 0, gopt_tensor_count(t), v);
    return gopt_graph_constant(g, NULL, t);
}

gopt_value *gopt_rewrite_ints(gopt_graph *g, const int64_t *v, int64_t n)
{
    gopt_tensor *t = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_I64, 1, &n);
    if (!t)
        return NULL;
    gopt_dtype_store_int(GOPT_DTYPE_I64, t->data, 0, n, v);
    return gopt_graph_constant(g, NULL, t);
}

gopt_attrs gopt_rewrite_attr_int(gopt_graph *g, gopt_attrs a, const char *name, int64_t v)
{
    return gopt_attrs_with(&g->family->arena, a, (gopt_attr){.name = name, .kind = GOPT_ATTR_INT, .i = v});
}

gopt_attrs gopt_rewrite_attr_float(gopt_graph *g, gopt_attrs a, const char *name, double v)
{
    return gopt_attrs_with(&g->family->arena, a, (gopt_attr){.name = name, .kind = GOPT_ATTR_FLOAT, .f = v});
}

gopt_attrs gopt_rewrite_attr_ints(gopt_graph *g, gopt_attrs a, const char *name, const int64_t *v, int64_t n)
{
    const int64_t *ints = gopt_arena_copy(&g->family->arena, v, (size_t)n, sizeof *v);
    return gopt_attrs_with(&g->family->arena, a,
                           (gopt_attr){.name = name, .kind = GOPT_ATTR_INTS, .n = n, .ints = ints});
}
