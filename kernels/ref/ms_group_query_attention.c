/* ms_group_query_attention.c: com.microsoft.GroupQueryAttention: causal attention of which several heads of queries
 * share one of keys and values; these are appended to a past, which present has with them.
 *
 * Sequence b has seqlens_k[b] + 1 keys with the new ones; the longest has total_sequence_length. Those of the others
 * lie at the front of past and present, zeros behind them. Without a past the queries behind the end of a sequence are
 * padding, whose results mean nothing: here they attend like the rest. Rotary embedding turns queries and keys by their
 * position in the sequence, or by position_ids, of which without a past only the first counts. */
#include <math.h>
#include <string.h>

#include "ref/attention_head.h"
#include "ref/ms_heads.h"
#include "ref/rotary_embedding.h"

enum { QUERY, KEY, VALUE, PAST_K, PAST_V, LENGTHS, TOTAL, COS, SIN, POSITIONS, ADDEND, SINK, SUPPORTED, INPUTS = 17 };

typedef struct shape {
    bool packed;                            /* keys and values are behind the queries, in the same rows */
    gopt_dim batch, heads, shared, s, t, d; /* t: keys with those of the past */
} shape;

/* ---- inference ---- */

static gopt_status check_types(const gopt_infer *x, gopt_err *e)
{
    static const struct {
        int input, rank;
        const char *name;
    } floats[] = {
        {QUERY, 3, "query"},       {KEY, 3, "key"},       {VALUE, 3, "value"},   {PAST_K, 4, "past_key"},
        {PAST_V, 4, "past_value"}, {COS, 2, "cos_cache"}, {SIN, 2, "sin_cache"}, {ADDEND, 4, "attention_bias"},
        {SINK, 1, "head_sink"}};
    for (int i = 0; i < GOPT_COUNT(floats); i++) {
        int k = floats[i].input;
        GOPT_TRY(gopt_ref_type(x, k, GOPT_REF_FLOAT, floats[i].name, e));
        GOPT_TRY(gopt_ref_same_type(x, QUERY, k, e));
        GOPT_TRY(gopt_ref_rank(x, k, floats[i].rank, floats[i].rank, floats[i].name, e));
    }
    GOPT_TRY(gopt_ref_type(x, LENGTHS, GOPT_REF_INDEX, "seqlens_k", e));
    GOPT_TRY(gopt_ref_type(x, TOTAL, GOPT_REF_INDEX, "total_sequence_length", e));
    GOPT_TRY(gopt_ref_scalar(x, TOTAL, "total_sequence_length", e));
    GOPT_TRY(gopt_ref_type(x, POSITIONS, GOPT_REF_INDEX, "position_ids", e));
    return gopt_ref_rank(x, POSITIONS, 2, 2, "position_ids", e);
}

/* What ONNX Runtime has besides. */
static gopt_status check_supported(const gopt_infer *x, gopt_err *e)
{
    static const char *const inputs[] = {"k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens"};
    static const char *const attributes[] = {"sliding_window_cache", "qk_output", "kv_cache_bit_width"};
    for (int i = 0; i < GOPT_COUNT(inputs); i++)
        if (gopt_infer_has(x, SUPPORTED + i))
            return gopt_fail(e, GOPT_EUNSUP, "input %s is not supported", inputs[i]);
    for (int i = 0; i < GOPT_COUNT(attributes); i++)
        if (gopt_attr_int(x->attrs, attributes[i], 0))
            return gopt_fail(e, GOPT_EUNSUP, "attribute %s is not supported", attributes[i]);
    return GOPT_OK;
}

static gopt_status check_present(const gopt_infer *x, gopt_err *e)
{
    static const int pairs[][2] = {{KEY, VALUE}, {PAST_K, PAST_V}, {COS, SIN}};
    static const char *const names[] = {"key and value", "past_key and past_value", "cos_cache and sin_cache"};
    for (int i = 0; i < GOPT_COUNT(pairs); i++)
        if (gopt_infer_has(x, pairs[i][0]) != gopt_infer_has(x, pairs[i][1]))
            return gopt_fail(e, GOPT_EINPUT, "%s go together", names[i]);
    if (!gopt_infer_has(x, LENGTHS) || !gopt_infer_has(x, TOTAL))
        return gopt_fail(e, GOPT_EINPUT, "inputs seqlens_k and total_sequence_length are required");
    if (gopt_attr_int(x->attrs, "do_rotary", 0) && !gopt_infer_has(x, COS))
        return gopt_fail(e, GOPT_EINPUT, "attribute do_rotary needs cos_cache and sin_cache");
    return GOPT_OK;
}

static gopt_status read_heads(const gopt_infer *x, int64_t *heads, int64_t *shared, gopt_err *e)
{
    *heads = gopt_attr_int(x->attrs, "num_heads", 0);
    *shared = gopt_attr_int(x->attrs, "kv_num_heads", 0);
    if (*heads < 1 || *heads > INT32_MAX || *shared < 1 || *heads % *shared)
        return gopt_fail(e, GOPT_EINPUT, "attributes num_heads and kv_num_heads: %lld heads do not share %lld evenly",
                         (long long)*heads, (long long)*shared);
    return GOPT_OK;
}

static gopt_status read_shape(gopt_infer *x, shape *p, gopt_err *e)
{
    int64_t heads, shared;
    const gopt_dim *q = x->in[QUERY].dim;
    GOPT_TRY(read_heads(x, &heads, &shared, e));
    *p = (shape){.packed = !gopt_infer_has(x, KEY),
                 .batch = q[0],
                 .heads = gopt_dim_of(heads),
                 .shared = gopt_dim_of(shared),
                 .s = q[1],
                 .t = q[1]};
    int64_t parts = p->packed ? heads + 2 * shared : heads;
    if (gopt_dim_is_const(q[2]) && q[2].k % parts)
        return gopt_fail(e, GOPT_EINPUT, "%lld elements do not divide into %lld heads", (long long)q[2].k,
                         (long long)parts);
    p->d = gopt_dim_div(x->dims, q[2], gopt_dim_of(parts));
    if (gopt_infer_has(x, PAST_K))
        p->t = gopt_ref_ranked(x, PAST_K) ? gopt_dim_add(x->dims, p->s, x->in[PAST_K].dim[2]) : GOPT_DIM_UNKNOWN;
    return GOPT_OK;
}

static gopt_status check_side(gopt_infer *x, const shape *p, int i, gopt_err *e)
{
    int past = i == KEY ? PAST_K : PAST_V;
    if (gopt_ref_ranked(x, i)) {
        const gopt_dim *k = x->in[i].dim;
        GOPT_TRY(gopt_ref_equal(k[0], p->batch, "batch sizes of query and key or value", e));
        GOPT_TRY(gopt_ref_equal(k[1], p->s, "lengths of query and key or value", e));
        GOPT_TRY(gopt_ref_equal(k[2], gopt_dim_mul(x->dims, p->shared, p->d), "columns of key or value", e));
    }
    if (!gopt_ref_ranked(x, past))
        return GOPT_OK;
    const gopt_dim *old = x->in[past].dim;
    GOPT_TRY(gopt_ref_equal(old[0], p->batch, "batch sizes of query and past", e));
    GOPT_TRY(gopt_ref_equal(old[1], p->shared, "heads of past", e));
    GOPT_TRY(gopt_ref_equal(old[3], p->d, "head sizes of query and past", e));
    return gopt_ref_ranked(x, PAST_K) ? gopt_ref_equal(old[2], x->in[PAST_K].dim[2], "lengths of the past", e)
                                      : GOPT_OK;
}

static gopt_status check_caches(gopt_infer *x, const shape *p, gopt_err *e)
{
    for (int i = COS; i <= SIN; i++) {
        if (!gopt_ref_ranked(x, i))
            continue;
        gopt_dim half = x->in[i].dim[1];
        if (gopt_dim_is_const(half) && gopt_dim_is_const(p->d) && 2 * half.k > p->d.k)
            return gopt_fail(e, GOPT_EINPUT, "cos_cache or sin_cache turns %lld elements of a head of %lld",
                             (long long)(2 * half.k), (long long)p->d.k);
        for (int d = 0; gopt_ref_ranked(x, COS) && d < 2; d++)
            GOPT_TRY(gopt_ref_equal(x->in[i].dim[d], x->in[COS].dim[d], "shapes of cos_cache and sin_cache", e));
    }
    if (!gopt_ref_ranked(x, POSITIONS))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(x->in[POSITIONS].dim[0], p->batch, "batch sizes of query and position_ids", e));
    return gopt_ref_equal(x->in[POSITIONS].dim[1], p->s, "lengths of query and position_ids", e);
}

/* Where total_sequence_length is known, it is the length of present. */
static gopt_status check_total(gopt_infer *x, const shape *p, gopt_err *e)
{
    int64_t n;
    const gopt_dim *total = gopt_infer_ints(x, TOTAL, &n);
    if (!total || !gopt_dim_is_const(*total) || !gopt_dim_is_const(p->t) || total->k == p->t.k)
        return GOPT_OK;
    if (total->k < p->t.k)
        return gopt_fail(e, GOPT_EUNSUP,
                         "past and new keys are %lld, total_sequence_length is %lld: a buffer that past and present "
                         "share is not supported",
                         (long long)p->t.k, (long long)total->k);
    return gopt_fail(e, GOPT_EINPUT, "past and new keys are %lld, total_sequence_length is %lld", (long long)p->t.k,
                     (long long)total->k);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    shape p;
    GOPT_TRY(check_types(x, e));
    GOPT_TRY(check_supported(x, e));
    GOPT_TRY(check_present(x, e));
    for (int k = 0; k < x->n_out && k < 3; k++)
        gopt_ref_infer_type(x, k, x->in[QUERY].dtype);
    if (!gopt_ref_ranked(x, QUERY))
        return GOPT_OK;
    GOPT_TRY(read_shape(x, &p, e));
    GOPT_TRY(check_side(x, &p, KEY, e));
    GOPT_TRY(check_side(x, &p, VALUE, e));
    GOPT_TRY(check_caches(x, &p, e));
    GOPT_TRY(check_total(x, &p, e));
    GOPT_TRY(gopt_ref_vector(x, LENGTHS, p.batch, "seqlens_k", e));
    GOPT_TRY(gopt_ref_vector(x, SINK, p.heads, "head_sink", e));
    GOPT_TRY(gopt_ms_heads_check_bias(x, ADDEND, (gopt_dim[]){p.batch, p.heads, p.s, p.t}, e));
    gopt_infer_set(x, 0, x->in[QUERY].dtype, 3, (gopt_dim[]){p.batch, p.s, gopt_dim_mul(x->dims, p.heads, p.d)});
    for (int k = 1; k < x->n_out && k < 3; k++)
        gopt_infer_set(x, k, x->in[QUERY].dtype, 4, (gopt_dim[]){p.batch, p.shared, p.t, p.d});
    return GOPT_OK;
}

/* ---- execution ---- */

typedef struct job {
    int64_t batch, heads, shared, s, was, t, d; /* was: keys of the past */
    double *q, *k, *v;                          /* by heads; k and v: first the new ones, then all */
    double *addend;                             /* NULL: none */
    int64_t stride[4];                          /* of the addend in the shape of the scores */
} job;

/* Keys of sequence b before the new ones. */
static int64_t before(const gopt_exec *x, const job *j, int64_t b)
{
    return j->was ? gopt_tensor_get_int(x->in[LENGTHS], b) + 1 - j->s : 0;
}

static gopt_status check_lengths(const gopt_exec *x, const job *j, gopt_err *e)
{
    int64_t longest = 0;
    for (int64_t b = 0; b < j->batch; b++) {
        int64_t n = gopt_tensor_get_int(x->in[LENGTHS], b) + 1;
        longest = GOPT_MAX(longest, n);
        if (n < (j->was ? j->s : 1) || n > j->t)
            return gopt_fail(e, GOPT_EINPUT,
                             "seqlens_k: %lld keys of sequence %lld, with %lld new ones and room for %lld",
                             (long long)n, (long long)b, (long long)j->s, (long long)j->t);
    }
    if (j->was && j->batch && longest != j->t)
        return gopt_fail(e, GOPT_EINPUT, "seqlens_k: no sequence has the %lld keys of total_sequence_length",
                         (long long)j->t);
    return GOPT_OK;
}

/* Columns [first, ...) of rows of input i, by heads. */
static gopt_status load_heads(gopt_exec *x, const job *j, int i, int64_t first, int64_t heads, double **out,
                              gopt_err *e)
{
    double *all;
    GOPT_TRY(gopt_ref_load(x, i, &all, e));
    GOPT_TRY(gopt_ref_buffer(x, j->batch * heads * j->s * j->d, out, e));
    gopt_ms_heads_split(all + first, j->batch, j->s, x->in[i]->dim[2], heads, j->d, NULL, *out);
    return GOPT_OK;
}

static gopt_status find_row(const gopt_exec *x, const job *j, int64_t b, int64_t s, int64_t *row, gopt_err *e)
{
    const gopt_tensor *given = gopt_ref_in(x, POSITIONS);
    *row = before(x, j, b) + s;
    if (given)
        *row = j->was ? gopt_tensor_get_int(given, b * j->s + s) : gopt_tensor_get_int(given, 0) + s;
    if (*row < 0 || *row >= x->in[COS]->dim[0])
        return gopt_fail(e, GOPT_EINPUT, "position %lld is outside the caches of %lld rows", (long long)*row,
                         (long long)x->in[COS]->dim[0]);
    return GOPT_OK;
}

static gopt_status rotate(gopt_exec *x, const job *j, gopt_err *e)
{
    bool interleaved = gopt_attr_int(x->attrs, "rotary_interleaved", 0) != 0;
    double *cosine, *sine;
    int64_t row;
    if (!gopt_attr_int(x->attrs, "do_rotary", 0))
        return GOPT_OK;
    int64_t half = x->in[COS]->dim[1];
    GOPT_TRY(gopt_ref_load(x, COS, &cosine, e));
    GOPT_TRY(gopt_ref_load(x, SIN, &sine, e));
    for (int64_t b = 0; b < j->batch; b++)
        for (int64_t s = 0; s < j->s; s++) {
            GOPT_TRY(find_row(x, j, b, s, &row, e));
            const double *c = cosine + row * half, *d = sine + row * half;
            for (int64_t h = 0; h < j->heads; h++)
                gopt_ref_rotate(j->q + ((b * j->heads + h) * j->s + s) * j->d, c, d, half, interleaved);
            for (int64_t h = 0; h < j->shared; h++)
                gopt_ref_rotate(j->k + ((b * j->shared + h) * j->s + s) * j->d, c, d, half, interleaved);
        }
    return GOPT_OK;
}

/* Keys or values with those of the past in front, stored as output k. */
static gopt_status append(gopt_exec *x, const job *j, int past, int k, double **v, gopt_err *e)
{
    double *old, *all;
    GOPT_TRY(gopt_ref_load(x, past, &old, e));
    GOPT_TRY(gopt_ref_buffer(x, j->batch * j->shared * j->t * j->d, &all, e));
    for (int64_t n = 0; n < j->batch * j->shared; n++) {
        int64_t front = before(x, j, n / j->shared) * j->d;
        double *to = all + n * j->t * j->d;
        if (front)
            memcpy(to, old + n * j->was * j->d, (size_t)front * sizeof *to);
        memcpy(to + front, *v + n * j->s * j->d, (size_t)(j->s * j->d) * sizeof *to);
    }
    *v = all;
    gopt_ref_store(x, k, all);
    return GOPT_OK;
}

static gopt_status load(gopt_exec *x, job *j, gopt_err *e)
{
    bool packed = !gopt_ref_in(x, KEY);
    int64_t k_first = packed ? j->heads * j->d : 0, v_first = packed ? k_first + j->shared * j->d : 0;
    const gopt_tensor *addend = gopt_ref_in(x, ADDEND);
    GOPT_TRY(load_heads(x, j, QUERY, 0, j->heads, &j->q, e));
    GOPT_TRY(load_heads(x, j, packed ? QUERY : KEY, k_first, j->shared, &j->k, e));
    GOPT_TRY(load_heads(x, j, packed ? QUERY : VALUE, v_first, j->shared, &j->v, e));
    GOPT_TRY(rotate(x, j, e));
    GOPT_TRY(append(x, j, PAST_K, 1, &j->k, e));
    GOPT_TRY(append(x, j, PAST_V, 2, &j->v, e));
    GOPT_TRY(gopt_ref_load(x, ADDEND, &j->addend, e));
    if (addend)
        gopt_ref_broadcast_strides(addend->dim, 4, (int64_t[]){j->batch, j->heads, j->s, j->t}, 4, j->stride);
    return GOPT_OK;
}

/* What is added to the scores of head h of sequence b. */
static void make_bias(const gopt_exec *x, const job *j, int64_t b, int64_t h, double *bias)
{
    bool causal = gopt_attr_int(x->attrs, "causal", 1) != 0;
    int64_t window = gopt_attr_int(x->attrs, "local_window_size", -1), past = before(x, j, b);
    int64_t valid = gopt_tensor_get_int(x->in[LENGTHS], b) + 1;
    for (int64_t s = 0; s < j->s; s++)
        for (int64_t t = 0; t < j->t; t++) {
            bool seen = t < (causal ? past + s + 1 : valid) && (window < 1 || t > past + s - window);
            double add =
                j->addend ? j->addend[b * j->stride[0] + h * j->stride[1] + s * j->stride[2] + t * j->stride[3]] : 0;
            bias[s * j->t + t] = seen ? add : -INFINITY;
        }
}

static gopt_status attend(gopt_exec *x, const job *j, gopt_err *e)
{
    gopt_attention_head a = {.s = j->s, .t = j->t, .d = j->d, .dv = j->d};
    double *bias, *sink, *y, *out, none = 0;
    a.softcap = gopt_attr_float(x->attrs, "softcap", 0);
    a.scale = gopt_attr_float(x->attrs, "scale", 0);
    if (a.scale == 0)
        a.scale = 1 / sqrt((double)j->d);
    GOPT_TRY(gopt_ref_load(x, SINK, &sink, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &a.scores, e));
    GOPT_TRY(gopt_ref_buffer(x, a.d * a.t, &a.turned, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.dv, &y, e));
    GOPT_TRY(gopt_ref_buffer(x, j->batch * j->s * j->heads * j->d, &out, e));
    a.bias = bias;
    for (int64_t n = 0; n < j->batch * j->heads; n++) {
        int64_t b = n / j->heads, h = n % j->heads, kv = b * j->shared + h / (j->heads / j->shared);
        make_bias(x, j, b, h, bias);
        a.q = j->q + n * a.s * a.d;
        a.k = j->k + kv * a.t * a.d;
        a.v = j->v + kv * a.t * a.d;
        a.sink = sink ? sink + h : gopt_attr_int(x->attrs, "smooth_softmax", 0) > 0 ? &none : NULL;
        gopt_attention_head_run(&a, y);
        for (int64_t s = 0; s < a.s; s++)
            memcpy(out + ((b * a.s + s) * j->heads + h) * a.d, y + s * a.d, (size_t)a.d * sizeof *y);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *q = x->in[QUERY], *past = gopt_ref_in(x, PAST_K);
    job j = {.batch = q->dim[0],
             .heads = gopt_attr_int(x->attrs, "num_heads", 1),
             .shared = gopt_attr_int(x->attrs, "kv_num_heads", 1),
             .s = q->dim[1],
             .was = past ? past->dim[2] : 0};
    j.t = j.was + j.s;
    j.d = q->dim[2] / (gopt_ref_in(x, KEY) ? j.heads : j.heads + 2 * j.shared);
    GOPT_TRY(check_lengths(x, &j, e));
    GOPT_TRY(load(x, &j, e));
    return attend(x, &j, e);
}

const gopt_op gopt_op_ms_GroupQueryAttention = {.name = "GroupQueryAttention",
                                                .domain = "com.microsoft",
                                                .in_min = 1,
                                                .in_max = INPUTS,
                                                .out_min = 1,
                                                .out_max = 3,
                                                .traits = GOPT_TRAIT_HEAVY,
                                                .infer = infer,
                                                .run = run};
