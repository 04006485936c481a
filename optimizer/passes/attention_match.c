#include "passes/attention_match.h"

#include <math.h>
#include <string.h>

/* The parts of the scores, from the softmax downwards: none may follow one of a later kind. */
typedef enum stage { ADDED, REPLACED, CAPPED, SCALED } stage;

static bool is_product(const gopt_node *n)
{
    bool fused = n && n->post.result < 0 && !strcmp(n->op->domain, "com.microsoft") &&
                 !strcmp(n->op->name, "FusedMatMul") && !gopt_attr_int(n->attrs, "transA", 0) &&
                 !gopt_attr_int(n->attrs, "transBatchA", 0) && !gopt_attr_int(n->attrs, "transBatchB", 0);
    return fused || gopt_rewrite_is(n, "MatMul");
}

/* v broadcasts to the scores, along the keys, too. */
static bool is_mask(const gopt_attention_match *a, const gopt_value *v, gopt_dtype d)
{
    const gopt_fact *f = &v->fact;
    return f->dtype == d && f->rank > 0 && f->rank <= a->rank && gopt_rewrite_broadcasts(f, &a->scores->fact);
}

static bool is_zero_one(const gopt_value *v)
{
    if (!gopt_value_is_const(v))
        return false;
    for (int64_t i = 0; i < gopt_tensor_count(v->fact.constant); i++) {
        double x = gopt_tensor_get(v->fact.constant, i);
        if (x != 0 && x != 1)
            return false;
    }
    return true;
}

static bool descend(gopt_attention_match *a, gopt_value *v, stage at);

/* Goes on with operand k of n, or leaves the attention as it was. */
static bool onward(gopt_attention_match *a, gopt_node *n, int k, stage at, const gopt_attention_match *with)
{
    gopt_attention_match next = *with;
    gopt_match_add(&next.match, n);
    if (!descend(&next, n->in[k], at))
        return false;
    *a = next;
    return true;
}

static bool take_mask(gopt_attention_match *a, gopt_node *n, bool minus)
{
    for (int k = 0; k < (minus ? 1 : 2); k++) {
        gopt_attention_match with = *a;
        if (a->n_masks == GOPT_COUNT(a->mask) || !is_mask(a, n->in[1 - k], a->type))
            continue;
        with.minus[with.n_masks] = minus;
        with.mask[with.n_masks++] = n->in[1 - k];
        if (onward(a, n, k, ADDED, &with))
            return true;
    }
    return false;
}

static bool take_where(gopt_attention_match *a, gopt_node *n)
{
    gopt_attention_match with = *a;
    for (int k = 1; k < 3; k++) {
        if (!gopt_value_scalar(n->in[3 - k], &with.fill) || !is_mask(a, n->in[0], GOPT_DTYPE_BOOL))
            continue;
        with.keep = n->in[0];
        with.inverted = k == 2;
        return onward(a, n, k, REPLACED, &with);
    }
    return false;
}

static bool take_product_mask(gopt_attention_match *a, gopt_node *n)
{
    gopt_attention_match with = *a;
    for (int k = 0; k < 2; k++) {
        if (!is_zero_one(n->in[1 - k]) || !is_mask(a, n->in[1 - k], a->type))
            continue;
        with.keep = n->in[1 - k];
        with.keep_scales = true;
        return onward(a, n, k, REPLACED, &with);
    }
    return false;
}

/* Half precision rounds after every step, and gopt Attention where it has steps: one factor, then the cap, divided by.
 */
static bool scale_by(gopt_attention_match *a, double c, bool divides)
{
    bool half = gopt_dtype_is_half(a->type);
    if (half && a->softcap != 0 && !a->uncapped) {
        a->uncapped = divides && c == a->softcap;
        return a->uncapped;
    }
    a->scale = divides ? a->scale / c : a->scale * c;
    return !half || a->factors++ == 0;
}

static bool take_factor(gopt_attention_match *a, gopt_node *n, stage at)
{
    gopt_attention_match with = *a;
    double c;
    gopt_value *other = NULL;
    bool divides = gopt_rewrite_is(n, "Div");
    for (int k = divides ? 1 : 0; k < 2; k++) {
        if (!gopt_rewrite_scalar_operand(n, k, &c, &other) || c == 0)
            continue;
        gopt_node *tanh = gopt_rewrite_producer(other, "Tanh");
        if (tanh && at < SCALED && a->softcap == 0 && !divides) {
            with.softcap = c;
            gopt_match_add(&with.match, n);
            return onward(a, tanh, 0, CAPPED, &with);
        }
        return scale_by(&with, c, divides) && onward(a, n, 1 - k, SCALED, &with);
    }
    return false;
}

static bool take_product(gopt_attention_match *a, gopt_node *n)
{
    gopt_match_add(&a->match, n);
    a->product = n;
    a->alpha = gopt_attr_float(n->attrs, "alpha", 1);
    bool capped = !gopt_dtype_is_half(a->type) || a->softcap == 0 || a->uncapped;
    return capped && n->n_in == 2 && n->in[0]->fact.rank == a->rank && n->in[1]->fact.rank == a->rank;
}

static bool descend(gopt_attention_match *a, gopt_value *v, stage at)
{
    gopt_node *n = v->producer;
    if (!n || n->graph != a->g || a->match.full || v->fact.dtype != a->type ||
        !gopt_rewrite_same_shape(&v->fact, &a->scores->fact))
        return false;
    if (is_product(n))
        return take_product(a, n);
    if ((gopt_rewrite_is(n, "Mul") || gopt_rewrite_is(n, "Div")) && take_factor(a, n, at))
        return true;
    if (at == ADDED && gopt_rewrite_is(n, "Add"))
        return take_mask(a, n, false);
    if (at == ADDED && gopt_rewrite_is(n, "Sub"))
        return take_mask(a, n, true);
    if (at == ADDED && gopt_rewrite_is(n, "Where"))
        return take_where(a, n);
    return at == ADDED && gopt_rewrite_is(n, "Mul") && take_product_mask(a, n);
}

bool gopt_attention_match_scores(gopt_attention_match *a, gopt_value *v)
{
    gopt_node *cast = a->type == GOPT_DTYPE_F32 ? gopt_rewrite_producer(v, "Cast") : NULL;
    if (cast && gopt_dtype_is_half(cast->in[0]->fact.dtype)) {
        gopt_match_add(&a->match, cast);
        v = cast->in[0];
        a->type = v->fact.dtype;
    }
    return descend(a, v, ADDED);
}

static bool is_lowest(double v)
{
    return v <= -3e38;
}

/* Whether a constant mask hides exactly the keys behind each query, `past` keys being in front of the first one's, all
 * by adding a->hidden. */
static bool is_causal(gopt_attention_match *a, const gopt_value *v, int64_t past, bool keeps)
{
    const gopt_tensor *t = gopt_value_is_const(v) ? v->fact.constant : NULL;
    int64_t queries = a->q.length, keys = a->k.length;
    if (!t || t->rank < 2 || gopt_tensor_count(t) != queries * keys || t->dim[t->rank - 1] != keys)
        return false;
    a->hidden = keys - 1 > past ? gopt_tensor_get(t, keys - 1) : -INFINITY; /* the last key of the first query */
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++) {
            double x = gopt_tensor_get(t, i * keys + j);
            bool sees = keeps ? (x != 0) != a->inverted : x == 0;
            if (sees != (j <= past + i) || (!keeps && !sees && (!is_lowest(x) || x != a->hidden)))
                return false;
        }
    return true;
}

void gopt_attention_match_causal(gopt_attention_match *a, int64_t past)
{
    const gopt_value *m = a->n_masks == 1 && !a->minus[0] ? a->mask[0] : NULL;
    if (m && !a->keep && is_causal(a, m, past, false)) {
        a->causal = true;
        a->n_masks = 0;
    } else if (a->n_masks == 0 && a->keep && is_lowest(a->fill) && is_causal(a, a->keep, past, true)) {
        a->causal = a->replaces = true;
        a->hidden = a->fill;
        a->keep = NULL;
    }
}
