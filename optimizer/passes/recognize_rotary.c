/* recognize_rotary.c: finds rotary position embedding where it is written out.
 *
 *     x * cos + Concat(Neg(x2), x1) * sin      with x1 and x2 the halves of x along the last axis
 *
 * becomes RotaryEmbedding(x, cos1, sin1), cos1 and sin1 the first halves. Legal when all is float32 of known shape, x
 * is (batch, heads, length, size), cos and sin are (length, size), (1, length, size) or (batch or 1, 1, length, size),
 * both halves of cos and of sin are proven equal (a concatenation of one value twice, pointwise functions of it, rows
 * of a constant table), and nothing else reads what lies between. x1 and x2 are slices or the outputs of a Split. Where
 * cos and sin have no batch, but x has, positions 0, 1, ... choose their rows. Every element is computed as before. */
#include <string.h>

#include "passes/attention_heads.h"
#include "passes/match.h"

enum { FIRST, SECOND };
enum { DEPTH_MOST = 12 };

typedef struct rotary {
    gopt_match match;
    gopt_node *last;
    gopt_value *x, *wave[2];    /* cos, sin */
    int64_t dim[GOPT_RANK_MAX]; /* of x, rank 4 */
    bool positions;             /* rows are chosen by position */
} rotary;

/* ---- halves ---- */

/* The only element of operand k, or the default where it is absent. */
static bool integer_at(const gopt_node *n, int k, int64_t otherwise, int64_t *out)
{
    *out = otherwise;
    if (k >= n->n_in || !n->in[k])
        return true;
    const gopt_tensor *t = n->in[k]->fact.constant;
    if (!t || gopt_tensor_count(t) != 1)
        return false;
    *out = gopt_tensor_get_int(t, 0);
    return true;
}

static bool is_last(int64_t axis, int rank)
{
    return axis == -1 || axis == rank - 1;
}

static bool is_half_slice(const gopt_node *n, const rotary *k, int half)
{
    int64_t start, end, axis, step, size = k->dim[3];
    if (n->in[0] != k->x || !integer_at(n, 1, 0, &start) || !integer_at(n, 2, 0, &end) || !integer_at(n, 3, 0, &axis) ||
        !integer_at(n, 4, 1, &step))
        return false;
    start += start < 0 ? size : 0;
    end = end < 0 ? end + size : GOPT_MIN(end, size);
    return step == 1 && is_last(axis, 4) && start == (half == FIRST ? 0 : size / 2) &&
           end == (half == FIRST ? size / 2 : size);
}

static bool is_half(const gopt_value *v, const rotary *k, int half)
{
    const gopt_node *n = v->producer;
    if (n && gopt_rewrite_is(n, "Slice"))
        return is_half_slice(n, k, half);
    return gopt_rewrite_is(n, "Split") && n->in[0] == k->x && n->n_out == 2 && v->output == half &&
           is_last(gopt_attr_int(n->attrs, "axis", 0), 4) && gopt_dim_is_const(v->fact.dim[3]) &&
           v->fact.dim[3].k == k->dim[3] / 2;
}

/* ---- cos and sin ---- */

static bool constant_repeats(const gopt_tensor *t)
{
    int64_t size = t->rank > 0 ? t->dim[t->rank - 1] : 1, half = size / 2, count = gopt_tensor_count(t);
    for (int64_t i = 0; size % 2 == 0 && i < count; i++)
        if (i % size < half && gopt_tensor_get(t, i) != gopt_tensor_get(t, i + half))
            return false;
    return size % 2 == 0;
}

static bool repeats(const gopt_value *v, int depth);

/* All operands but scalars repeat. */
static bool operands_repeat(const gopt_node *n, int depth)
{
    double scalar;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !gopt_value_scalar(n->in[i], &scalar) &&
            (n->in[i]->fact.rank < 1 ||
             !gopt_dim_equal(n->in[i]->fact.dim[n->in[i]->fact.rank - 1],
                             n->out[0]->fact.dim[n->out[0]->fact.rank - 1]) ||
             !repeats(n->in[i], depth)))
            return false;
    return true;
}

static bool unsqueeze_keeps_last(const gopt_node *n)
{
    const gopt_tensor *axes = n->n_in > 1 && n->in[1] ? n->in[1]->fact.constant : NULL;
    for (int64_t i = 0; axes && i < gopt_tensor_count(axes); i++)
        if (is_last(gopt_tensor_get_int(axes, i), n->out[0]->fact.rank))
            return false;
    return axes;
}

/* The halves along the last axis are proven equal. */
static bool repeats(const gopt_value *v, int depth)
{
    const gopt_node *n = v->producer;
    int rank = v->fact.rank;
    if (gopt_value_is_const(v))
        return constant_repeats(v->fact.constant);
    if (!n || depth == 0 || rank < 1 || n->post.result >= 0)
        return false;
    if (gopt_rewrite_is(n, "Concat"))
        return n->n_in == 2 && n->in[0] == n->in[1] && is_last(gopt_attr_int(n->attrs, "axis", 0), rank);
    if (gopt_rewrite_is(n, "Unsqueeze"))
        return unsqueeze_keeps_last(n) && repeats(n->in[0], depth - 1);
    if (gopt_rewrite_is(n, "Gather"))
        return gopt_attr_int(n->attrs, "axis", 0) == 0 && n->in[0]->fact.rank > 1 && repeats(n->in[0], depth - 1);
    return n->op->traits & GOPT_TRAIT_POINTWISE && !(n->op->traits & GOPT_TRAIT_RANDOM) && n->n_out == 1 &&
           operands_repeat(n, depth - 1);
}

/* The batch of a wave; 0 when its shape is none of those that are known. */
static int64_t batch_of(const gopt_value *v, const rotary *k)
{
    int64_t dim[GOPT_RANK_MAX];
    int rank = v->fact.rank;
    if (v->fact.dtype != GOPT_DTYPE_F32 || rank < 2 || rank > 4 || !gopt_fact_static(&v->fact, dim) ||
        dim[rank - 1] != k->dim[3] || dim[rank - 2] != k->dim[2])
        return 0;
    if (rank > 2 && dim[rank - 3] != 1)
        return 0;
    return rank == 4 ? dim[0] : 1;
}

/* ---- matching ---- */

/* The factor of a multiplication beside v; NULL when v is no factor. */
static gopt_value *factor_beside(const gopt_node *mul, const gopt_value *v)
{
    if (mul->n_in != 2 || mul->in[0] == mul->in[1])
        return NULL;
    return mul->in[0] == v ? mul->in[1] : mul->in[1] == v ? mul->in[0] : NULL;
}

/* Operand i of a multiplication is the turned x. */
static bool find_turned(rotary *k, const gopt_node *mul, int i)
{
    gopt_node *concat = gopt_rewrite_producer(mul->in[i], "Concat");
    gopt_node *neg = concat && concat->n_in == 2 ? gopt_rewrite_producer(concat->in[0], "Neg") : NULL;
    if (!neg || !is_last(gopt_attr_int(concat->attrs, "axis", 0), 4) || !is_half(neg->in[0], k, SECOND) ||
        !is_half(concat->in[1], k, FIRST))
        return false;
    gopt_match_add(&k->match, concat);
    gopt_match_add(&k->match, neg);
    return true;
}

/* `plain` multiplies x by cos, `turned` the turned x by sin. */
static bool find_sides(rotary *k, gopt_node *plain, gopt_node *turned)
{
    for (int i = 0; i < 2; i++) {
        k->x = plain->in[i];
        if (k->x->fact.rank != 4 || k->x->fact.dtype != GOPT_DTYPE_F32 || !gopt_fact_static(&k->x->fact, k->dim) ||
            k->dim[3] % 2 || k->dim[3] == 0 || !(k->wave[0] = factor_beside(plain, k->x)))
            continue;
        for (int j = 0; j < 2; j++)
            if (find_turned(k, turned, j) && (k->wave[1] = factor_beside(turned, turned->in[j])))
                return true;
    }
    return false;
}

static bool waves_fit(rotary *k)
{
    int64_t cos_batch = batch_of(k->wave[0], k), sin_batch = batch_of(k->wave[1], k);
    k->positions = cos_batch != k->dim[0];
    return cos_batch && cos_batch == sin_batch && (!k->positions || cos_batch == 1) &&
           repeats(k->wave[0], DEPTH_MOST) && repeats(k->wave[1], DEPTH_MOST);
}

static bool find(rotary *k, gopt_node *add)
{
    gopt_node *a = add->n_in == 2 ? gopt_rewrite_producer(add->in[0], "Mul") : NULL;
    gopt_node *b = a ? gopt_rewrite_producer(add->in[1], "Mul") : NULL;
    if (!b || a == b)
        return false;
    for (int i = 0; i < 2; i++) {
        *k = (rotary){.last = add};
        gopt_match_add(&k->match, add);
        gopt_match_add(&k->match, a);
        gopt_match_add(&k->match, b);
        if (find_sides(k, i ? b : a, i ? a : b))
            return gopt_match_closed(&k->match, add) && gopt_rewrite_same_shape(&k->x->fact, &add->out[0]->fact) &&
                   waves_fit(k);
    }
    return false;
}

/* ---- putting it together ---- */

/* The first half of a wave, (batch, length, size / 2) or (length, size / 2). */
static gopt_value *first_half(const rotary *k, gopt_value *wave)
{
    gopt_graph *g = k->last->graph;
    const int64_t *dim = k->positions ? k->dim + 2 : (int64_t[]){k->dim[0], k->dim[2], k->dim[3]};
    int64_t start = 0, end = k->dim[3] / 2, axis = k->positions ? 1 : 2;
    gopt_value *v = gopt_heads_reshape(wave, dim, k->positions ? 2 : 3, k->last);
    gopt_value *in[] = {v, gopt_rewrite_ints(g, &start, 1), gopt_rewrite_ints(g, &end, 1),
                        gopt_rewrite_ints(g, &axis, 1)};
    return v && in[1] && in[2] && in[3] ? gopt_heads_node(k->last, "Slice", (gopt_attrs){0}, in, 4) : NULL;
}

/* 0, 1, ... for every sequence of the batch. */
static gopt_value *positions(const rotary *k)
{
    gopt_graph *g = k->last->graph;
    gopt_tensor *t = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_I64, 2, (int64_t[]){k->dim[0], k->dim[2]});
    for (int64_t i = 0; t && i < k->dim[0] * k->dim[2]; i++)
        gopt_tensor_set_int(t, i, i % k->dim[2]);
    return t ? gopt_graph_constant(g, NULL, t) : NULL;
}

static gopt_status recognize(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    rotary k;
    const gopt_op *op = gopt_op_find("", "RotaryEmbedding");
    if (!gopt_rewrite_is(n, "Add") || !op || !find(&k, n))
        return GOPT_OK;
    gopt_value *in[] = {k.x, first_half(&k, k.wave[0]), first_half(&k, k.wave[1]), k.positions ? positions(&k) : NULL};
    if (!in[1] || !in[2] || (k.positions && !in[3]) ||
        !gopt_match_replace(&k.match, k.last, op, (gopt_attrs){0}, in, k.positions ? 4 : 3))
        return gopt_oom(e);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, recognize, e);
}

const gopt_pass gopt_pass_recognize_rotary = {
    .name = "recognize_rotary",
    .doc = "find rotary position embedding where it is written out",
    .revision = 1,
    .run = run,
};
