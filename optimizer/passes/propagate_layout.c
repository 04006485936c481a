/* propagate_layout.c: Transposes move through nodes that do not care about the order of axes, until they meet one that
 * undoes them, or a smaller tensor.
 *
 *     transpose(relu(transpose(x)))   becomes   relu(x)
 *
 * and convolutions have their channels outermost (NCHW) or innermost (NHWC), as their kernels predict to be quicker.
 *
 * Nodes that can be computed in any layout (layout.h) and read one another are a component. For the layout of each
 * Transpose at its border, and channels last where there are convolutions, which of its nodes to compute in that layout
 * is a cut: every value that is made on one side and read on the other costs a Transpose, one at the border costs
 * nothing where it cancels, a convolution costs what its kernel there takes longer. The cheapest cut, by bytes moved,
 * is a minimum cut; it is taken when it is cheaper than what is there. Exact but for the order in which reductions and
 * convolutions add. */
#include <math.h>

#include "passes/drop_identity.h"
#include "passes/layout.h"
#include "passes/min_cut.h"

enum { ROUNDS = 8, LAYOUTS_MAX = 8 /* tried per component */, UNKNOWN_SIZE = 64 /* a guess */ };

typedef struct component {
    gopt_node **at; /* in the order of the graph */
    int n;
    size_t cap;
    gopt_layout tried[LAYOUTS_MAX];
    int n_tried;
} component;

typedef struct propagation {
    gopt_graph *g;
    gopt_arena arena; /* of a round */
    int *cell;        /* by node id: its place in the network; 0: not in the component */
    int *seen;        /* by value id: the last network it was put into */
    int *part;        /* by node id: component, from 1 */
    int n_ids, networks;
    gopt_cut cut;
    gopt_layout layout, back;
    int64_t now; /* what moving costs today, of all that the layout could change */
} propagation;

static int64_t cost_of(const gopt_value *v)
{
    double bytes = gopt_dtype_bits(v->fact.dtype) / 8.0;
    for (int d = 0; d < v->fact.rank; d++)
        bytes *= gopt_dim_is_const(v->fact.dim[d]) ? (double)v->fact.dim[d].k : UNKNOWN_SIZE;
    return (int64_t)GOPT_MIN(bytes, 1e15) + 1; /* + 1: a Transpose is a kernel */
}

/* ---- the network: the source's side stays, the sink's side is moved ---- */

static int cell_of(const propagation *p, const gopt_node *n)
{
    return n->graph == p->g && n->id < p->n_ids ? p->cell[n->id] : 0;
}

/* The place of the reader i of v that reads it as data; 0: it is not in the component, or reads something else. */
static int reader_cell(const propagation *p, const gopt_value *v, const gopt_node *reader)
{
    int cell = cell_of(p, reader);
    for (int k = 0; cell && k < reader->n_in; k++)
        if (reader->in[k] == v && gopt_layout_carries(reader, k))
            return cell;
    return 0;
}

/* Whether the reader is a Transpose outside, and whether it has nothing left to do when v is moved. */
static bool is_border(const propagation *p, const gopt_node *reader, bool *cancels)
{
    gopt_layout own;
    if (reader->graph != p->g || !gopt_layout_of(reader, &own))
        return false;
    own = gopt_layout_then(&p->back, &own);
    *cancels = gopt_layout_is_plain(&own);
    return true;
}

/* Whoever reads v moved needs `moved` on the sink's side; whoever reads it as it is needs `plain` on the source's. */
static void add_readers(propagation *p, const gopt_value *v, int moved, int plain)
{
    for (int i = 0; i < v->n_users; i++) {
        int cell = reader_cell(p, v, v->users[i]);
        if (cell)
            gopt_cut_edge(&p->cut, moved, cell, GOPT_CUT_NEVER);
        if (cell && plain)
            gopt_cut_edge(&p->cut, cell, plain, GOPT_CUT_NEVER);
    }
}

static bool is_read_plainly_outside(const propagation *p, const gopt_value *v)
{
    bool cancels;
    for (int i = 0; i < v->n_users; i++)
        if (!reader_cell(p, v, v->users[i]) && !is_border(p, v->users[i], &cancels))
            return true;
    return v->n_results > 0;
}

/* v is made in the component. */
static void add_made(propagation *p, const gopt_value *v, int maker)
{
    int64_t cost = cost_of(v);
    bool cancels;
    int moved = gopt_cut_node(&p->cut), plain = gopt_cut_node(&p->cut);
    gopt_cut_edge(&p->cut, maker, moved, cost);
    gopt_cut_edge(&p->cut, plain, maker, cost);
    add_readers(p, v, moved, plain);
    if (is_read_plainly_outside(p, v))
        gopt_cut_edge(&p->cut, GOPT_CUT_SOURCE, plain, GOPT_CUT_NEVER);
    for (int i = 0; i < v->n_users; i++)
        if (!cell_of(p, v->users[i]) && is_border(p, v->users[i], &cancels) && cancels) {
            gopt_cut_edge(&p->cut, maker, GOPT_CUT_SINK, cost);
            p->now += cost;
        }
}

/* v comes from outside. */
static void add_read(propagation *p, const gopt_value *v)
{
    gopt_layout before;
    int64_t cost = cost_of(v);
    bool turned = v->producer && v->producer->graph == p->g && gopt_layout_of(v->producer, &before), cancels = false;
    int moved = gopt_cut_node(&p->cut), plain = 0;
    if (turned) {
        before = gopt_layout_then(&before, &p->layout);
        cancels = gopt_layout_is_plain(&before);
    }
    gopt_cut_edge(&p->cut, GOPT_CUT_SOURCE, moved, cancels ? 0 : cost);
    bool stays = v->n_results > 0;
    for (int i = 0; i < v->n_users; i++)
        stays = stays || !reader_cell(p, v, v->users[i]);
    if (turned && !stays) { /* the Transpose goes when nobody reads v as it is */
        plain = gopt_cut_node(&p->cut);
        gopt_cut_edge(&p->cut, plain, GOPT_CUT_SINK, cost);
        p->now += cost;
    }
    add_readers(p, v, moved, plain);
}

/* Of the node itself, once it is moved. */
static void add_gain(propagation *p, int cell, double gain)
{
    int64_t bytes = (int64_t)GOPT_MIN(fabs(gain), 1e15);
    if (gain > 0) {
        gopt_cut_edge(&p->cut, cell, GOPT_CUT_SINK, bytes);
        p->now += bytes;
    } else {
        gopt_cut_edge(&p->cut, GOPT_CUT_SOURCE, cell, bytes);
    }
}

static void build(propagation *p, const component *c)
{
    p->now = 0;
    p->networks++;
    for (int i = 0; i < c->n; i++)
        p->cell[c->at[i]->id] = gopt_cut_node(&p->cut);
    for (int i = 0; i < c->n; i++) {
        const gopt_node *n = c->at[i];
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k])
                add_made(p, n->out[k], p->cell[n->id]);
        for (int k = 0; k < n->n_in; k++) {
            const gopt_value *v = n->in[k];
            if (!v || !gopt_layout_carries(n, k) || (v->producer && cell_of(p, v->producer)) ||
                p->seen[v->id] == p->networks)
                continue;
            p->seen[v->id] = p->networks;
            add_read(p, v);
        }
        if (!gopt_layout_suits(n, &p->layout))
            gopt_cut_edge(&p->cut, GOPT_CUT_SOURCE, p->cell[n->id], GOPT_CUT_NEVER);
        else if (gopt_layout_is_conv(n))
            add_gain(p, p->cell[n->id], gopt_layout_conv_gain(n));
    }
}

/* Moves what the cheapest cut says; true in *moved when it did. False without memory. */
static bool try_layout(propagation *p, const component *c, const gopt_layout *l, bool *moved)
{
    p->layout = *l;
    p->back = gopt_layout_inverse(l);
    build(p, c);
    int64_t cost = p->cut.arena.failed ? 0 : gopt_cut_solve(&p->cut);
    bool ok = !p->cut.arena.failed;
    *moved = ok && cost < p->now;
    for (int i = 0; i < c->n; i++) {
        int cell = p->cell[c->at[i]->id];
        p->cell[c->at[i]->id] = 0;
        if (*moved && ok && gopt_cut_is_beyond(&p->cut, cell))
            ok = gopt_layout_move(c->at[i], l);
    }
    gopt_cut_fini(&p->cut);
    return ok;
}

/* ---- components ---- */

/* Not yet tried, and there is room to remember it. */
static bool is_new(component *c, const gopt_layout *l)
{
    gopt_layout back = gopt_layout_inverse(l);
    for (int i = 0; i < c->n_tried; i++) {
        gopt_layout both = gopt_layout_then(&c->tried[i], &back);
        if (gopt_layout_is_plain(&both))
            return false;
    }
    if (c->n_tried == LAYOUTS_MAX || gopt_layout_is_plain(l))
        return false;
    c->tried[c->n_tried++] = *l;
    return true;
}

/* Tries the layouts of the Transposes at node n of the component; stops at the first one that moves something, as the
 * component is another one then. */
static bool try_borders(propagation *p, component *c, const gopt_node *n, bool *moved)
{
    gopt_layout l;
    bool ok = true;
    if (gopt_layout_is_conv(n)) {
        l = gopt_layout_channels_last(n->in[0]->fact.rank);
        if (is_new(c, &l))
            ok = try_layout(p, c, &l, moved);
    }
    for (int k = 0; k < n->n_in && ok && !*moved; k++) {
        const gopt_node *t = n->in[k] && gopt_layout_carries(n, k) ? n->in[k]->producer : NULL;
        if (!t || t->graph != p->g || !gopt_layout_of(t, &l))
            continue;
        l = gopt_layout_inverse(&l);
        if (is_new(c, &l))
            ok = try_layout(p, c, &l, moved);
    }
    for (int k = 0; k < n->n_out && !*moved; k++)
        for (int i = 0; n->out[k] && i < n->out[k]->n_users && ok && !*moved; i++)
            if (n->out[k]->users[i]->graph == p->g && gopt_layout_of(n->out[k]->users[i], &l) && is_new(c, &l))
                ok = try_layout(p, c, &l, moved);
    return ok;
}

static bool join(propagation *p, component *c, gopt_node *n, int rank, int part)
{
    if (!n || n->graph != p->g || n->id >= p->n_ids || p->part[n->id] || gopt_layout_rank(n) != rank)
        return true;
    gopt_node **at = gopt_arena_grow(&p->arena, c->at, (size_t)c->n, &c->cap, (size_t)c->n + 1, sizeof *at);
    if (!at)
        return false;
    c->at = at;
    at[c->n++] = n;
    p->part[n->id] = part;
    return true;
}

/* All that n's values tie together. c->at lists nodes in the order in which they are found. */
static bool flood(propagation *p, component *c, gopt_node *n, int part)
{
    int rank = gopt_layout_rank(n);
    bool ok = join(p, c, n, rank, part);
    for (int i = 0; i < c->n && ok; i++) {
        n = c->at[i];
        for (int k = 0; k < n->n_in && ok; k++)
            if (n->in[k] && gopt_layout_carries(n, k))
                ok = join(p, c, n->in[k]->producer, rank, part);
        for (int k = 0; k < n->n_out && ok; k++)
            for (int u = 0; n->out[k] && u < n->out[k]->n_users && ok; u++)
                if (p->g == n->out[k]->users[u]->graph)
                    ok = join(p, c, n->out[k]->users[u], rank, part);
    }
    return ok;
}

static void sort(component *c)
{
    for (int i = 1; i < c->n; i++) {
        gopt_node *n = c->at[i];
        int k = i;
        for (; k > 0 && c->at[k - 1]->index > n->index; k--)
            c->at[k] = c->at[k - 1];
        c->at[k] = n;
    }
}

static bool start_round(propagation *p)
{
    p->n_ids = p->g->family->next_id;
    p->networks = 0;
    p->cell = GOPT_NEW(&p->arena, int, p->n_ids);
    p->seen = GOPT_NEW(&p->arena, int, p->n_ids);
    p->part = GOPT_NEW(&p->arena, int, p->n_ids);
    return p->cell && p->seen && p->part;
}

/* Every component once; *moved counts those that changed. */
static bool run_round(propagation *p, int *moved)
{
    bool ok = start_round(p);
    int parts = 0, n_nodes = p->g->n_nodes;
    gopt_node **nodes = gopt_arena_copy(&p->arena, p->g->nodes, (size_t)n_nodes, sizeof *nodes);
    ok = ok && nodes;
    for (int i = 0; i < n_nodes && ok; i++) {
        component c = {0};
        bool done = false;
        if (nodes[i]->dead || p->part[nodes[i]->id] || !gopt_layout_rank(nodes[i]))
            continue;
        ok = flood(p, &c, nodes[i], ++parts);
        sort(&c);
        for (int k = 0; k < c.n && ok && !done; k++)
            ok = try_borders(p, &c, c.at[k], &done);
        *moved += done;
    }
    gopt_arena_fini(&p->arena);
    return ok;
}

static bool has_layouts(const gopt_graph *g)
{
    gopt_layout l;
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->dead && (gopt_layout_of(g->nodes[i], &l) || gopt_layout_is_conv(g->nodes[i])))
            return true;
    return false;
}

/* What is left between two others, or moves nothing but dimensions of size 1. */
static void simplify(gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i]->dead)
            gopt_drop_identity_transpose(g->nodes[i]);
}

static gopt_status propagate(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    propagation p = {.g = g};
    int before = -1;
    for (int round = 0; round < ROUNDS && before != r->changed && has_layouts(g); round++) {
        before = r->changed;
        gopt_graph_compact(g);
        GOPT_TRY(gopt_graph_sort(g, e));
        if (!run_round(&p, &r->changed))
            return gopt_oom(e);
    }
    if (r->changed)
        simplify(g);
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each_graph(g, r, propagate, e);
}

const gopt_pass gopt_pass_propagate_layout = {
    .name = "propagate_layout",
    .doc = "transpositions move to where they cancel; convolutions have the layout that is cheaper in all",
    .revision = 1,
    .run = run,
};
