/* fuse_skip_norm.c: an addition before a normalization becomes part of it: com.microsoft's SkipLayerNormalization and
 * SkipSimplifiedLayerNormalization, which read both addends and write the sum only where it is wanted.
 *
 *     LayerNormalization(a + b)          becomes   SkipLayerNormalization(a, b)
 *     LayerNormalization((a + bias) + b) becomes   SkipLayerNormalization(a, b) with a bias
 *
 * Legal when all is float32, the normalization takes the last axis alone and nobody wants its mean or deviation, scale
 * and bias are vectors, one addend has the shape of the sum and the other one has its last dimensions, with ones or
 * nothing in front. Where something else reads the sum, scale and bias of the normalization are constants and it has no
 * post, so that nothing it reads can depend on the sum. Additions that a product or convolution finishes with are gone
 * by now (fuse_anchor). Three addends are summed in another order: results differ by rounding. */
#include <string.h>

#include "passes/rewrite.h"

typedef struct norm {
    gopt_node *n, *add, *inner;          /* inner: the addition of the bias; NULL */
    gopt_value *x, *skip, *gamma, *beta; /* beta NULL: none */
    gopt_value *bias;                    /* NULL: none */
    bool rms, sum;                       /* sum: something else wants it */
} norm;

static bool is_f32(const gopt_value *v)
{
    return v->fact.dtype == GOPT_DTYPE_F32;
}

static bool is_vector(const gopt_value *v, gopt_dim n)
{
    return is_f32(v) && v->fact.rank == 1 && gopt_dim_equal(v->fact.dim[0], n);
}

/* The last dimensions of `to`, with ones or nothing in front. */
static bool is_repeated(const gopt_fact *a, const gopt_fact *to)
{
    bool started = false;
    if (a->rank < 1 || a->rank > to->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        gopt_dim d = a->dim[i], want = to->dim[to->rank - a->rank + i];
        bool one = gopt_dim_is_const(d) && d.k == 1 && i < a->rank - 1;
        if ((started || !one) && !gopt_dim_equal(d, want))
            return false;
        started = started || !one;
    }
    return true;
}

static bool wants(const gopt_value *v)
{
    return v && (v->n_users || v->n_results);
}

/* ---- matching ---- */

static bool find_norm(norm *k, gopt_node *n)
{
    int axis, rank = n->n_in > 1 && n->in[0] ? n->in[0]->fact.rank : 0;
    bool layer = !strcmp(n->op->name, "LayerNormalization");
    k->rms = !strcmp(n->op->name, "RMSNormalization") || !strcmp(n->op->name, "SimplifiedLayerNormalization");
    if (*n->op->domain || (!layer && !k->rms) || rank < 1 || !is_f32(n->in[0]) || !is_f32(n->out[0]) ||
        gopt_axis(gopt_attr_int(n->attrs, "axis", -1), rank, &axis, NULL) || axis != rank - 1)
        return false;
    for (int i = 1; i < n->n_out; i++)
        if (wants(n->out[i]))
            return false;
    gopt_dim last = n->in[0]->fact.dim[rank - 1];
    k->n = n;
    k->gamma = n->in[1];
    k->beta = n->n_anchor > 2 ? n->in[2] : NULL;
    return k->gamma && is_vector(k->gamma, last) && (!k->beta || is_vector(k->beta, last));
}

/* The two addends of a sum of the given shape. */
static bool find_addends(norm *k, const gopt_node *add, const gopt_fact *sum)
{
    for (int i = 0; i < 2 && add->n_in == 2; i++) {
        k->x = add->in[i];
        k->skip = add->in[1 - i];
        if (k->x && k->skip && is_f32(k->x) && is_f32(k->skip) && gopt_rewrite_same_shape(&k->x->fact, sum) &&
            is_repeated(&k->skip->fact, sum))
            return true;
    }
    return false;
}

/* An addend that is itself a sum with a vector. */
static void find_bias(norm *k)
{
    for (gopt_value **v = (gopt_value *[]){k->x, k->skip, NULL}; *v; v++) {
        gopt_node *inner = gopt_rewrite_producer(*v, "Add");
        if (!inner || inner->graph != k->add->graph || gopt_rewrite_sole_reader(*v) != k->add || k->x == k->skip)
            continue;
        for (int i = 0; i < 2; i++) {
            gopt_value *rest = inner->in[1 - i];
            if (!is_vector(inner->in[i], k->x->fact.dim[k->x->fact.rank - 1]) ||
                !gopt_rewrite_same_shape(&rest->fact, &(*v)->fact))
                continue;
            k->bias = inner->in[i];
            k->inner = inner;
            *(*v == k->x ? &k->x : &k->skip) = rest;
            return;
        }
    }
}

static bool find(norm *k, gopt_node *n)
{
    if (!find_norm(k, n) || !(k->add = gopt_rewrite_producer(n->in[0], "Add")) || k->add->graph != n->graph)
        return false;
    const gopt_value *sum = n->in[0];
    k->sum = gopt_rewrite_sole_reader(sum) != n;
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] == sum)
            return false;
    if (k->sum && (n->post.result >= 0 || !gopt_value_is_const(k->gamma) || (k->beta && !gopt_value_is_const(k->beta))))
        return false;
    if (!find_addends(k, k->add, &sum->fact))
        return false;
    find_bias(k);
    return true;
}

/* ---- putting it together ---- */

/* The operands of n's post follow those of the new node. */
static bool move_post(const gopt_node *n, gopt_node *by)
{
    gopt_arena *a = &n->graph->family->arena;
    gopt_expr x = gopt_expr_new(a);
    int loads = gopt_expr_loads(&n->post), *map = GOPT_NEW(a, int, GOPT_MAX(loads, 1));
    for (int i = n->n_anchor; map && i < loads; i++) {
        int at = gopt_node_add_in(by, n->in[i]);
        if (at < 0)
            return false;
        map[i] = gopt_expr_load(&x, at, n->in[i]->fact.dtype);
    }
    int acc = gopt_expr_acc(&x, GOPT_DTYPE_F32);
    int result = map ? gopt_expr_splice(&x, &n->post, map, loads, acc) : -1;
    x.result = result;
    by->post = x;
    return result >= 0 && !x.failed;
}

static gopt_node *put(const norm *k)
{
    gopt_graph *g = k->n->graph;
    const gopt_op *op =
        gopt_op_find("com.microsoft", k->rms ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization");
    gopt_value *in[5] = {k->x, k->skip, k->gamma, k->beta, k->bias};
    int n_in = k->bias ? 5 : k->beta ? 4 : 3;
    if (k->rms) {
        in[3] = k->bias;
        n_in = k->bias ? 4 : 3;
    }
    gopt_attrs attrs =
        gopt_rewrite_attr_float(g, (gopt_attrs){0}, "epsilon", gopt_attr_float(k->n->attrs, "epsilon", 1e-5f));
    gopt_node *from[] = {k->n, k->add, k->inner}, *before = k->sum ? k->add : k->n;
    gopt_node *by = gopt_graph_node(g, NULL, op, attrs, in, n_in, k->sum ? 4 : 1, before, from, k->inner ? 3 : 2);
    return by && !gopt_node_infer(by, NULL) && (k->n->post.result < 0 || move_post(k->n, by)) ? by : NULL;
}

static gopt_status fuse(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    norm k = {0};
    if (!find(&k, n))
        return GOPT_OK;
    gopt_node *by = put(&k);
    if (!by)
        return gopt_oom(e);
    gopt_value_replace(n->out[0], by->out[0]);
    gopt_rewrite_drop(n);
    if (k.sum) {
        gopt_value_replace(k.add->out[0], by->out[3]);
        gopt_rewrite_drop(k.add);
    }
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_skip_norm = {
    .name = "fuse_skip_norm",
    .doc = "normalizations add what they normalize themselves",
    .revision = 1,
    .run = run,
};
