/* precision.c: keeps weights in fewer bits than the model has them in: float16, bfloat16, or int8 with one scale for
 * each output channel. What is computed with them stays float32. Off (f32) unless asked for: results change, and
 * whether they are still good enough is for verification to say.
 *
 * Products with a constant float32 matrix become gopt NarrowMatMul, which widens its blocks as it needs them; filters
 * of convolutions are widened by a node of their own before each use. Only weights of some size that one node alone
 * reads, and only where the narrow type can hold them all. After fold_const, which would undo it. */
#include <math.h>
#include <string.h>

#include "passes/rewrite.h"

enum { WEIGHTS };
enum { KEEP, F16, BF16, INT8 };
enum { A, B, BIAS };
enum { LEAST = 1024 /* elements that are worth it */ };

static const char *const choices[] = {"f32", "f16", "bf16", "int8", NULL};
static const gopt_knob knobs[] = {[WEIGHTS] = {.name = "weights",
                                               .kind = GOPT_KNOB_CHOICE,
                                               .lo = KEEP,
                                               .hi = INT8,
                                               .init = KEEP,
                                               .choices = choices,
                                               .doc = "type that weights of products and convolutions are kept in"},
                                  {0}};

/* Weights in their new form. */
typedef struct narrow {
    gopt_value *v, *scale; /* scale: NULL where there is none */
} narrow;

static bool fits(const gopt_node *n, const gopt_value *w)
{
    return gopt_value_is_const(w) && w->fact.dtype == GOPT_DTYPE_F32 && gopt_value_single_use(w) && n->out[0] &&
           n->in[A] && n->in[A]->fact.dtype == GOPT_DTYPE_F32 && gopt_tensor_count(w->fact.constant) >= LEAST;
}

/* Where element i of the weights belongs: channels lie along axis 0, or are the columns. */
static int64_t channel_of(const gopt_tensor *t, bool columns, int64_t i)
{
    return columns ? i % t->dim[1] : i / (gopt_tensor_count(t) / t->dim[0]);
}

static bool to_half(const gopt_value *w, gopt_dtype d, narrow *out)
{
    const gopt_tensor *t = w->fact.constant;
    gopt_tensor *made = gopt_tensor_new(&w->graph->family->arena, d, t->rank, t->dim);
    for (int64_t i = 0; made && i < gopt_tensor_count(t); i++) {
        double v = gopt_tensor_get(t, i);
        if (!isfinite(gopt_dtype_round(d, v)))
            return false;
        gopt_tensor_set(made, i, v);
    }
    out->v = made ? gopt_graph_constant(w->graph, NULL, made) : NULL;
    return out->v;
}

/* Symmetric: the largest of a channel becomes 127. */
static bool to_int8(const gopt_value *w, bool columns, narrow *out)
{
    const gopt_tensor *t = w->fact.constant;
    gopt_arena *a = &w->graph->family->arena;
    int64_t channels = t->dim[columns ? 1 : 0], count = gopt_tensor_count(t);
    gopt_tensor *made = gopt_tensor_new(a, GOPT_DTYPE_I8, t->rank, t->dim);
    double *scale = GOPT_NEW(a, double, channels);
    if (!made || !scale)
        return false;
    for (int64_t i = 0; i < count; i++) {
        double *s = &scale[channel_of(t, columns, i)], v = fabs(gopt_tensor_get(t, i)) / 127;
        if (!isfinite(v))
            return false;
        *s = fmax(*s, v);
    }
    for (int64_t c = 0; c < channels; c++)
        scale[c] = scale[c] > 0 ? gopt_dtype_round(GOPT_DTYPE_F32, scale[c]) : 1;
    for (int64_t i = 0; i < count; i++) {
        double q = rint(gopt_tensor_get(t, i) / scale[channel_of(t, columns, i)]);
        gopt_tensor_set_int(made, i, (int64_t)fmin(fmax(q, -127), 127));
    }
    out->v = gopt_graph_constant(w->graph, NULL, made);
    out->scale = gopt_rewrite_constant(w->graph, GOPT_DTYPE_F32, 1, &channels, scale);
    return out->v && out->scale;
}

static bool convert(const gopt_value *w, int64_t kind, bool columns, narrow *out)
{
    *out = (narrow){.v = NULL};
    return kind == INT8 ? to_int8(w, columns, out) : to_half(w, kind == F16 ? GOPT_DTYPE_F16 : GOPT_DTYPE_BF16, out);
}

static bool product_fits(const gopt_node *n)
{
    const gopt_value *w = n->in[B];
    if (!fits(n, w) || w->fact.rank != 2 || n->in[A]->fact.rank < 1)
        return false;
    if (gopt_rewrite_is(n, "MatMul"))
        return true;
    return gopt_rewrite_is(n, "Gemm") && !gopt_attr_int(n->attrs, "transA", 0) &&
           gopt_attr_float(n->attrs, "alpha", 1) == 1 && gopt_attr_float(n->attrs, "beta", 1) == 1 &&
           (n->n_in <= BIAS || !n->in[BIAS] || gopt_rewrite_broadcasts(&n->in[BIAS]->fact, &n->out[0]->fact));
}

static bool narrow_product(gopt_node *n, int64_t kind)
{
    narrow w;
    gopt_attrs attrs = {0};
    bool turned = gopt_rewrite_is(n, "Gemm") && gopt_attr_int(n->attrs, "transB", 0);
    gopt_value *bias = n->n_in > BIAS ? n->in[BIAS] : NULL;
    if (!convert(n->in[B], kind, !turned, &w))
        return false;
    if (turned)
        attrs = gopt_rewrite_attr_int(n->graph, attrs, "transB", 1);
    gopt_node *made =
        gopt_node_replace(n, gopt_op_find("gopt", "NarrowMatMul"), attrs, (gopt_value *[]){n->in[A], w.v}, 2, NULL, 0);
    if (!made || (!w.scale && !bias))
        return made;
    gopt_expr x = gopt_expr_new(&made->graph->family->arena);
    int v = gopt_expr_acc(&x, GOPT_DTYPE_F32);
    if (w.scale)
        v = gopt_expr_op2(&x, GOPT_EXPR_MUL, v, gopt_expr_load(&x, gopt_node_add_in(made, w.scale), GOPT_DTYPE_F32));
    if (bias)
        v = gopt_expr_op2(&x, GOPT_EXPR_ADD, v, gopt_expr_load(&x, gopt_node_add_in(made, bias), GOPT_DTYPE_F32));
    x.result = v;
    made->post = x;
    return v >= 0;
}

/* Filters are widened by a node before n. */
static bool narrow_filters(gopt_node *n, int64_t kind)
{
    narrow w;
    gopt_attrs attrs = {0};
    gopt_fact was = n->in[B]->fact;
    if (!convert(n->in[B], kind, false, &w))
        return false;
    attrs = kind == INT8 ? gopt_rewrite_attr_int(n->graph, attrs, "axis", 0)
                         : gopt_rewrite_attr_int(n->graph, attrs, "to", GOPT_DTYPE_F32);
    gopt_node *wide = gopt_graph_node(n->graph, NULL, gopt_op_find("", kind == INT8 ? "DequantizeLinear" : "Cast"),
                                      attrs, (gopt_value *[]){w.v, w.scale}, kind == INT8 ? 2 : 1, 1, n, &n, 1);
    if (!wide)
        return false;
    was.constant = NULL;
    was.content = NULL;
    wide->out[0]->fact = was;
    return gopt_node_set_in(n, B, wide->out[0]);
}

static gopt_status lower(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    int64_t kind = r->knob[WEIGHTS];
    if (kind == KEEP || n->n_in < 2 || n->post.result >= 0)
        return GOPT_OK;
    if (product_fits(n))
        r->changed += narrow_product(n, kind);
    else if (gopt_rewrite_is(n, "Conv") && fits(n, n->in[B]))
        r->changed += narrow_filters(n, kind);
    return n->graph->family->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, lower, e);
}

const gopt_pass gopt_pass_precision = {
    .name = "precision",
    .doc = "keep weights in fewer bits, where that was asked for",
    .revision = 1,
    .knobs = knobs,
    .run = run,
};
