/* recompute.c: what is cheap to compute is computed again for a later use, instead of being kept over the peak of live
 * bytes. Off (no limit) unless asked for: it takes time to save memory.
 *
 * While a step is alive with more than the target, of the values that it does not touch and that are read later the one
 * that saves most for its cost is made again right before that next reader: its node, with the nodes before it that are
 * cheap, too, up to operands that are there anyway (inputs, constants, what is read later still) or that are small and
 * may as well be kept. A round lowers every step that is above its target, or changes nothing; rounds follow each other
 * until the limit is reached, the work allowed is spent, or nothing helps. Random operators, control flow, products and
 * results of the graph are never made again; nor what a body reads. Every graph is looked at for itself.
 *
 * After merge_common, which would undo it, and after schedule: the order is what decides the peak. */
#include "base/clock.h"
#include "passes/remake.h"
#include "passes/rewrite.h"

enum { MAX_ARENA, MAX_EXTRA };
enum { NONE, LEAST };
enum { STRIDE = 64, WORTH = 256 }; /* parts of the peak: what a round lowers it by, the smallest value */

static const char *const limits[] = {"none",   "least",   "1",       "2",       "4",       "8",        "16",
                                     "32",     "64",      "128",     "256",     "512",     "1024",     "2048",
                                     "4096",   "8192",    "16384",   "32768",   "65536",   "131072",   "262144",
                                     "524288", "1048576", "2097152", "4194304", "8388608", "16777216", NULL};
static const gopt_knob knobs[] = {[MAX_ARENA] = {.name = "max_arena_kib",
                                                 .kind = GOPT_KNOB_CHOICE,
                                                 .hi = GOPT_COUNT(limits) - 2,
                                                 .choices = limits,
                                                 .doc = "KiB of activations above which values are computed again"},
                                  [MAX_EXTRA] = {.name = "max_extra_percent",
                                                 .kind = GOPT_KNOB_POW2,
                                                 .lo = 1,
                                                 .hi = 128,
                                                 .init = 8,
                                                 .doc = "work that this may add, of all"},
                                  {0}};

/* ---- a round ---- */

/* One value less at step i; false when there is none. */
static bool relieve(gopt_remaking *w, int i, size_t worth)
{
    gopt_remake x, best = {0};
    double most = 0;
    size_t excess = w->level[i] - w->target;
    for (int p = 0; p < i; p++)
        for (int k = 0; k < w->g->nodes[p]->n_out; k++) {
            const gopt_value *v = w->g->nodes[p]->out[k];
            if (!v || gopt_remaking_root(w, v) != v->id || w->live.at[v->id].bytes < worth ||
                !gopt_remake_plan(w, v->id, i, &x))
                continue;
            double saved = (double)GOPT_MIN(w->live.at[v->id].bytes, excess) / (1 + x.cost);
            if (saved > most) {
                most = saved;
                best = x;
            }
        }
    return most > 0 && gopt_remake_commit(w, &best);
}

static bool relieve_all(gopt_remaking *w, size_t peak)
{
    for (int i = 0; i < w->live.n; i++)
        while (w->level[i] > w->target)
            if (!relieve(w, i, peak / WORTH))
                return false;
    return w->n_made > 0;
}

/* ---- doing it ---- */

static gopt_node *copy_node(gopt_node *n, gopt_node *const *from, gopt_node *const *copy, int n_copies,
                            gopt_node *before)
{
    gopt_node *made =
        gopt_graph_node(n->graph, NULL, n->op, n->attrs, n->in, n->n_in, 1, before, (gopt_node *[]){n}, 1);
    if (!made)
        return NULL;
    made->n_anchor = n->n_anchor;
    made->index = before->index;
    made->post = n->post.result < 0 ? made->post : gopt_expr_copy(&n->graph->family->arena, &n->post);
    made->out[0]->fact = n->out[0]->fact;
    for (int k = 0; k < n->n_in; k++)
        for (int j = 0; j < n_copies; j++)
            if (n->in[k] && n->in[k]->producer == from[j] && !gopt_node_set_in(made, k, copy[j]->out[0]))
                return NULL;
    return made;
}

/* The readers of v from step `to` on read `by`. */
static bool redirect(gopt_value *v, gopt_value *by, int to)
{
    for (int i = v->n_users - 1; i >= 0; i = GOPT_MIN(i, v->n_users) - 1) {
        gopt_node *n = v->users[i];
        for (int k = 0; n->index >= to && k < n->n_in; k++)
            if (n->in[k] == v && !gopt_node_set_in(n, k, by))
                return false;
    }
    return true;
}

static bool apply(const gopt_remaking *w, const gopt_remake *x, gopt_node *const *order)
{
    gopt_node *copy[GOPT_REMAKE_NODES];
    for (int k = 0; k < x->n; k++)
        if (!(copy[k] = copy_node(x->cone[k], x->cone, copy, k, order[x->to])))
            return false;
    for (int k = 0; k < x->n; k++)
        if (gopt_remaking_root(w, x->cone[k]->out[0]) == x->root &&
            !redirect(x->cone[k]->out[0], copy[k]->out[0], x->to))
            return false;
    for (int k = x->n - 1; k >= 0; k--) /* views for readers that a later remake has taken */
        if (!copy[k]->dead)
            gopt_rewrite_drop(copy[k]);
    return true;
}

/* The last ones first: what they read may be made again, too, further ahead. */
static bool apply_all(gopt_remaking *w, int *changed)
{
    gopt_node **order = gopt_arena_copy(&w->live.arena, w->g->nodes, (size_t)w->live.n, sizeof *order);
    if (!order)
        return false;
    for (int to = w->live.n - 1; to >= 0; to--)
        for (size_t i = 0; i < w->n_made; i++)
            if (w->made[i].to == to && !apply(w, &w->made[i], order))
                return false;
    gopt_graph_compact(w->g);
    for (int i = 0; i < w->g->n_nodes; i++)
        w->g->nodes[i]->index = i;
    *changed += (int)w->n_made;
    return true;
}

/* One round. *allowed is what it may cost; *again: it has lowered the peak. */
static gopt_status lower_peak(gopt_remaking *w, gopt_graph *g, size_t limit, double *allowed, int *changed, bool *again,
                              gopt_err *e)
{
    size_t peak;
    *again = false;
    GOPT_TRY(gopt_remaking_init(w, g, &peak, e));
    if (peak <= limit)
        return GOPT_OK;
    w->target = GOPT_MAX(limit, peak - GOPT_MAX(peak / STRIDE, (size_t)1));
    w->allowed = *allowed;
    if (relieve_all(w, peak)) {
        *again = apply_all(w, changed);
        *allowed = w->allowed;
    }
    return w->live.arena.failed || w->g->family->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static double cost_of_all(const gopt_graph *g)
{
    double sum = 0;
    for (int i = 0; i < g->n_nodes; i++)
        sum += gopt_remake_cost(g->nodes[i]);
    return sum;
}

static gopt_status recompute(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    int64_t knob = r->knob[MAX_ARENA];
    if (knob == NONE)
        return GOPT_OK;
    size_t limit = knob == LEAST ? 0 : (size_t)1024 << (knob - LEAST - 1);
    double allowed = cost_of_all(g) * (double)r->knob[MAX_EXTRA] / 100;
    for (bool again = true; again && !(r->deadline && gopt_now() > r->deadline);) {
        gopt_remaking w;
        gopt_status s = lower_peak(&w, g, limit, &allowed, &r->changed, &again, e);
        gopt_remaking_fini(&w);
        if (s)
            return s;
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each_graph(g, r, recompute, e);
}

const gopt_pass gopt_pass_recompute = {
    .name = "recompute",
    .doc = "compute again what is cheap instead of keeping it, where memory is limited",
    .revision = 1,
    .knobs = knobs,
    .run = run,
};
