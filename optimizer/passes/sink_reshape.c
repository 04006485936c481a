/* sink_reshape.c: moves a Reshape, Squeeze, Unsqueeze or Flatten behind the pointwise node or row-wise norm that reads
 * it, so that the node stands next to the product before the move and can become part of it (fuse_anchor), and so that
 * moves meet and merge.
 *
 *     add(reshape(x), b)   becomes   reshape(add(x, b'))
 *
 * Legal when the node alone reads the move and the move alone reads x, the node keeps the moved shape, and every other
 * operand means the same for the shape of x: a scalar, a vector along a last axis that both shapes share, or a tensor
 * of the moved shape, which is moved back. A norm or softmax must run along a last axis that both shapes share. Done
 * only behind products, convolutions, norms and pointwise nodes: elsewhere nothing is won. */
#include <string.h>

#include "passes/drop_identity.h"

static bool is_move(const gopt_node *n)
{
    static const char *const ops[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (gopt_rewrite_is(n, ops[i]))
            return true;
    return false;
}

static bool is_one(gopt_dim d)
{
    return gopt_dim_is_const(d) && d.k == 1;
}

/* How many leading dimensions of size 1 a shape has before its last `keep`; -1 when there are others. */
static int leading_ones(const gopt_fact *f, int keep)
{
    for (int i = 0; i < f->rank - keep; i++)
        if (!is_one(f->dim[i]))
            return -1;
    return GOPT_MAX(f->rank - keep, 0);
}

/* The same constant without its first dimensions, which are 1. */
static gopt_value *without_leading(gopt_graph *g, const gopt_value *v, int drop)
{
    gopt_tensor *t = gopt_arena_copy(&g->family->arena, v->fact.constant, 1, sizeof *t);
    if (!t)
        return NULL;
    t->rank -= drop;
    memmove(t->dim, v->fact.constant->dim + drop, (size_t)t->rank * sizeof t->dim[0]);
    return gopt_graph_constant(g, NULL, t);
}

/* v with `keep` significant dimensions at its end, as an operand beside a value of this rank; NULL when its rank is
 * larger and cannot be lowered. */
static gopt_value *fit_rank(gopt_graph *g, gopt_value *v, int keep, int rank)
{
    if (v->fact.rank <= rank)
        return v;
    return gopt_value_is_const(v) && keep <= rank ? without_leading(g, v, v->fact.rank - keep) : NULL;
}

/* v, of the moved shape, in the shape of x. */
static gopt_value *move_back(gopt_node *n, gopt_value *v, const gopt_value *x)
{
    int64_t shape[GOPT_RANK_MAX];
    int open = 0;
    if (is_move(v->producer) && gopt_rewrite_same_shape(&v->producer->in[0]->fact, &x->fact))
        return v->producer->in[0];
    for (int i = 0; i < x->fact.rank; i++) {
        bool known = gopt_dim_is_const(x->fact.dim[i]);
        shape[i] = known ? x->fact.dim[i].k : -1;
        open += !known;
        if (shape[i] == 0)
            return NULL;
    }
    gopt_value *to = open > 1 ? NULL : gopt_rewrite_ints(n->graph, shape, x->fact.rank);
    gopt_node *move = !to ? NULL
                          : gopt_graph_node(n->graph, NULL, gopt_op_find("", "Reshape"), (gopt_attrs){0},
                                            (gopt_value *[]){v, to}, 2, 1, n, &n, 1);
    if (!move)
        return NULL;
    move->out[0]->fact = x->fact;
    move->out[0]->fact.dtype = v->fact.dtype;
    move->out[0]->fact.content = NULL;
    return move->out[0];
}

static bool share_last_axis(const gopt_value *a, const gopt_value *b)
{
    int p = a->fact.rank, q = b->fact.rank;
    return p > 0 && q > 0 && gopt_dim_equal(a->fact.dim[p - 1], b->fact.dim[q - 1]);
}

/* Operand v beside x instead of the moved value; NULL when it has no such form. */
static gopt_value *operand(gopt_node *n, gopt_value *v, const gopt_value *moved, gopt_value *x)
{
    const gopt_fact *f = &v->fact, *m = &moved->fact;
    if (v == moved)
        return x;
    if (f->rank < 0)
        return NULL;
    if (leading_ones(f, 0) >= 0)
        return fit_rank(n->graph, v, 0, x->fact.rank);
    if (share_last_axis(x, moved) && share_last_axis(v, moved) && leading_ones(f, 1) >= 0)
        return fit_rank(n->graph, v, 1, x->fact.rank);
    return gopt_rewrite_same_shape(f, m) ? move_back(n, v, x) : NULL;
}

/* Norms that work on rows along one axis. */
static bool is_row_wise(const gopt_node *n)
{
    static const char *const ops[] = {"LayerNormalization", "RMSNormalization", "Softmax"};
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (gopt_rewrite_is(n, ops[i]))
            return true;
    return false;
}

/* Whether n would be worth having next to what computes x. */
static bool is_worth_it(const gopt_value *x)
{
    const gopt_node *p = x->producer;
    return p && (is_row_wise(p) || p->op->traits & (GOPT_TRAIT_HEAVY | GOPT_TRAIT_POINTWISE));
}

static bool can_sink(const gopt_node *n, const gopt_node *move)
{
    if (!is_move(move) || move->graph != n->graph || move->in[0]->fact.rank < 0 || !is_worth_it(move->in[0]))
        return false;
    return gopt_rewrite_sole_reader(move->out[0]) == n && gopt_rewrite_sole_reader(move->in[0]) == move &&
           gopt_rewrite_same_shape(&move->out[0]->fact, &n->out[0]->fact);
}

/* Node n, row-wise, of in[0] instead of a move of it. */
static bool can_sink_rows(const gopt_node *n, const gopt_node *move)
{
    int64_t axis = gopt_attr_int(n->attrs, "axis", -1);
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->n_users || n->out[k]->n_results))
            return false;
    return n->in[0] == move->out[0] && share_last_axis(move->in[0], move->out[0]) &&
           (axis == -1 || axis == move->out[0]->fact.rank - 1);
}

/* The new nodes take over the names of the old ones, which are gone afterwards. */
static bool swap(gopt_node *n, gopt_node *move, gopt_value *const *in)
{
    gopt_value *x = move->in[0];
    gopt_attrs attrs = is_row_wise(n) ? gopt_rewrite_attr_int(n->graph, n->attrs, "axis", -1) : n->attrs;
    gopt_node *inner = gopt_graph_node(n->graph, n->name, n->op, attrs, in, n->n_in, 1, n, &n, 1);
    if (!inner)
        return false;
    n->n_out = 1;
    inner->out[0]->name = move->out[0]->name;
    inner->out[0]->fact = x->fact;
    inner->out[0]->fact.dtype = n->out[0]->fact.dtype;
    inner->out[0]->fact.content = NULL;
    gopt_value *moved[] = {inner->out[0], move->n_in > 1 ? move->in[1] : NULL};
    gopt_node *outer = gopt_node_replace(n, move->op, move->attrs, moved, move->n_in, &move, 1);
    if (!outer)
        return false;
    outer->name = move->name;
    return true;
}

static gopt_status sink_one(gopt_node *n, gopt_node *move, bool *done, gopt_err *e)
{
    enum { OPERANDS_MAX = 8 };
    gopt_value *in[OPERANDS_MAX] = {NULL};
    gopt_node *before[OPERANDS_MAX] = {NULL};
    int n_in = n->n_in;
    *done = false;
    if (n_in > OPERANDS_MAX)
        return GOPT_OK;
    for (int k = 0; k < n_in; k++) {
        before[k] = n->in[k] ? n->in[k]->producer : NULL;
        if (is_row_wise(n))
            in[k] = k ? n->in[k] : move->in[0];
        else if (n->in[k] && !(in[k] = operand(n, n->in[k], move->out[0], move->in[0])))
            return n->graph->family->arena.failed ? gopt_oom(e) : GOPT_OK;
    }
    if (!swap(n, move, in))
        return gopt_oom(e);
    for (int k = 0; k < n_in; k++)
        if (before[k])
            gopt_rewrite_drop(before[k]);
    *done = true;
    return GOPT_OK;
}

static gopt_status sink(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    bool done = gopt_drop_identity_reshape(n), rows = is_row_wise(n);
    r->changed += done;
    if ((!rows && !(n->op->traits & GOPT_TRAIT_POINTWISE)) || n->post.result >= 0 || n->n_out == 0 || !n->out[0])
        return GOPT_OK;
    for (int k = 0; k < n->n_in && !done; k++) {
        gopt_node *move = n->in[k] ? n->in[k]->producer : NULL;
        if (!move || !can_sink(n, move) || (rows && !can_sink_rows(n, move)))
            continue;
        GOPT_TRY(sink_one(n, move, &done, e));
        r->changed += done;
    }
    return GOPT_OK;
}

/* Again while something moves: a value loses readers that hold a move back only later in the order. */
static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    enum { SWEEPS_MAX = 8 };
    for (int sweep = 0, before = -1; sweep < SWEEPS_MAX && before != r->changed; sweep++) {
        before = r->changed;
        GOPT_TRY(gopt_rewrite_each(g, r, sink, e));
        gopt_graph_compact(g);
        GOPT_TRY(gopt_graph_sort(g, e));
    }
    return GOPT_OK;
}

const gopt_pass gopt_pass_sink_reshape = {
    .name = "sink_reshape",
    .doc = "move reshapes behind pointwise nodes, which then stand next to the product before them",
    .revision = 1,
    .run = run,
};
