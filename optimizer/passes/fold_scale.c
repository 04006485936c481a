/* fold_scale.c: takes a constant factor of a product's operands into the product's own.
 *
 *     (c x) (w / d)   becomes   (c / d) x w, a Gemm of matrices or a com.microsoft FusedMatMul with alpha
 *
 * for MatMul, Gemm and FusedMatMul. Legal when all is float32, the factor is one number that does not enlarge what it
 * scales, nothing else reads what is scaled, and the new alpha and its reciprocal are finite and normal. Results differ
 * by rounding: sums are scaled instead of their terms. Halves are left alone: there it is often the factor that keeps a
 * sum in range. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/rewrite.h"

static bool is_fused(const gopt_node *n)
{
    return n->post.result < 0 && !strcmp(n->op->domain, "com.microsoft") && !strcmp(n->op->name, "FusedMatMul");
}

static bool is_product(const gopt_node *n)
{
    return (gopt_rewrite_is(n, "MatMul") || gopt_rewrite_is(n, "Gemm") || is_fused(n)) && n->n_in >= 2 && n->in[0] &&
           n->in[1] && n->in[0]->fact.rank >= 2 && n->in[1]->fact.rank >= 2 && n->out[0]->fact.dtype == GOPT_DTYPE_F32;
}

/* The node that alone scales operand k of n, what it scales and by how much; NULL when there is none. */
static gopt_node *scale_before(const gopt_node *n, int k, gopt_value **x, double *factor)
{
    gopt_node *mul = gopt_rewrite_producer(n->in[k], "Mul"), *div = gopt_rewrite_producer(n->in[k], "Div");
    gopt_node *s = mul ? mul : div;
    if (!s || s->graph != n->graph || gopt_rewrite_sole_reader(s->out[0]) != n || n->in[0] == n->in[1] ||
        (!gopt_rewrite_scalar_operand(s, 1, factor, x) && (div || !gopt_rewrite_scalar_operand(s, 0, factor, x))) ||
        !gopt_rewrite_same_shape(&(*x)->fact, &s->out[0]->fact))
        return NULL;
    *factor = div ? 1 / *factor : *factor;
    return s;
}

static bool is_normal(double v)
{
    return fabs(v) >= (double)FLT_MIN && fabs(v) <= (double)FLT_MAX;
}

/* The operator that has an alpha: matrices stay with ai.onnx. */
static const gopt_op *op_for(const gopt_node *n)
{
    bool matrices = n->in[0]->fact.rank == 2 && n->in[1]->fact.rank == 2;
    if (!gopt_rewrite_is(n, "MatMul"))
        return n->op;
    return matrices ? gopt_op_find("", "Gemm") : gopt_op_find("com.microsoft", "FusedMatMul");
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    for (int k = 0; k < 2 && is_product(n); k++) {
        gopt_value *x, *in[3] = {n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : NULL};
        double factor, alpha = gopt_attr_float(n->attrs, "alpha", 1);
        gopt_node *scale = scale_before(n, k, &x, &factor);
        if (!scale || (n->n_in > 2 && n->in[2] == n->in[k]) || !is_normal(alpha * factor) ||
            !is_normal(1 / (alpha * factor)))
            continue;
        in[k] = x;
        gopt_attrs attrs = gopt_rewrite_attr_float(n->graph, n->attrs, "alpha", alpha * factor);
        if (!(n = gopt_node_replace(n, op_for(n), attrs, in, n->n_in, &scale, 1)))
            return gopt_oom(e);
        gopt_rewrite_drop(scale);
        r->changed++;
    }
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_scale = {
    .name = "fold_scale",
    .doc = "products apply constant factors of their operands themselves",
    .revision = 1,
    .run = run,
};
