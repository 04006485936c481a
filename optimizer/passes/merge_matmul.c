/* merge_matmul.c: products of one value with several constant matrices become one product with all their columns, and
 * a Split: projections to queries, keys and values, gates.
 *
 *     x W1 + b1, x W2 + b2   becomes   Split(x [W1 W2] + [b1 b2])
 *
 * A product is a MatMul or a Gemm with alpha, beta of 1 and no transA; its bias, when all have one, is a constant
 * vector that is all that is added. Legal when all are float32, or float16, or bfloat16, and in one graph, nothing else
 * reads the weights (they would be kept twice) nor, where a bias follows, the bare product. Left alone where a single
 * pointwise node reads the result, which that product can finish with (fuse_anchor) and a part of a larger one cannot.
 * Every element is summed as before. */
#include <string.h>

#include "passes/rewrite.h"

enum { MAX_COLUMNS };

static const gopt_knob knobs[] = {[MAX_COLUMNS] = {.name = "max_columns",
                                                   .kind = GOPT_KNOB_POW2,
                                                   .lo = 16,
                                                   .hi = 16384,
                                                   .init = 8192,
                                                   .doc = "columns of a merged product"},
                                  {0}};

enum { BRANCHES_MAX = 8 };

typedef struct branch {
    gopt_node *product, *add; /* add NULL: none, or a Gemm's own */
    const gopt_tensor *w, *bias;
    bool turned; /* w is (n, k) */
    int64_t k, n;
    gopt_value *end;
} branch;

typedef struct group {
    branch at[BRANCHES_MAX];
    int n;
    int64_t columns;
} group;

static bool is_mergeable(gopt_dtype d)
{
    return d == GOPT_DTYPE_F32 || d == GOPT_DTYPE_F16 || d == GOPT_DTYPE_BF16;
}

/* v as a vector of n along the last axis, nothing else; NULL when it is none. */
static const gopt_tensor *vector(const gopt_value *v, int64_t n)
{
    const gopt_tensor *t = gopt_value_is_const(v) ? v->fact.constant : NULL;
    return t && t->rank > 0 && t->dim[t->rank - 1] == n && gopt_tensor_count(t) == n ? t : NULL;
}

static bool is_plain_gemm(const gopt_node *n)
{
    return gopt_rewrite_is(n, "Gemm") && gopt_attr_float(n->attrs, "alpha", 1) == 1 &&
           gopt_attr_float(n->attrs, "beta", 1) == 1 && !gopt_attr_int(n->attrs, "transA", 0);
}

static void take_bias(branch *b)
{
    gopt_node *n = gopt_rewrite_sole_reader(b->end);
    if (!gopt_rewrite_is(n, "Add") || n->graph != b->product->graph || n->in[0] == n->in[1])
        return;
    b->bias = vector(n->in[n->in[0] == b->end ? 1 : 0], b->n);
    if (!b->bias || !gopt_rewrite_same_shape(&n->out[0]->fact, &b->end->fact)) {
        b->bias = NULL;
        return;
    }
    b->add = n;
    b->end = n->out[0];
}

static bool branch_of(gopt_node *n, branch *b)
{
    bool gemm = is_plain_gemm(n), biased = gemm && n->n_in > 2 && n->in[2];
    if ((!gemm && !gopt_rewrite_is(n, "MatMul")) || gopt_value_is_const(n->in[0]) || !gopt_value_is_const(n->in[1]) ||
        n->in[1]->fact.rank != 2 || n->in[1]->n_users != 1 || n->in[0]->fact.rank < 2 ||
        !is_mergeable(n->in[0]->fact.dtype))
        return false;
    *b = (branch){.product = n, .w = n->in[1]->fact.constant, .end = n->out[0]};
    b->turned = gemm && gopt_attr_int(n->attrs, "transB", 0);
    b->k = b->w->dim[b->turned ? 1 : 0];
    b->n = b->w->dim[b->turned ? 0 : 1];
    bool whole = n->in[0]->fact.dtype == GOPT_DTYPE_F32; /* else an Add of its own would round once more */
    if (biased && (!whole || !(b->bias = vector(n->in[2], b->n))))
        return false;
    if (!biased)
        take_bias(b);
    const gopt_node *reader = gopt_rewrite_sole_reader(b->end);
    return b->k > 0 && b->n > 0 && !(reader && reader->op->traits & GOPT_TRAIT_POINTWISE);
}

/* The branches that begin at n's operand and have a bias where n has one, in order; n is the first. */
static bool collect(gopt_node *n, int64_t max_columns, group *g)
{
    const gopt_value *x = n->in[0];
    branch b, first;
    *g = (group){0};
    if (!branch_of(n, &first))
        return false;
    for (int i = 0; i < x->n_users; i++) {
        gopt_node *m = x->users[i];
        if (m->graph != n->graph || m->n_in < 2 || m->in[0] != x || !branch_of(m, &b) || !b.bias != !first.bias ||
            g->n == BRANCHES_MAX)
            continue;
        if (m->index < n->index || g->columns + b.n > max_columns)
            return false;
        int at = g->n++;
        for (; at > 0 && g->at[at - 1].product->index > m->index; at--)
            g->at[at] = g->at[at - 1];
        g->at[at] = b;
        g->columns += b.n;
    }
    return g->n > 1;
}

/* To columns [first, ...) of `all`. */
static void copy_columns(const branch *b, gopt_tensor *all, int64_t first)
{
    size_t size = gopt_dtype_bytes(all->dtype, 1);
    const char *w = b->w->data;
    char *to = all->data;
    for (int64_t k = 0; k < b->k; k++)
        for (int64_t n = 0; n < b->n; n++) {
            int64_t from = b->turned ? n * b->k + k : k * b->n + n;
            memcpy(to + size * (size_t)(k * all->dim[1] + first + n), w + size * (size_t)from, size);
        }
}

/* Weights of all branches, and their biases. */
static bool make_constants(const group *g, gopt_graph *graph, gopt_value **w, gopt_value **bias)
{
    gopt_arena *a = &graph->family->arena;
    gopt_dtype d = g->at[0].w->dtype;
    gopt_tensor *all = gopt_tensor_new(a, d, 2, (int64_t[]){g->at[0].k, g->columns});
    gopt_tensor *sum = gopt_tensor_new(a, d, 1, &g->columns);
    int64_t at = 0;
    if (!all || !sum)
        return false;
    for (int i = 0; i < g->n; at += g->at[i].n, i++) {
        copy_columns(&g->at[i], all, at);
        if (g->at[i].bias)
            memcpy((char *)sum->data + gopt_dtype_bytes(d, at), g->at[i].bias->data, gopt_dtype_bytes(d, g->at[i].n));
    }
    *w = gopt_graph_constant(graph, NULL, all);
    *bias = g->at[0].bias ? gopt_graph_constant(graph, NULL, sum) : NULL;
    return *w && (*bias || !g->at[0].bias);
}

static gopt_node *put(gopt_node *before, const char *op, gopt_attrs attrs, gopt_value *a, gopt_value *b, int n_out,
                      gopt_node *const *from, int n_from)
{
    gopt_node *n = gopt_graph_node(before->graph, NULL, gopt_op_find("", op), attrs, (gopt_value *[]){a, b}, 2, n_out,
                                   before, from, n_from);
    return n && !gopt_node_infer(n, NULL) ? n : NULL;
}

static bool merge(const group *g)
{
    gopt_node *first = g->at[0].product, *from[2 * BRANCHES_MAX];
    gopt_graph *graph = first->graph;
    int64_t parts[BRANCHES_MAX];
    int n_from = 0;
    gopt_value *w, *bias;
    for (int i = 0; i < g->n; i++) {
        parts[i] = g->at[i].n;
        from[n_from++] = g->at[i].product;
        if (g->at[i].add)
            from[n_from++] = g->at[i].add;
    }
    gopt_value *lengths = gopt_rewrite_ints(graph, parts, g->n);
    if (!lengths || !make_constants(g, graph, &w, &bias))
        return false;
    gopt_node *all = put(first, "MatMul", (gopt_attrs){0}, first->in[0], w, 1, from, n_from);
    if (all && bias)
        all = put(first, "Add", (gopt_attrs){0}, all->out[0], bias, 1, from, n_from);
    gopt_attrs axis = gopt_rewrite_attr_int(graph, (gopt_attrs){0}, "axis", -1);
    gopt_node *split = all ? put(first, "Split", axis, all->out[0], lengths, g->n, from, n_from) : NULL;
    for (int i = 0; i < g->n && split; i++) {
        gopt_value_replace(g->at[i].end, split->out[i]);
        gopt_rewrite_drop(g->at[i].add ? g->at[i].add : g->at[i].product);
    }
    return split;
}

static gopt_status merge_products(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    group g;
    if (n->n_in < 2 || !n->in[0] || !collect(n, r->knob[MAX_COLUMNS], &g))
        return GOPT_OK;
    if (!merge(&g))
        return gopt_oom(e);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, merge_products, e);
}

const gopt_pass gopt_pass_merge_matmul = {
    .name = "merge_matmul",
    .doc = "products of one value with several constant matrices become one",
    .revision = 2,
    .knobs = knobs,
    .run = run,
};
