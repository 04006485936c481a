#include "passes/layout.h"

#include <string.h>

/* ---- permutations ---- */

gopt_layout gopt_layout_inverse(const gopt_layout *l)
{
    gopt_layout back = {.rank = l->rank};
    for (int i = 0; i < l->rank; i++)
        back.perm[l->perm[i]] = i;
    return back;
}

gopt_layout gopt_layout_then(const gopt_layout *a, const gopt_layout *b)
{
    gopt_layout both = {.rank = a->rank};
    for (int i = 0; i < a->rank; i++)
        both.perm[i] = a->perm[b->perm[i]];
    return both;
}

bool gopt_layout_is_plain(const gopt_layout *l)
{
    for (int i = 0; i < l->rank; i++)
        if (l->perm[i] != i)
            return false;
    return true;
}

bool gopt_layout_of(const gopt_node *n, gopt_layout *l)
{
    if (!gopt_rewrite_is(n, "Transpose") || !n->in[0] || n->in[0]->fact.rank < 1)
        return false;
    int64_t count;
    const int64_t *perm = gopt_attr_ints(n->attrs, "perm", &count);
    l->rank = n->in[0]->fact.rank;
    for (int i = 0; i < l->rank; i++)
        l->perm[i] = perm && count == l->rank ? perm[i] : l->rank - 1 - i;
    return true;
}

static bool is_same(const gopt_layout *a, const gopt_layout *b)
{
    return a->rank == b->rank && !memcmp(a->perm, b->perm, (size_t)a->rank * sizeof *a->perm);
}

/* ---- which nodes ---- */

typedef enum kind {
    KIND_NONE,
    KIND_POINTWISE,
    KIND_AXIS,     /* attribute axis; every operand of the rank is data */
    KIND_AXIS_ONE, /* the same; operand 0 alone is data */
    KIND_REDUCE,   /* operand 1: axes */
    KIND_SLICE,    /* operand 3: axes */
    KIND_PAD,      /* operand 1: pads, 3: axes */
    KIND_MEAN,     /* GlobalAveragePool, which is a ReduceMean in any layout */
    KIND_CONV,
    KIND_POOL
} kind;

static const struct {
    const char *name;
    kind kind;
    int64_t axis;    /* where the attribute is absent */
    bool wants_last; /* kernels are much quicker along the last axis */
} movers[] = {
    {"Concat", KIND_AXIS, 0, false},
    {"Split", KIND_AXIS_ONE, 0, false},
    {"Softmax", KIND_AXIS_ONE, -1, true},
    {"LogSoftmax", KIND_AXIS_ONE, -1, true},
    {"ReduceSum", KIND_REDUCE, 0, false},
    {"ReduceMean", KIND_REDUCE, 0, false},
    {"ReduceMax", KIND_REDUCE, 0, false},
    {"ReduceMin", KIND_REDUCE, 0, false},
    {"Slice", KIND_SLICE, 0, false},
    {"Pad", KIND_PAD, 0, false},
    {"QuantizeLinear", KIND_AXIS_ONE, 1, false},
    {"DequantizeLinear", KIND_AXIS_ONE, 1, false},
};

static int mover_of(const gopt_node *n)
{
    for (int i = 0; i < GOPT_COUNT(movers); i++)
        if (gopt_rewrite_is(n, movers[i].name))
            return i;
    return -1;
}

static kind kind_of(const gopt_node *n)
{
    if (n->post.result >= 0 || n->n_bodies || n->op->traits & GOPT_TRAIT_RANDOM)
        return KIND_NONE;
    int m = mover_of(n);
    if (gopt_layout_is_conv(n))
        return KIND_CONV;
    if (gopt_layout_is_pool(n))
        return KIND_POOL;
    if (gopt_rewrite_is(n, "GlobalAveragePool"))
        return KIND_MEAN;
    return m >= 0 ? movers[m].kind : n->op->traits & GOPT_TRAIT_POINTWISE ? KIND_POINTWISE : KIND_NONE;
}

static bool has(const gopt_node *n, int k)
{
    return k < n->n_in && n->in[k];
}

static bool is_absent_or_ints(const gopt_node *n, int k)
{
    return !has(n, k) || (gopt_value_is_const(n->in[k]) && n->in[k]->fact.rank == 1);
}

static bool is_single(const gopt_fact *f)
{
    for (int d = 0; d < f->rank; d++)
        if (!gopt_dim_is_const(f->dim[d]) || f->dim[d].k != 1)
            return false;
    return f->rank >= 0;
}

/* Operands that are broadcast have the rank, or can be given it. */
static bool all_broadcast(const gopt_node *n, int rank)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->fact.rank != rank && !is_single(&n->in[k]->fact) &&
            (!gopt_value_is_const(n->in[k]) || n->in[k]->fact.rank > rank))
            return false;
    return true;
}

static bool all_of_rank(const gopt_node *n, int rank)
{
    for (int k = 0; k < n->n_in; k++)
        if (!n->in[k] || n->in[k]->fact.rank != rank)
            return false;
    return true;
}

static bool moves(const gopt_node *n, int rank)
{
    switch (kind_of(n)) {
    case KIND_POINTWISE:
        return all_broadcast(n, rank);
    case KIND_AXIS:
        return all_of_rank(n, rank);
    case KIND_AXIS_ONE:
        return n->in[0]->fact.rank == rank && gopt_attr_int(n->attrs, "block_size", 0) == 0;
    case KIND_REDUCE:
        return has(n, 1) && is_absent_or_ints(n, 1) && gopt_tensor_count(n->in[1]->fact.constant) > 0 &&
               gopt_attr_int(n->attrs, "keepdims", 1);
    case KIND_SLICE:
        return has(n, 1) && is_absent_or_ints(n, 1) && is_absent_or_ints(n, 3);
    case KIND_PAD:
        return has(n, 1) && is_absent_or_ints(n, 1) && is_absent_or_ints(n, 3);
    case KIND_MEAN:
    case KIND_CONV:
    case KIND_POOL:
        return true;
    default:
        return false;
    }
}

int gopt_layout_rank(const gopt_node *n)
{
    if (n->n_out < 1 || n->n_in < 1 || !n->out[0] || !n->in[0] || n->out[0]->fact.rank < 2)
        return 0;
    int rank = n->out[0]->fact.rank;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] && n->out[k]->fact.rank != rank)
            return 0;
    return moves(n, rank) ? rank : 0;
}

bool gopt_layout_carries(const gopt_node *n, int k)
{
    kind of = kind_of(n);
    const gopt_value *v = n->in[k];
    if (!v || gopt_value_is_const(v) || (k > 0 && of != KIND_POINTWISE && of != KIND_AXIS))
        return false;
    return v->fact.rank == n->out[0]->fact.rank && !is_single(&v->fact);
}

static int64_t axis_of(const gopt_node *n, int m, int rank)
{
    int64_t axis = gopt_attr_int(n->attrs, "axis", movers[m].axis);
    return axis < 0 ? axis + rank : axis;
}

bool gopt_layout_suits(const gopt_node *n, const gopt_layout *l)
{
    gopt_layout last_channels = gopt_layout_channels_last(l->rank);
    if (kind_of(n) >= KIND_CONV)
        return is_same(l, &last_channels);
    int m = mover_of(n);
    if (m < 0 || !movers[m].wants_last)
        return true;
    int64_t last = l->rank - 1, axis = axis_of(n, m, l->rank);
    return axis != last || l->perm[last] == last;
}

/* ---- moving ---- */

/* What a Transpose that comes before a node makes of v already; NULL: there is none. */
static gopt_value *transposed_earlier(const gopt_value *v, const gopt_layout *l, const gopt_node *before)
{
    gopt_layout other;
    for (int i = 0; i < v->n_users; i++) {
        const gopt_node *t = v->users[i];
        if (t->graph == before->graph && t->index <= before->index && gopt_layout_of(t, &other) && is_same(&other, l))
            return t->out[0];
    }
    return NULL;
}

static gopt_value *transposed(gopt_value *v, const gopt_layout *l, gopt_node *before)
{
    gopt_layout first, both = *l;
    gopt_graph *g = before->graph;
    gopt_node *t = v->producer;
    if (t && t->graph == g && gopt_layout_of(t, &first)) {
        both = gopt_layout_then(&first, l);
        v = t->in[0];
    } else {
        t = NULL;
    }
    gopt_value *there = gopt_layout_is_plain(&both) ? v : transposed_earlier(v, &both, before);
    if (there)
        return there;
    gopt_attrs attrs = gopt_rewrite_attr_ints(g, (gopt_attrs){0}, "perm", both.perm, both.rank);
    gopt_node *n = gopt_graph_node(g, NULL, gopt_op_find("", "Transpose"), attrs, &v, 1, 1, before, &t, t != NULL);
    return n && !gopt_node_infer(n, NULL) ? n->out[0] : NULL;
}

/* A constant given the layout's rank, and its layout. */
static gopt_value *constant_in(gopt_value *v, const gopt_layout *l, gopt_node *before)
{
    gopt_graph *g = before->graph;
    gopt_tensor *t = gopt_arena_copy(&g->family->arena, v->fact.constant, 1, sizeof *t), out;
    if (!t)
        return NULL;
    int more = l->rank - t->rank;
    memmove(t->dim + more, t->dim, (size_t)t->rank * sizeof *t->dim);
    for (int d = 0; d < more; d++)
        t->dim[d] = 1;
    t->rank = l->rank;
    gopt_value *whole = gopt_graph_constant(g, NULL, t);
    gopt_value *turned = whole ? transposed(whole, l, before) : NULL;
    if (!turned || turned == whole)
        return turned;
    if (gopt_node_eval(turned->producer, &out, &g->family->arena, 0, SIZE_MAX, NULL))
        return NULL;
    gopt_tensor *kept = gopt_arena_copy(&g->family->arena, &out, 1, sizeof out);
    gopt_value *done = kept ? gopt_graph_constant(g, NULL, kept) : NULL;
    gopt_node_remove(turned->producer);
    return done;
}

/* Where axis a of the value is in the layout. */
static int64_t place_of(const gopt_layout *l, int64_t a)
{
    gopt_layout back = gopt_layout_inverse(l);
    return back.perm[a < 0 ? a + l->rank : a];
}

/* Axes given by operand k, or the first `count` ones. */
static gopt_value *moved_axes(const gopt_node *n, int k, int64_t count, const gopt_layout *l)
{
    int64_t axes[GOPT_RANK_MAX];
    const gopt_tensor *given = has(n, k) ? n->in[k]->fact.constant : NULL;
    count = given ? gopt_tensor_count(given) : count;
    if (count > l->rank)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        axes[i] = place_of(l, given ? gopt_tensor_get_int(given, i) : i);
    return gopt_rewrite_ints(n->graph, axes, count);
}

/* Axes 2 and up. */
static gopt_value *spatial_axes(gopt_graph *g, const gopt_layout *l)
{
    int64_t axes[GOPT_RANK_MAX];
    for (int d = 2; d < l->rank; d++)
        axes[d - 2] = place_of(l, d);
    return gopt_rewrite_ints(g, axes, l->rank - 2);
}

static gopt_value *operand(gopt_node *n, int k, const gopt_layout *l)
{
    gopt_value *v = n->in[k];
    kind of = kind_of(n);
    bool data = k == 0 || of == KIND_POINTWISE || of == KIND_AXIS;
    if (!data || (of == KIND_POINTWISE && is_single(&v->fact)))
        return v;
    return gopt_value_is_const(v) ? constant_in(v, l, n) : transposed(v, l, n);
}

/* Operands in[0..*n_in) of the moved node: data in layout l, axes renamed. */
static bool operands(gopt_node *n, const gopt_layout *l, gopt_value **in, int *n_in)
{
    kind of = kind_of(n);
    for (int k = 0; k < n->n_in; k++) {
        in[k] = n->in[k] ? operand(n, k, l) : NULL;
        if (n->in[k] && !in[k])
            return false;
    }
    *n_in = n->n_in;
    if (of == KIND_MEAN)
        return (in[(*n_in)++] = spatial_axes(n->graph, l));
    int at = of == KIND_REDUCE ? 1 : of == KIND_SLICE || of == KIND_PAD ? 3 : 0;
    if (!at)
        return true;
    int64_t given = gopt_tensor_count(n->in[1]->fact.constant);
    for (; *n_in <= at; ++*n_in)
        in[*n_in] = NULL;
    return (in[at] = moved_axes(n, at, of == KIND_PAD ? given / 2 : given, l));
}

static gopt_attrs attributes(const gopt_node *n, const gopt_layout *l)
{
    int m = mover_of(n);
    const char *mode = strcmp(n->op->name, "MaxPool") ? "average" : "max";
    switch (kind_of(n)) {
    case KIND_AXIS:
    case KIND_AXIS_ONE:
        return gopt_rewrite_attr_int(n->graph, n->attrs, "axis", place_of(l, axis_of(n, m, l->rank)));
    case KIND_MEAN:
        return gopt_rewrite_attr_int(n->graph, (gopt_attrs){0}, "keepdims", 1);
    case KIND_POOL:
        return gopt_attrs_with(&n->graph->family->arena, n->attrs,
                               (gopt_attr){.name = "mode", .kind = GOPT_ATTR_STRING, .s = mode});
    default:
        return n->attrs;
    }
}

static const gopt_op *operator_of(const gopt_node *n)
{
    switch (kind_of(n)) {
    case KIND_MEAN:
        return gopt_op_find("", "ReduceMean");
    case KIND_CONV:
        return gopt_op_find("gopt", "ConvNhwc");
    case KIND_POOL:
        return gopt_op_find("gopt", "PoolNhwc");
    default:
        return n->op;
    }
}

/* Transposes that read v, which a Transpose gives, read what that one reads. */
static bool shorten(gopt_value *v)
{
    gopt_layout l;
    for (int i = v->n_users - 1; i >= 0; i = GOPT_MIN(i, v->n_users) - 1) {
        gopt_node *t = v->users[i];
        if (t->graph != v->graph || !gopt_layout_of(t, &l))
            continue;
        gopt_value *by = transposed(v, &l, t);
        if (!by)
            return false;
        if (!gopt_value_can_replace(t->out[0], by))
            continue;
        gopt_value_replace(t->out[0], by);
        gopt_rewrite_drop(t);
    }
    return true;
}

bool gopt_layout_move(gopt_node *n, const gopt_layout *l)
{
    gopt_layout back = gopt_layout_inverse(l);
    gopt_arena *a = &n->graph->family->arena;
    gopt_value **in = GOPT_NEW(a, gopt_value *, n->n_in + 4);
    int n_in;
    if (!in || !operands(n, l, in, &n_in))
        return false;
    gopt_node *by = gopt_graph_node(n->graph, NULL, operator_of(n), attributes(n, l), in, n_in, n->n_out, n, &n, 1);
    if (!by || a->failed || gopt_node_infer(by, NULL))
        return false;
    for (int k = 0; k < n->n_out; k++) {
        gopt_value *out = n->out[k] ? transposed(by->out[k], &back, n) : NULL;
        if (n->out[k] && !out)
            return false;
        if (!out)
            continue;
        gopt_value_replace(n->out[k], out);
        if (!shorten(out))
            return false;
    }
    by->name = n->name;
    gopt_rewrite_drop(n);
    return true;
}
