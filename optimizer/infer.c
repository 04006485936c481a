/* infer.c: drives the operators' inference over graphs and bodies. */
#include "graph.h"

#include <stdio.h>
#include <string.h>

enum { NESTING_MAX = 64 };

typedef struct driver {
    gopt_node *node;
    unsigned inferred; /* bit set: bodies the operator has asked for */
} driver;

static gopt_status infer_nodes(gopt_graph *g, bool forget, gopt_err *e);

static bool too_deep(const gopt_graph *g)
{
    int depth = 0;
    for (; g; g = g->parent)
        depth++;
    return depth > NESTING_MAX;
}

/* What a body input holds changes from one iteration to the next: only its type and shape count. */
static void set_body_input(gopt_value *v, const gopt_fact *given)
{
    gopt_dtype declared = v->fact.dtype;
    v->fact = *given;
    v->fact.content = NULL;
    v->fact.constant = NULL;
    if (v->fact.dtype == GOPT_DTYPE_NONE) {
        v->fact.dtype = declared;
        v->fact.rank = -1;
    }
}

static gopt_status infer_body(gopt_infer *x, int b, const gopt_fact *in, int n_in, gopt_fact *out, int n_out,
                              gopt_err *e)
{
    driver *drive = x->driver;
    gopt_graph *g = drive->node->body[b];
    if (n_in != g->n_inputs || n_out > g->n_outputs)
        return gopt_fail(e, GOPT_EINPUT, "body %s: %d inputs and %d outputs, %d and %d expected", g->name, g->n_inputs,
                         g->n_outputs, n_in, n_out);
    if (too_deep(g))
        return gopt_fail(e, GOPT_EUNSUP, "body %s: more than %d levels of nesting", g->name, NESTING_MAX);
    for (int i = 0; i < n_in; i++)
        set_body_input(g->inputs[i], &in[i]);
    GOPT_TRY(infer_nodes(g, true, e));
    for (int i = 0; i < n_out; i++)
        out[i] = g->outputs[i]->fact;
    if (b < 32)
        drive->inferred |= 1u << b;
    return GOPT_OK;
}

/* Bodies that the operator did not ask for, say because an input's shape is unknown. */
static gopt_status infer_other_bodies(gopt_node *n, const driver *drive, gopt_err *e)
{
    for (int b = 0; b < n->n_bodies; b++)
        if (b >= 32 || !(drive->inferred >> b & 1))
            GOPT_TRY(infer_nodes(n->body[b], true, e));
    return GOPT_OK;
}

static gopt_status infer_op(gopt_node *n, gopt_infer *x, gopt_err *e)
{
    driver drive = {.node = n};
    x->driver = &drive;
    GOPT_TRY(n->op->infer(x, e));
    return infer_other_bodies(n, &drive, e);
}

/* A body need not run: what cannot be computed in it, say the squeezing of a dimension of 5 in a branch for those of 1,
 * fails only if it does. The types are enough then. */
static gopt_status infer_anchor(gopt_node *n, gopt_infer *x, gopt_fact *in, gopt_err *e)
{
    gopt_status s = infer_op(n, x, e);
    if (s != GOPT_EINPUT || !n->graph->parent || n->n_bodies)
        return s;
    for (int k = 0; k < x->n_in; k++)
        in[k] = (gopt_fact){.dtype = in[k].dtype, .rank = -1};
    for (int k = 0; k < x->n_out; k++)
        x->out[k] = (gopt_fact){.rank = -1};
    return infer_op(n, x, e);
}

/* The shape of a group without an anchor: all its operands broadcast together. */
static gopt_status broadcast_all(const gopt_node *n, gopt_infer *x, gopt_err *e)
{
    x->out[0].rank = 0;
    for (int k = 0; k < n->n_in; k++) {
        gopt_fact so_far = x->out[0];
        GOPT_TRY(gopt_infer_broadcast(x, &so_far, &n->in[k]->fact, &x->out[0], e));
    }
    return GOPT_OK;
}

static gopt_status infer_post(const gopt_node *n, gopt_infer *x, gopt_err *e)
{
    if (n->n_anchor == 0)
        GOPT_TRY(broadcast_all(n, x, e));
    x->out[0].dtype = gopt_expr_dtype(&n->post);
    x->out[0].content = NULL;
    return GOPT_OK;
}

/* What inference cannot tell stays as the file declared it, or as it was known before. */
static void merge(gopt_fact *known, const gopt_fact *found)
{
    gopt_fact f = *found;
    f.constant = NULL;
    if (f.dtype == GOPT_DTYPE_NONE)
        f.dtype = known->dtype;
    if (f.rank < 0) {
        f.rank = known->rank;
        memcpy(f.dim, known->dim, sizeof f.dim);
    }
    for (int i = 0; i < f.rank && known->rank == f.rank; i++)
        if (!gopt_dim_is_known(f.dim[i]))
            f.dim[i] = known->dim[i];
    *known = f;
}

static gopt_status infer(gopt_node *n, gopt_fact *in, gopt_fact *out, gopt_err *e)
{
    gopt_family *f = n->graph->family;
    bool anchored = n->post.result < 0 || n->n_anchor > 0;
    gopt_infer x = {.op = n->op,
                    .attrs = n->attrs,
                    .dims = f->dims,
                    .arena = &f->arena,
                    .n_in = n->n_anchor,
                    .n_out = n->n_out,
                    .in = in,
                    .out = out,
                    .n_bodies = n->n_bodies,
                    .body = infer_body};
    for (int k = 0; k < n->n_anchor; k++)
        in[k] = n->in[k] ? n->in[k]->fact : (gopt_fact){.rank = -1};
    for (int k = 0; k < n->n_out; k++)
        out[k].rank = -1;
    if (anchored)
        GOPT_TRY(infer_anchor(n, &x, in, e));
    if (n->post.result >= 0 && n->n_out > 0)
        GOPT_TRY(infer_post(n, &x, e));
    if (f->arena.failed)
        return gopt_oom(e);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k])
            merge(&n->out[k]->fact, &out[k]);
    return GOPT_OK;
}

gopt_status gopt_node_infer(gopt_node *n, gopt_err *e)
{
    gopt_fact *facts = gopt_calloc((size_t)(n->n_anchor + n->n_out), sizeof *facts);
    if (!facts)
        return gopt_oom(e);
    gopt_status s = infer(n, facts, facts + n->n_anchor, e);
    gopt_free(facts);
    return s ? gopt_within(e, s, "node %s (%s)", n->name, n->op->name) : GOPT_OK;
}

/* forget: what was inferred for a body's earlier call does not hold for this one. */
static gopt_status infer_nodes(gopt_graph *g, bool forget, gopt_err *e)
{
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        if (n->dead)
            continue;
        for (int k = 0; forget && k < n->n_out; k++)
            if (n->out[k])
                n->out[k]->fact = (gopt_fact){.rank = -1};
        GOPT_TRY(gopt_node_infer(n, e));
    }
    return GOPT_OK;
}

gopt_status gopt_graph_infer(gopt_graph *g, gopt_err *e)
{
    return infer_nodes(g, false, e);
}

int gopt_graph_symbols(const gopt_graph *g, const char **names, int max)
{
    int n = 0;
    for (int i = 0; i < g->n_inputs; i++)
        for (int d = 0; d < g->inputs[i]->fact.rank; d++)
            n = gopt_dim_symbols(g->family->dims, g->inputs[i]->fact.dim[d], names, n, max);
    return n;
}

typedef struct binding {
    const char *const *names;
    const int64_t *values;
    int n;
} binding;

static void bind_fact(gopt_family *f, gopt_fact *fact, const binding *b)
{
    for (int d = 0; d < fact->rank; d++)
        fact->dim[d] = gopt_dim_bind(f->dims, fact->dim[d], b->names, b->values, b->n);
}

static void bind_graph(gopt_graph *g, const binding *b)
{
    for (int i = 0; i < g->n_inputs; i++)
        bind_fact(g->family, &g->inputs[i]->fact, b);
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k])
                bind_fact(g->family, &n->out[k]->fact, b);
        for (int k = 0; k < n->n_bodies; k++)
            bind_graph(n->body[k], b);
    }
}

enum { SYMBOLS_MAX = 256 };

static gopt_status check_binding(const gopt_graph *g, const binding *b, gopt_err *e)
{
    const char *have[SYMBOLS_MAX];
    char list[300] = "";
    size_t at = 0;
    int n = gopt_graph_symbols(g, have, SYMBOLS_MAX);
    for (int i = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", have[i]);
    for (int i = 0; i < b->n; i++) {
        bool found = false;
        for (int k = 0; k < n; k++)
            found |= !strcmp(have[k], b->names[i]);
        if (!found && n == 0)
            return gopt_fail(e, GOPT_EUSAGE, "dimension %s: the model has no symbolic dimensions", b->names[i]);
        if (!found)
            return gopt_fail(e, GOPT_EUSAGE, "no dimension is called %s; there are: %s", b->names[i], list);
        if (b->values[i] < 0)
            return gopt_fail(e, GOPT_EUSAGE, "dimension %s cannot be %lld", b->names[i], (long long)b->values[i]);
    }
    return GOPT_OK;
}

/* An input like [seq-1] must not become negative. */
static gopt_status check_inputs(const gopt_graph *g, gopt_err *e)
{
    for (int i = 0; i < g->n_inputs; i++)
        for (int d = 0; d < g->inputs[i]->fact.rank; d++) {
            gopt_dim dim = g->inputs[i]->fact.dim[d];
            if (gopt_dim_is_const(dim) && dim.k < 0)
                return gopt_fail(e, GOPT_EUSAGE, "input %s: dimension %d would be %lld", g->inputs[i]->name, d,
                                 (long long)dim.k);
        }
    return GOPT_OK;
}

gopt_status gopt_graph_bind(gopt_graph *g, const char *const *names, const int64_t *values, int n, gopt_err *e)
{
    binding b = {.names = names, .values = values, .n = n};
    GOPT_TRY(check_binding(g, &b, e));
    bind_graph(g, &b);
    GOPT_TRY(check_inputs(g, e));
    return gopt_graph_infer(g, e);
}
