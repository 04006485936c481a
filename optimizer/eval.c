/* eval.c: reference execution of graphs, op by op. What a node computes is freed after its last reader; a body sees the
 * values of its enclosing graphs, which live until the node that has the body is done. */
#include "graph.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "refrun.h"

enum { NESTING_MAX = 64, DATA_ALIGN = 64 };

/* Memory that a control-flow node keeps for its bodies' results. */
typedef struct kept {
    struct kept *next;
    void *data;
} kept;

/* A value while the graph runs. */
typedef struct cell {
    gopt_tensor t;
    bool owned;     /* data is on the heap */
    int next_death; /* value that dies with it, -1 */
} cell;

typedef struct eval {
    const gopt_value **value; /* by id, like all that follows: those that something reads or makes */
    cell *at;
    int *first_death; /* by node id: first value that its end frees, -1 */
    gopt_arena *results;
    const gopt_graph *main_graph;
    int64_t deadline;
    uint64_t noise; /* state of the perturbation of results; 0: none */
} eval;

/* One node being run. */
typedef struct running {
    eval *ev;
    const gopt_node *node;
    kept *kept;
} running;

/* ---- when values die ---- */

/* The node of v's graph in which n, possibly in a body, reads v. chain[d] is the node being walked at depth d. */
static const gopt_node *reader_of(const gopt_value *v, const gopt_node *const *chain, int depth)
{
    for (int d = depth; d >= 0; d--)
        if (chain[d]->graph == v->graph)
            return chain[d];
    return NULL;
}

static void note_reader(const gopt_node **last, const gopt_value *v, const gopt_node *const *chain, int depth)
{
    const gopt_node *reader = v ? reader_of(v, chain, depth) : NULL;
    if (reader)
        last[v->id] = reader;
}

static gopt_status note_readers(eval *ev, const gopt_node **last, const gopt_graph *g, const gopt_node **chain,
                                int depth, gopt_err *e)
{
    if (depth >= NESTING_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "graph %s: more than %d levels of nesting", g->name, NESTING_MAX);
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        chain[depth] = n;
        ev->first_death[n->id] = -1;
        for (int k = 0; k < n->n_in; k++)
            note_reader(last, n->in[k], chain, depth);
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k]) {
                ev->value[n->out[k]->id] = n->out[k];
                last[n->out[k]->id] = n;
            }
        for (int b = 0; b < n->n_bodies; b++) {
            GOPT_TRY(note_readers(ev, last, n->body[b], chain, depth + 1, e));
            for (int k = 0; k < n->body[b]->n_outputs; k++)
                note_reader(last, n->body[b]->outputs[k], chain, depth);
        }
    }
    for (int i = 0; i < g->n_outputs; i++)
        last[g->outputs[i]->id] = g->outputs[i]->graph == g ? NULL : last[g->outputs[i]->id];
    return GOPT_OK;
}

static gopt_status plan_deaths(eval *ev, gopt_err *e)
{
    int n = ev->main_graph->family->next_id;
    const gopt_node *chain[NESTING_MAX];
    const gopt_node **last = gopt_calloc((size_t)n, sizeof *last);
    if (!last)
        return gopt_oom(e);
    gopt_status s = note_readers(ev, last, ev->main_graph, chain, 0, e);
    for (int id = 0; !s && id < n; id++)
        if (ev->value[id] && last[id]) {
            ev->at[id].next_death = ev->first_death[last[id]->id];
            ev->first_death[last[id]->id] = id;
        }
    gopt_free(last);
    return s;
}

/* ---- running ---- */

static void drop(cell *c)
{
    if (c->owned)
        gopt_free(c->t.data);
    c->owned = false;
    c->t.data = NULL;
}

static gopt_status alloc(void *ctx, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    running *r = ctx;
    const gopt_value *v = r->node->out[k];
    cell *c = &r->ev->at[v->id];
    c->t = (gopt_tensor){.dtype = d, .rank = rank};
    if (rank)
        memcpy(c->t.dim, dim, (size_t)rank * sizeof *dim);
    size_t bytes = gopt_tensor_bytes(&c->t);
    c->owned = v->graph != r->ev->main_graph || v->n_results == 0;
    c->t.data = c->owned ? gopt_aligned(DATA_ALIGN, bytes) : gopt_arena_take(r->ev->results, bytes, 1);
    c->owned = c->owned && c->t.data;
    return c->t.data ? GOPT_OK : gopt_oom(e);
}

static const gopt_tensor *read(const eval *ev, const gopt_value *v)
{
    if (!v)
        return NULL;
    return v->fact.constant ? v->fact.constant : ev->at[v->id].t.data ? &ev->at[v->id].t : NULL;
}

static gopt_status run_nodes(eval *ev, const gopt_graph *g, gopt_err *e);

/* A body's result stays until the node that runs the body is done. */
static gopt_status keep(running *r, const gopt_graph *g, int k, gopt_tensor *out, gopt_err *e)
{
    const gopt_value *v = g->outputs[k];
    const gopt_tensor *t = read(r->ev, v);
    if (!t)
        return gopt_fail(e, GOPT_EINPUT, "body %s: output %s has no value", g->name, v->name);
    *out = *t;
    cell *c = &r->ev->at[v->id];
    if (v->graph != g || !c->owned)
        return GOPT_OK;
    kept *mine = gopt_malloc(sizeof *mine);
    if (!mine)
        return gopt_oom(e);
    *mine = (kept){.next = r->kept, .data = c->t.data};
    r->kept = mine;
    c->owned = false;
    return GOPT_OK;
}

static void forget_body(eval *ev, const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_out; k++)
            if (g->nodes[i]->out[k])
                drop(&ev->at[g->nodes[i]->out[k]->id]);
}

static gopt_status run_body(void *ctx, int b, const gopt_tensor *const *in, int n_in, gopt_tensor *out, int n_out,
                            gopt_err *e)
{
    running *r = ctx;
    const gopt_graph *g = r->node->body[b];
    if (n_in != g->n_inputs || n_out > g->n_outputs)
        return gopt_fail(e, GOPT_EINPUT, "body %s: %d inputs and %d outputs, %d and %d expected", g->name, g->n_inputs,
                         g->n_outputs, n_in, n_out);
    for (int i = 0; i < n_in; i++)
        r->ev->at[g->inputs[i]->id].t = in[i] ? *in[i] : (gopt_tensor){0};
    gopt_status s = run_nodes(r->ev, g, e);
    for (int k = 0; !s && k < n_out; k++)
        s = keep(r, g, k, &out[k], e);
    forget_body(r->ev, g);
    return s;
}

static gopt_status run_step(running *r, const gopt_tensor **in, gopt_tensor **out, gopt_err *e)
{
    const gopt_node *n = r->node;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = read(r->ev, n->in[k]);
        if (n->in[k] && !in[k])
            return gopt_fail(e, GOPT_EINPUT, "input %s has no value", n->in[k]->name);
    }
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]) {
            out[k] = &r->ev->at[n->out[k]->id].t;
            out[k]->data = NULL;
        }
    gopt_ref_step step = {.op = n->op,
                          .attrs = n->attrs,
                          .n_in = n->n_in,
                          .n_anchor = n->n_anchor,
                          .n_out = n->n_out,
                          .in = in,
                          .out = out,
                          .post = n->post.result < 0 ? NULL : &n->post,
                          .deadline = r->ev->deadline,
                          .ctx = r,
                          .alloc = alloc,
                          .n_bodies = n->n_bodies,
                          .body = run_body};
    return gopt_ref_run(&step, e);
}

/* Sizes are computed in small float tensors: those must stay exact. */
enum { NOISY_ELEMENTS_LEAST = 16 };

/* Moves float32 elements by up to 4 units in the last place, at random (stochastic arithmetic, Vignes 1993). */
static void perturb(eval *ev, const gopt_tensor *t)
{
    int64_t n = t && t->dtype == GOPT_DTYPE_F32 ? gopt_tensor_count(t) : 0;
    float *x = n >= NOISY_ELEMENTS_LEAST ? t->data : NULL;
    for (int64_t i = 0; x && i < n; i++) {
        ev->noise ^= ev->noise << 13; /* xorshift64 (Marsaglia 2003) */
        ev->noise ^= ev->noise >> 7;
        ev->noise ^= ev->noise << 17;
        x[i] *= 1 + ((float)(ev->noise >> 40) * 0x1p-23f - 1) * 0x1p-22f;
    }
}

static gopt_status run_node(eval *ev, const gopt_node *n, gopt_err *e)
{
    running r = {.ev = ev, .node = n};
    const gopt_tensor **in = gopt_calloc((size_t)n->n_in, sizeof *in);
    gopt_tensor **out = gopt_calloc((size_t)n->n_out, sizeof *out);
    gopt_status s = in && out ? run_step(&r, in, out, e) : gopt_oom(e);
    for (int k = 0; !s && ev->noise && k < n->n_out; k++)
        perturb(ev, out[k]);
    for (kept *k = r.kept, *next; k; k = next) {
        next = k->next;
        gopt_free(k->data);
        gopt_free(k);
    }
    gopt_free(in);
    gopt_free(out);
    return s;
}

static gopt_status run_nodes(eval *ev, const gopt_graph *g, gopt_err *e)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        gopt_status s = ev->deadline && gopt_now() > ev->deadline ? gopt_fail(e, GOPT_ELIMIT, "time limit reached")
                                                                  : run_node(ev, n, e);
        if (s)
            return gopt_within(e, s, "node %s (%s)", n->name, n->op->name);
        for (int id = ev->first_death[n->id]; id >= 0; id = ev->at[id].next_death)
            drop(&ev->at[id]);
    }
    return GOPT_OK;
}

/* ---- the whole graph ---- */

static gopt_status set_input(eval *ev, const gopt_value *v, const gopt_tensor *t, gopt_err *e)
{
    static char nothing; /* where an input without elements lies */
    char have[160], dim[64];
    if (!t || (!t->data && gopt_tensor_count(t) > 0))
        return gopt_fail(e, GOPT_EUSAGE, "input %s is not bound", v->name);
    gopt_tensor_describe(have, sizeof have, t);
    if (v->fact.dtype != GOPT_DTYPE_NONE && t->dtype != v->fact.dtype)
        return gopt_fail(e, GOPT_EINPUT, "input %s is %s, %s expected", v->name, have, gopt_dtype_name(v->fact.dtype));
    if (v->fact.rank >= 0 && t->rank != v->fact.rank)
        return gopt_fail(e, GOPT_EINPUT, "input %s is %s, rank %d expected", v->name, have, v->fact.rank);
    for (int d = 0; d < v->fact.rank; d++)
        if (gopt_dim_is_const(v->fact.dim[d]) && v->fact.dim[d].k != t->dim[d])
            return gopt_fail(e, GOPT_EINPUT, "input %s is %s, %s expected in dimension %d", v->name, have,
                             gopt_dim_print(ev->main_graph->family->dims, v->fact.dim[d], dim, sizeof dim), d);
    ev->at[v->id].t = *t;
    if (!t->data)
        ev->at[v->id].t.data = &nothing;
    return GOPT_OK;
}

static gopt_status get_output(eval *ev, const gopt_value *v, gopt_tensor *out, gopt_err *e)
{
    const gopt_tensor *t = read(ev, v);
    if (!t)
        return gopt_fail(e, GOPT_EINPUT, "output %s has no value", v->name);
    *out = *t;
    if (v->producer)
        return GOPT_OK; /* made in the results' arena */
    out->data = gopt_arena_copy(ev->results, t->data, gopt_tensor_bytes(t), 1);
    return out->data ? GOPT_OK : gopt_oom(e);
}

static gopt_status run(eval *ev, const gopt_tensor *const *in, gopt_tensor *out, gopt_err *e)
{
    const gopt_graph *g = ev->main_graph;
    GOPT_TRY(plan_deaths(ev, e));
    for (int i = 0; i < g->n_inputs; i++)
        GOPT_TRY(set_input(ev, g->inputs[i], in[i], e));
    GOPT_TRY(run_nodes(ev, g, e));
    for (int i = 0; i < g->n_outputs; i++)
        GOPT_TRY(get_output(ev, g->outputs[i], &out[i], e));
    return GOPT_OK;
}

gopt_status gopt_graph_eval(const gopt_graph *g, const gopt_tensor *const *in, gopt_tensor *out, gopt_arena *a,
                            int64_t deadline, gopt_err *e)
{
    return gopt_graph_eval_noisy(g, in, out, a, deadline, 0, e);
}

gopt_status gopt_graph_eval_noisy(const gopt_graph *g, const gopt_tensor *const *in, gopt_tensor *out, gopt_arena *a,
                                  int64_t deadline, uint64_t noise, gopt_err *e)
{
    size_t n = (size_t)g->family->next_id;
    eval ev = {.value = gopt_calloc(n, sizeof *ev.value),
               .at = gopt_calloc(n, sizeof *ev.at),
               .first_death = gopt_calloc(n, sizeof *ev.first_death),
               .results = a,
               .main_graph = g,
               .deadline = deadline,
               .noise = noise};
    gopt_status s = ev.value && ev.at && ev.first_death ? run(&ev, in, out, e) : gopt_oom(e);
    for (size_t id = 0; ev.at && id < n; id++)
        drop(&ev.at[id]);
    gopt_free(ev.value);
    gopt_free(ev.at);
    gopt_free(ev.first_death);
    return s;
}

/* ---- one node ---- */

typedef struct folding {
    gopt_tensor *out;
    gopt_arena *arena;
    size_t max_bytes;
} folding;

static gopt_status fold_alloc(void *ctx, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    folding *f = ctx;
    gopt_tensor *t = &f->out[k];
    *t = (gopt_tensor){.dtype = d, .rank = rank};
    if (rank)
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    size_t bytes = gopt_tensor_bytes(t);
    if (bytes > f->max_bytes)
        return gopt_fail(e, GOPT_ELIMIT, "output %d would take %zu bytes, %zu allowed", k, bytes, f->max_bytes);
    t->data = gopt_arena_take(f->arena, GOPT_MAX(bytes, (size_t)DATA_ALIGN), 1);
    return t->data ? GOPT_OK : gopt_oom(e);
}

static gopt_status fold(const gopt_node *n, folding *f, const gopt_tensor **in, gopt_tensor **out, int64_t deadline,
                        gopt_err *e)
{
    for (int k = 0; k < n->n_in; k++) {
        in[k] = n->in[k] ? n->in[k]->fact.constant : NULL;
        if (n->in[k] && !in[k])
            return gopt_fail(e, GOPT_EUSAGE, "input %s is not constant", n->in[k]->name);
    }
    for (int k = 0; k < n->n_out; k++) {
        f->out[k] = (gopt_tensor){0};
        out[k] = n->out[k] ? &f->out[k] : NULL;
    }
    gopt_ref_step step = {.op = n->op,
                          .attrs = n->attrs,
                          .n_in = n->n_in,
                          .n_anchor = n->n_anchor,
                          .n_out = n->n_out,
                          .in = in,
                          .out = out,
                          .post = n->post.result < 0 ? NULL : &n->post,
                          .deadline = deadline,
                          .ctx = f,
                          .alloc = fold_alloc};
    return gopt_ref_run(&step, e);
}

gopt_status gopt_node_eval(const gopt_node *n, gopt_tensor *out, gopt_arena *a, int64_t deadline, size_t max_bytes,
                           gopt_err *e)
{
    if (n->n_bodies)
        return gopt_fail(e, GOPT_EUNSUP, "node %s (%s): it has bodies", n->name, n->op->name);
    folding f = {.out = out, .arena = a, .max_bytes = max_bytes};
    const gopt_tensor **in = gopt_calloc((size_t)n->n_in, sizeof *in);
    gopt_tensor **outs = gopt_calloc((size_t)n->n_out, sizeof *outs);
    gopt_status s = in && outs ? fold(n, &f, in, outs, deadline, e) : gopt_oom(e);
    gopt_free(in);
    gopt_free(outs);
    return s ? gopt_within(e, s, "node %s (%s)", n->name, n->op->name) : GOPT_OK;
}
