/* region.c: growing regions of pointwise nodes, and their expressions. */
#include "passes/region.h"

#include <string.h>

static int find_node(const gopt_region *r, const gopt_node *n)
{
    for (int i = 0; i < r->n; i++)
        if (r->node[i] == n)
            return i;
    return -1;
}

static int find_input(const gopt_region *r, const gopt_value *v)
{
    for (int i = 0; i < r->n_in; i++)
        if (r->in[i] == v)
            return i;
    return -1;
}

/* ---- single nodes ---- */

/* The node's own expression; false when it is not pointwise, or of types that have none. */
static bool expression(const gopt_node *n, gopt_expr *x, gopt_arena *a)
{
    gopt_dtype dtype[GOPT_REGION_NODES];
    gopt_err why;
    if (n->n_out != 1 || !n->out[0] || n->n_in > GOPT_REGION_NODES)
        return false;
    if (n->post.result >= 0) {
        *x = n->post; /* read only */
        return n->n_anchor == 0;
    }
    if (!(n->op->traits & GOPT_TRAIT_POINTWISE) || n->op->traits & GOPT_TRAIT_RANDOM)
        return false;
    for (int k = 0; k < n->n_in; k++)
        dtype[k] = n->in[k] ? n->in[k]->fact.dtype : GOPT_DTYPE_NONE;
    *x = gopt_expr_new(a);
    return gopt_op_expr(x, n->op, n->attrs, dtype, n->n_in, &why) == GOPT_OK;
}

bool gopt_region_is_quick(gopt_dtype d)
{
    return d == GOPT_DTYPE_F32 || gopt_dtype_is_half(d);
}

typedef struct content {
    int ops;     /* instructions that compute something */
    bool floats; /* all as gopt_expr_floats_at has it, but no cast from bool */
    bool casts;
} content;

static content content_of(const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    content c = {.floats = true};
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++) {
        const gopt_instr *in = &x->at[k];
        if (!live[k])
            continue;
        c.ops += gopt_expr_code_args(in->code) > 0;
        bool cast = in->code == GOPT_EXPR_CAST;
        c.casts |= cast;
        c.floats &= gopt_expr_floats_at(x, k) && !(cast && x->at[in->arg[0]].class == GOPT_CLASS_BOOL);
    }
    return c;
}

int gopt_region_ops(const gopt_expr *x)
{
    return x->result < 0 ? 0 : content_of(x).ops;
}

/* ---- growing ---- */

static bool only_read_inside(const gopt_region *r, const gopt_value *v)
{
    if (v->n_results || v->n_users > GOPT_REGION_NODES)
        return false;
    for (int i = 0; i < v->n_users; i++)
        if (find_node(r, v->users[i]) < 0)
            return false;
    return true;
}

/* How many inputs there are once n is inside. */
static int inputs_with(const gopt_region *r, const gopt_node *n, const gopt_value *root)
{
    double scalar;
    int more = 0;
    for (int k = 0; k < n->n_in; k++) {
        const gopt_value *v = n->in[k];
        bool first = v && v != root && !gopt_value_scalar(v, &scalar) && find_input(r, v) < 0;
        for (int j = 0; j < k && first; j++)
            first = n->in[j] != v;
        more += first;
    }
    return r->n_in + more - (find_input(r, n->out[0]) >= 0);
}

static void add(gopt_region *r, gopt_node *n, const gopt_expr *x, int ops, const gopt_value *root)
{
    double scalar;
    int own = find_input(r, n->out[0]);
    if (own >= 0) {
        r->n_in--;
        memmove(&r->in[own], &r->in[own + 1], (size_t)(r->n_in - own) * sizeof *r->in);
    }
    r->node[r->n] = n;
    r->expr[r->n++] = *x;
    r->ops += ops;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k] != root && !gopt_value_scalar(n->in[k], &scalar) && find_input(r, n->in[k]) < 0)
            r->in[r->n_in++] = n->in[k];
}

/* A small product of scalars, as scales have it, is computed again for every element rather than by a kernel. */
static bool is_cheap_scalar(const gopt_node *n, const gopt_node *sink, const gopt_expr *x)
{
    const gopt_fact *f = &n->out[0]->fact;
    int64_t dim[GOPT_RANK_MAX], count;
    return gopt_fact_static(f, dim) && gopt_dims_count(dim, f->rank, &count) && count == 1 &&
           f->rank <= sink->out[0]->fact.rank && gopt_expr_cost(x) <= 2;
}

/* So few elements that a kernel of its own costs more than a slower one for all. */
static bool is_small(const gopt_node *sink)
{
    enum { FEW = 256 };
    int64_t dim[GOPT_RANK_MAX], count;
    return gopt_fact_static(&sink->out[0]->fact, dim) && gopt_dims_count(dim, sink->out[0]->fact.rank, &count) &&
           count <= FEW;
}

static bool try_add(gopt_region *r, gopt_node *n, const gopt_region_limits *limits)
{
    const gopt_node *sink = r->n ? r->node[0] : n;
    gopt_expr x;
    if (r->n == GOPT_REGION_NODES || n->graph != sink->graph || !expression(n, &x, &r->arena) ||
        !(gopt_rewrite_same_shape(&n->out[0]->fact, &sink->out[0]->fact) || is_cheap_scalar(n, sink, &x)))
        return false;
    content c = content_of(&x);
    /* Kernels that compute in float32 are much faster than those for all types: a node that they can do must not become
     * part of a larger group that they cannot. */
    gopt_dtype d = n->out[0]->fact.dtype;
    bool quick = c.floats && (gopt_region_is_quick(d) || gopt_dtype_is_small_int(d));
    bool fits = limits->float_only ? c.floats && (limits->casts || !c.casts) : !quick || is_small(sink);
    if (!fits || r->ops + c.ops > limits->ops ||
        inputs_with(r, n, limits->root) > GOPT_MIN(limits->inputs, GOPT_REGION_INPUTS))
        return false;
    add(r, n, &x, c.ops, limits->root);
    return true;
}

/* The producer, latest in order, of a value that the region reads, below `limit`; NULL when there is none. Later ones
 * have been decided, so that all readers of this one are known to be inside or outside. */
static gopt_node *next_candidate(const gopt_region *r, int limit)
{
    gopt_node *best = NULL;
    for (int i = 0; i < r->n_in; i++) {
        gopt_node *p = r->in[i]->producer;
        if (p && p->graph == r->node[0]->graph && p->index < limit && (!best || p->index > best->index))
            best = p;
    }
    return best;
}

gopt_status gopt_region_grow(gopt_region *r, gopt_node *m, const gopt_region_limits *limits, gopt_err *e)
{
    if (try_add(r, m, limits)) {
        gopt_node *p;
        for (int limit = m->index; (p = next_candidate(r, limit)); limit = p->index)
            if (only_read_inside(r, p->out[0]) && p->out[0] != limits->root)
                try_add(r, p, limits);
    }
    return r->arena.failed ? gopt_oom(e) : GOPT_OK;
}

/* A scalar that only nodes which are kept read. */
static bool is_their_scalar(const gopt_region *r, int i, const bool *keep)
{
    const gopt_value *v = r->node[i]->out[0];
    if (!is_cheap_scalar(r->node[i], r->node[0], &r->expr[i]))
        return false;
    for (int k = 0; k < v->n_users; k++)
        if (!keep[find_node(r, v->users[k])])
            return false;
    return true;
}

bool gopt_region_keep_root(gopt_region *r, const gopt_value *root)
{
    bool keep[GOPT_REGION_NODES] = {0};
    gopt_region old = *r;
    for (int i = r->n - 1; i >= 0; i--)
        for (int k = 0; k < r->node[i]->n_in; k++) {
            const gopt_value *v = r->node[i]->in[k];
            int from = v && v->producer ? find_node(r, v->producer) : -1;
            keep[i] |= v == root || (from >= 0 && keep[from]);
        }
    for (int i = 1; i < r->n; i++)
        keep[i] |= is_their_scalar(r, i, keep);
    r->n = r->n_in = r->ops = 0;
    for (int i = 0; i < old.n; i++)
        if (keep[i])
            add(r, old.node[i], &old.expr[i], gopt_region_ops(&old.expr[i]), root);
    return r->n > 0 && only_read_inside(r, root);
}

/* ---- the expression ---- */

/* The instruction that operand v of a node is; value[i] is that of node i. */
static int operand(const gopt_region *r, gopt_expr *x, const gopt_value *v, const int *value, int base,
                   const gopt_value *root, int acc)
{
    double scalar;
    if (!v)
        return -1;
    if (v == root)
        return acc;
    int from = v->producer ? find_node(r, v->producer) : -1;
    if (from >= 0)
        return value[from];
    if (gopt_value_scalar(v, &scalar)) {
        gopt_expr_class class = gopt_dtype_class(v->fact.dtype);
        return class == GOPT_CLASS_FLOAT ? gopt_expr_float(x, scalar)
                                         : gopt_expr_int(x, class, gopt_tensor_get_int(v->fact.constant, 0));
    }
    return gopt_expr_load(x, base + find_input(r, v), v->fact.dtype);
}

int gopt_region_build(const gopt_region *r, gopt_expr *x, int base, const gopt_value *root, int acc)
{
    int value[GOPT_REGION_NODES] = {0}, load[GOPT_REGION_NODES];
    for (int i = r->n - 1; i >= 0; i--) {
        const gopt_node *n = r->node[i];
        int used = gopt_expr_loads(&r->expr[i]);
        for (int k = 0; k < used; k++)
            load[k] = operand(r, x, n->in[k], value, base, root, acc);
        value[i] = gopt_expr_splice(x, &r->expr[i], load, used, -1);
        if (i > 0 && gopt_dtype_is_half(n->out[0]->fact.dtype)) /* the sink is rounded where it is stored */
            value[i] = gopt_expr_cast(x, value[i], n->out[0]->fact.dtype);
        if (value[i] < 0)
            return -1;
    }
    x->result = value[0];
    return gopt_expr_dtype(x) == r->node[0]->out[0]->fact.dtype ? value[0] : -1;
}

void gopt_region_fini(gopt_region *r)
{
    gopt_arena_fini(&r->arena);
    r->n = 0;
}
