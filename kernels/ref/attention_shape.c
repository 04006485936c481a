/* attention_shape.c: inference and checks of Attention. */
#include "ref/attention_shape.h"

enum { Q = GOPT_ATT_Q, K, V, MASK, PAST_K, PAST_V, NONPAD };

/* An operand as (batch, heads, length, size). */
typedef struct view {
    gopt_dim batch, heads, length, size;
} view;

static gopt_status view_of(gopt_infer *x, int i, const char *attribute, view *v, gopt_err *e)
{
    const gopt_fact *f = &x->in[i];
    if (f->rank == 4) {
        *v = (view){f->dim[0], f->dim[1], f->dim[2], f->dim[3]};
        return GOPT_OK;
    }
    int64_t heads = gopt_attr_int(x->attrs, attribute, 0);
    if (heads < 1 || heads > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld, 1 or more expected for inputs of rank 3", attribute,
                         (long long)heads);
    if (gopt_dim_is_const(f->dim[2]) && f->dim[2].k % heads)
        return gopt_fail(e, GOPT_EINPUT, "input %d: %lld elements do not divide into %lld heads", i,
                         (long long)f->dim[2].k, (long long)heads);
    *v = (view){f->dim[0], gopt_dim_of(heads), f->dim[1], gopt_dim_div(x->dims, f->dim[2], gopt_dim_of(heads))};
    return GOPT_OK;
}

static gopt_status check_attributes(gopt_infer *x, gopt_err *e)
{
    static const char *const windows[] = {"left_window_size", "right_window_size"};
    int64_t mode = gopt_attr_int(x->attrs, "qk_matmul_output_mode", 0);
    for (int i = 0; i < GOPT_COUNT(windows); i++) {
        int64_t v = gopt_attr_int(x->attrs, windows[i], -1);
        if (v < -1 || v > INT32_MAX)
            return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld, -1 or more expected", windows[i], (long long)v);
    }
    if (mode < 0 || mode > 3)
        return gopt_fail(e, GOPT_EINPUT, "attribute qk_matmul_output_mode: %lld, 0 to 3 expected", (long long)mode);
    return GOPT_OK;
}

static gopt_status check_types(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, Q, GOPT_REF_FLOAT, "Q", e));
    GOPT_TRY(gopt_ref_type(x, V, GOPT_REF_FLOAT, "V", e));
    GOPT_TRY(gopt_ref_type(x, MASK, GOPT_REF_REAL | GOPT_REF_BOOL, "attn_mask", e));
    GOPT_TRY(gopt_ref_type(x, NONPAD, GOPT_REF_INDEX, "nonpad_kv_seqlen", e));
    GOPT_TRY(gopt_ref_same_type(x, Q, K, e));
    GOPT_TRY(gopt_ref_same_type(x, K, PAST_K, e));
    GOPT_TRY(gopt_ref_same_type(x, V, PAST_V, e));
    for (int i = Q; i <= V; i++)
        GOPT_TRY(gopt_ref_rank(x, i, 3, 4, "Q, K or V", e));
    GOPT_TRY(gopt_ref_rank(x, MASK, 1, 4, "attn_mask", e));
    GOPT_TRY(gopt_ref_rank(x, PAST_K, 4, 4, "past_key", e));
    return gopt_ref_rank(x, PAST_V, 4, 4, "past_value", e);
}

static gopt_status check_past(gopt_infer *x, int i, const view *v, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(x->in[i].dim[0], v->batch, "batch sizes of past and present", e));
    GOPT_TRY(gopt_ref_equal(x->in[i].dim[1], v->heads, "heads of past and present", e));
    return gopt_ref_equal(x->in[i].dim[3], v->size, "head sizes of past and present", e);
}

/* The mask broadcasts to (batch, heads, queries, keys); it may have fewer keys. */
static gopt_status check_mask(gopt_infer *x, const view *q, gopt_dim total, gopt_err *e)
{
    gopt_dim want[4] = {q->batch, q->heads, q->length, total};
    const gopt_fact *m = &x->in[MASK];
    for (int d = 0; gopt_ref_ranked(x, MASK) && d < m->rank; d++) {
        gopt_dim a = m->dim[d], b = want[4 - m->rank + d];
        bool keys = d == m->rank - 1;
        if (!gopt_dim_is_const(a) || !gopt_dim_is_const(b) || a.k == b.k || (!keys && a.k == 1) || (keys && a.k < b.k))
            continue;
        return gopt_fail(e, GOPT_EINPUT, "input attn_mask: axis %d has %lld elements for %lld", d, (long long)a.k,
                         (long long)b.k);
    }
    return GOPT_OK;
}

static gopt_status check_views(gopt_infer *x, const view *q, const view *k, const view *v, gopt_err *e)
{
    GOPT_TRY(gopt_ref_equal(q->batch, k->batch, "batch sizes of Q and K", e));
    GOPT_TRY(gopt_ref_equal(k->batch, v->batch, "batch sizes of K and V", e));
    GOPT_TRY(gopt_ref_equal(q->size, k->size, "head sizes of Q and K", e));
    GOPT_TRY(gopt_ref_equal(k->heads, v->heads, "heads of K and V", e));
    GOPT_TRY(gopt_ref_equal(k->length, v->length, "lengths of K and V", e));
    if (gopt_dim_is_const(q->heads) && gopt_dim_is_const(k->heads) && (k->heads.k < 1 || q->heads.k % k->heads.k))
        return gopt_fail(e, GOPT_EINPUT, "%lld heads of queries do not share %lld heads of keys evenly",
                         (long long)q->heads.k, (long long)k->heads.k);
    GOPT_TRY(check_past(x, PAST_K, k, e));
    GOPT_TRY(check_past(x, PAST_V, v, e));
    if (gopt_ref_ranked(x, PAST_K) && gopt_ref_ranked(x, PAST_V))
        GOPT_TRY(gopt_ref_equal(x->in[PAST_K].dim[2], x->in[PAST_V].dim[2], "lengths of past keys and values", e));
    return gopt_ref_vector(x, NONPAD, q->batch, "nonpad_kv_seqlen", e);
}

static void set_outputs(gopt_infer *x, const view *q, const view *k, const view *v, gopt_dim total)
{
    gopt_dtype d = x->in[Q].dtype;
    if (x->in[Q].rank == 4)
        gopt_infer_set(x, 0, d, 4, (gopt_dim[]){q->batch, q->heads, q->length, v->size});
    else
        gopt_infer_set(x, 0, d, 3, (gopt_dim[]){q->batch, q->length, gopt_dim_mul(x->dims, q->heads, v->size)});
    if (x->n_out > 1)
        gopt_infer_set(x, 1, d, 4, (gopt_dim[]){k->batch, k->heads, total, k->size});
    if (x->n_out > 2)
        gopt_infer_set(x, 2, x->in[V].dtype, 4, (gopt_dim[]){v->batch, v->heads, total, v->size});
    if (x->n_out > 3)
        gopt_infer_set(x, 3, d, 4, (gopt_dim[]){q->batch, q->heads, q->length, total});
}

gopt_status gopt_attention_infer(gopt_infer *x, gopt_err *e)
{
    view q, k, v;
    GOPT_TRY(check_attributes(x, e));
    GOPT_TRY(check_types(x, e));
    for (int o = 0; o < x->n_out && o < 4; o++)
        gopt_ref_infer_type(x, o, x->in[o == 2 ? V : Q].dtype);
    if (!gopt_ref_ranked(x, Q) || !gopt_ref_ranked(x, K) || !gopt_ref_ranked(x, V))
        return GOPT_OK;
    if (x->in[Q].rank != x->in[K].rank || x->in[K].rank != x->in[V].rank)
        return gopt_fail(e, GOPT_EINPUT, "Q, K and V have ranks %d, %d and %d", x->in[Q].rank, x->in[K].rank,
                         x->in[V].rank);
    GOPT_TRY(view_of(x, Q, "q_num_heads", &q, e));
    GOPT_TRY(view_of(x, K, "kv_num_heads", &k, e));
    GOPT_TRY(view_of(x, V, "kv_num_heads", &v, e));
    GOPT_TRY(check_views(x, &q, &k, &v, e));
    gopt_dim total = k.length;
    if (PAST_K < x->n_in && gopt_infer_has(x, PAST_K))
        total = gopt_ref_ranked(x, PAST_K) ? gopt_dim_add(x->dims, total, x->in[PAST_K].dim[2]) : GOPT_DIM_UNKNOWN;
    GOPT_TRY(check_mask(x, &q, total, e));
    set_outputs(x, &q, &k, &v, total);
    return GOPT_OK;
}
