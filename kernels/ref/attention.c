/* attention.c: Attention, head by head, with caches, masks, causal and sliding windows. */
#include <math.h>
#include <string.h>

#include "ref/attention_head.h"
#include "ref/attention_shape.h"

enum { Q = GOPT_ATT_Q, K, V, MASK, PAST_K, PAST_V, NONPAD };

typedef struct job {
    int64_t batch, heads, kv_heads, queries, past, keys, size, v_size; /* keys: those of the past included */
    int64_t left, right;                                               /* windows; -1: open */
    bool causal;
    const double *q, *k, *v, *mask; /* (batch, heads, length, size); mask: additive */
    int64_t mask_stride[4], mask_keys;
    double *bias;
} job;

/* Input i as (batch, heads, length, size): rank 3 has the heads behind the length. */
static gopt_status load_heads(gopt_exec *x, int i, int64_t heads, int64_t length, int64_t size, double **out,
                              gopt_err *e)
{
    const gopt_tensor *t = x->in[i];
    double *v;
    GOPT_TRY(gopt_ref_load(x, i, &v, e));
    *out = v;
    if (t->rank == 4)
        return GOPT_OK;
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(t), out, e));
    for (int64_t b = 0; b < t->dim[0]; b++)
        for (int64_t s = 0; s < length; s++)
            for (int64_t h = 0; h < heads; h++, v += size)
                memcpy(*out + ((b * heads + h) * length + s) * size, v, (size_t)size * sizeof *v);
    return GOPT_OK;
}

/* Past and present, one behind the other in every head. */
static gopt_status join(gopt_exec *x, const job *j, int past, int64_t size, double **v, gopt_err *e)
{
    double *old, *both, *now = *v;
    GOPT_TRY(gopt_ref_load(x, past, &old, e));
    if (!old)
        return GOPT_OK;
    int64_t was = j->past * size, is = (j->keys - j->past) * size;
    GOPT_TRY(gopt_ref_buffer(x, j->batch * j->kv_heads * (was + is), &both, e));
    for (int64_t h = 0; h < j->batch * j->kv_heads; h++) {
        memcpy(both + h * (was + is), old + h * was, (size_t)was * sizeof *both);
        memcpy(both + h * (was + is) + was, now + h * is, (size_t)is * sizeof *both);
    }
    *v = both;
    return GOPT_OK;
}

static gopt_status load_mask(gopt_exec *x, job *j, gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, MASK);
    double *mask;
    GOPT_TRY(gopt_ref_load(x, MASK, &mask, e));
    j->mask = mask;
    if (!t)
        return GOPT_OK;
    for (int64_t i = 0; t->dtype == GOPT_DTYPE_BOOL && i < gopt_tensor_count(t); i++)
        mask[i] = mask[i] != 0 ? 0 : -INFINITY;
    j->mask_keys = t->dim[t->rank - 1];
    gopt_ref_broadcast_strides(t->dim, t->rank, (int64_t[]){j->batch, j->heads, j->queries, j->mask_keys}, 4,
                               j->mask_stride);
    return GOPT_OK;
}

static gopt_status load(gopt_exec *x, job *j, gopt_err *e)
{
    const gopt_tensor *q = x->in[Q], *k = x->in[K], *v = x->in[V], *past = gopt_ref_in(x, PAST_K);
    bool split = q->rank == 4;
    double *t;
    *j = (job){.batch = q->dim[0],
               .heads = split ? q->dim[1] : gopt_attr_int(x->attrs, "q_num_heads", 1),
               .kv_heads = split ? k->dim[1] : gopt_attr_int(x->attrs, "kv_num_heads", 1),
               .queries = split ? q->dim[2] : q->dim[1],
               .past = past ? past->dim[2] : 0,
               .left = gopt_attr_int(x->attrs, "left_window_size", -1),
               .right = gopt_attr_int(x->attrs, "right_window_size", -1),
               .causal = gopt_attr_int(x->attrs, "is_causal", 0) != 0};
    j->keys = j->past + (split ? k->dim[2] : k->dim[1]);
    j->size = split ? q->dim[3] : q->dim[2] / j->heads;
    j->v_size = split ? v->dim[3] : v->dim[2] / j->kv_heads;
    GOPT_TRY(load_heads(x, Q, j->heads, j->queries, j->size, &t, e));
    j->q = t;
    GOPT_TRY(load_heads(x, K, j->kv_heads, j->keys - j->past, j->size, &t, e));
    GOPT_TRY(join(x, j, PAST_K, j->size, &t, e));
    j->k = t;
    gopt_ref_store(x, 1, t);
    GOPT_TRY(load_heads(x, V, j->kv_heads, j->keys - j->past, j->v_size, &t, e));
    GOPT_TRY(join(x, j, PAST_V, j->v_size, &t, e));
    j->v = t;
    gopt_ref_store(x, 2, t);
    GOPT_TRY(gopt_ref_buffer(x, j->queries * j->keys, &j->bias, e));
    return load_mask(x, j, e);
}

/* Key t may be seen from absolute position p, as far as windows go. */
static bool in_window(const job *j, int64_t p, int64_t t)
{
    return (!j->causal || t <= p) && (j->left < 0 || p - t <= j->left) && (j->right < 0 || t - p <= j->right);
}

/* What is added to the scores of head h of sequence b. */
static void make_bias(const gopt_exec *x, const job *j, int64_t b, int64_t h)
{
    const gopt_tensor *nonpad = gopt_ref_in(x, NONPAD);
    int64_t valid = nonpad ? gopt_tensor_get_int(nonpad, b) : j->keys;
    int64_t offset = nonpad ? valid - j->queries : j->past;
    for (int64_t i = 0; i < j->queries; i++)
        for (int64_t t = 0; t < j->keys; t++) {
            double *bias = &j->bias[i * j->keys + t];
            *bias = t < valid && in_window(j, i + offset, t) ? 0 : -INFINITY;
            if (!j->mask)
                continue;
            const int64_t *s = j->mask_stride;
            *bias += t < j->mask_keys ? j->mask[b * s[0] + h * s[1] + i * s[2] + t * s[3]] : -INFINITY;
        }
}

static double scale_of(const gopt_exec *x, const job *j)
{
    return gopt_attr_float(x->attrs, "scale", 1 / sqrt((double)j->size));
}

static gopt_status run_heads(gopt_exec *x, const job *j, double *y, double *kept, gopt_err *e)
{
    gopt_attention_head a = {.s = j->queries,
                             .t = j->keys,
                             .d = j->size,
                             .dv = j->v_size,
                             .scale = scale_of(x, j),
                             .softcap = gopt_attr_float(x->attrs, "softcap", 0),
                             .bias = j->bias,
                             .stage = (gopt_attention_stage)gopt_attr_int(x->attrs, "qk_matmul_output_mode", 0)};
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &a.scores, e));
    GOPT_TRY(gopt_ref_buffer(x, a.d * a.t, &a.turned, e));
    for (int64_t n = 0; n < j->batch * j->heads; n++) {
        int64_t b = n / j->heads, h = n % j->heads, kv = b * j->kv_heads + h / (j->heads / j->kv_heads);
        make_bias(x, j, b, h);
        a.q = j->q + n * a.s * a.d;
        a.k = j->k + kv * a.t * a.d;
        a.v = j->v + kv * a.t * a.dv;
        a.kept = kept ? kept + n * a.s * a.t : NULL;
        gopt_attention_head_run(&a, y + n * a.s * a.dv);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

/* Rank 3 has the heads behind the length. */
static gopt_status store(gopt_exec *x, const job *j, const double *y, gopt_err *e)
{
    double *t;
    if (x->in[Q]->rank == 4) {
        gopt_ref_store(x, 0, y);
        return GOPT_OK;
    }
    GOPT_TRY(gopt_ref_buffer(x, j->batch * j->heads * j->queries * j->v_size, &t, e));
    for (int64_t n = 0; n < j->batch * j->heads; n++)
        for (int64_t s = 0; s < j->queries; s++, y += j->v_size) {
            int64_t at = (n / j->heads * j->queries + s) * j->heads + n % j->heads;
            memcpy(t + at * j->v_size, y, (size_t)j->v_size * sizeof *y);
        }
    gopt_ref_store(x, 0, t);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    job j;
    double *y, *kept = NULL;
    if (!gopt_ref_in(x, PAST_K) != !gopt_ref_in(x, PAST_V))
        return gopt_fail(e, GOPT_EINPUT, "past_key and past_value go together");
    if (gopt_ref_in(x, PAST_K) && gopt_ref_in(x, NONPAD))
        return gopt_fail(e, GOPT_EINPUT, "nonpad_kv_seqlen does not go with a past");
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(load(x, &j, e));
    GOPT_TRY(gopt_ref_buffer(x, j.batch * j.heads * j.queries * j.v_size, &y, e));
    if (gopt_ref_out(x, 3))
        GOPT_TRY(gopt_ref_buffer(x, j.batch * j.heads * j.queries * j.keys, &kept, e));
    GOPT_TRY(run_heads(x, &j, y, kept, e));
    if (kept)
        gopt_ref_store(x, 3, kept);
    return store(x, &j, y, e);
}

const gopt_op gopt_op_Attention = {.name = "Attention",
                                   .domain = "",
                                   .in_min = 3,
                                   .in_max = 7,
                                   .out_min = 1,
                                   .out_max = 4,
                                   .traits = GOPT_TRAIT_HEAVY,
                                   .infer = gopt_attention_infer,
                                   .run = run};
