/* affine.c: output channels scaled and shifted through constant weights and bias. */
#include "passes/affine.h"

#include <math.h>
#include <string.h>

static bool is_own_constant(const gopt_value *v, const gopt_node *n)
{
    return gopt_value_is_const(v) && gopt_dtype_is_float(v->fact.dtype) && gopt_rewrite_sole_reader(v) == n;
}

static gopt_value *bias_of(const gopt_node *n)
{
    return n->n_in > 2 ? n->in[2] : NULL;
}

/* Where the channels are in the weights w. */
static bool lay_out(gopt_affine *p, const gopt_tensor *w)
{
    const gopt_node *n = p->node;
    int64_t count = gopt_tensor_count(w), group = gopt_attr_int(n->attrs, "group", 1);
    bool gemm = gopt_rewrite_is(n, "Gemm");
    if (count == 0 || w->rank < 2)
        return false;
    p->axis = 1;
    p->outer = count;
    if (gopt_rewrite_is(n, "Conv") || (gemm && gopt_attr_int(n->attrs, "transB", 0))) {
        p->channels = w->dim[0];
        p->inner = count / p->channels;
    } else if (gopt_rewrite_is(n, "ConvTranspose") && group >= 1 && w->dim[0] % group == 0) {
        p->channels = group * w->dim[1];
        p->outer = count / group;
        p->step = w->dim[1];
        p->inner = count / (w->dim[0] * w->dim[1]);
    } else if (gemm || (gopt_rewrite_is(n, "MatMul") && n->out[0]->fact.rank >= 2)) {
        p->axis = gemm ? 1 : n->out[0]->fact.rank - 1;
        p->channels = w->dim[w->rank - 1];
        p->inner = 1;
    } else {
        return false;
    }
    p->period = p->channels / (count / p->outer);
    return true;
}

bool gopt_affine_find(gopt_affine *p, const gopt_value *v, const gopt_node *reader)
{
    gopt_node *n = v ? v->producer : NULL;
    if (!n || n->graph != reader->graph || n->n_out != 1 || n->post.result >= 0 || n->n_in < 2 ||
        gopt_rewrite_sole_reader(v) != reader || !is_own_constant(n->in[1], n))
        return false;
    if (bias_of(n) && !is_own_constant(bias_of(n), n))
        return false;
    *p = (gopt_affine){.node = n};
    return lay_out(p, n->in[1]->fact.constant);
}

double *gopt_affine_numbers(const gopt_affine *p, const gopt_value *c, gopt_arena *a)
{
    int rank = p->node->out[0]->fact.rank;
    if (!gopt_value_is_const(c) || !gopt_dtype_is_float(c->fact.dtype) || rank < 0)
        return NULL;
    const gopt_tensor *t = c->fact.constant;
    for (int i = 0; i < t->rank; i++) {
        bool channel = rank - t->rank + i == p->axis;
        if (t->dim[i] != 1 && (!channel || t->dim[i] != p->channels))
            return NULL;
    }
    double *v = GOPT_NEW(a, double, p->channels);
    bool one = gopt_tensor_count(t) == 1;
    for (int64_t j = 0; v && j < p->channels; j++)
        v[j] = gopt_tensor_get(t, one ? 0 : j);
    return v;
}

/* ---- new weights and bias ---- */

enum { CHUNK = 1024 };

static bool scale_chunk(const gopt_affine *p, gopt_dtype d, double *v, int64_t first, int64_t n, const double *scale)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t e = first + i;
        v[i] *= scale[e / p->outer * p->step + e / p->inner % p->period];
        if (!isfinite(gopt_dtype_round(d, v[i])))
            return false;
    }
    return true;
}

/* The weights scaled; NULL when one would not be finite, or without memory. */
static gopt_value *scaled_weights(const gopt_affine *p, const double *scale)
{
    const gopt_value *w = p->node->in[1];
    const gopt_tensor *old = w->fact.constant;
    gopt_tensor *t = gopt_tensor_new(&p->node->graph->family->arena, old->dtype, old->rank, old->dim);
    double v[CHUNK];
    int64_t count = gopt_tensor_count(old);
    for (int64_t first = 0; t && first < count; first += CHUNK) {
        int64_t n = GOPT_MIN(CHUNK, count - first);
        gopt_dtype_load(old->dtype, old->data, first, n, v);
        if (!scale_chunk(p, old->dtype, v, first, n, scale))
            return NULL;
        gopt_dtype_store(t->dtype, t->data, first, n, v);
    }
    return t ? gopt_graph_constant(p->node->graph, NULL, t) : NULL;
}

/* The bias as it is, one number per channel; zeros without one. */
static double *old_bias(const gopt_affine *p, gopt_arena *a)
{
    const gopt_value *c = bias_of(p->node);
    if (c && gopt_rewrite_is(p->node, "Gemm"))
        return gopt_affine_numbers(p, c, a);
    double *v = GOPT_NEW(a, double, p->channels);
    if (c && gopt_tensor_count(c->fact.constant) != p->channels)
        return NULL;
    if (v && c)
        gopt_dtype_load(c->fact.dtype, c->fact.constant->data, 0, p->channels, v);
    return v;
}

/* The new bias of a Gemm, Conv or ConvTranspose: one number per channel; NULL as above. */
static gopt_value *new_bias(const gopt_affine *p, const double *scale, const double *shift)
{
    const gopt_node *n = p->node;
    gopt_dtype d = n->in[1]->fact.dtype;
    double beta = gopt_rewrite_is(n, "Gemm") ? gopt_attr_float(n->attrs, "beta", 1) : 1;
    double *v = old_bias(p, &n->graph->family->arena);
    bool fine = v;
    for (int64_t j = 0; fine && j < p->channels; j++) {
        v[j] = beta * v[j] * (scale ? scale[j] : 1) + (shift ? shift[j] : 0);
        fine = isfinite(gopt_dtype_round(d, v[j]));
    }
    return fine ? gopt_rewrite_constant(n->graph, d, 1, &p->channels, v) : NULL;
}

/* A MatMul has no place for a bias; a Gemm of the same matrices has. */
static bool may_shift(const gopt_node *n)
{
    return !gopt_rewrite_is(n, "MatMul") ||
           (n->in[0]->fact.rank == 2 && n->in[1]->fact.rank == 2 && gopt_op_find("", "Gemm"));
}

static bool set_operands(gopt_affine *p, gopt_value *w, gopt_value *bias)
{
    gopt_node *n = p->node;
    if (bias && gopt_rewrite_is(n, "MatMul")) {
        gopt_value *in[] = {n->in[0], w, bias};
        p->node = gopt_node_replace(n, gopt_op_find("", "Gemm"), (gopt_attrs){0}, in, 3, NULL, 0);
        return p->node;
    }
    if (bias && gopt_rewrite_is(n, "Gemm"))
        n->attrs = gopt_attrs_without(&n->graph->family->arena, n->attrs, "beta");
    if (!gopt_node_set_in(n, 1, w))
        return false;
    if (!bias)
        return true;
    if (n->n_in > 2)
        return gopt_node_set_in(n, 2, bias);
    if (gopt_node_add_in(n, bias) < 0)
        return false;
    n->n_anchor = n->n_in;
    return true;
}

bool gopt_affine_fold(gopt_affine *p, const double *scale, const double *shift, gopt_node *reader)
{
    gopt_node *n = p->node;
    bool biased = shift || bias_of(n);
    if ((shift && !may_shift(n)) || !gopt_rewrite_same_shape(&n->out[0]->fact, &reader->out[0]->fact) ||
        n->out[0]->fact.dtype != reader->out[0]->fact.dtype)
        return false;
    gopt_value *w = scale ? scaled_weights(p, scale) : n->in[1];
    gopt_value *bias = w && biased ? new_bias(p, scale, shift) : NULL;
    if (!w || (biased && !bias))
        return false;
    return set_operands(p, w, bias) && gopt_node_absorb(p->node, reader);
}
