/* fold_transpose.c: products read transposed operands as they lie in memory, and a transposed product is the product of
 * its transposed operands in the other order.
 *
 *     matmul(transpose(a), b)   becomes   FusedMatMul(a, b) {transA}, or a Gemm of matrices
 *     transpose(gemm(a, b))     becomes   gemm(b, a) {transA, transB}
 *     matmul(cast(transpose(a)), b): the cast goes first, so that the Transpose stands next to the product
 *
 * Legal for MatMul, FusedMatMul and Gemm of floats whose operands have known ranks of two or more. Transpositions must
 * keep the order of the batch axes, whose place FusedMatMul allows before or between the matrix's; between only where
 * both operands have the same rank. A Transpose that others read stays for them. The product that is transposed must
 * have no other reader; an addend must be a scalar or a constant row or column. A Cast goes first only if all who read
 * it are such products. Exact: each element is the same sum, whose terms a kernel may add in another order. */
#include <string.h>

#include "passes/rewrite.h"

/* How a product sees an operand: FusedMatMul's attributes. */
typedef struct view {
    bool transposed, batch_first;
} view;

static bool is_fused(const gopt_node *n)
{
    return n->post.result < 0 && !strcmp(n->op->domain, "com.microsoft") && !strcmp(n->op->name, "FusedMatMul");
}

/* A product whose operands may be seen transposed. */
static bool is_product(const gopt_node *n)
{
    if (!gopt_rewrite_is(n, "MatMul") && !gopt_rewrite_is(n, "Gemm") && !is_fused(n))
        return false;
    for (int k = 0; k < 2; k++)
        if (n->n_in <= k || !n->in[k] || n->in[k]->fact.rank < 2 || !gopt_dtype_is_float(n->in[k]->fact.dtype))
            return false;
    return true;
}

static view view_of(const gopt_node *n, int k)
{
    if (gopt_rewrite_is(n, "MatMul"))
        return (view){0};
    bool batch = is_fused(n) && gopt_attr_int(n->attrs, k ? "transBatchB" : "transBatchA", 0);
    return (view){gopt_attr_int(n->attrs, k ? "transB" : "transA", 0) != 0, batch};
}

/* perm[i]: the axis of the operand that is axis i of the batch of matrices. */
static void axes_of(view v, int rank, int64_t *perm)
{
    int first = v.batch_first && rank > 2;
    for (int i = 0; i < rank - 2; i++)
        perm[i] = i + first;
    int row = first ? 0 : rank - 2, col = rank - 1;
    perm[rank - 2] = v.transposed ? col : row;
    perm[rank - 1] = v.transposed ? row : col;
}

/* How n would see what is transposed by `outer` into its operand k; false when it cannot. */
static bool see_through(const gopt_node *n, int k, const int64_t *outer, view *v)
{
    int rank = n->in[k]->fact.rank;
    int64_t inner[GOPT_RANK_MAX], wanted[GOPT_RANK_MAX], axes[GOPT_RANK_MAX];
    axes_of(view_of(n, k), rank, inner);
    for (int i = 0; i < rank; i++)
        wanted[i] = outer[inner[i]];
    bool may_split = rank > 2 && n->in[1 - k]->fact.rank == rank;
    for (int i = 0; i < (may_split ? 4 : 2); i++) {
        *v = (view){.transposed = i & 1, .batch_first = i & 2};
        axes_of(*v, rank, axes);
        if (!memcmp(axes, wanted, (size_t)rank * sizeof *axes))
            return true;
    }
    return false;
}

static const int64_t *perm_of(const gopt_node *transpose, int rank, int64_t *room)
{
    int64_t n;
    const int64_t *perm = gopt_attr_ints(transpose->attrs, "perm", &n);
    for (int i = 0; i < rank; i++)
        room[i] = rank - 1 - i;
    return perm && n == rank ? perm : room;
}

/* ---- attributes ---- */

static gopt_attrs set_flag(gopt_graph *g, gopt_attrs a, const char *name, bool on)
{
    return on ? gopt_rewrite_attr_int(g, a, name, 1) : gopt_attrs_without(&g->family->arena, a, name);
}

static gopt_attrs with_views(gopt_graph *g, gopt_attrs a, view left, view right)
{
    a = set_flag(g, a, "transA", left.transposed);
    a = set_flag(g, a, "transB", right.transposed);
    a = set_flag(g, a, "transBatchA", left.batch_first);
    return set_flag(g, a, "transBatchB", right.batch_first);
}

/* The operator that can have views: matrices stay with ai.onnx. */
static const gopt_op *op_for(const gopt_node *n)
{
    bool matrices = n->in[0]->fact.rank == 2 && n->in[1]->fact.rank == 2;
    if (!gopt_rewrite_is(n, "MatMul"))
        return n->op;
    return matrices ? gopt_op_find("", "Gemm") : gopt_op_find("com.microsoft", "FusedMatMul");
}

/* ---- operands ---- */

/* The Transpose that gives operand k, if n can do its work. */
static gopt_node *transpose_before(const gopt_node *n, int k, view *v)
{
    int64_t room[GOPT_RANK_MAX];
    gopt_node *t = gopt_rewrite_producer(n->in[k], "Transpose");
    if (!t || t->graph != n->graph || !see_through(n, k, perm_of(t, n->in[k]->fact.rank, room), v))
        return NULL;
    return t;
}

/* n, or the node that takes its place; NULL without memory. */
static gopt_node *absorb_operand(gopt_node *n, int k, gopt_node *t, view v)
{
    view left = k == 0 ? v : view_of(n, 0), right = k == 1 ? v : view_of(n, 1);
    gopt_value *in[3] = {n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    bool alone = gopt_rewrite_sole_reader(t->out[0]) == n;
    in[k] = t->in[0];
    gopt_node *by =
        gopt_node_replace(n, op_for(n), with_views(n->graph, n->attrs, left, right), in, n->n_in, &t, alone);
    gopt_rewrite_drop(t);
    return by;
}

/* Whether whoever reads v is a product that can do the work of a Transpose by perm. */
static bool all_see_through(const gopt_value *v, const int64_t *perm)
{
    view ignored;
    if (v->n_results)
        return false;
    for (int i = 0; i < v->n_users; i++) {
        const gopt_node *n = v->users[i];
        if (n->graph != v->graph || !is_product(n) || (n->n_in > 2 && n->in[2] == v))
            return false;
        for (int k = 0; k < 2; k++)
            if (n->in[k] == v && !see_through(n, k, perm, &ignored))
                return false;
    }
    return true;
}

/* transpose(cast(x)) instead of cast(transpose(x)). */
static bool cast_first(gopt_node *cast, gopt_node *t)
{
    gopt_graph *g = cast->graph;
    gopt_node *inner = gopt_graph_node(g, NULL, cast->op, cast->attrs, &t->in[0], 1, 1, cast, &cast, 1);
    if (!inner)
        return false;
    inner->out[0]->fact = t->in[0]->fact;
    inner->out[0]->fact.dtype = cast->out[0]->fact.dtype;
    inner->out[0]->fact.content = NULL;
    bool done = gopt_node_replace(cast, t->op, t->attrs, &inner->out[0], 1, &t, 1);
    gopt_rewrite_drop(t);
    return done;
}

static gopt_status swap_cast(gopt_node *n, int k, gopt_pass_run *r, gopt_err *e)
{
    int64_t room[GOPT_RANK_MAX];
    gopt_node *cast = gopt_rewrite_producer(n->in[k], "Cast");
    gopt_node *t = cast ? gopt_rewrite_producer(cast->in[0], "Transpose") : NULL;
    if (!t || t->graph != n->graph || cast->graph != n->graph ||
        !all_see_through(n->in[k], perm_of(t, n->in[k]->fact.rank, room)))
        return GOPT_OK;
    r->changed++;
    return cast_first(cast, t) ? GOPT_OK : gopt_oom(e);
}

static gopt_status fold_operands(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    for (int k = 0; k < 2; k++) {
        view v;
        GOPT_TRY(swap_cast(n, k, r, e));
        gopt_node *t = transpose_before(n, k, &v);
        if (!t)
            continue;
        if (!(n = absorb_operand(n, k, t, v)))
            return gopt_oom(e);
        r->changed++;
    }
    return GOPT_OK;
}

/* ---- results ---- */

static bool swaps_last_two(const int64_t *perm, int rank)
{
    for (int i = 0; i < rank - 2; i++)
        if (perm[i] != i)
            return false;
    return rank >= 2 && perm[rank - 2] == rank - 1 && perm[rank - 1] == rank - 2;
}

/* A constant row or column the other way; what has one element or is not there stays. NULL into *out only for the
 * latter; false when c is none of these. */
static bool turn_addend(gopt_graph *g, gopt_value *c, gopt_value **out)
{
    double scalar;
    *out = c;
    if (!c || gopt_value_scalar(c, &scalar))
        return true;
    const gopt_tensor *t = c->fact.constant;
    if (!t || t->rank > 2 || (t->rank == 2 && t->dim[0] != 1 && t->dim[1] != 1))
        return false;
    gopt_tensor *turned = gopt_arena_copy(&g->family->arena, t, 1, sizeof *t);
    if (!turned)
        return false;
    turned->rank = 2;
    turned->dim[0] = t->dim[t->rank - 1];
    turned->dim[1] = t->rank == 2 ? t->dim[0] : 1;
    return (*out = gopt_graph_constant(g, NULL, turned));
}

static gopt_status fold_result(gopt_node *t, gopt_pass_run *r, gopt_err *e)
{
    int64_t room[GOPT_RANK_MAX];
    gopt_node *n = t->in[0]->producer;
    if (!n || n->graph != t->graph || !is_product(n) || gopt_rewrite_sole_reader(n->out[0]) != t ||
        !swaps_last_two(perm_of(t, t->in[0]->fact.rank, room), t->in[0]->fact.rank))
        return GOPT_OK;
    gopt_value *in[3] = {n->in[1], n->in[0]};
    view left = view_of(n, 1), right = view_of(n, 0);
    left.transposed = !left.transposed;
    right.transposed = !right.transposed;
    if (!turn_addend(n->graph, n->n_in > 2 ? n->in[2] : NULL, &in[2]))
        return GOPT_OK;
    if (!gopt_node_replace(t, op_for(n), with_views(n->graph, n->attrs, left, right), in, n->n_in, &n, 1))
        return gopt_oom(e);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
}

static gopt_status fold(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    if (gopt_rewrite_is(n, "Transpose"))
        return fold_result(n, r, e);
    return is_product(n) ? fold_operands(n, r, e) : GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fold, e);
}

const gopt_pass gopt_pass_fold_transpose = {
    .name = "fold_transpose",
    .doc = "products read transposed operands as they lie, and write transposed results",
    .revision = 1,
    .run = run,
};
