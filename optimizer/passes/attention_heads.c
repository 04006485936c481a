#include "passes/attention_heads.h"

#include <string.h>

/* ---- new nodes ---- */

gopt_value *gopt_heads_node(gopt_node *before, const char *op, gopt_attrs attrs, gopt_value *const *in, int n_in)
{
    gopt_node *n = gopt_graph_node(before->graph, NULL, gopt_op_find("", op), attrs, in, n_in, 1, before, &before, 1);
    return n && !gopt_node_infer(n, NULL) ? n->out[0] : NULL;
}

static bool has_shape(const gopt_value *v, const int64_t *dim, int rank)
{
    int64_t have[GOPT_RANK_MAX];
    return v->fact.rank == rank && gopt_fact_static(&v->fact, have) && !memcmp(have, dim, (size_t)rank * sizeof *dim);
}

gopt_value *gopt_heads_reshape(gopt_value *v, const int64_t *dim, int rank, gopt_node *before)
{
    if (has_shape(v, dim, rank))
        return v;
    gopt_value *shape = gopt_rewrite_ints(before->graph, dim, rank);
    return shape ? gopt_heads_node(before, "Reshape", (gopt_attrs){0}, (gopt_value *[]){v, shape}, 2) : NULL;
}

gopt_value *gopt_heads_transpose(gopt_value *v, const int64_t *perm, int rank, gopt_node *before)
{
    gopt_attrs attrs = gopt_rewrite_attr_ints(before->graph, (gopt_attrs){0}, "perm", perm, rank);
    return gopt_heads_node(before, "Transpose", attrs, &v, 1);
}

/* ---- questions ---- */

bool gopt_heads_is_transpose(const gopt_node *n, const int64_t *perm, int rank)
{
    int64_t count;
    const int64_t *given = n ? gopt_attr_ints(n->attrs, "perm", &count) : NULL;
    return gopt_rewrite_is(n, "Transpose") && given && count == rank && n->in[0]->fact.rank == rank &&
           !memcmp(given, perm, (size_t)rank * sizeof *perm);
}

static bool is_view(const gopt_node *n)
{
    static const char *const ops[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (gopt_rewrite_is(n, ops[i]))
            return true;
    return false;
}

static gopt_node *producer(const gopt_value *v, const gopt_graph *g)
{
    return v->producer && v->producer->graph == g ? v->producer : NULL;
}

/* v without a scalar factor, which goes into *factor. */
static gopt_value *unscaled(gopt_value *v, const gopt_graph *g, double *factor)
{
    gopt_node *n = producer(v, g);
    double c;
    gopt_value *other = NULL;
    if (gopt_rewrite_is(n, "Mul") &&
        (gopt_rewrite_scalar_operand(n, 0, &c, &other) || gopt_rewrite_scalar_operand(n, 1, &c, &other)))
        *factor *= c;
    else if (gopt_rewrite_is(n, "Div") && gopt_rewrite_scalar_operand(n, 1, &c, &other) && c != 0)
        *factor /= c;
    return other && gopt_rewrite_same_shape(&other->fact, &v->fact) ? other : v;
}

/* Back through views and factors. */
static gopt_value *source(gopt_value *v, const gopt_graph *g, double *factor)
{
    for (;;) {
        gopt_node *n = producer(v, g);
        double with = 1;
        gopt_value *less = factor ? unscaled(v, g, &with) : v;
        if (less != v)
            *factor *= with;
        else if (is_view(n) && n->in[0]->fact.dtype == v->fact.dtype)
            less = n->in[0];
        if (less == v)
            return v;
        v = less;
    }
}

/* ---- columns of a wider matrix ---- */

static bool split_columns(const gopt_value *v, const gopt_node *n, int64_t *first)
{
    int axis, rank = n->in[0]->fact.rank;
    *first = 0;
    if (!gopt_rewrite_is(n, "Split") || gopt_axis(gopt_attr_int(n->attrs, "axis", 0), rank, &axis, NULL) ||
        axis != rank - 1)
        return false;
    for (int k = 0; k < v->output; k++) {
        if (!n->out[k] || !gopt_dim_is_const(n->out[k]->fact.dim[axis]))
            return false;
        *first += n->out[k]->fact.dim[axis].k;
    }
    return true;
}

static bool int_operand(const gopt_node *n, int k, int64_t missing, int64_t *v)
{
    double c = (double)missing;
    if (k < n->n_in && n->in[k] && !gopt_value_scalar(n->in[k], &c))
        return false;
    *v = (int64_t)c;
    return true;
}

static bool slice_columns(const gopt_node *n, int64_t width, int64_t *first)
{
    int64_t axis, step;
    int rank = n->in[0]->fact.rank;
    if (!gopt_rewrite_is(n, "Slice") || !int_operand(n, 1, 0, first) || !int_operand(n, 3, 0, &axis) ||
        !int_operand(n, 4, 1, &step) || step != 1 || (axis != rank - 1 && axis != -1))
        return false;
    *first = *first < 0 ? *first + width : *first;
    return *first >= 0 && *first < width;
}

/* The elements of f->v are rows of heads; where these rows, or groups of heads in them, are cut out of a wider matrix,
 * that is read. */
static void widen(gopt_heads_found *f, bool grouped)
{
    int64_t dim[GOPT_RANK_MAX], narrow[GOPT_RANK_MAX], all = f->shape.heads * f->shape.size;
    const gopt_node *n = f->v->producer;
    int rank = f->v->fact.rank;
    f->width = all;
    f->group = f->shape.heads;
    if (!n || n->n_in == 0 || !n->in[0] || rank < 1 || n->in[0]->fact.rank != rank ||
        !gopt_fact_static(&n->in[0]->fact, dim) || !gopt_fact_static(&f->v->fact, narrow))
        return;
    int64_t last = narrow[rank - 1];
    bool rows = last == all || (grouped && last % f->shape.size == 0 && last > 0 && all % last == 0);
    if (rows && (split_columns(f->v, n, &f->first) || slice_columns(n, dim[rank - 1], &f->first))) {
        f->v = n->in[0];
        f->width = dim[rank - 1];
        f->group = last / f->shape.size;
    } else {
        f->first = 0;
    }
}

gopt_heads_found gopt_heads_find(gopt_value *v, gopt_heads_shape s, bool turned, bool scalable, bool grouped)
{
    static const int64_t side[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}}, side3[2][3] = {{1, 0, 2}, {1, 2, 0}};
    static const int64_t turn[] = {0, 1, 3, 2}, turn3[] = {0, 2, 1}, turn2[] = {1, 0};
    gopt_heads_found f = {.shape = s, .v = v, .group = s.heads, .turned = turned, .factor = 1};
    const gopt_graph *g = v->graph;
    double *factor = scalable ? &f.factor : NULL;
    if (scalable)
        f.v = unscaled(f.v, g, factor);
    gopt_node *n = producer(f.v, g);
    if (f.turned && (gopt_heads_is_transpose(n, turn, 4) || gopt_heads_is_transpose(n, turn3, 3) ||
                     gopt_heads_is_transpose(n, turn2, 2))) {
        f.v = scalable ? unscaled(n->in[0], g, factor) : n->in[0];
        f.turned = false;
        n = producer(f.v, g);
    }
    bool between = s.batch == 1 && gopt_heads_is_transpose(n, side3[f.turned], 3);
    bool beside = between || gopt_heads_is_transpose(n, side[f.turned], 4);
    if (beside)
        f.v = n->in[0];
    f.columns = beside || s.length == 1 || (s.heads == 1 && !f.turned);
    if (f.columns) {
        f.turned = false;
        f.v = source(f.v, g, factor);
        widen(&f, grouped && between);
    }
    return f;
}

gopt_value *gopt_heads_ungroup(gopt_value *v, gopt_heads_shape *s, bool *turned)
{
    static const int64_t turn[] = {0, 1, 3, 2};
    const gopt_graph *g = v->graph;
    int64_t few[GOPT_RANK_MAX], many[GOPT_RANK_MAX];
    gopt_node *n = producer(v, g);
    bool turns = *turned && gopt_heads_is_transpose(n, turn, 4);
    if (*turned && !turns)
        return v;
    n = turns ? producer(n->in[0], g) : n;
    gopt_node *expand = gopt_rewrite_is(n, "Reshape") ? producer(n->in[0], g) : NULL;
    if (!gopt_rewrite_is(expand, "Expand") || !gopt_fact_static(&expand->in[0]->fact, few) ||
        !gopt_fact_static(&expand->out[0]->fact, many) || expand->in[0]->fact.rank != 5 ||
        expand->out[0]->fact.rank != 5 || few[2] != 1 || many[0] != s->batch || many[1] * many[2] != s->heads ||
        many[3] != s->length || many[4] != s->size)
        return v;
    for (int d = 0; d < 5; d++)
        if (d != 2 && few[d] != many[d])
            return v;
    gopt_node *view = producer(expand->in[0], g);
    if (!is_view(view) || !has_shape(view->in[0], (int64_t[]){many[0], many[1], many[3], many[4]}, 4))
        return v;
    s->heads = many[1];
    *turned = false;
    return view->in[0];
}

gopt_value *gopt_heads_operand(const gopt_heads_found *f, gopt_node *before)
{
    static const int64_t turn[] = {0, 1, 3, 2};
    const gopt_heads_shape *s = &f->shape;
    if (f->columns && f->group < s->heads)
        return gopt_heads_reshape(f->v, (int64_t[]){s->length, s->heads / f->group, f->width}, 3, before);
    if (f->columns)
        return gopt_heads_reshape(f->v, (int64_t[]){s->batch, s->length, f->width}, 3, before);
    if (!f->turned)
        return gopt_heads_reshape(f->v, (int64_t[]){s->batch, s->heads, s->length, s->size}, 4, before);
    gopt_value *v = gopt_heads_reshape(f->v, (int64_t[]){s->batch, s->heads, s->size, s->length}, 4, before);
    return v ? gopt_heads_transpose(v, turn, 4, before) : NULL;
}
