/* recognize_norm.c: finds layer and RMS normalization where exporters have written them out.
 *
 *     d = x - mean(x), or x itself for RMS
 *     s = sqrt(mean(d * d) + epsilon)
 *     y = d / s [* scale] [+ bias]            LayerNormalization, RMSNormalization (no bias)
 *
 * with d * d as Mul or Pow; d / s as Div, as d times Reciprocal(s), 1 / s or Pow(., -0.5); and as TensorFlow writes it:
 * y = x * g
 * + (bias - mean(x) * g) with g = scale / s. Legal when the means run over the last axes and keep them, all is float32,
 * nothing else reads what lies between, and scale and bias have the shape of the normalized axes or are constants that
 * can be given it. A difference of half precision may be cast to float32 before its square is taken: then x is cast
 * instead, and the mean is more exact. Results differ by rounding. */
#include <string.h>

#include "passes/match.h"

typedef struct norm {
    gopt_match match;
    gopt_value *x, *d, *mean; /* mean NULL: RMS */
    gopt_value *scale, *bias; /* NULL: none */
    gopt_node *last;
    double epsilon;
    int axes;    /* how many, from the end */
    bool narrow; /* x is of half precision, d a cast of the difference */
} norm;

static gopt_value *other_operand(const gopt_node *n, const gopt_value *v)
{
    return n->n_in == 2 && n->in[0] != n->in[1] ? n->in[n->in[0] == v ? 1 : 0] : NULL;
}

/* ---- from the root downwards: epsilon, mean of squares, x ---- */

/* How many axes a ReduceMean takes from the end; 0 when it is another kind of mean. */
static int trailing_axes(const gopt_node *n)
{
    int rank = n->in[0]->fact.rank, axes = 0;
    bool taken[GOPT_RANK_MAX] = {0};
    const gopt_value *list = n->n_in > 1 ? n->in[1] : NULL;
    if (rank < 1 || !gopt_attr_int(n->attrs, "keepdims", 1) || !gopt_value_is_const(list))
        return 0;
    int64_t count = gopt_tensor_count(list->fact.constant);
    for (int64_t i = 0; i < count; i++) {
        int axis;
        if (gopt_axis(gopt_tensor_get_int(list->fact.constant, i), rank, &axis, NULL))
            return 0;
        taken[axis] = true;
    }
    while (axes < rank && taken[rank - 1 - axes])
        axes++;
    for (int i = 0; i < rank - axes; i++)
        if (taken[i])
            return 0;
    return axes;
}

/* The mean that v is, its axes counted; NULL when it is none. */
static gopt_node *mean_of(const gopt_value *v, int *axes)
{
    gopt_node *n = gopt_rewrite_producer(v, "ReduceMean");
    *axes = n ? trailing_axes(n) : 0;
    return *axes > 0 ? n : NULL;
}

/* What v is the square of. */
static gopt_value *squared(norm *k, const gopt_value *v)
{
    double exponent;
    gopt_node *n = v->producer;
    bool square = n && n->n_in == 2 &&
                  ((gopt_rewrite_is(n, "Mul") && n->in[0] == n->in[1]) ||
                   (gopt_rewrite_is(n, "Pow") && n->in[1] && gopt_value_scalar(n->in[1], &exponent) && exponent == 2));
    if (!square)
        return NULL;
    gopt_match_add(&k->match, n);
    return n->in[0];
}

/* d = x - mean(x), or d is x. */
static void centre(norm *k)
{
    int axes;
    gopt_node *cast = gopt_rewrite_producer(k->d, "Cast");
    gopt_dtype from = cast ? cast->in[0]->fact.dtype : GOPT_DTYPE_NONE;
    gopt_value *d = from == GOPT_DTYPE_F16 || from == GOPT_DTYPE_BF16 ? cast->in[0] : k->d;
    gopt_node *sub = gopt_rewrite_producer(d, "Sub");
    gopt_node *mean = sub ? mean_of(sub->in[1], &axes) : NULL;
    k->x = k->d;
    if (!mean || mean->in[0] != sub->in[0] || axes != k->axes)
        return;
    k->x = sub->in[0];
    k->mean = mean->out[0];
    k->narrow = d != k->d;
    if (k->narrow)
        gopt_match_add(&k->match, cast);
    gopt_match_add(&k->match, sub);
    gopt_match_add(&k->match, mean);
}

static bool descend(norm *k, const gopt_value *v)
{
    gopt_node *add = gopt_rewrite_producer(v, "Add");
    gopt_value *variance = NULL;
    if (!add || (!gopt_rewrite_scalar_operand(add, 1, &k->epsilon, &variance) &&
                 !gopt_rewrite_scalar_operand(add, 0, &k->epsilon, &variance)))
        return false;
    gopt_node *mean = mean_of(variance, &k->axes);
    if (!mean || k->epsilon < 0)
        return false;
    gopt_match_add(&k->match, add);
    gopt_match_add(&k->match, mean);
    k->d = squared(k, mean->in[0]);
    if (!k->d || k->d->fact.dtype != GOPT_DTYPE_F32)
        return false;
    centre(k);
    return true;
}

/* ---- from the root upwards: quotient, scale, bias ---- */

/* v as a parameter of the normalized axes; NULL when it is none. */
static gopt_value *parameter(const norm *k, gopt_graph *g, gopt_value *v)
{
    const gopt_fact *x = &k->x->fact;
    int64_t shape[GOPT_RANK_MAX], dim[GOPT_RANK_MAX], count;
    const gopt_dim *normalized = &x->dim[x->rank - k->axes];
    if (!v || v->fact.dtype != GOPT_DTYPE_F32)
        return NULL;
    bool same = v->fact.rank == k->axes;
    for (int i = 0; same && i < k->axes; i++)
        same = gopt_dim_equal(v->fact.dim[i], normalized[i]);
    if (same)
        return v;
    for (int i = 0; i < k->axes; i++) {
        if (!gopt_dim_is_const(normalized[i]))
            return NULL;
        shape[i] = normalized[i].k;
    }
    if (!gopt_value_is_const(v) || !gopt_dims_count(shape, k->axes, &count))
        return NULL;
    const gopt_tensor *t = v->fact.constant;
    int extra = GOPT_MAX(t->rank - k->axes, 0), rank;
    for (int i = 0; i < extra; i++)
        if (t->dim[i] != 1)
            return NULL;
    if (!gopt_dims_broadcast(shape, k->axes, t->dim + extra, t->rank - extra, dim, &rank) ||
        memcmp(dim, shape, (size_t)k->axes * sizeof *dim))
        return NULL;
    gopt_tensor *wide = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_F32, k->axes, shape);
    gopt_tensor source = *t;
    source.rank -= extra;
    memmove(source.dim, t->dim + extra, (size_t)source.rank * sizeof source.dim[0]);
    gopt_arena *a = &g->family->arena;
    gopt_expr copy = gopt_expr_new(a);
    gopt_expr_load(&copy, 0, GOPT_DTYPE_F32);
    bool ok = wide && !copy.failed && !gopt_pointwise_apply(&copy, (const gopt_tensor *[]){&source}, 1, wide, a, NULL);
    return ok ? gopt_graph_constant(g, NULL, wide) : NULL;
}

/* Scale and bias, where they follow the quotient. */
static void take_parameters(norm *k)
{
    gopt_graph *g = k->last->graph;
    gopt_node *n = gopt_rewrite_sole_reader(k->last->out[0]);
    if (gopt_rewrite_is(n, "Mul") && n->graph == g && (k->scale = parameter(k, g, other_operand(n, k->last->out[0])))) {
        k->last = n;
        gopt_match_add(&k->match, n);
        n = gopt_rewrite_sole_reader(n->out[0]);
    }
    if (k->mean && gopt_rewrite_is(n, "Add") && n->graph == g &&
        (k->bias = parameter(k, g, other_operand(n, k->last->out[0])))) {
        k->last = n;
        gopt_match_add(&k->match, n);
    }
}

static bool reads_both(const gopt_node *n, const gopt_value *a, const gopt_value *b)
{
    return n->n_in == 2 && ((n->in[0] == a && n->in[1] == b) || (n->in[0] == b && n->in[1] == a));
}

/* g = scale / s, read by x * g and mean(x) * g alone. */
static bool as_tensorflow(norm *k, gopt_node *g)
{
    gopt_value *v = g->out[0];
    gopt_node *product[2] = {NULL, NULL};
    if (!k->mean || v->n_users != 2 || v->n_results)
        return false;
    for (int i = 0; i < 2; i++) {
        gopt_node *n = v->users[i];
        if (gopt_rewrite_is(n, "Mul") && reads_both(n, v, k->x))
            product[0] = n;
        else if (gopt_rewrite_is(n, "Mul") && reads_both(n, v, k->mean))
            product[1] = n;
    }
    if (!product[0] || !product[1])
        return false;
    gopt_node *sub = gopt_rewrite_sole_reader(product[1]->out[0]);
    gopt_node *add = gopt_rewrite_sole_reader(product[0]->out[0]);
    if (!gopt_rewrite_is(sub, "Sub") || sub->in[1] != product[1]->out[0] || !gopt_rewrite_is(add, "Add") ||
        !reads_both(add, product[0]->out[0], sub->out[0]))
        return false;
    k->bias = parameter(k, add->graph, sub->in[0]);
    k->last = add;
    gopt_match_add(&k->match, g);
    gopt_match_add(&k->match, product[0]);
    gopt_match_add(&k->match, product[1]);
    gopt_match_add(&k->match, sub);
    gopt_match_add(&k->match, add);
    return k->bias;
}

/* v = 1 / s. */
static bool climb_reciprocal(norm *k, gopt_value *v)
{
    gopt_node *n = gopt_rewrite_sole_reader(v);
    if (!gopt_rewrite_is(n, "Mul"))
        return false;
    gopt_value *other = other_operand(n, v);
    if (other == k->d) {
        k->last = n;
        gopt_match_add(&k->match, n);
        take_parameters(k);
        return true;
    }
    k->scale = parameter(k, n->graph, other);
    return k->scale && as_tensorflow(k, n);
}

/* v = s. */
static bool climb_root(norm *k, gopt_value *v)
{
    double one;
    gopt_value *divisor;
    gopt_node *n = gopt_rewrite_sole_reader(v);
    if (!n)
        return false;
    bool inverse =
        gopt_rewrite_is(n, "Reciprocal") ||
        (gopt_rewrite_is(n, "Div") && gopt_rewrite_scalar_operand(n, 0, &one, &divisor) && divisor == v && one == 1);
    if (inverse) {
        gopt_match_add(&k->match, n);
        return climb_reciprocal(k, n->out[0]);
    }
    if (!gopt_rewrite_is(n, "Div") || n->in[0] != k->d || n->in[1] != v)
        return false;
    k->last = n;
    gopt_match_add(&k->match, n);
    take_parameters(k);
    return true;
}

/* ---- putting it together ---- */

static bool ones(norm *k, gopt_graph *g)
{
    int64_t shape[GOPT_RANK_MAX], count;
    for (int i = 0; i < k->axes; i++) {
        gopt_dim d = k->x->fact.dim[k->x->fact.rank - k->axes + i];
        if (!gopt_dim_is_const(d))
            return false;
        shape[i] = d.k;
    }
    if (!gopt_dims_count(shape, k->axes, &count))
        return false;
    gopt_tensor *t = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_F32, k->axes, shape);
    for (int64_t i = 0; t && i < count; i++)
        gopt_tensor_set(t, i, 1);
    k->scale = t ? gopt_graph_constant(g, NULL, t) : NULL;
    return k->scale;
}

/* x itself is cast instead of the difference. */
static bool widen(norm *k)
{
    gopt_graph *g = k->last->graph;
    gopt_attrs to = gopt_rewrite_attr_int(g, (gopt_attrs){0}, "to", GOPT_DTYPE_F32);
    gopt_node *cast =
        gopt_graph_node(g, NULL, gopt_op_find("", "Cast"), to, &k->x, 1, 1, k->last, k->match.node, k->match.n);
    k->x = cast && !gopt_node_infer(cast, NULL) ? cast->out[0] : NULL;
    return k->x;
}

static gopt_status put(norm *k, gopt_pass_run *r, gopt_err *e)
{
    gopt_graph *g = k->last->graph;
    const gopt_op *op = gopt_op_find("", k->mean ? "LayerNormalization" : "RMSNormalization");
    if (!op || !gopt_match_closed(&k->match, k->last) ||
        !gopt_rewrite_same_shape(&k->x->fact, &k->last->out[0]->fact) || (!k->scale && !ones(k, g)))
        return GOPT_OK;
    if (k->narrow && !widen(k))
        return gopt_oom(e);
    gopt_value *in[] = {k->x, k->scale, k->bias};
    gopt_attrs attrs = gopt_rewrite_attr_int(g, (gopt_attrs){0}, "axis", -k->axes);
    attrs = gopt_rewrite_attr_float(g, attrs, "epsilon", k->epsilon);
    if (!gopt_match_replace(&k->match, k->last, op, attrs, in, k->bias ? 3 : 2))
        return gopt_oom(e);
    r->changed++;
    return GOPT_OK;
}

static gopt_status recognize(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    norm k = {0};
    double exponent = gopt_rewrite_is(n, "Sqrt") ? 0.5 : 0;
    gopt_value *base = n->n_in > 0 ? n->in[0] : NULL;
    if (gopt_rewrite_is(n, "Pow") && !gopt_rewrite_scalar_operand(n, 1, &exponent, &base))
        return GOPT_OK;
    if ((exponent != 0.5 && exponent != -0.5) || !base || !descend(&k, base))
        return GOPT_OK;
    gopt_match_add(&k.match, n);
    bool found = exponent > 0 ? climb_root(&k, n->out[0]) : climb_reciprocal(&k, n->out[0]);
    return found ? put(&k, r, e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, recognize, e);
}

const gopt_pass gopt_pass_recognize_norm = {
    .name = "recognize_norm",
    .doc = "find layer and RMS normalization where they are written out",
    .revision = 2,
    .run = run,
};
