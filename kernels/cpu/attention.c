#include "cpu/attention.h"

#include <math.h>

#include "cpu/group.h"

enum { Q = GOPT_ATTENTION_Q, K, V, MASK, PAST_K, PAST_V, EXTRA };

int64_t gopt_heads_at(const gopt_heads *h, int64_t batch, int64_t head, int64_t row)
{
    return h->first + batch * h->of_batch + head * h->of_head + row * h->of_row;
}

/* Rank 4: (batch, heads, length, size). Rank 3: (batch, length, columns), or (length, batch, columns) where turned,
 * heads side by side from `first` on. */
static gopt_heads heads_of(const gopt_operand *o, int64_t size, int64_t first, bool turned)
{
    if (o->rank == 4)
        return (gopt_heads){0, o->dim[1] * o->dim[2] * o->dim[3], o->dim[2] * o->dim[3], o->dim[3]};
    int64_t outer = o->dim[1] * o->dim[2], inner = o->dim[2];
    return (gopt_heads){first, turned ? inner : outer, size, turned ? outer : inner};
}

static int64_t length_of(const gopt_operand *o, bool turned)
{
    return o->dim[o->rank == 4 ? 2 : turned ? 0 : 1];
}

static bool bind_mask(const gopt_group *g, int k, const int64_t score[4], gopt_score_mask *m)
{
    const gopt_operand *o = &g->in[k];
    int64_t stride[GOPT_RANK_MAX];
    *m = (gopt_score_mask){.operand = -1};
    if (!gopt_group_has(g, k))
        return true;
    if (o->rank > 4 || (o->dtype != GOPT_DTYPE_F32 && o->dtype != GOPT_DTYPE_BOOL))
        return false;
    m->operand = k;
    m->is_bool = o->dtype == GOPT_DTYPE_BOOL;
    gopt_dims_strides(o->dim, o->rank, stride);
    for (int d = 0; d < o->rank; d++) {
        if (o->dim[d] != 1 && o->dim[d] != score[4 - o->rank + d])
            return false;
        m->stride[4 - o->rank + d] = o->dim[d] == 1 ? 0 : stride[d];
    }
    return true;
}

static bool types_fit(const gopt_group *g, bool ours)
{
    static const int floats[] = {Q, K, V, PAST_K, PAST_V};
    if (!gopt_group_has(g, Q) || !gopt_group_has(g, K) || !gopt_group_has(g, V) ||
        gopt_group_has(g, PAST_K) != gopt_group_has(g, PAST_V))
        return false;
    for (int i = 0; i < GOPT_COUNT(floats); i++)
        if (!gopt_group_in_is(g, floats[i], GOPT_DTYPE_F32))
            return false;
    for (int k = ours ? 3 : 1; k < g->n_out; k++)
        if (g->out[k].dtype != GOPT_DTYPE_NONE && (k > 2 || g->out[k].dtype != GOPT_DTYPE_F32))
            return false;
    return ours || !gopt_group_has(g, EXTRA); /* lengths of sequences */
}

static void bind_sizes(const gopt_group *g, bool ours, gopt_attention *a)
{
    const gopt_operand *q = &g->in[Q], *k = &g->in[K], *v = &g->in[V];
    bool turned = ours && gopt_attr_int(g->attrs, "length_first", 0);
    a->batch = q->dim[q->rank == 3 && turned ? 1 : 0];
    a->heads = q->rank == 4 ? q->dim[1] : gopt_attr_int(g->attrs, "q_num_heads", 1);
    a->kv_heads = k->rank == 4 ? k->dim[1] : gopt_attr_int(g->attrs, "kv_num_heads", 1);
    a->queries = length_of(q, turned);
    a->past = gopt_group_has(g, PAST_K) ? g->in[PAST_K].dim[g->in[PAST_K].rank - 2] : 0;
    if (gopt_group_has(g, PAST_V) && g->in[PAST_V].rank == 5)
        a->past_first[1] = gopt_operand_count(&g->in[PAST_V]) / 2;
    a->keys = a->past + length_of(k, turned);
    a->d = ours ? gopt_attr_int(g->attrs, "head_size", 1) : q->rank == 4 ? q->dim[3] : q->dim[2] / a->heads;
    a->dv = ours ? gopt_attr_int(g->attrs, "v_head_size", 1) : v->rank == 4 ? v->dim[3] : v->dim[2] / a->kv_heads;
    a->q = heads_of(q, a->d, gopt_attr_int(g->attrs, "q_first", 0), turned);
    a->k = heads_of(k, a->d, gopt_attr_int(g->attrs, "k_first", 0), turned);
    a->v = heads_of(v, a->dv, gopt_attr_int(g->attrs, "v_first", 0), turned);
    a->out = heads_of(&g->out[0], a->dv, 0, turned);
}

bool gopt_attention_of(const gopt_group *g, gopt_attention *a)
{
    bool ours = gopt_group_is(g, "gopt", "Attention");
    *a = (gopt_attention){.like_softmax = ours && !gopt_attr_int(g->attrs, "zero_rows", 0)};
    if ((!ours && !gopt_group_is(g, "", "Attention")) || !types_fit(g, ours))
        return false;
    bind_sizes(g, ours, a);
    a->scale = (float)gopt_attr_float(g->attrs, "scale", 1 / sqrt((double)a->d));
    a->softcap = (float)gopt_attr_float(g->attrs, "softcap", 0);
    a->fill = (float)gopt_attr_float(g->attrs, "fill", -INFINITY);
    a->left = gopt_attr_int(g->attrs, "left_window_size", -1);
    a->right = gopt_attr_int(g->attrs, "is_causal", 0) ? 0 : gopt_attr_int(g->attrs, "right_window_size", -1);
    for (int k = 0; k < 2; k++)
        a->present[k] = k + 1 < g->n_out && g->out[k + 1].dtype != GOPT_DTYPE_NONE;
    a->mask_keys = a->keys;
    if (!ours && gopt_group_has(g, MASK) && g->in[MASK].rank > 0)
        a->mask_keys = g->in[MASK].dim[g->in[MASK].rank - 1];
    int64_t score[4] = {a->batch, a->heads, a->queries, a->mask_keys};
    a->keep.operand = -1;
    return bind_mask(g, MASK, score, &a->mask) && (!ours || bind_mask(g, EXTRA, score, &a->keep));
}
