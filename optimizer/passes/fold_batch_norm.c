/* fold_batch_norm.c: takes a BatchNormalization into the weights of the product or convolution before it, or makes it
 * one multiplication and one addition.
 *
 * Legal in inference mode with all four parameters constant and finite results: y = x * a + b with a = scale / sqrt(var
 * + epsilon), b = B - mean * a. Into weights under the conditions of affine.h; otherwise the rank of x must be known,
 * and the constants are shaped to broadcast along its channels. Only output 0 may be wanted. Results differ by
 * rounding. */
#include <math.h>
#include <string.h>

#include "passes/affine.h"

enum { SCALE = 1, BIAS, MEAN, VAR };

/* a and b as two arrays of n in the arena; false when a parameter is not constant or a number is not finite. */
static bool numbers(const gopt_node *n, gopt_arena *arena, double **a, double **b, int64_t *channels)
{
    double epsilon = gopt_attr_float(n->attrs, "epsilon", 1e-5);
    for (int k = SCALE; k <= VAR; k++)
        if (n->n_in <= VAR || !gopt_value_is_const(n->in[k]) || !gopt_dtype_is_float(n->in[k]->fact.dtype))
            return false;
    *channels = gopt_tensor_count(n->in[SCALE]->fact.constant);
    for (int k = BIAS; k <= VAR; k++)
        if (gopt_tensor_count(n->in[k]->fact.constant) != *channels)
            return false;
    *a = GOPT_NEW(arena, double, *channels);
    *b = GOPT_NEW(arena, double, *channels);
    for (int64_t j = 0; *a && *b && j < *channels; j++) {
        (*a)[j] = gopt_tensor_get(n->in[SCALE]->fact.constant, j) /
                  sqrt(gopt_tensor_get(n->in[VAR]->fact.constant, j) + epsilon);
        (*b)[j] =
            gopt_tensor_get(n->in[BIAS]->fact.constant, j) - gopt_tensor_get(n->in[MEAN]->fact.constant, j) * (*a)[j];
        gopt_dtype d = n->out[0]->fact.dtype;
        if (!isfinite(gopt_dtype_round(d, (*a)[j])) || !isfinite(gopt_dtype_round(d, (*b)[j])))
            return false;
    }
    return *a && *b;
}

static bool is_plain(const gopt_node *n)
{
    if (!gopt_rewrite_is(n, "BatchNormalization") || gopt_attr_int(n->attrs, "training_mode", 0) || !n->out[0] ||
        !gopt_dtype_is_float(n->out[0]->fact.dtype))
        return false;
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] && (n->out[k]->n_users || n->out[k]->n_results))
            return false;
    return true;
}

static bool split(gopt_node *n, const double *a, const double *b, int64_t channels)
{
    int64_t dim[GOPT_RANK_MAX];
    gopt_graph *g = n->graph;
    const gopt_fact *x = &n->in[0]->fact;
    if (x->rank < 2)
        return false;
    for (int i = 0; i < x->rank - 1; i++)
        dim[i] = i == 0 ? channels : 1;
    gopt_value *scale = gopt_rewrite_constant(g, x->dtype, x->rank - 1, dim, a);
    gopt_value *shift = gopt_rewrite_constant(g, x->dtype, x->rank - 1, dim, b);
    if (!scale || !shift)
        return false;
    gopt_node *mul = gopt_graph_node(g, NULL, gopt_op_find("", "Mul"), (gopt_attrs){0},
                                     (gopt_value *[]){n->in[0], scale}, 2, 1, n, &n, 1);
    if (!mul)
        return false;
    mul->out[0]->fact = n->out[0]->fact;
    gopt_value *in[] = {mul->out[0], shift};
    n->n_out = 1;
    return gopt_node_replace(n, gopt_op_find("", "Add"), (gopt_attrs){0}, in, 2, NULL, 0);
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    gopt_affine p;
    gopt_arena scratch = {0};
    double *a, *b;
    int64_t channels;
    if (!is_plain(n) || n->n_in == 0)
        return GOPT_OK;
    if (numbers(n, &scratch, &a, &b, &channels)) {
        bool found = gopt_affine_find(&p, n->in[0], n) && p.channels == channels && p.axis == 1;
        bool done = found && gopt_affine_fold(&p, a, b, n);
        r->changed += done || split(n, a, b, channels);
    }
    bool failed = scratch.failed;
    gopt_arena_fini(&scratch);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_batch_norm = {
    .name = "fold_batch_norm",
    .doc = "take batch normalization into weights, or make it a multiplication and an addition",
    .revision = 1,
    .run = run,
};
