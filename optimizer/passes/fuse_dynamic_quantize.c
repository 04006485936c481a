/* fuse_dynamic_quantize.c: DynamicQuantizeLinear, MatMulInteger, Cast and the multiplication by the scale become gopt
 * DynamicMatMul, which quantizes its left operand itself: one kernel, and the bytes are never written.
 *
 * Legal when nothing else reads the bytes, their scale or their zero point, nor what lies between; all in one graph.
 * The scale may stand alone, or in a product with another one that only this multiplication reads, which is then
 * applied afterwards. */
#include "passes/match.h"

enum { BYTES, SCALE, ZERO }; /* outputs of DynamicQuantizeLinear */
enum { A, B, A_ZERO, B_ZERO };

typedef struct chain {
    gopt_node *last, *scales, *cast, *product, *quantize; /* scales: NULL where the scale stands alone */
    gopt_value *other;                                    /* the other scale */
} chain;

/* Operand k of a multiplication is the scale of a DynamicQuantizeLinear. */
static gopt_node *scale_of(const gopt_node *mul, int k)
{
    gopt_node *q = mul->in[k] ? mul->in[k]->producer : NULL;
    return gopt_rewrite_is(q, "DynamicQuantizeLinear") && mul->in[k]->output == SCALE ? q : NULL;
}

/* Operand k of the last multiplication holds the scale. */
static bool find_scale(chain *c, int k)
{
    c->scales = NULL;
    c->quantize = scale_of(c->last, k);
    if (c->quantize)
        return true;
    c->scales = gopt_rewrite_producer(c->last->in[k], "Mul");
    for (int j = 0; c->scales && j < 2 && !c->quantize; j++) {
        c->quantize = scale_of(c->scales, j);
        c->other = c->scales->in[1 - j];
    }
    return c->quantize;
}

static bool find(gopt_node *n, chain *c)
{
    for (int k = 0; k < 2; k++) {
        *c = (chain){.last = n};
        if (!find_scale(c, k) || !n->in[1 - k])
            continue;
        c->cast = gopt_rewrite_producer(n->in[1 - k], "Cast");
        c->product = c->cast ? gopt_rewrite_producer(c->cast->in[0], "MatMulInteger") : NULL;
        if (c->product && c->cast->out[0]->fact.dtype == GOPT_DTYPE_F32)
            return true;
    }
    return false;
}

static bool read_by(const gopt_value *v, const gopt_node *n)
{
    for (int i = 0; v && i < v->n_users; i++)
        if (v->users[i] != n)
            return false;
    return v && !v->n_results;
}

static bool fits(const chain *c)
{
    gopt_match m = {.n = 0};
    const gopt_node *q = c->quantize, *p = c->product;
    if (c->scales)
        gopt_match_add(&m, c->scales);
    gopt_match_add(&m, c->cast);
    gopt_match_add(&m, c->product);
    gopt_match_add(&m, c->last);
    return q->n_out == 3 && q->graph == p->graph && q->in[0]->fact.dtype == GOPT_DTYPE_F32 &&
           p->in[A] == q->out[BYTES] && p->n_in > A_ZERO && p->in[A_ZERO] == q->out[ZERO] &&
           read_by(q->out[BYTES], p) && read_by(q->out[ZERO], p) &&
           read_by(q->out[SCALE], c->scales ? c->scales : c->last) && gopt_match_closed(&m, c->last) &&
           gopt_rewrite_same_shape(&c->last->out[0]->fact, &p->out[0]->fact);
}

static gopt_status fuse(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    chain c;
    if (!gopt_rewrite_is(n, "Mul") || n->n_in != 2 || !n->in[0] || !n->in[1] || !find(n, &c) || !fits(&c))
        return GOPT_OK;
    gopt_value *zero = c.product->n_in > B_ZERO ? c.product->in[B_ZERO] : NULL;
    gopt_value *in[] = {c.quantize->in[0], c.product->in[B], NULL, zero};
    gopt_node *from[] = {c.quantize, c.product, c.cast};
    const gopt_op *op = gopt_op_find("gopt", "DynamicMatMul");
    gopt_attrs none = {0};
    int n_in = zero ? 4 : 2;
    gopt_node *made = c.scales ? gopt_graph_node(n->graph, NULL, op, none, in, n_in, 1, n, from, 3)
                               : gopt_node_replace(n, op, none, in, n_in, from, 3);
    if (!made)
        return gopt_oom(e);
    if (c.scales) {
        made->out[0]->fact = n->out[0]->fact;
        if (!gopt_node_set_in(n, 0, made->out[0]) || !gopt_node_set_in(n, 1, c.other))
            return gopt_oom(e);
        gopt_rewrite_drop(c.scales);
    }
    gopt_rewrite_drop(c.cast);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_dynamic_quantize = {
    .name = "fuse_dynamic_quantize",
    .doc = "products of bytes quantize their left operand themselves",
    .revision = 1,
    .run = run,
};
