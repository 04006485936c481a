/* gopt_attention.c: gopt Attention: what passes make of every form of attention. Heads are read where they lie:
 *
 *     (query, key, value, mask, past_key, past_value, keep) -> (y, present_key, present_value)
 *
 * An operand of rank 4 is (batch, heads, length, size). One of rank 3 is (batch, length, columns): head h has the
 * columns from `*_first` + h * size on, so that three operands may be one and the same product. y is (batch, queries,
 * heads * value size). With `length_first` those of rank 3, and y, are (length, batch, columns). past_key and
 * past_value may both be one cache (2, batch, heads, length, size). The score of a query
 * and a key is their product times `scale`; through `softcap`; `fill` where keep, a bool that broadcasts to the scores,
 * is false, or with `keep_scales` itself times 0 there; plus mask, which broadcasts, too. Keys behind the query are
 * hidden with `is_causal`, those further before it with left_window_size: `hidden` (-inf) is added instead of mask, or
 * with `hidden_replaces` is the score. Then as Softmax has it: a row of nothing but -inf gives NaN. With `zero_rows`
 * all weights of a query that may see no key are 0, with `zero_nan` weights that are NaN. What is hidden or weighs 0 is
 * multiplied like the rest: NaN and infinities spread as in the single operators. With `rounds` scores are rounded to
 * float16 (1) or bfloat16 (2) after every step, as these would store them, and weights, too; `factor` is then one more
 * step, after that of the scaled product.
 */
#include <math.h>
#include <string.h>

#include "ref/attention_head.h"
#include "ref/ms_heads.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, KEEP };

static const char *const names[] = {"query", "key", "value", "mask", "past_key", "past_value", "keep"};

/* An operand as (batch, heads, length, size). */
typedef struct view {
    gopt_dim batch, heads, length, size;
} view;

static gopt_status positive(const gopt_infer *x, const char *name, int64_t *v, gopt_err *e)
{
    *v = gopt_attr_int(x->attrs, name, 0);
    if (*v < 1 || *v > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld, 1 or more expected", name, (long long)*v);
    return GOPT_OK;
}

static gopt_status view_of(const gopt_infer *x, int i, view *v, gopt_err *e)
{
    static const char *const firsts[] = {"q_first", "k_first", "v_first"};
    const gopt_fact *f = &x->in[i];
    int64_t heads, size, first = gopt_attr_int(x->attrs, firsts[i], 0);
    GOPT_TRY(positive(x, i == Q ? "q_num_heads" : "kv_num_heads", &heads, e));
    GOPT_TRY(positive(x, i == V ? "v_head_size" : "head_size", &size, e));
    if (f->rank == 4) {
        *v = (view){f->dim[0], f->dim[1], f->dim[2], f->dim[3]};
        GOPT_TRY(gopt_ref_equal(v->heads, gopt_dim_of(heads), "heads of an operand and attribute", e));
        return gopt_ref_equal(v->size, gopt_dim_of(size), "size of heads and attribute", e);
    }
    int batch = gopt_attr_int(x->attrs, "length_first", 0) != 0;
    *v = (view){f->dim[batch], gopt_dim_of(heads), f->dim[1 - batch], gopt_dim_of(size)};
    if (first < 0 || (gopt_dim_is_const(f->dim[2]) && (first > f->dim[2].k || f->dim[2].k - first < heads * size)))
        return gopt_fail(e, GOPT_EINPUT, "input %s: no room for %lld heads of %lld from column %lld on", names[i],
                         (long long)heads, (long long)size, (long long)first);
    return GOPT_OK;
}

static gopt_status check_types(const gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, Q, GOPT_REF_FLOAT, names[Q], e));
    GOPT_TRY(gopt_ref_type(x, KEEP, GOPT_REF_BOOL, names[KEEP], e));
    for (int i = Q; i < KEEP; i++) {
        bool past = i == PAST_K || i == PAST_V;
        GOPT_TRY(gopt_ref_same_type(x, Q, i, e));
        GOPT_TRY(gopt_ref_rank(x, i, i == MASK ? 0 : past ? 4 : 3, past ? 5 : 4, names[i], e));
    }
    return gopt_ref_rank(x, KEEP, 0, 4, names[KEEP], e);
}

/* The dimensions of a past by heads. */
static const gopt_dim *past_dims(const gopt_infer *x, int i)
{
    return x->in[i].dim + (x->in[i].rank - 4);
}

static gopt_status check_past(const gopt_infer *x, int i, const view *v, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i))
        return GOPT_OK;
    if (x->in[i].rank == 5)
        GOPT_TRY(gopt_ref_equal(x->in[i].dim[0], gopt_dim_of(2), "keys and values in one cache", e));
    GOPT_TRY(gopt_ref_equal(past_dims(x, i)[0], v->batch, "batch sizes of past and present", e));
    GOPT_TRY(gopt_ref_equal(past_dims(x, i)[1], v->heads, "heads of past and present", e));
    return gopt_ref_equal(past_dims(x, i)[3], v->size, "head sizes of past and present", e);
}

/* Input i, when known, broadcasts to the scores. */
static gopt_status check_mask(const gopt_infer *x, int i, const gopt_dim score[4], gopt_err *e)
{
    for (int d = 0; gopt_ref_ranked(x, i) && d < x->in[i].rank; d++) {
        gopt_dim a = x->in[i].dim[d];
        if (!gopt_dim_is_const(a) || a.k != 1)
            GOPT_TRY(gopt_ref_equal(a, score[4 - x->in[i].rank + d], "shapes of scores and mask", e));
    }
    return GOPT_OK;
}

/* A query either has keys replaced by position, or by keep. */
static gopt_status check_hiding(const gopt_infer *x, gopt_err *e)
{
    if (gopt_attr_int(x->attrs, "hidden_replaces", 0) && (gopt_infer_has(x, KEEP) || gopt_infer_has(x, MASK)))
        return gopt_fail(e, GOPT_EINPUT, "attribute hidden_replaces goes with neither keep nor mask");
    return GOPT_OK;
}

static gopt_status check_views(const gopt_infer *x, const view *q, const view *k, const view *v, gopt_err *e)
{
    int64_t heads = gopt_attr_int(x->attrs, "q_num_heads", 0), shared = gopt_attr_int(x->attrs, "kv_num_heads", 0);
    if (heads % shared)
        return gopt_fail(e, GOPT_EINPUT, "%lld heads of queries do not share %lld heads of keys evenly",
                         (long long)heads, (long long)shared);
    GOPT_TRY(gopt_ref_equal(q->batch, k->batch, "batch sizes of query and key", e));
    GOPT_TRY(gopt_ref_equal(k->batch, v->batch, "batch sizes of key and value", e));
    GOPT_TRY(gopt_ref_equal(k->length, v->length, "lengths of key and value", e));
    GOPT_TRY(check_past(x, PAST_K, k, e));
    GOPT_TRY(check_past(x, PAST_V, v, e));
    if (gopt_infer_has(x, PAST_K) != gopt_infer_has(x, PAST_V))
        return gopt_fail(e, GOPT_EINPUT, "past_key and past_value go together");
    if (gopt_ref_ranked(x, PAST_K) && gopt_ref_ranked(x, PAST_V))
        return gopt_ref_equal(past_dims(x, PAST_K)[2], past_dims(x, PAST_V)[2], "lengths of past_key and past_value",
                              e);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    view q, k, v;
    GOPT_TRY(check_types(x, e));
    GOPT_TRY(check_hiding(x, e));
    for (int o = 0; o < x->n_out && o < 3; o++)
        gopt_ref_infer_type(x, o, x->in[Q].dtype);
    if (!gopt_ref_ranked(x, Q) || !gopt_ref_ranked(x, K) || !gopt_ref_ranked(x, V))
        return GOPT_OK;
    GOPT_TRY(view_of(x, Q, &q, e));
    GOPT_TRY(view_of(x, K, &k, e));
    GOPT_TRY(view_of(x, V, &v, e));
    GOPT_TRY(check_views(x, &q, &k, &v, e));
    gopt_dim total = k.length;
    if (gopt_infer_has(x, PAST_K))
        total = gopt_ref_ranked(x, PAST_K) ? gopt_dim_add(x->dims, total, past_dims(x, PAST_K)[2]) : GOPT_DIM_UNKNOWN;
    GOPT_TRY(check_mask(x, MASK, (gopt_dim[]){q.batch, q.heads, q.length, total}, e));
    GOPT_TRY(check_mask(x, KEEP, (gopt_dim[]){q.batch, q.heads, q.length, total}, e));
    gopt_dtype d = x->in[Q].dtype;
    bool turned = gopt_attr_int(x->attrs, "length_first", 0) != 0;
    gopt_dim columns = gopt_dim_mul(x->dims, q.heads, v.size);
    gopt_infer_set(x, 0, d, 3, (gopt_dim[]){turned ? q.length : q.batch, turned ? q.batch : q.length, columns});
    if (x->n_out > 1)
        gopt_infer_set(x, 1, d, 4, (gopt_dim[]){k.batch, k.heads, total, k.size});
    if (x->n_out > 2)
        gopt_infer_set(x, 2, d, 4, (gopt_dim[]){v.batch, v.heads, total, v.size});
    return GOPT_OK;
}

/* ---- execution ---- */

/* Operand i by heads, with the past in front where there is one. */
static gopt_status load(gopt_exec *x, int i, const gopt_ms_heads *h, int64_t length, int64_t size, const char *first,
                        double **out, gopt_err *e)
{
    const gopt_tensor *t = x->in[i];
    double *all, *past = NULL;
    GOPT_TRY(gopt_ref_load(x, i, &all, e));
    *out = all;
    if (t->rank == 3) {
        GOPT_TRY(gopt_ref_buffer(x, h->batch * h->heads * length * size, out, e));
        bool turned = gopt_attr_int(x->attrs, "length_first", 0) != 0;
        int64_t row = turned ? h->batch * t->dim[2] : t->dim[2], step = turned ? t->dim[2] : length * t->dim[2];
        for (int64_t b = 0; b < h->batch; b++)
            gopt_ms_heads_split(all + gopt_attr_int(x->attrs, first, 0) + b * step, 1, length, row, h->heads, size,
                                NULL, *out + b * h->heads * length * size);
    }
    if (i != Q)
        GOPT_TRY(gopt_ref_load(x, i == K ? PAST_K : PAST_V, &past, e));
    if (past && i == V && x->in[PAST_V]->rank == 5)
        past += gopt_tensor_count(x->in[PAST_V]) / 2;
    return gopt_ms_heads_join(x, h, past, size, out, e);
}

/* A mask read as if it had the shape of the scores; NULL when there is none. */
typedef struct mask {
    const double *v;
    int64_t stride[4];
} mask;

static gopt_status load_mask(gopt_exec *x, int i, const gopt_ms_heads *h, mask *m, gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, i);
    double *v;
    GOPT_TRY(gopt_ref_load(x, i, &v, e));
    m->v = v;
    if (t)
        gopt_ref_broadcast_strides(t->dim, t->rank, (int64_t[]){h->batch, h->heads, h->s, h->t}, 4, m->stride);
    return GOPT_OK;
}

static double at(const mask *m, int64_t b, int64_t head, int64_t s, int64_t t)
{
    return m->v[b * m->stride[0] + head * m->stride[1] + s * m->stride[2] + t * m->stride[3]];
}

/* What becomes of the scores of one head. */
static gopt_attention_head head_of(const gopt_exec *x, const gopt_ms_heads *h)
{
    int64_t rounds = gopt_attr_int(x->attrs, "rounds", 0);
    return (gopt_attention_head){.s = h->s,
                                 .t = h->t,
                                 .d = h->d,
                                 .dv = h->dv,
                                 .scale = gopt_attr_float(x->attrs, "scale", 1 / sqrt((double)h->d)),
                                 .softcap = gopt_attr_float(x->attrs, "softcap", 0),
                                 .fill = gopt_attr_float(x->attrs, "fill", -INFINITY),
                                 .keep_scales = gopt_attr_int(x->attrs, "keep_scales", 0) != 0,
                                 .like_softmax = !gopt_attr_int(x->attrs, "zero_rows", 0),
                                 .zero_nan = gopt_attr_int(x->attrs, "zero_nan", 0) != 0,
                                 .rounds = rounds == 1   ? GOPT_DTYPE_F16
                                           : rounds == 2 ? GOPT_DTYPE_BF16
                                                         : GOPT_DTYPE_NONE,
                                 .factor = gopt_attr_float(x->attrs, "factor", 1)};
}

static gopt_status run_heads(gopt_exec *x, const gopt_ms_heads *h, int64_t shared, double *out, gopt_err *e)
{
    gopt_attention_head a = head_of(x, h);
    mask add, keep;
    double *bias, *kept, *y;
    bool causal = gopt_attr_int(x->attrs, "is_causal", 0) != 0;
    bool turned = gopt_attr_int(x->attrs, "length_first", 0) != 0;
    int64_t left = gopt_attr_int(x->attrs, "left_window_size", -1);
    double instead = gopt_attr_float(x->attrs, "hidden", -INFINITY);
    bool replaces = gopt_attr_int(x->attrs, "hidden_replaces", 0) != 0;
    a.fill = replaces ? instead : a.fill;
    GOPT_TRY(load_mask(x, MASK, h, &add, e));
    GOPT_TRY(load_mask(x, KEEP, h, &keep, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &kept, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &a.scores, e));
    GOPT_TRY(gopt_ref_buffer(x, a.d * a.t, &a.turned, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.dv, &y, e));
    a.bias = bias;
    a.keep = keep.v || replaces ? kept : NULL;
    for (int64_t n = 0; n < h->batch * h->heads; n++) {
        int64_t b = n / h->heads, head = n % h->heads, kv = b * shared + head / (h->heads / shared);
        for (int64_t i = 0; i < a.s * a.t; i++) {
            int64_t s = i / a.t, t = i % a.t;
            bool hidden = (causal && t > h->past + s) || (left >= 0 && h->past + s - t > left);
            bias[i] = hidden ? replaces ? 0 : instead : add.v ? at(&add, b, head, s, t) : 0;
            kept[i] = replaces ? !hidden : keep.v ? at(&keep, b, head, s, t) : 1;
        }
        a.q = h->q + n * a.s * a.d;
        a.k = h->k + kv * a.t * a.d;
        a.v = h->v + kv * a.t * a.dv;
        gopt_attention_head_run(&a, y);
        for (int64_t s = 0; s < a.s; s++) {
            int64_t row = turned ? s * h->batch + b : b * a.s + s;
            memcpy(out + (row * h->heads + head) * a.dv, y + s * a.dv, (size_t)a.dv * sizeof *y);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *q, *k, *v, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *in = x->in[Q], *key = x->in[K], *old = gopt_ref_in(x, PAST_K);
    bool turned = gopt_attr_int(x->attrs, "length_first", 0) != 0;
    int64_t length = key->dim[key->rank == 4 ? 2 : turned ? 0 : 1];
    gopt_ms_heads h = {.batch = in->dim[in->rank == 3 && turned ? 1 : 0],
                       .heads = gopt_attr_int(x->attrs, "q_num_heads", 1),
                       .s = in->dim[in->rank == 4 ? 2
                                    : turned      ? 0
                                                  : 1],
                       .d = gopt_attr_int(x->attrs, "head_size", 1),
                       .dv = gopt_attr_int(x->attrs, "v_head_size", 1)};
    gopt_ms_heads shared = h;
    shared.heads = gopt_attr_int(x->attrs, "kv_num_heads", 1);
    shared.past = h.past = old ? old->dim[old->rank - 2] : 0;
    shared.t = h.t = h.past + length;
    GOPT_TRY(load(x, Q, &h, h.s, h.d, "q_first", &q, e));
    GOPT_TRY(load(x, K, &shared, length, h.d, "k_first", &k, e));
    GOPT_TRY(load(x, V, &shared, length, h.dv, "v_first", &v, e));
    gopt_ref_store(x, 1, k);
    gopt_ref_store(x, 2, v);
    h.q = q;
    h.k = k;
    h.v = v;
    GOPT_TRY(gopt_ref_buffer(x, h.batch * h.s * h.heads * h.dv, &out, e));
    GOPT_TRY(run_heads(x, &h, shared.heads, out, e));
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_gopt_Attention = {.name = "Attention",
                                        .domain = "gopt",
                                        .in_min = 3,
                                        .in_max = 7,
                                        .out_min = 1,
                                        .out_max = 3,
                                        .traits = GOPT_TRAIT_HEAVY,
                                        .infer = infer,
                                        .run = run};
