/* fuse_embedding.c: rows of tables, added up and normalized, become com.microsoft's EmbedLayerNormalization: the sum is
 * made row by row, where it is normalized.
 *
 *     LayerNormalization(Gather(words, ids) + positions + Gather(segments, kinds))
 *
 * Legal when all is float32 and of known shape, ids are (batch, length), the normalization takes the last axis alone
 * and nobody wants its mean or deviation, scale and bias are vectors (a bias that is absent is zeros), and nothing else
 * reads what lies between. Of the two or three addends one is rows of a table by ids of the whole batch; another one
 * gives a row for every position: a value of shape (length, size) or (1, length, size), or rows of a table by ids of
 * (batch or 1, length); a third one is rows of a table by ids of the whole batch again. Three addends are summed in
 * another order: results differ by rounding. */
#include <string.h>

#include "passes/attention_heads.h"
#include "passes/match.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITION_IDS, OPERANDS };
enum { ADDENDS_MOST = 3 };

typedef struct embedding {
    gopt_match match;
    gopt_node *n;
    gopt_value *addend[ADDENDS_MOST], *in[OPERANDS];
    int addends;
    int64_t dim[GOPT_RANK_MAX]; /* batch, length, size */
} embedding;

static bool has_shape(const gopt_value *v, int rank, const int64_t *want)
{
    int64_t dim[GOPT_RANK_MAX];
    return v && v->fact.rank == rank && gopt_fact_static(&v->fact, dim) &&
           !memcmp(dim, want, (size_t)rank * sizeof *dim);
}

static bool is_vector(const embedding *k, const gopt_value *v)
{
    return v && v->fact.dtype == GOPT_DTYPE_F32 && has_shape(v, 1, &k->dim[2]);
}

/* ---- matching ---- */

static bool find_norm(embedding *k)
{
    const gopt_node *n = k->n;
    int axis;
    if (!gopt_rewrite_is(n, "LayerNormalization") || n->n_in < 2 || !n->in[0] || n->in[0]->fact.rank != 3 ||
        n->in[0]->fact.dtype != GOPT_DTYPE_F32 || n->out[0]->fact.dtype != GOPT_DTYPE_F32 ||
        !gopt_fact_static(&n->in[0]->fact, k->dim) || k->dim[0] * k->dim[1] * k->dim[2] == 0 ||
        gopt_axis(gopt_attr_int(n->attrs, "axis", -1), 3, &axis, NULL) || axis != 2)
        return false;
    for (int i = 1; i < n->n_out; i++)
        if (n->out[i] && (n->out[i]->n_users || n->out[i]->n_results))
            return false;
    k->in[GAMMA] = n->in[1];
    k->in[BETA] = n->n_in > 2 ? n->in[2] : NULL;
    return is_vector(k, k->in[GAMMA]) && (!k->in[BETA] || is_vector(k, k->in[BETA]));
}

/* What v is the sum of; sums of the whole shape, read here alone, are taken apart. */
static bool collect(embedding *k, gopt_value *v, const gopt_node *reader)
{
    gopt_node *add = gopt_rewrite_producer(v, "Add");
    if (add && add->graph == k->n->graph && gopt_rewrite_sole_reader(v) == reader && add->n_in == 2 &&
        has_shape(v, 3, k->dim) && k->match.n <= ADDENDS_MOST) {
        gopt_match_add(&k->match, add);
        return collect(k, add->in[0], add) && collect(k, add->in[1], add);
    }
    if (k->addends == ADDENDS_MOST || v->fact.dtype != GOPT_DTYPE_F32)
        return false;
    k->addend[k->addends++] = v;
    return true;
}

/* The Gather of rows that v is, by ids (batch or 1, length), read here alone. */
static const gopt_node *rows_of(const embedding *k, const gopt_value *v, int64_t batch)
{
    const gopt_node *n = gopt_rewrite_producer(v, "Gather");
    int64_t dim[GOPT_RANK_MAX];
    bool rows = n && n->graph == k->n->graph && gopt_rewrite_sole_reader(v) && n->in[0]->fact.rank == 2 &&
                gopt_fact_static(&n->in[0]->fact, dim) && dim[0] > 0 && dim[1] == k->dim[2] &&
                gopt_attr_int(n->attrs, "axis", 0) == 0 && has_shape(n->in[1], 2, (int64_t[]){batch, k->dim[1]});
    return rows ? n : NULL;
}

static bool take_rows(embedding *k, int *at, int64_t batch, int table, int ids)
{
    for (int i = 0; i < k->addends; i++) {
        const gopt_node *n = k->addend[i] ? rows_of(k, k->addend[i], batch) : NULL;
        if (!n)
            continue;
        k->in[table] = n->in[0];
        k->in[ids] = n->in[1];
        *at = i;
        return true;
    }
    return false;
}

static bool take_dense(embedding *k, int *at)
{
    const int64_t batch_of_one[] = {1, k->dim[1], k->dim[2]};
    for (int i = 0; i < k->addends; i++) {
        gopt_value *v = k->addend[i];
        if (rows_of(k, v, 1) || (!has_shape(v, 2, k->dim + 1) && !has_shape(v, 3, batch_of_one)))
            continue;
        k->in[POSITION] = v;
        *at = i;
        return true;
    }
    return false;
}

static bool find(embedding *k)
{
    int at;
    if (!find_norm(k) || !gopt_rewrite_producer(k->n->in[0], "Add") || !collect(k, k->n->in[0], k->n) || k->addends < 2)
        return false;
    /* Positions first, where they can be nothing else; rows for the whole batch can be positions, too. */
    bool positions = take_dense(k, &at) || (k->dim[0] != 1 && take_rows(k, &at, 1, POSITION, POSITION_IDS));
    if (positions)
        k->addend[at] = NULL;
    if (!take_rows(k, &at, k->dim[0], WORD, IDS))
        return false;
    k->addend[at] = NULL;
    if (!positions && !take_rows(k, &at, k->dim[0], POSITION, POSITION_IDS))
        return false;
    k->addend[at] = NULL;
    if (k->addends == 2)
        return true;
    return take_rows(k, &at, k->dim[0], SEGMENT, SEGMENTS);
}

/* ---- putting it together ---- */

static gopt_value *zeros(const embedding *k)
{
    gopt_graph *g = k->n->graph;
    gopt_tensor *t = gopt_tensor_new(&g->family->arena, GOPT_DTYPE_F32, 1, &k->dim[2]);
    return t ? gopt_graph_constant(g, NULL, t) : NULL;
}

/* The addend of every position as a table. */
static gopt_value *as_table(const embedding *k, gopt_value *v)
{
    gopt_graph *g = k->n->graph;
    if (!gopt_value_is_const(v))
        return gopt_heads_reshape(v, k->dim + 1, 2, k->n);
    gopt_tensor *t = gopt_arena_copy(&g->family->arena, v->fact.constant, 1, sizeof *t);
    if (!t)
        return NULL;
    t->rank = 2;
    memcpy(t->dim, k->dim + 1, 2 * sizeof *t->dim);
    return gopt_graph_constant(g, NULL, t);
}

static gopt_status fuse(gopt_node *n, gopt_pass_run *r, gopt_err *e)
{
    embedding k = {.n = n};
    gopt_match_add(&k.match, n);
    if (!find(&k))
        return GOPT_OK;
    const gopt_op *op = gopt_op_find("com.microsoft", "EmbedLayerNormalization");
    gopt_attrs attrs =
        gopt_rewrite_attr_float(n->graph, (gopt_attrs){0}, "epsilon", gopt_attr_float(n->attrs, "epsilon", 1e-5f));
    if (!k.in[BETA] && !(k.in[BETA] = zeros(&k)))
        return gopt_oom(e);
    if (!k.in[POSITION_IDS] && !(k.in[POSITION] = as_table(&k, k.in[POSITION])))
        return gopt_oom(e);
    int n_in = k.in[POSITION_IDS] ? OPERANDS : MASK;
    gopt_node *by = gopt_graph_node(n->graph, NULL, op, attrs, k.in, n_in, 1, n, k.match.node, k.match.n);
    if (!by || gopt_node_infer(by, NULL))
        return gopt_oom(e);
    gopt_value_replace(n->out[0], by->out[0]);
    gopt_rewrite_drop(n);
    r->changed++;
    return GOPT_OK;
}

static gopt_status run(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    return gopt_rewrite_each(g, r, fuse, e);
}

const gopt_pass gopt_pass_fuse_embedding = {
    .name = "fuse_embedding",
    .doc = "rows of tables are added up where they are normalized",
    .revision = 1,
    .run = run,
};
