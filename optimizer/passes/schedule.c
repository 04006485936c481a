/* schedule.c: orders nodes so that less memory is alive at once.
 *
 * Of the nodes whose operands are there, the one that frees the most and takes the least comes next; the earliest of
 * equals. Any order that keeps operands first is legal; the new one is kept only when its peak is lower. Sizes come
 * from inference, a value of unknown size counts nothing; what a view shares (alias_views) is counted once. Bodies are
 * ordered for themselves. */
#include <string.h>

#include "passes/liveness.h"
#include "passes/rewrite.h"

enum { WINDOW = 64 }; /* candidates looked at, the earliest first: keeps the cost linear */

typedef struct scheduling {
    gopt_liveness live;
    int *waits; /* by node: operands' producers not yet run */
} scheduling;

/* Who waits for whom, through operands and bodies: by node, the nodes after it. */
typedef struct edges {
    int *first, *to;
} edges;

static void each_edge(const scheduling *s, const gopt_node *n, int i, int *count, const edges *out)
{
    for (int k = 0; k < n->n_in; k++) {
        const gopt_value *v = n->in[k];
        if (!v || v->graph != s->live.g || !v->producer)
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
            if (v->graph != s->live.g || !v->producer)
                continue;
            if (out)
                out->to[out->first[v->producer->index] + count[v->producer->index]] = i;
            count[v->producer->index]++;
        }
    }
}

static bool connect(scheduling *s, edges *x)
{
    int *count = GOPT_NEW(&s->live.arena, int, s->live.n), total = 0;
    s->waits = GOPT_NEW(&s->live.arena, int, s->live.n);
    x->first = GOPT_NEW(&s->live.arena, int, s->live.n + 1);
    if (s->live.arena.failed)
        return false;
    for (int i = 0; i < s->live.n; i++)
        each_edge(s, s->live.g->nodes[i], i, count, NULL);
    for (int i = 0; i < s->live.n; i++) {
        x->first[i] = total;
        total += count[i];
    }
    x->first[s->live.n] = total;
    x->to = GOPT_NEW(&s->live.arena, int, total);
    if (!x->to)
        return false;
    memset(count, 0, (size_t)s->live.n * sizeof *count);
    for (int i = 0; i < s->live.n; i++)
        each_edge(s, s->live.g->nodes[i], i, count, x);
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
        double grows =
            (double)gopt_liveness_takes(&s->live, ready[k]) - (double)gopt_liveness_frees(&s->live, ready[k]);
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
    int *ready = GOPT_NEW(&s->live.arena, int, s->live.n + 1), n_ready = 0;
    if (!ready || !connect(s, &x))
        return false;
    gopt_liveness_start(&s->live);
    for (int i = 0; i < s->live.n; i++)
        if (s->waits[i] == 0)
            make_ready(ready, &n_ready, i);
    for (int done = 0; n_ready > 0; done++) {
        int k = choose(s, ready, n_ready), i = ready[k];
        memmove(&ready[k], &ready[k + 1], (size_t)(--n_ready - k) * sizeof *ready);
        gopt_liveness_step(&s->live, i, &now, peak);
        order[done] = s->live.g->nodes[i];
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

static gopt_status find_order(scheduling *s, gopt_graph *g, int *changed, gopt_err *e)
{
    size_t peak = 0;
    GOPT_TRY(gopt_liveness_init(&s->live, g, e));
    gopt_node **order = GOPT_NEW(&s->live.arena, gopt_node *, g->n_nodes);
    if (!order || !list_schedule(s, order, &peak))
        return gopt_oom(e);
    if (peak >= gopt_liveness_peak(&s->live))
        return GOPT_OK;
    memcpy(g->nodes, order, (size_t)g->n_nodes * sizeof *order);
    for (int i = 0; i < g->n_nodes; i++)
        g->nodes[i]->index = i;
    ++*changed;
    return GOPT_OK;
}

static gopt_status reorder(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    scheduling s = {0};
    if (is_random(g))
        return GOPT_OK;
    gopt_status status = find_order(&s, g, &r->changed, e);
    gopt_liveness_fini(&s.live);
    return status;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each_graph(g, r, reorder, e);
}

const gopt_pass gopt_pass_schedule = {
    .name = "schedule",
    .doc = "order nodes so that less memory is alive at once",
    .revision = 2,
    .decides = true,
    .run = run,
};
