/* schedule.c: orders nodes so that less memory is alive at once.
 *
 * Of the nodes whose operands are there, the one that frees the most and takes the least comes next; the earliest of
 * equals. Any order that keeps operands first is legal; the new one is kept only when its peak is lower. Sizes come
 * from inference, a value of unknown size counts nothing; what a view shares (alias_views) is counted once. Bodies are
 * ordered for themselves. */
#include <string.h>

#include "passes/rewrite.h"

enum { WINDOW = 64 }; /* candidates looked at, the earliest first: keeps the cost linear */

typedef struct buffer {
    size_t bytes;
    int readers;   /* nodes of the graph, bodies counted as theirs; results keep one for ever */
    int remaining; /* of them, not yet run */
} buffer;

typedef struct scheduling {
    const gopt_graph *g;
    int n;
    int *root;  /* by value id: the value whose memory it is */
    buffer *at; /* by value id */
    int *reads; /* what node i reads, each root once: reads[first[i]..first[i + 1]) */
    int *first;
    size_t n_reads, cap_reads;
    int *waits; /* by node: operands' producers not yet run */
    int *stamp; /* by value id: node that has counted it */
    bool alias;
    gopt_arena arena;
} scheduling;

static size_t bytes_of(const gopt_value *v)
{
    gopt_tensor t = {.dtype = v->fact.dtype, .rank = v->fact.rank};
    int64_t count;
    if (v->fact.constant || v->fact.rank < 0 || !gopt_fact_static(&v->fact, t.dim) ||
        !gopt_dims_count(t.dim, t.rank, &count))
        return 0;
    return gopt_tensor_bytes(&t);
}

static bool shares(const scheduling *s, const gopt_node *n)
{
    return s->alias && (n->op->traits & GOPT_TRAIT_VIEW) && n->post.result < 0 && n->n_in > 0 && n->in[0] &&
           n->out[0] && n->in[0]->graph == s->g && !n->in[0]->fact.constant;
}

static void read_value(scheduling *s, const gopt_value *v, int node)
{
    if (!v || v->graph != s->g || v->fact.constant)
        return;
    int root = s->root[v->id];
    if (s->stamp[root] == node + 1)
        return;
    s->stamp[root] = node + 1;
    int *grown = gopt_arena_grow(&s->arena, s->reads, s->n_reads, &s->cap_reads, s->n_reads + 1, sizeof *grown);
    if (!grown)
        return;
    s->reads = grown;
    grown[s->n_reads++] = root;
    s->at[root].readers++;
}

static void read_all(scheduling *s, const gopt_node *n, int node)
{
    for (int k = 0; k < n->n_in; k++)
        read_value(s, n->in[k], node);
    for (int b = 0; b < n->n_bodies; b++) {
        for (int i = 0; i < n->body[b]->n_nodes; i++)
            read_all(s, n->body[b]->nodes[i], node);
        for (int i = 0; i < n->body[b]->n_outputs; i++)
            read_value(s, n->body[b]->outputs[i], node);
    }
}

static bool prepare(scheduling *s)
{
    const gopt_graph *g = s->g;
    size_t ids = (size_t)g->family->next_id;
    s->n = g->n_nodes;
    s->root = GOPT_NEW(&s->arena, int, ids);
    s->at = GOPT_NEW(&s->arena, buffer, ids);
    s->stamp = GOPT_NEW(&s->arena, int, ids);
    s->first = GOPT_NEW(&s->arena, int, s->n + 1);
    if (s->arena.failed)
        return false;
    for (size_t id = 0; id < ids; id++)
        s->root[id] = (int)id;
    for (int i = 0; i < s->n; i++) {
        const gopt_node *n = g->nodes[i];
        s->first[i] = (int)s->n_reads;
        read_all(s, n, i);
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] && k == 0 && shares(s, n))
                s->root[n->out[k]->id] = s->root[n->in[0]->id];
            else if (n->out[k])
                s->at[n->out[k]->id].bytes = bytes_of(n->out[k]);
    }
    s->first[s->n] = (int)s->n_reads;
    for (int i = 0; i < g->n_inputs; i++)
        s->at[s->root[g->inputs[i]->id]].readers++; /* the caller's: never freed */
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i]->graph == g)
            s->at[s->root[g->outputs[i]->id]].readers++;
    return !s->arena.failed;
}

/* ---- an order and its peak ---- */

static size_t takes(const scheduling *s, int i)
{
    const gopt_node *n = s->g->nodes[i];
    size_t bytes = 0;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && s->root[n->out[k]->id] == n->out[k]->id)
            bytes += s->at[n->out[k]->id].bytes;
    return bytes;
}

/* What dies once node i has run: last reads, and outputs that nobody reads. */
static size_t frees(const scheduling *s, int i)
{
    const gopt_node *n = s->g->nodes[i];
    size_t bytes = 0;
    for (int k = s->first[i]; k < s->first[i + 1]; k++)
        bytes += s->at[s->reads[k]].remaining == 1 ? s->at[s->reads[k]].bytes : 0;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && s->root[n->out[k]->id] == n->out[k]->id && s->at[n->out[k]->id].readers == 0)
            bytes += s->at[n->out[k]->id].bytes;
    return bytes;
}

static void start(scheduling *s)
{
    for (int id = 0; id < s->g->family->next_id; id++)
        s->at[id].remaining = s->at[id].readers;
}

static void step(scheduling *s, int i, size_t *now, size_t *peak)
{
    *now += takes(s, i);
    *peak = GOPT_MAX(*peak, *now);
    *now -= frees(s, i);
    for (int k = s->first[i]; k < s->first[i + 1]; k++)
        s->at[s->reads[k]].remaining--;
}

static size_t peak_of(scheduling *s)
{
    size_t now = 0, peak = 0;
    start(s);
    for (int i = 0; i < s->n; i++)
        step(s, i, &now, &peak);
    return peak;
}

/* Who waits for whom, through operands and bodies: by node, the nodes after it. */
typedef struct edges {
    int *first, *to;
} edges;

static void each_edge(const scheduling *s, const gopt_node *n, int i, int *count, const edges *out)
{
    for (int k = 0; k < n->n_in; k++) {
        const gopt_value *v = n->in[k];
        if (!v || v->graph != s->g || !v->producer)
            continue;
        int from = v->producer->index;
        if (out)
            out->to[out->first[from] + count[from]] = i;
        count[from]++;
    }
    for (int b = 0; b < n->n_bodies; b++) {
        for (int j = 0; j < n->body[b]->n_nodes; j++)
            each_edge(s, n->body[b]->nodes[j], i, count, out);
        for (int j = 0; j < n->body[b]->n_outputs; j++) {
            const gopt_value *v = n->body[b]->outputs[j];
            if (v->graph != s->g || !v->producer)
                continue;
            if (out)
                out->to[out->first[v->producer->index] + count[v->producer->index]] = i;
            count[v->producer->index]++;
        }
    }
}

static bool connect(scheduling *s, edges *x)
{
    int *count = GOPT_NEW(&s->arena, int, s->n), total = 0;
    s->waits = GOPT_NEW(&s->arena, int, s->n);
    x->first = GOPT_NEW(&s->arena, int, s->n + 1);
    if (s->arena.failed)
        return false;
    for (int i = 0; i < s->n; i++)
        each_edge(s, s->g->nodes[i], i, count, NULL);
    for (int i = 0; i < s->n; i++) {
        x->first[i] = total;
        total += count[i];
    }
    x->first[s->n] = total;
    x->to = GOPT_NEW(&s->arena, int, total);
    if (!x->to)
        return false;
    memset(count, 0, (size_t)s->n * sizeof *count);
    for (int i = 0; i < s->n; i++)
        each_edge(s, s->g->nodes[i], i, count, x);
    for (int k = 0; k < total; k++)
        s->waits[x->to[k]]++;
    return true;
}

/* Keeps the list of ready nodes ascending. */
static void make_ready(int *ready, int *n, int node)
{
    int k = (*n)++;
    for (; k > 0 && ready[k - 1] > node; k--)
        ready[k] = ready[k - 1];
    ready[k] = node;
}

static int choose(const scheduling *s, const int *ready, int n)
{
    int best = 0;
    double least = 0;
    for (int k = 0; k < GOPT_MIN(n, WINDOW); k++) {
        double grows = (double)takes(s, ready[k]) - (double)frees(s, ready[k]);
        if (k == 0 || grows < least) {
            best = k;
            least = grows;
        }
    }
    return best;
}

static bool list_schedule(scheduling *s, gopt_node **order, size_t *peak)
{
    edges x;
    size_t now = 0;
    int *ready = GOPT_NEW(&s->arena, int, s->n + 1), n_ready = 0;
    if (!ready || !connect(s, &x))
        return false;
    start(s);
    for (int i = 0; i < s->n; i++)
        if (s->waits[i] == 0)
            make_ready(ready, &n_ready, i);
    for (int done = 0; n_ready > 0; done++) {
        int k = choose(s, ready, n_ready), i = ready[k];
        memmove(&ready[k], &ready[k + 1], (size_t)(--n_ready - k) * sizeof *ready);
        step(s, i, &now, peak);
        order[done] = s->g->nodes[i];
        for (int j = x.first[i]; j < x.first[i + 1]; j++)
            if (--s->waits[x.to[j]] == 0)
                make_ready(ready, &n_ready, x.to[j]);
    }
    return true;
}

/* The order of draws must stay. */
static bool is_random(const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i]->op->traits & GOPT_TRAIT_RANDOM)
            return true;
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            if (is_random(g->nodes[i]->body[b]))
                return true;
    }
    return false;
}

static gopt_status reorder(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    scheduling s = {.g = g, .alias = g->family->decisions.alias_views};
    size_t peak = 0;
    if (is_random(g))
        return GOPT_OK;
    gopt_node **order = GOPT_NEW(&s.arena, gopt_node *, g->n_nodes);
    bool ok = order && prepare(&s) && list_schedule(&s, order, &peak);
    if (ok && peak < peak_of(&s)) {
        memcpy(g->nodes, order, (size_t)g->n_nodes * sizeof *order);
        for (int i = 0; i < g->n_nodes; i++)
            g->nodes[i]->index = i;
        r->changed++;
    }
    gopt_arena_fini(&s.arena);
    return ok ? GOPT_OK : gopt_oom(e);
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each_graph(g, r, reorder, e);
}

const gopt_pass gopt_pass_schedule = {
    .name = "schedule",
    .doc = "order nodes so that less memory is alive at once",
    .revision = 1,
    .decides = true,
    .run = run,
};
