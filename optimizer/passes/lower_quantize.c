/* lower_quantize.c: makes QuantizeLinear and DequantizeLinear pointwise groups, which fuse with what is around them.
 *
 * Legal from float32 to integers of 8 or 16 bits and back (from int32, too), with one float32 scale, or with constant
 * scales along an axis of known size, and zero points alike; not in blocks. The scale must not enlarge the result.
 * Rounding is the operator's: to the nearest even of the quotient, saturated. int32 beyond 2^24 is rounded before it is
 * scaled instead of after. */
#include <string.h>

#include "passes/rewrite.h"

enum { X, SCALE, ZERO };

static bool is_one(const gopt_value *v)
{
    int64_t dim[GOPT_RANK_MAX], count;
    return gopt_fact_static(&v->fact, dim) && gopt_dims_count(dim, v->fact.rank, &count) && count == 1;
}

/* Whether v is one number, or constant numbers along the axis of x. */
static bool is_scale(const gopt_node *n, const gopt_value *v, int axis)
{
    const gopt_fact *x = &n->in[X]->fact;
    if (is_one(v))
        return v->fact.rank <= x->rank;
    return v->fact.constant && v->fact.rank == 1 && axis >= 0 && gopt_dim_equal(v->fact.dim[0], x->dim[axis]);
}

static bool fits(const gopt_node *n, bool quantizes, int *axis)
{
    gopt_err why;
    if (n->n_in <= SCALE || !n->in[X] || !n->in[SCALE] || !n->out[0] || gopt_attr_int(n->attrs, "block_size", 0))
        return false;
    gopt_dtype from = n->in[X]->fact.dtype, to = n->out[0]->fact.dtype, whole = quantizes ? to : from;
    int64_t precision = gopt_attr_int(n->attrs, "precision", 0);
    if ((quantizes ? from : to) != GOPT_DTYPE_F32 || n->in[SCALE]->fact.dtype != GOPT_DTYPE_F32 ||
        n->in[X]->fact.rank < 0 || (precision && precision != GOPT_DTYPE_F32) ||
        !(gopt_dtype_is_small_int(whole) || (whole == GOPT_DTYPE_I32 && !quantizes)))
        return false;
    *axis = -1;
    if (n->in[X]->fact.rank > 0 && gopt_axis(gopt_attr_int(n->attrs, "axis", 1), n->in[X]->fact.rank, axis, &why))
        *axis = -1;
    return is_scale(n, n->in[SCALE], *axis) && (n->n_in <= ZERO || !n->in[ZERO] || is_scale(n, n->in[ZERO], *axis));
}

/* Operand v as an instruction: a number where it is one constant, else a new operand, shaped to lie along the axis. */
static int operand(gopt_node *n, gopt_expr *x, gopt_value *v, int axis, gopt_value **in, int *n_in)
{
    double number;
    int64_t dim[GOPT_RANK_MAX];
    if (gopt_value_scalar(v, &number))
        return gopt_expr_float(x, number);
    if (!is_one(v)) {
        int rank = n->in[X]->fact.rank - axis;
        gopt_tensor *t = gopt_arena_copy(&n->graph->family->arena, v->fact.constant, 1, sizeof *t);
        for (int i = 0; i < rank; i++)
            dim[i] = i ? 1 : v->fact.dim[0].k;
        if (!t)
            return -1;
        t->rank = rank;
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
        v = gopt_graph_constant(n->graph, NULL, t);
        if (!v)
            return -1;
    }
    in[*n_in] = v;
    return gopt_expr_load(x, (*n_in)++, v->fact.dtype);
}

static gopt_status lower(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    gopt_value *in[3] = {n->n_in ? n->in[X] : NULL};
    int n_in = 1, axis;
    bool quantizes = !strcmp(n->op->name, "QuantizeLinear");
    if ((!quantizes && strcmp(n->op->name, "DequantizeLinear") != 0) || n->post.result >= 0 ||
        !fits(n, quantizes, &axis))
        return GOPT_OK;
    gopt_dtype d = n->out[0]->fact.dtype;
    gopt_expr x = gopt_expr_new(&n->graph->family->arena);
    int value = gopt_expr_load(&x, 0, in[X]->fact.dtype), zero = -1;
    int scale = operand(n, &x, n->in[SCALE], axis, in, &n_in);
    double number = 1;
    if (n->n_in > ZERO && n->in[ZERO] && !(gopt_value_scalar(n->in[ZERO], &number) && number == 0))
        zero = operand(n, &x, n->in[ZERO], axis, in, &n_in);
    x.result = quantizes ? gopt_expr_quantize(&x, value, scale, zero, d) : gopt_expr_dequantize(&x, value, scale, zero);
    const gopt_op *op = gopt_op_find("gopt", "Pointwise");
    gopt_node *made = x.result < 0 || !op ? NULL : gopt_node_replace(n, op, (gopt_attrs){0}, in, n_in, NULL, 0);
    if (!made)
        return gopt_oom(e);
    made->n_anchor = 0;
    made->post = x;
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, lower, e);
}

const gopt_pass gopt_pass_lower_quantize = {
    .name = "lower_quantize",
    .doc = "make quantization and its inverse pointwise, to be fused with what is around them",
    .revision = 1,
    .run = run,
};
