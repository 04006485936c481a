/* drop_identity_pair.c: two moves in a row. */
#include <string.h>

#include "passes/drop_identity.h"

static bool is_like(const gopt_value *a, const gopt_value *b)
{
    return a->fact.dtype == b->fact.dtype && gopt_rewrite_same_shape(&a->fact, &b->fact);
}

/* A constant shape operand that yields this shape from the same elements; NULL when more than one dimension is open. */
static gopt_value *shape_for(gopt_graph *g, const gopt_fact *f)
{
    int64_t shape[GOPT_RANK_MAX];
    int open = 0;
    for (int i = 0; i < f->rank; i++) {
        bool known = gopt_dim_is_const(f->dim[i]);
        shape[i] = known ? f->dim[i].k : -1;
        open += !known;
        if (shape[i] == 0)
            return NULL;
    }
    return f->rank < 0 || open > 1 ? NULL : gopt_rewrite_ints(g, shape, f->rank);
}

/* ---- Transpose, also after Transpose ---- */

static bool permutation(const gopt_node *n, int64_t perm[GOPT_RANK_MAX], int rank)
{
    int64_t count;
    const int64_t *given = gopt_attr_ints(n->attrs, "perm", &count);
    for (int i = 0; i < rank; i++)
        perm[i] = given ? (i < count ? given[i] : -1) : rank - 1 - i;
    for (int i = 0; i < rank; i++)
        if (perm[i] < 0 || perm[i] >= rank)
            return false;
    return true;
}

/* A Transpose that moves nothing but dimensions of size 1 leaves the elements where they are: it is a Reshape. */
static bool as_reshape(gopt_node *n)
{
    int64_t perm[GOPT_RANK_MAX], last = -1;
    const gopt_fact *x = &n->in[0]->fact;
    if (x->rank < 0 || !permutation(n, perm, x->rank))
        return false;
    for (int i = 0; i < x->rank; i++) {
        gopt_dim d = x->dim[perm[i]];
        if (gopt_dim_is_const(d) && d.k == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    gopt_value *shape = shape_for(n->graph, &n->out[0]->fact);
    return shape && gopt_node_replace(n, gopt_op_find("", "Reshape"), (gopt_attrs){0},
                                      (gopt_value *[]){n->in[0], shape}, 2, NULL, 0);
}

static bool merge_transposes(gopt_node *n)
{
    gopt_node *before = gopt_rewrite_producer(n->in[0], "Transpose");
    int64_t p[GOPT_RANK_MAX], q[GOPT_RANK_MAX], both[GOPT_RANK_MAX];
    int rank = n->out[0]->fact.rank;
    if (!before || rank < 0 || !permutation(before, p, rank) || !permutation(n, q, rank))
        return false;
    bool cancels = true;
    for (int i = 0; i < rank; i++) {
        both[i] = p[q[i]];
        cancels &= both[i] == i;
    }
    gopt_value *x = before->in[0];
    if (cancels)
        return gopt_rewrite_bypass(n, x);
    if (gopt_rewrite_sole_reader(before->out[0]) != n)
        return false;
    gopt_attrs attrs = gopt_rewrite_attr_ints(n->graph, n->attrs, "perm", both, rank);
    gopt_node_replace(n, n->op, attrs, &x, 1, &before, 1);
    gopt_rewrite_drop(before);
    return true;
}

bool gopt_drop_identity_transpose(gopt_node *n)
{
    return gopt_rewrite_is(n, "Transpose") && (merge_transposes(n) || as_reshape(n));
}

/* ---- Reshape and its like after Reshape and its like ---- */

static bool reshapes(const gopt_node *n)
{
    static const char *const ops[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
    for (int i = 0; i < GOPT_COUNT(ops); i++)
        if (gopt_rewrite_is(n, ops[i]))
            return true;
    return false;
}

/* The shape operand of a Reshape that means the same whatever the shape of the data: no element copies a dimension. */
static gopt_value *absolute_shape(const gopt_node *n)
{
    int64_t dim[GOPT_RANK_MAX];
    if (!gopt_rewrite_is(n, "Reshape") || !n->in[1]->fact.content || !gopt_fact_static(&n->in[1]->fact, dim))
        return NULL;
    for (int64_t i = 0; n->in[1]->fact.rank == 1 && i < dim[0]; i++) {
        gopt_dim d = n->in[1]->fact.content[i];
        if (!gopt_dim_is_const(d) || d.k == 0)
            return NULL;
    }
    return n->in[1];
}

bool gopt_drop_identity_reshape(gopt_node *n)
{
    if (!reshapes(n))
        return false;
    gopt_node *before = n->in[0]->producer;
    if (!before || !reshapes(before) || gopt_rewrite_sole_reader(n->in[0]) != n)
        return false;
    if (is_like(before->in[0], n->out[0]))
        return gopt_rewrite_bypass(n, before->in[0]);
    gopt_value *shape = absolute_shape(n);
    gopt_attrs attrs = shape ? n->attrs : (gopt_attrs){0};
    if (!shape && !(shape = shape_for(n->graph, &n->out[0]->fact)))
        return false;
    gopt_node_replace(n, gopt_op_find("", "Reshape"), attrs, (gopt_value *[]){before->in[0], shape}, 2, &before, 1);
    gopt_rewrite_drop(before);
    return true;
}

/* ---- Cast after Cast ---- */

/* Bits of the largest integer up to which a type has them all. */
static int exact_bits(gopt_dtype d)
{
    switch (d) {
    case GOPT_DTYPE_F16:
        return 11;
    case GOPT_DTYPE_BF16:
        return 8;
    case GOPT_DTYPE_F32:
        return 24;
    case GOPT_DTYPE_F64:
        return 53;
    case GOPT_DTYPE_BOOL:
        return 1;
    default:
        return gopt_dtype_is_int(d) ? gopt_dtype_bits(d) - gopt_dtype_is_signed(d) : 0;
    }
}

/* Every value of `narrow` is one of `wide`. */
static bool holds_all(gopt_dtype wide, gopt_dtype narrow)
{
    int room = exact_bits(wide), need = exact_bits(narrow);
    if (room == 0 || need == 0)
        return false;
    if (gopt_dtype_is_float(narrow)) /* float16 has a smaller exponent than bfloat16, but more digits */
        return wide == GOPT_DTYPE_F64 || (wide == GOPT_DTYPE_F32 && need < room) || wide == narrow;
    if (gopt_dtype_is_signed(narrow) && !gopt_dtype_is_signed(wide) && !gopt_dtype_is_float(wide))
        return false;
    return room >= need && wide != GOPT_DTYPE_BOOL;
}

bool gopt_drop_identity_cast(gopt_node *n)
{
    if (!gopt_rewrite_is(n, "Cast"))
        return false;
    gopt_node *before = gopt_rewrite_producer(n->in[0], "Cast");
    if (!before || !holds_all(n->in[0]->fact.dtype, before->in[0]->fact.dtype))
        return false;
    if (is_like(before->in[0], n->out[0]))
        return gopt_rewrite_bypass(n, before->in[0]);
    if (before->graph != n->graph || gopt_rewrite_sole_reader(before->out[0]) != n ||
        !gopt_node_replace(n, n->op, n->attrs, before->in, 1, &before, 1))
        return false;
    gopt_rewrite_drop(before);
    return true;
}
