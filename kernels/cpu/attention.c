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

/* Whether numbers of half precision are so after this factor, too; the smallest apart, which as scores are all 0. */
static bool halves(float factor)
{
    int exponent;
    return fabsf(frexpf(factor, &exponent)) == 0.5F && exponent <= 1;
}

bool gopt_attention_of(const gopt_group *g, gopt_attention *a)
{
    bool ours = gopt_group_is(g, "gopt", "Attention");
    *a = (gopt_attention){.like_softmax = ours && !gopt_attr_int(g->attrs, "zero_rows", 0)};
    if ((!ours && !gopt_group_is(g, "", "Attention")) || !types_fit(g, ours))
        return false;
    bind_sizes(g, ours, a);
    a->scale = (float)gopt_attr_float(g->attrs, "scale", 1 / sqrt((double)a->d));
    a->factor = (float)gopt_attr_float(g->attrs, "factor", 1);
    a->factor_rounds = !halves(a->factor);
    a->softcap = (float)gopt_attr_float(g->attrs, "softcap", 0);
    a->fill = (float)gopt_attr_float(g->attrs, "fill", -INFINITY);
    a->keep_scales = gopt_attr_int(g->attrs, "keep_scales", 0) != 0;
    a->hidden = (float)gopt_attr_float(g->attrs, "hidden", -INFINITY);
    a->hidden_replaces = gopt_attr_int(g->attrs, "hidden_replaces", 0) != 0;
    a->masks_all = !ours;
    a->zero_nan = gopt_attr_int(g->attrs, "zero_nan", 0) != 0;
    a->rounds = gopt_attr_int(g->attrs, "rounds", 0) != 0;
    a->brain = gopt_attr_int(g->attrs, "rounds", 0) == 2;
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

/* ---- scores ---- */

void gopt_attention_seen(const gopt_attention *a, int64_t query, int64_t *lo, int64_t *hi)
{
    int64_t at = a->past + query;
    *lo = a->left < 0 ? 0 : GOPT_MAX(0, at - a->left);
    *hi = a->right < 0 ? a->mask_keys : GOPT_MIN(a->mask_keys, at + a->right + 1);
}

static const void *mask_at(const gopt_scores *s, const gopt_score_mask *m, int64_t key)
{
    int64_t at = s->batch * m->stride[0] + s->head * m->stride[1] + s->query * m->stride[2] + key * m->stride[3];
    return (const char *)s->in[m->operand] + (m->is_bool ? at : at * (int64_t)sizeof(float));
}

static void scale(const gopt_scores *s, float by)
{
    s->simd->affine(s->row, s->row, s->n, 0, by, 0);
}

void gopt_scores_round(const gopt_attention *a, const gopt_scores *s)
{
    if (!a->rounds)
        return;
    s->simd->half_narrow(s->room, s->row, s->n, a->brain);
    s->simd->half_widen(s->row, s->room, s->n, a->brain);
}

static void cap(const gopt_attention *a, const gopt_scores *s)
{
    float *row = s->row, most = a->softcap;
    for (int64_t j = 0; j < s->n; j++)
        row[j] /= most;
    gopt_scores_round(a, s);
    for (int64_t j = 0; j < s->n; j++)
        row[j] = tanhf(row[j]);
    gopt_scores_round(a, s);
    scale(s, most);
    gopt_scores_round(a, s);
}

static void apply_keep(const gopt_attention *a, const gopt_scores *s)
{
    const bool *keep = mask_at(s, &a->keep, s->key);
    float *row = s->row, fill = a->fill;
    int64_t step = a->keep.stride[3], n = s->n;
    for (int64_t j = 0; j < n && a->keep_scales; j++)
        row[j] *= keep[j * step] ? 1.0F : 0.0F;
    for (int64_t j = 0; j < n && !a->keep_scales; j++)
        row[j] = keep[j * step] ? row[j] : fill;
}

/* Adds the mask of keys [from, to). */
static void add_mask(const gopt_attention *a, const gopt_scores *s, int64_t from, int64_t to)
{
    const void *m = mask_at(s, &a->mask, from);
    float *row = s->row + (from - s->key);
    const bool *see = m;
    int64_t n = to - from, step = a->mask.stride[3];
    for (int64_t j = 0; j < n && a->mask.is_bool; j++)
        row[j] += see[j * step] ? 0 : -INFINITY;
    if (!a->mask.is_bool && step)
        s->simd->add(row, row, m, n);
    else if (!a->mask.is_bool)
        s->simd->affine(row, row, n, 0, 1, *(const float *)m);
}

static void hide(const gopt_attention *a, const gopt_scores *s, int64_t from, int64_t to)
{
    float *row = s->row + (from - s->key);
    if (to > from && a->hidden_replaces)
        s->simd->fill(row, a->hidden, to - from);
    else if (to > from)
        s->simd->affine(row, row, to - from, 0, 1, a->hidden);
}

void gopt_scores_finish(const gopt_attention *a, const gopt_scores *s)
{
    int64_t lo, hi, end = s->key + s->n;
    gopt_attention_seen(a, s->query, &lo, &hi);
    gopt_scores_round(a, s);
    if (a->rounds && a->factor != 1) {
        scale(s, a->factor);
        if (a->factor_rounds)
            gopt_scores_round(a, s);
    }
    if (a->softcap > 0)
        cap(a, s);
    if (a->keep.operand >= 0)
        apply_keep(a, s);
    int64_t from = a->masks_all ? s->key : GOPT_MAX(lo, s->key);
    int64_t to = GOPT_MIN(end, a->masks_all ? a->mask_keys : hi);
    if (a->mask.operand >= 0 && from < to)
        add_mask(a, s, from, to);
    hide(a, s, s->key, GOPT_MIN(end, lo));
    hide(a, s, GOPT_MAX(GOPT_MAX(hi, lo), s->key), end);
    if (a->mask.operand >= 0 || a->hidden != -INFINITY)
        gopt_scores_round(a, s);
}

bool gopt_attention_sees_nothing(const gopt_attention *a, const void *const *in, int64_t batch, int64_t head,
                                 int64_t query)
{
    gopt_scores s = {.in = in, .batch = batch, .head = head, .query = query};
    int64_t lo, hi;
    gopt_attention_seen(a, query, &lo, &hi);
    if (lo < hi && a->mask.operand < 0)
        return false;
    if (a->hidden != -INFINITY && (lo > 0 || hi < a->keys))
        return false;
    for (; lo < hi; lo++) {
        const void *m = mask_at(&s, &a->mask, lo);
        if (a->mask.is_bool ? *(const bool *)m : *(const float *)m != -INFINITY)
            return false;
    }
    return true;
}

bool gopt_attention_mask_is_tame(const gopt_attention *a, const gopt_scores *s)
{
    bool finite = a->hidden != -INFINITY;
    if (a->mask.operand < 0 || a->mask.is_bool || a->mask_keys == 0 || (!a->masks_all && !finite))
        return true;
    const float *m = mask_at(s, &a->mask, 0);
    int64_t n = a->mask.stride[3] ? a->mask_keys : 1;
    return s->simd->reduce_row(GOPT_REDUCE_MAX, m, n, 0) < INFINITY &&
           (!finite || s->simd->reduce_row(GOPT_REDUCE_MIN, m, n, 0) > -1e36F);
}

/* That of all mostly says so at once. */
bool gopt_rows_are_below(const gopt_simd *simd, const gopt_rows *x, float most)
{
    bool below = simd->reduce_row(GOPT_REDUCE_SQUARE, x->packed, x->n_packed, 0) < most * x->square;
    for (int64_t i = 0; i < x->count && !below; i++)
        if (!(simd->reduce_row(GOPT_REDUCE_SQUARE, x->row + i * x->step, x->n, 0) < most))
            return false;
    return true;
}
