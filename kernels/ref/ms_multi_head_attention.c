/* ms_multi_head_attention.c: com.microsoft.MultiHeadAttention: queries, keys and values are given, apart or packed. */
#include <string.h>

#include "ref/ms_heads.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, ADDEND, PAST_K, PAST_V, PAST_LENGTH, INDIRECTION };

/* How keys and values come. */
typedef enum packing {
    APART,     /* (b, length, hidden) each */
    BY_HEADS,  /* (b, heads, length, size) each, ready for use */
    WITH_KEY,  /* (b, length, heads, 2, size): in key */
    WITH_QUERY /* (b, length, heads, 3, size): in query */
} packing;

typedef struct shape {
    packing how;
    gopt_dim batch, heads, s, l, d, dv; /* l: keys without the past */
} shape;

static gopt_status read_shape(gopt_infer *x, shape *p, gopt_err *e)
{
    const gopt_fact *q = &x->in[QUERY], *k = &x->in[KEY], *v = &x->in[VALUE];
    int64_t heads = gopt_attr_int(x->attrs, "num_heads", 0);
    if (heads < 1 || heads > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_heads: %lld, 1 or more expected", (long long)heads);
    *p = (shape){.batch = q->dim[0], .heads = gopt_dim_of(heads), .s = q->dim[1]};
    if (q->rank == 5) {
        p->how = WITH_QUERY;
        p->l = p->s;
        p->d = p->dv = q->dim[4];
        GOPT_TRY(gopt_ref_equal(q->dim[2], p->heads, "heads", e));
        return gopt_ref_equal(q->dim[3], gopt_dim_of(3), "packed parts", e);
    }
    if (gopt_dim_is_const(q->dim[2]) && q->dim[2].k % heads)
        return gopt_fail(e, GOPT_EINPUT, "%lld elements do not divide into %lld heads", (long long)q->dim[2].k,
                         (long long)heads);
    p->d = p->dv = gopt_dim_div(x->dims, q->dim[2], p->heads);
    p->how = k->rank == 5 ? WITH_KEY : k->rank == 4 ? BY_HEADS : APART;
    p->l = k->dim[p->how == BY_HEADS ? 2 : 1];
    GOPT_TRY(gopt_ref_equal(k->dim[0], p->batch, "batch sizes of query and key", e));
    if (p->how == APART)
        GOPT_TRY(gopt_ref_equal(k->dim[2], q->dim[2], "hidden sizes of query and key", e));
    else
        GOPT_TRY(gopt_ref_equal(k->dim[p->how == BY_HEADS ? 1 : 2], p->heads, "heads of query and key", e));
    if (p->how != APART)
        GOPT_TRY(gopt_ref_equal(k->dim[k->rank - 1], p->d, "head sizes of query and key", e));
    if (p->how == WITH_KEY)
        return gopt_ref_equal(k->dim[3], gopt_dim_of(2), "packed parts", e);
    if (v->rank != k->rank)
        return gopt_fail(e, GOPT_EINPUT, "key has rank %d, value rank %d", k->rank, v->rank);
    p->dv = p->how == APART ? gopt_dim_div(x->dims, v->dim[2], p->heads) : v->dim[3];
    if (p->how == APART && gopt_dim_is_const(v->dim[2]) && v->dim[2].k % heads)
        return gopt_fail(e, GOPT_EINPUT, "%lld elements do not divide into %lld heads", (long long)v->dim[2].k,
                         (long long)heads);
    GOPT_TRY(gopt_ref_equal(v->dim[0], p->batch, "batch sizes of query and value", e));
    GOPT_TRY(gopt_ref_equal(v->dim[1], k->dim[1], "shapes of key and value", e));
    return p->how == BY_HEADS ? gopt_ref_equal(v->dim[2], p->l, "lengths of key and value", e) : GOPT_OK;
}

static gopt_status check_types(gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"query", "key", "value", "bias", "", "", "past_key", "past_value"};
    static const int low[] = {3, 3, 3, 1, 0, 0, 4, 4}, high[] = {5, 5, 4, 1, 0, 0, 4, 4};
    GOPT_TRY(gopt_ref_type(x, QUERY, GOPT_REF_FLOAT, "query", e));
    for (int i = QUERY; i <= PAST_V; i++) {
        if (i == MASK)
            continue;
        GOPT_TRY(gopt_ref_same_type(x, QUERY, i, e));
        if (i != ADDEND)
            GOPT_TRY(gopt_ref_rank(x, i, low[i], high[i], names[i], e));
    }
    if (gopt_ref_ranked(x, QUERY) && x->in[QUERY].rank == 4)
        return gopt_fail(e, GOPT_EINPUT, "input query: rank 4, 3 or 5 expected");
    if (gopt_infer_has(x, PAST_LENGTH) || gopt_infer_has(x, INDIRECTION))
        return gopt_fail(e, GOPT_EUNSUP, "a buffer that past and present share is not supported");
    return GOPT_OK;
}

static gopt_status check_past(gopt_infer *x, int i, const shape *p, gopt_dim size, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(x->in[i].dim[0], p->batch, "batch sizes of query and past", e));
    GOPT_TRY(gopt_ref_equal(x->in[i].dim[1], p->heads, "heads of query and past", e));
    return gopt_ref_equal(x->in[i].dim[3], size, "head sizes of query and past", e);
}

static gopt_status check_shape(gopt_infer *x, const shape *p, gopt_dim t, gopt_err *e)
{
    gopt_dim two = gopt_dim_mul(x->dims, gopt_dim_of(2), p->d), all = gopt_dim_add(x->dims, two, p->dv);
    GOPT_TRY(gopt_ref_vector(x, BIAS, gopt_dim_mul(x->dims, all, p->heads), "bias", e));
    GOPT_TRY(check_past(x, PAST_K, p, p->d, e));
    GOPT_TRY(check_past(x, PAST_V, p, p->dv, e));
    if (gopt_ref_ranked(x, PAST_K) && gopt_ref_ranked(x, PAST_V))
        GOPT_TRY(gopt_ref_equal(x->in[PAST_K].dim[2], x->in[PAST_V].dim[2], "lengths of past_key and past_value", e));
    GOPT_TRY(gopt_ms_heads_check_mask(x, MASK, (gopt_dim[]){p->batch, p->s, t}, e));
    return gopt_ms_heads_check_bias(x, ADDEND, (gopt_dim[]){p->batch, p->heads, p->s, t}, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    shape p;
    GOPT_TRY(check_types(x, e));
    for (int k = 0; k < x->n_out && k < 3; k++)
        gopt_ref_infer_type(x, k, x->in[QUERY].dtype);
    if (!gopt_ref_ranked(x, QUERY))
        return GOPT_OK;
    bool packed = x->in[QUERY].rank == 5 || (gopt_ref_ranked(x, KEY) && x->in[KEY].rank == 5);
    if (x->in[QUERY].rank != 5 && (!gopt_ref_ranked(x, KEY) || (!packed && !gopt_ref_ranked(x, VALUE))))
        return GOPT_OK;
    GOPT_TRY(read_shape(x, &p, e));
    gopt_dim t = p.l;
    if (gopt_infer_has(x, PAST_K))
        t = gopt_ref_ranked(x, PAST_K) ? gopt_dim_add(x->dims, t, x->in[PAST_K].dim[2]) : GOPT_DIM_UNKNOWN;
    GOPT_TRY(check_shape(x, &p, t, e));
    gopt_dtype d = x->in[QUERY].dtype;
    gopt_infer_set(x, 0, d, 3, (gopt_dim[]){p.batch, p.s, gopt_dim_mul(x->dims, p.heads, p.dv)});
    if (x->n_out > 1)
        gopt_infer_set(x, 1, d, 4, (gopt_dim[]){p.batch, p.heads, t, p.d});
    if (x->n_out > 2)
        gopt_infer_set(x, 2, d, 4, (gopt_dim[]){p.batch, p.heads, t, p.dv});
    return GOPT_OK;
}

/* Input i, whose row holds `parts` tensors of one head each (1: not packed), by heads; part `part` of it. */
static gopt_status split(gopt_exec *x, int i, int64_t parts, int64_t part, const gopt_ms_heads *h, int64_t size,
                         const double *bias, double **out, gopt_err *e)
{
    const gopt_tensor *t = x->in[i];
    int64_t length = t->dim[1];
    double *all;
    GOPT_TRY(gopt_ref_load(x, i, &all, e));
    GOPT_TRY(gopt_ref_buffer(x, h->batch * h->heads * length * size, out, e));
    if (parts == 1) {
        gopt_ms_heads_split(all, h->batch, length, h->heads * size, h->heads, size, bias, *out);
        return GOPT_OK;
    }
    for (int64_t n = 0; n < h->batch * h->heads * length; n++) {
        int64_t at = n % length, head = n / length % h->heads, b = n / (length * h->heads);
        const double *row = all + (((b * length + at) * h->heads + head) * parts + part) * size;
        for (int64_t k = 0; k < size; k++)
            (*out)[n * size + k] = row[k] + (bias ? bias[head * size + k] : 0);
    }
    return GOPT_OK;
}

static packing how_packed(const gopt_exec *x)
{
    const gopt_tensor *k = gopt_ref_in(x, KEY);
    if (x->in[QUERY]->rank == 5)
        return WITH_QUERY;
    return k->rank == 5 ? WITH_KEY : k->rank == 4 ? BY_HEADS : APART;
}

static gopt_status load(gopt_exec *x, gopt_ms_heads *h, packing how, double **q, double **k, double **v, gopt_err *e)
{
    int64_t hidden = h->heads * h->d;
    double *bias;
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    const double *bk = bias ? bias + hidden : NULL, *bv = bias ? bias + 2 * hidden : NULL;
    GOPT_TRY(split(x, QUERY, how == WITH_QUERY ? 3 : 1, 0, h, h->d, bias, q, e));
    if (how == BY_HEADS) {
        GOPT_TRY(gopt_ref_load(x, KEY, k, e));
        return gopt_ref_load(x, VALUE, v, e);
    }
    if (how == APART) {
        GOPT_TRY(split(x, KEY, 1, 0, h, h->d, bk, k, e));
        return split(x, VALUE, 1, 0, h, h->dv, bv, v, e);
    }
    int from = how == WITH_QUERY ? QUERY : KEY, parts = how == WITH_QUERY ? 3 : 2;
    GOPT_TRY(split(x, from, parts, parts - 2, h, h->d, bk, k, e));
    return split(x, from, parts, parts - 1, h, h->dv, bv, v, e);
}

static gopt_status check_inputs(const gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *q = gopt_ref_in(x, QUERY), *k = gopt_ref_in(x, KEY);
    if (q && q->rank != 5 && (!k || (k->rank != 5 && !gopt_ref_in(x, VALUE))))
        return gopt_fail(e, GOPT_EINPUT, "key or value is missing");
    if (!gopt_ref_in(x, PAST_K) != !gopt_ref_in(x, PAST_V))
        return gopt_fail(e, GOPT_EINPUT, "past_key and past_value go together");
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *past_k, *past_v, *q, *k, *v;
    GOPT_TRY(check_inputs(x, e));
    GOPT_TRY(gopt_ref_begin_with(x, 1u << QUERY, e));
    const gopt_tensor *in = x->in[QUERY], *key = gopt_ref_in(x, KEY), *value = gopt_ref_in(x, VALUE);
    const gopt_tensor *old = gopt_ref_in(x, PAST_K);
    packing how = how_packed(x);
    gopt_ms_heads h = {.batch = in->dim[0],
                       .heads = gopt_attr_int(x->attrs, "num_heads", 1),
                       .s = in->dim[1],
                       .past = old ? old->dim[2] : 0,
                       .mask = MASK,
                       .bias = ADDEND};
    h.d = h.dv = how == WITH_QUERY ? in->dim[4] : in->dim[2] / h.heads;
    if (how == APART || how == BY_HEADS)
        h.dv = how == APART ? value->dim[2] / h.heads : value->dim[3];
    h.t = h.past + (how == WITH_QUERY ? h.s : key->dim[how == BY_HEADS ? 2 : 1]);
    GOPT_TRY(load(x, &h, how, &q, &k, &v, e));
    GOPT_TRY(gopt_ref_load(x, PAST_K, &past_k, e));
    GOPT_TRY(gopt_ref_load(x, PAST_V, &past_v, e));
    GOPT_TRY(gopt_ms_heads_join(x, &h, past_k, h.d, &k, e));
    GOPT_TRY(gopt_ms_heads_join(x, &h, past_v, h.dv, &v, e));
    gopt_ref_store(x, 1, k);
    gopt_ref_store(x, 2, v);
    h.q = q;
    h.k = k;
    h.v = v;
    return gopt_ms_heads_run(x, &h, e);
}

const gopt_op gopt_op_ms_MultiHeadAttention = {.name = "MultiHeadAttention",
                                               .domain = "com.microsoft",
                                               .in_min = 1,
                                               .in_max = 10,
                                               .out_min = 1,
                                               .out_max = 3,
                                               .traits = GOPT_TRAIT_HEAVY,
                                               .infer = infer,
                                               .run = run};
