/* remake.c: lives of values, planning remakes, adding them up. */
#include "passes/remake.h"

#include <math.h>

#include "passes/rewrite.h"

static const double FLOPS_PER_BYTE = 8; /* what a core computes while memory delivers a byte */

/* ---- cost ---- */

static double bytes_of(const gopt_value *v)
{
    int64_t dim[GOPT_RANK_MAX], count;
    if (!v || !gopt_fact_static(&v->fact, dim) || !gopt_dims_count(dim, v->fact.rank, &count))
        return 0;
    return (double)count * gopt_dtype_bits(v->fact.dtype) / 8;
}

static double elements_of(const gopt_value *v)
{
    int64_t dim[GOPT_RANK_MAX], count;
    return v && gopt_fact_static(&v->fact, dim) && gopt_dims_count(dim, v->fact.rank, &count) ? (double)count : 0;
}

/* Of a table only what is taken from it counts. A product of M x K and
 * K x N has 2 MNK flops, the root of the three sizes multiplied; convolutions have more. */
double gopt_remake_cost(const gopt_node *n)
{
    double in = 0, out = 0, flops = n->post.result < 0 ? 0 : gopt_expr_cost(&n->post) * elements_of(n->out[0]);
    for (int k = 0; k < n->n_out; k++)
        out += bytes_of(n->out[k]);
    for (int k = 0; k < n->n_in; k++)
        in += gopt_value_is_const(n->in[k]) && !(n->op->traits & GOPT_TRAIT_HEAVY) ? fmin(bytes_of(n->in[k]), out)
                                                                                   : bytes_of(n->in[k]);
    if (n->op->traits & GOPT_TRAIT_HEAVY && n->n_anchor > 1)
        flops += 2 * sqrt(elements_of(n->in[0]) * elements_of(n->in[1]) * elements_of(n->out[0]));
    return fmax(in + out, flops / FLOPS_PER_BYTE);
}

/* ---- lives ---- */

static bool reserve(gopt_remaking *w)
{
    gopt_arena *a = &w->live.arena;
    size_t n = (size_t)w->live.n + 1, ids = (size_t)w->g->family->next_id;
    w->ids = (int)ids;
    w->born = GOPT_NEW(a, int, ids);
    w->last = GOPT_NEW(a, int, ids);
    w->next_of = GOPT_NEW(a, int, ids);
    w->first_of = GOPT_NEW(a, int, ids + 1);
    w->steps = GOPT_NEW(a, int, w->live.n_reads + 1);
    w->level = GOPT_NEW(a, size_t, n);
    w->across = GOPT_NEW(a, size_t, n);
    w->making = GOPT_NEW(a, size_t, n);
    return !a->failed;
}

/* What the result of step i may overwrite: pointwise kernels do so with an operand of the same form that dies. */
static size_t overwritten(const gopt_remaking *w, int i)
{
    const gopt_node *n = w->g->nodes[i];
    if (!(n->op->traits & GOPT_TRAIT_POINTWISE || n->n_anchor == 0) || n->n_out != 1 || !n->out[0])
        return 0;
    for (int k = 0; k < n->n_in; k++) {
        const gopt_value *v = n->in[k];
        if (!v || v->graph != w->g || v->fact.constant || v->fact.dtype != n->out[0]->fact.dtype)
            continue;
        const gopt_buffer *b = &w->live.at[w->live.root[v->id]];
        if (b->remaining == 1 && b->bytes && gopt_rewrite_same_shape(&v->fact, &n->out[0]->fact))
            return b->bytes;
    }
    return 0;
}

static void find_readers(gopt_remaking *w)
{
    const gopt_liveness *l = &w->live;
    for (size_t k = 0; k < l->n_reads; k++)
        w->first_of[l->reads[k] + 1]++;
    for (int id = 0; id < w->ids; id++) {
        w->first_of[id + 1] += w->first_of[id];
        w->next_of[id] = w->first_of[id];
    }
    for (int i = 0; i < l->n; i++)
        for (int k = l->first[i]; k < l->first[i + 1]; k++) {
            w->steps[w->next_of[l->reads[k]]++] = i;
            w->last[l->reads[k]] = i;
        }
}

static void find_ends(gopt_remaking *w)
{
    const gopt_liveness *l = &w->live;
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < w->g->nodes[i]->n_out; k++)
            if (w->g->nodes[i]->out[k])
                w->born[w->g->nodes[i]->out[k]->id] = i;
    for (int i = 0; i < w->g->n_inputs; i++) {
        w->born[w->g->inputs[i]->id] = -1;
        w->last[w->g->inputs[i]->id] = l->n;
    }
    for (int i = 0; i < w->g->n_outputs; i++)
        if (w->g->outputs[i]->graph == w->g)
            w->last[l->root[w->g->outputs[i]->id]] = l->n;
}

static size_t find_levels(gopt_remaking *w)
{
    size_t now = 0, unused = 0, peak = 0;
    find_readers(w);
    find_ends(w);
    gopt_liveness_start(&w->live);
    for (int i = 0; i < w->live.n; i++) {
        w->across[i] = now;
        w->level[i] = now + gopt_liveness_takes(&w->live, i) - GOPT_MIN(overwritten(w, i), now);
        gopt_liveness_step(&w->live, i, &now, &unused);
        peak = GOPT_MAX(peak, w->level[i]);
    }
    return peak;
}

gopt_status gopt_remaking_init(gopt_remaking *w, gopt_graph *g, size_t *peak, gopt_err *e)
{
    *w = (gopt_remaking){.g = g};
    GOPT_TRY(gopt_liveness_init(&w->live, g, e));
    if (!reserve(w))
        return gopt_oom(e);
    *peak = find_levels(w);
    return GOPT_OK;
}

void gopt_remaking_fini(gopt_remaking *w)
{
    gopt_liveness_fini(&w->live);
}

/* ---- one remake ---- */

int gopt_remaking_root(const gopt_remaking *w, const gopt_value *v)
{
    return v->id < w->ids ? w->live.root[v->id] : -1;
}

/* There right before step `step`, remakes of this round counted. */
static bool is_alive(const gopt_remaking *w, int root, int step)
{
    if (w->born[root] >= step || w->last[root] < step)
        return false;
    for (size_t i = 0; i < w->n_made; i++)
        if (w->made[i].root == root && w->made[i].from < step && step <= w->made[i].to)
            return false;
    return true;
}

static bool is_made_again(const gopt_remaking *w, int root)
{
    for (size_t i = 0; i < w->n_made; i++)
        if (w->made[i].root == root)
            return true;
    return false;
}

/* A remake of this round reads it in the gap. */
static bool is_pinned(const gopt_remaking *w, const gopt_remake *x)
{
    for (size_t i = 0; i < w->n_made; i++)
        for (int k = 0; k < w->made[i].n_pins; k++) {
            const gopt_pin *p = &w->made[i].pins[k];
            if (p->root == x->root && x->from < p->step && p->step <= x->to)
                return true;
        }
    return false;
}

static bool add_pin(gopt_remake *x, int root, bool extended)
{
    for (int k = 0; k < x->n_pins; k++)
        if (x->pins[k].root == root)
            return true;
    if (x->n_pins == GOPT_REMAKE_OPERANDS)
        return false;
    x->pins[x->n_pins++] = (gopt_pin){root, x->to, extended};
    return true;
}

static bool add_node(const gopt_remaking *w, gopt_remake *x, gopt_node *p, int depth);

/* What a node of the cone reads is there, or can be. */
static bool add_operand(const gopt_remaking *w, gopt_remake *x, const gopt_value *u, int depth)
{
    if (!u || u->fact.constant || u->graph != w->g)
        return true;
    int root = gopt_remaking_root(w, u);
    if (root != x->root && is_alive(w, root, x->to))
        return add_pin(x, root, false);
    size_t bytes = w->live.at[root].bytes;
    if (root != x->root && bytes > 0 && 2 * bytes <= w->live.at[x->root].bytes && !is_made_again(w, root))
        return add_pin(x, root, true);
    return u->output == 0 && add_node(w, x, u->producer, depth + 1);
}

static bool may_run_twice(const gopt_remaking *w, const gopt_node *p)
{
    if (!p || p->graph != w->g || p->n_bodies ||
        p->op->traits & (GOPT_TRAIT_HEAVY | GOPT_TRAIT_RANDOM | GOPT_TRAIT_CONTROL))
        return false;
    for (int k = 1; k < p->n_out; k++)
        if (p->out[k])
            return false;
    return w->live.at[gopt_remaking_root(w, p->out[0])].bytes > 0;
}

static bool add_node(const gopt_remaking *w, gopt_remake *x, gopt_node *p, int depth)
{
    for (int k = 0; k < x->n; k++)
        if (x->cone[k] == p)
            return true;
    if (depth > GOPT_REMAKE_NODES || !may_run_twice(w, p))
        return false;
    for (int k = 0; k < p->n_in; k++)
        if (!add_operand(w, x, p->in[k], depth))
            return false;
    if (x->n == GOPT_REMAKE_NODES)
        return false;
    x->cone[x->n++] = p;
    x->cost += gopt_remake_cost(p);
    return true;
}

/* First step that another remake of the same memory serves. */
static int served_until(const gopt_remaking *w, const gopt_remake *x)
{
    int until = w->live.n;
    for (size_t i = 0; i < w->n_made; i++)
        if (w->made[i].root == x->root && w->made[i].to > x->to)
            until = GOPT_MIN(until, w->made[i].to);
    return until;
}

/* v and its views, as far as they are there before x->to: those that are read from then on have to be made again. */
static bool add_members(const gopt_remaking *w, gopt_remake *x)
{
    int until = served_until(w, x);
    for (int i = w->born[x->root]; i < x->to; i++) {
        gopt_value *v = w->g->nodes[i]->n_out ? w->g->nodes[i]->out[0] : NULL;
        if (!v || gopt_remaking_root(w, v) != x->root)
            continue;
        bool wanted = false;
        for (int k = 0; k < v->n_users; k++) {
            if (v->users[k]->graph != w->g)
                return false;
            wanted |= v->users[k]->index >= x->to && v->users[k]->index < until;
        }
        if (wanted && !add_node(w, x, v->producer, 0))
            return false;
    }
    return x->n > 0;
}

static bool reads(const gopt_remaking *w, const gopt_node *n, int root)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->graph == w->g && !n->in[k]->fact.constant && gopt_remaking_root(w, n->in[k]) == root)
            return true;
    return false;
}

/* What dies within the cone once its node k has run. */
static size_t cone_frees(const gopt_remaking *w, const gopt_remake *x, int k)
{
    size_t bytes = 0;
    for (int j = 0; j < k; j++) {
        int root = gopt_remaking_root(w, x->cone[j]->out[0]);
        bool last = root != x->root && root == x->cone[j]->out[0]->id && reads(w, x->cone[k], root);
        for (int m = k + 1; m < x->n && last; m++)
            last = !reads(w, x->cone[m], root);
        bytes += last ? w->live.at[root].bytes : 0;
    }
    return bytes;
}

static size_t bytes_while_making(const gopt_remaking *w, const gopt_remake *x)
{
    size_t now = w->across[x->to] - w->live.at[x->root].bytes, peak = 0;
    for (int k = 0; k < x->n_pins; k++)
        now += x->pins[k].extended ? w->live.at[x->pins[k].root].bytes : 0;
    for (int k = 0; k < x->n; k++) {
        int root = gopt_remaking_root(w, x->cone[k]->out[0]);
        now += root == x->cone[k]->out[0]->id ? w->live.at[root].bytes : 0;
        peak = GOPT_MAX(peak, now);
        now -= cone_frees(w, x, k);
    }
    return peak;
}

/* What x keeps longer at step i. */
static size_t kept_longer(const gopt_remaking *w, const gopt_remake *x, int i)
{
    size_t bytes = 0;
    for (int k = 0; k < x->n_pins; k++)
        if (x->pins[k].extended && i >= w->last[x->pins[k].root])
            bytes += w->live.at[x->pins[k].root].bytes;
    return bytes;
}

/* No step ends above the target that was not there, and none that was rises. */
static bool keeps_target(const gopt_remaking *w, const gopt_remake *x)
{
    if (x->making > w->target)
        return false;
    for (int i = x->to; i >= 0; i--) {
        size_t more = kept_longer(w, x, i), less = i > x->from && i < x->to ? w->live.at[x->root].bytes : 0;
        if (more == 0 && i <= x->from)
            break;
        if (i < x->to && more > less && w->level[i] + more - less > w->target)
            return false;
        if (w->making[i] && w->making[i] + more > w->target)
            return false;
    }
    return true;
}

bool gopt_remake_plan(const gopt_remaking *w, int root, int i, gopt_remake *x)
{
    *x = (gopt_remake){.root = root, .from = w->born[root], .to = w->live.n};
    if (w->live.at[root].bytes == 0 || w->born[root] >= i || w->last[root] <= i || w->last[root] == w->live.n ||
        !is_alive(w, root, i))
        return false;
    for (int k = w->first_of[root]; k < w->next_of[root]; k++) {
        if (w->steps[k] == i)
            return false;
        if (w->steps[k] < i)
            x->from = GOPT_MAX(x->from, w->steps[k]);
        else
            x->to = GOPT_MIN(x->to, w->steps[k]);
    }
    if (x->to == w->live.n || is_pinned(w, x) || !add_members(w, x) || x->cost > w->allowed)
        return false;
    x->making = bytes_while_making(w, x);
    return keeps_target(w, x);
}

bool gopt_remake_commit(gopt_remaking *w, const gopt_remake *x)
{
    gopt_remake *made = gopt_arena_grow(&w->live.arena, w->made, w->n_made, &w->cap_made, w->n_made + 1, sizeof *made);
    size_t bytes = w->live.at[x->root].bytes;
    if (!made)
        return false;
    w->made = made;
    for (int i = x->to; i >= 0; i--) {
        size_t more = kept_longer(w, x, i), less = i > x->from && i < x->to ? bytes : 0;
        if (more == 0 && i <= x->from)
            break;
        if (i < x->to)
            w->level[i] += more - less;
        w->across[i] += more - less;
        w->making[i] += w->making[i] ? more : 0;
    }
    w->making[x->to] = GOPT_MAX(w->making[x->to], x->making);
    for (int k = 0; k < x->n_pins; k++)
        if (x->pins[k].extended)
            w->last[x->pins[k].root] = x->to;
    w->allowed -= x->cost;
    made[w->n_made++] = *x;
    return true;
}
