/* fuse_qdq.c: products and convolutions of dequantized 8-bit integers become products of the integers themselves,
 * scaled afterwards: MatMul, Gemm or Conv of DequantizeLinear nodes to MatMulInteger or ConvInteger, whose post casts
 * the sums to float32, multiplies them by both scales and adds the bias.
 *
 * Legal when both operands are dequantized from uint8 or int8 to float32 with constant scales, one for all of the left
 * one, one for all or for each output channel of the right one; with constant zero points, one for all of an operand;
 * when 32 bits hold every sum of such products; and for a bias that is a float32 constant of the output channels. Gemm:
 * without transA, alpha or beta, with a constant right operand. Sums of integers are exact where those of floats are
 * rounded: a result that is quantized afterwards may differ from the float path by one step.
 *
 * Where only the right operand of a product is dequantized, from constants with a zero point of 0, it stays as narrow
 * in memory: gopt NarrowMatMul, scaled afterwards.
 *
 * Before fold_const, which would make floats of the weights. */
#include <string.h>

#include "passes/rewrite.h"

enum { X, SCALE, ZERO };
enum { A, B, BIAS };

/* A dequantized operand. */
typedef struct side {
    gopt_value *v, *zero; /* zero: NULL where it is 0 */
    const gopt_tensor *scale;
    int64_t channels; /* 1: one scale */
} side;

/* The one number that a constant's elements are; false where they differ. */
static bool uniform(const gopt_tensor *t, int64_t *v)
{
    int64_t n = gopt_tensor_count(t);
    *v = n > 0 ? gopt_tensor_get_int(t, 0) : 0;
    for (int64_t i = 1; i < n; i++)
        if (gopt_tensor_get_int(t, i) != *v)
            return false;
    return n > 0;
}

static bool read_zero(const gopt_node *dq, side *s)
{
    int64_t v;
    const int64_t none[1] = {0};
    s->zero = NULL;
    if (dq->n_in <= ZERO || !dq->in[ZERO])
        return true;
    if (!gopt_value_is_const(dq->in[ZERO]) || !uniform(dq->in[ZERO]->fact.constant, &v))
        return false;
    if (v != 0)
        s->zero = gopt_rewrite_constant(dq->graph, dq->in[ZERO]->fact.dtype, 0, none, &(double){(double)v});
    return v == 0 || s->zero;
}

/* Operand v as integers; axis: the only one along which scales may differ (-1: none). */
static bool read_side(gopt_value *v, int axis, side *s)
{
    gopt_err why;
    int along = 0;
    const gopt_node *dq = v ? v->producer : NULL;
    if (!dq || strcmp(dq->op->name, "DequantizeLinear") != 0 || dq->post.result >= 0 ||
        gopt_attr_int(dq->attrs, "block_size", 0) || v->fact.dtype != GOPT_DTYPE_F32 || v->fact.rank < 1)
        return false;
    s->v = dq->in[X];
    if ((s->v->fact.dtype != GOPT_DTYPE_U8 && s->v->fact.dtype != GOPT_DTYPE_I8) ||
        !gopt_value_is_const(dq->in[SCALE]) || dq->in[SCALE]->fact.dtype != GOPT_DTYPE_F32)
        return false;
    s->scale = dq->in[SCALE]->fact.constant;
    s->channels = gopt_tensor_count(s->scale);
    if (s->channels == 1)
        return read_zero(dq, s);
    bool known = !gopt_axis(gopt_attr_int(dq->attrs, "axis", 1), v->fact.rank, &along, &why);
    return known && along == axis && s->scale->rank == 1 && read_zero(dq, s);
}

/* A product or convolution that can become one of integers. */
typedef struct product {
    gopt_node *n;
    side a, b;
    bool conv, narrow;       /* narrow: the left operand stays as it is */
    int64_t terms, channels; /* of one sum; -1: unknown */
    int inner;               /* dimensions of the result behind the channels' */
} product;

static int64_t size_of(gopt_dim d)
{
    return gopt_dim_is_const(d) ? d.k : -1;
}

static bool read_conv(product *p)
{
    const gopt_fact *w = &p->n->in[B]->fact;
    p->conv = true;
    if (w->rank < 3 || !read_side(p->n->in[A], -1, &p->a) || !read_side(p->n->in[B], 0, &p->b))
        return false;
    p->inner = w->rank - 2;
    p->channels = size_of(w->dim[0]);
    p->terms = 1;
    for (int i = 1; i < w->rank; i++) {
        if (size_of(w->dim[i]) < 0)
            return false;
        p->terms *= size_of(w->dim[i]);
    }
    return true;
}

static bool read_matmul(product *p)
{
    const gopt_fact *b = &p->n->in[B]->fact;
    bool gemm = gopt_rewrite_is(p->n, "Gemm");
    bool turned = gemm && gopt_attr_int(p->n->attrs, "transB", 0);
    if (b->rank < 2 || p->n->in[A]->fact.rank < 2 || !read_side(p->n->in[B], turned ? 0 : b->rank - 1, &p->b))
        return false;
    if (!read_side(p->n->in[A], -1, &p->a)) {
        p->narrow = true;
        p->a = (side){.v = p->n->in[A]};
    }
    if (p->narrow && (b->rank != 2 || p->b.zero || !gopt_value_is_const(p->b.v)))
        return false;
    p->channels = size_of(b->dim[turned ? 0 : b->rank - 1]);
    p->terms = size_of(b->dim[turned ? 1 : b->rank - 2]);
    if (!gemm)
        return true;
    return !gopt_attr_int(p->n->attrs, "transA", 0) && gopt_attr_float(p->n->attrs, "alpha", 1) == 1 &&
           gopt_attr_float(p->n->attrs, "beta", 1) == 1 && gopt_value_is_const(p->b.v);
}

/* Any bias is that of the channels, and known after fold_const: a constant, or a dequantized one. */
static bool bias_fits(const product *p)
{
    if (p->n->n_in <= BIAS || !p->n->in[BIAS])
        return true;
    const gopt_value *v = p->n->in[BIAS];
    return v->fact.dtype == GOPT_DTYPE_F32 && v->fact.rank == 1 && size_of(v->fact.dim[0]) == p->channels;
}

static bool find(gopt_node *n, product *p)
{
    *p = (product){.n = n};
    if (n->n_in < 2 || !n->in[A] || !n->in[B] || !n->out[0] || n->out[0]->fact.dtype != GOPT_DTYPE_F32)
        return false;
    bool matrices = gopt_rewrite_is(n, "MatMul") || gopt_rewrite_is(n, "Gemm");
    if (!(matrices && read_matmul(p)) && !(gopt_rewrite_is(n, "Conv") && read_conv(p)))
        return false;
    bool held = p->terms > 0 && (p->narrow || p->terms <= INT32_MAX / (255 * 255)) && p->channels > 0;
    return held && (p->b.channels == 1 || p->b.channels == p->channels) && bias_fits(p);
}

/* The constant's transpose. */
static gopt_value *turn(const gopt_value *v)
{
    const gopt_tensor *t = v->fact.constant;
    int64_t rows = t->dim[0], cols = t->dim[1], dim[2] = {cols, rows};
    gopt_tensor *made = gopt_tensor_new(&v->graph->family->arena, t->dtype, 2, dim);
    if (!made)
        return NULL;
    for (int64_t i = 0; i < rows * cols; i++)
        ((uint8_t *)made->data)[i % cols * rows + i / cols] = ((const uint8_t *)t->data)[i];
    return gopt_graph_constant(v->graph, NULL, made);
}

/* The scales' products, one or one for each channel, to lie along the channels of the result. */
static gopt_value *scales(const product *p)
{
    gopt_graph *g = p->n->graph;
    int64_t n = p->b.channels, dim[GOPT_RANK_MAX];
    double *v = GOPT_NEW(&g->family->arena, double, n), a = p->narrow ? 1 : gopt_tensor_get(p->a.scale, 0);
    for (int64_t i = 0; v && i < n; i++)
        v[i] = a * gopt_tensor_get(p->b.scale, i);
    for (int i = 0; i <= p->inner; i++)
        dim[i] = i ? 1 : n;
    return v ? gopt_rewrite_constant(g, GOPT_DTYPE_F32, n == 1 ? 0 : 1 + p->inner, dim, v) : NULL;
}

/* A node before p->n. */
static gopt_value *before(const product *p, const char *op, gopt_attrs attrs, gopt_value *a, gopt_value *b)
{
    gopt_value *in[] = {a, b};
    gopt_node *n =
        a && b ? gopt_graph_node(p->n->graph, NULL, gopt_op_find("", op), attrs, in, 2, 1, p->n, NULL, 0) : NULL;
    return n ? n->out[0] : NULL;
}

/* The bias to lie along the channels of the result. */
static gopt_value *shaped_bias(const product *p, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX];
    gopt_graph *g = p->n->graph;
    if (p->inner == 0)
        return p->n->in[BIAS];
    for (int i = 0; i <= p->inner; i++)
        dim[i] = i ? 1 : p->channels;
    gopt_value *v = before(p, "Reshape", (gopt_attrs){0}, p->n->in[BIAS], gopt_rewrite_ints(g, dim, 1 + p->inner));
    return v && !gopt_node_infer(v->producer, e) ? v : NULL;
}

static bool set_post(gopt_node *made, bool sums_floats, gopt_value *scale, gopt_value *bias)
{
    double number;
    gopt_expr x = gopt_expr_new(&made->graph->family->arena);
    int v = gopt_expr_acc(&x, sums_floats ? GOPT_DTYPE_F32 : GOPT_DTYPE_I32);
    v = gopt_expr_cast(&x, v, GOPT_DTYPE_F32);
    int at = gopt_value_scalar(scale, &number) ? -1 : gopt_node_add_in(made, scale);
    v = gopt_expr_op2(&x, GOPT_EXPR_MUL, v,
                      at < 0 ? gopt_expr_float(&x, number) : gopt_expr_load(&x, at, GOPT_DTYPE_F32));
    if (bias)
        v = gopt_expr_op2(&x, GOPT_EXPR_ADD, v, gopt_expr_load(&x, gopt_node_add_in(made, bias), GOPT_DTYPE_F32));
    x.result = v;
    made->post = x;
    made->out[0]->fact.dtype = GOPT_DTYPE_F32;
    return v >= 0;
}

static gopt_node *replace(const product *p, bool turned)
{
    gopt_node *n = p->n, *from[] = {n->in[B]->producer, n->in[A]->producer};
    gopt_attrs none = {0};
    if (p->narrow)
        return gopt_node_replace(n, gopt_op_find("gopt", "NarrowMatMul"),
                                 turned ? gopt_rewrite_attr_int(n->graph, none, "transB", 1) : none,
                                 (gopt_value *[]){p->a.v, p->b.v}, 2, from, 1);
    gopt_value *b = turned ? turn(p->b.v) : p->b.v, *in[] = {p->a.v, b, p->a.zero, p->b.zero};
    if (!b)
        return NULL;
    return gopt_node_replace(n, gopt_op_find("", p->conv ? "ConvInteger" : "MatMulInteger"), p->conv ? n->attrs : none,
                             in,
                             p->b.zero   ? 4
                             : p->a.zero ? 3
                                         : 2,
                             from, 2);
}

static gopt_status fuse(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    product p;
    if (!find(n, &p))
        return n->graph->family->arena.failed ? gopt_oom(e) : GOPT_OK;
    bool turned = gopt_rewrite_is(n, "Gemm") && gopt_attr_int(n->attrs, "transB", 0);
    bool biased = n->n_in > BIAS && n->in[BIAS];
    gopt_node *from[] = {n->in[A]->producer, n->in[B]->producer};
    gopt_value *scale = scales(&p), *bias = biased ? shaped_bias(&p, e) : NULL;
    if (!scale || (biased && !bias))
        return gopt_oom(e);
    gopt_node *made = replace(&p, turned);
    if (!made || !set_post(made, p.narrow, scale, bias))
        return gopt_oom(e);
    if (!p.narrow)
        gopt_rewrite_drop(from[0]);
    gopt_rewrite_drop(from[1]);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_qdq = {
    .name = "fuse_qdq",
    .doc = "products and convolutions of dequantized bytes become products of the bytes, scaled afterwards",
    .revision = 2,
    .run = run,
};
