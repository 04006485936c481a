/* ms_decoder_masked_multi_head_attention.c: com.microsoft.DecoderMaskedMultiHeadAttention: one query per sequence;
 * keys and values are those of the past in a buffer with room for the new ones, which present takes over, or given by
 * heads (cross-attention). With several beams, each key of the past is that of the beam that cache_indirection says. */
#include <string.h>

#include "ref/ms_heads.h"

enum { QUERY, KEY, VALUE, MASK, ADDEND, PAST_K, PAST_V, PAST_LENGTH, BEAM_WIDTH, INDIRECTION, BIAS };

static gopt_status check_types(const gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"query",          "key",      "value",     "mask_index",
                                        "attention_bias", "past_key", "past_value"};
    GOPT_TRY(gopt_ref_type(x, QUERY, GOPT_REF_FLOAT, "query", e));
    for (int i = KEY; i <= PAST_V; i++) {
        bool past = i == PAST_K || i == PAST_V;
        if (i == MASK || i == ADDEND)
            continue;
        GOPT_TRY(gopt_ref_same_type(x, QUERY, i, e));
        GOPT_TRY(gopt_ref_rank(x, i, past ? 4 : 3, 4, names[i], e));
    }
    GOPT_TRY(gopt_ref_rank(x, QUERY, 3, 3, "query", e));
    GOPT_TRY(gopt_ref_same_type(x, QUERY, ADDEND, e));
    GOPT_TRY(gopt_ref_same_type(x, QUERY, BIAS, e));
    GOPT_TRY(gopt_ref_type(x, PAST_LENGTH, GOPT_REF_INDEX, "past_sequence_length", e));
    GOPT_TRY(gopt_ref_scalar(x, PAST_LENGTH, "past_sequence_length", e));
    GOPT_TRY(gopt_ref_type(x, BEAM_WIDTH, GOPT_REF_INDEX, "beam_width", e));
    GOPT_TRY(gopt_ref_scalar(x, BEAM_WIDTH, "beam_width", e));
    GOPT_TRY(gopt_ref_type(x, INDIRECTION, GOPT_REF_INDEX, "cache_indirection", e));
    return gopt_ref_rank(x, INDIRECTION, 3, 3, "cache_indirection", e);
}

/* One of key and value with its past. */
static gopt_status check_side(const gopt_infer *x, int i, const gopt_dim heads, gopt_dim size, gopt_err *e)
{
    const gopt_dim *q = x->in[QUERY].dim;
    int past = i == KEY ? PAST_K : PAST_V;
    if (gopt_ref_ranked(x, i)) {
        const gopt_fact *f = &x->in[i];
        GOPT_TRY(gopt_ref_equal(f->dim[0], q[0], "batch sizes of query and key or value", e));
        GOPT_TRY(gopt_ref_equal(f->dim[f->rank - 1], f->rank == 4 ? size : q[2], "sizes of query and key or value", e));
        GOPT_TRY(
            gopt_ref_equal(f->dim[1], f->rank == 4 ? heads : gopt_dim_of(1), "heads or length of key or value", e));
        if (f->rank == 3 && !gopt_infer_has(x, past))
            return gopt_fail(e, GOPT_EUNSUP, "new keys and values without a buffer of the past are not supported");
        if (f->rank == 4 && gopt_infer_has(x, past))
            return gopt_fail(e, GOPT_EINPUT, "keys and values by heads do not go with a past");
    }
    if (!gopt_ref_ranked(x, past))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_equal(x->in[past].dim[0], q[0], "batch sizes of query and past", e));
    GOPT_TRY(gopt_ref_equal(x->in[past].dim[1], heads, "heads of query and past", e));
    return gopt_ref_equal(x->in[past].dim[3], size, "head sizes of query and past", e);
}

static gopt_status check(gopt_infer *x, gopt_dim heads, gopt_dim size, gopt_err *e)
{
    const gopt_dim *q = x->in[QUERY].dim;
    GOPT_TRY(gopt_ref_equal(q[1], gopt_dim_of(1), "queries of a sequence", e));
    GOPT_TRY(check_side(x, KEY, heads, size, e));
    GOPT_TRY(check_side(x, VALUE, heads, size, e));
    GOPT_TRY(gopt_ref_vector(x, BIAS, gopt_dim_mul(x->dims, gopt_dim_of(3), q[2]), "bias", e));
    if (gopt_infer_has(x, PAST_K) != gopt_infer_has(x, PAST_V))
        return gopt_fail(e, GOPT_EINPUT, "past_key and past_value go together");
    if (!gopt_infer_has(x, PAST_K))
        return GOPT_OK;
    if (!gopt_infer_has(x, PAST_LENGTH) || !gopt_attr_int(x->attrs, "past_present_share_buffer", 0))
        return gopt_fail(e, GOPT_EUNSUP, "a past that present does not share is not supported");
    if (gopt_ref_ranked(x, PAST_K) && gopt_ref_ranked(x, PAST_V))
        GOPT_TRY(gopt_ref_equal(x->in[PAST_K].dim[2], x->in[PAST_V].dim[2], "lengths of past_key and past_value", e));
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t heads = gopt_attr_int(x->attrs, "num_heads", 0);
    GOPT_TRY(check_types(x, e));
    if (heads < 1 || heads > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_heads: %lld, 1 or more expected", (long long)heads);
    for (int k = 0; k < x->n_out && k < 4; k++)
        gopt_ref_infer_type(x, k, x->in[QUERY].dtype);
    if (!gopt_ref_ranked(x, QUERY))
        return GOPT_OK;
    const gopt_dim *q = x->in[QUERY].dim;
    if (gopt_dim_is_const(q[2]) && q[2].k % heads)
        return gopt_fail(e, GOPT_EINPUT, "%lld elements do not divide into %lld heads", (long long)q[2].k,
                         (long long)heads);
    GOPT_TRY(check(x, gopt_dim_of(heads), gopt_dim_div(x->dims, q[2], gopt_dim_of(heads)), e));
    gopt_infer_set(x, 0, x->in[QUERY].dtype, 3, q);
    for (int k = 1; k < x->n_out && k < 3; k++)
        if (gopt_ref_ranked(x, PAST_K - 1 + k))
            gopt_infer_set(x, k, x->in[QUERY].dtype, 4, x->in[PAST_K - 1 + k].dim);
    if (x->n_out > 3) {
        int64_t n;
        bool cross = gopt_ref_ranked(x, KEY) && x->in[KEY].rank == 4;
        const gopt_dim *past = !cross && gopt_infer_has(x, PAST_LENGTH) ? gopt_infer_ints(x, PAST_LENGTH, &n) : NULL;
        gopt_dim t = past ? gopt_dim_add(x->dims, *past, gopt_dim_of(1)) : GOPT_DIM_UNKNOWN;
        t = cross ? x->in[KEY].dim[2] : t;
        gopt_infer_set(x, 3, x->in[QUERY].dtype, 4, (gopt_dim[]){q[0], gopt_dim_of(heads), q[1], t});
    }
    return GOPT_OK;
}

/* ---- execution ---- */

/* The row of the past that beam i reads key t from. */
static gopt_status row_of(const gopt_exec *x, int64_t rows, int64_t max, int64_t i, int64_t t, int64_t *row,
                          gopt_err *e)
{
    int64_t width = (int64_t)gopt_ref_number(x, BEAM_WIDTH, 1);
    const gopt_tensor *from = gopt_ref_in(x, INDIRECTION);
    *row = i;
    if (width <= 1 || !from)
        return GOPT_OK;
    if (gopt_tensor_count(from) < rows * max)
        return gopt_fail(e, GOPT_EINPUT, "cache_indirection is smaller than the past");
    int64_t beam = gopt_tensor_get_int(from, i * max + t);
    *row = i / width * width + beam;
    if (beam < 0 || beam >= width || *row >= rows)
        return gopt_fail(e, GOPT_EINPUT, "cache_indirection: beam %lld of %lld", (long long)beam, (long long)width);
    return GOPT_OK;
}

/* Keys or values with the new one behind the past; present gets the buffer with the new one in it. */
static gopt_status append(gopt_exec *x, const gopt_ms_heads *h, int i, const double *bias, double **out, gopt_err *e)
{
    int past = i == KEY ? PAST_K : PAST_V;
    int64_t max = x->in[past]->dim[2], size = h->d, row;
    double *buffer, *now;
    GOPT_TRY(gopt_ref_load(x, past, &buffer, e));
    GOPT_TRY(gopt_ref_load(x, i, &now, e));
    GOPT_TRY(gopt_ref_buffer(x, h->batch * h->heads * h->t * size, out, e));
    for (int64_t b = 0; b < h->batch; b++)
        for (int64_t n = b * h->heads; n < (b + 1) * h->heads; n++)
            for (int64_t k = 0; k < size; k++)
                buffer[(n * max + h->past) * size + k] = now[n * size + k] + (bias ? bias[n % h->heads * size + k] : 0);
    for (int64_t b = 0; b < h->batch; b++)
        for (int64_t t = 0; t < h->t; t++) {
            row = b;
            if (t < h->past)
                GOPT_TRY(row_of(x, h->batch, max, b, t, &row, e));
            for (int64_t n = 0; n < h->heads; n++)
                memcpy(*out + ((b * h->heads + n) * h->t + t) * size, buffer + ((row * h->heads + n) * max + t) * size,
                       (size_t)size * sizeof *buffer);
        }
    gopt_ref_store(x, i == KEY ? 1 : 2, buffer);
    return GOPT_OK;
}

static gopt_status load(gopt_exec *x, gopt_ms_heads *h, const double *bias, gopt_err *e)
{
    double *q, *all, *k, *v;
    int64_t hidden = h->heads * h->d;
    GOPT_TRY(gopt_ref_load(x, QUERY, &all, e));
    GOPT_TRY(gopt_ref_buffer(x, h->batch * hidden, &q, e));
    gopt_ms_heads_split(all, h->batch, 1, hidden, h->heads, h->d, bias, q);
    if (gopt_ref_in(x, PAST_K)) {
        GOPT_TRY(append(x, h, KEY, bias ? bias + hidden : NULL, &k, e));
        GOPT_TRY(append(x, h, VALUE, bias ? bias + 2 * hidden : NULL, &v, e));
    } else {
        GOPT_TRY(gopt_ref_load(x, KEY, &k, e));
        GOPT_TRY(gopt_ref_load(x, VALUE, &v, e));
    }
    h->q = q;
    h->k = k;
    h->v = v;
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *bias;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *q = x->in[QUERY], *past = gopt_ref_in(x, PAST_K), *k = x->in[KEY];
    gopt_ms_heads h = {.batch = q->dim[0],
                       .heads = gopt_attr_int(x->attrs, "num_heads", 1),
                       .s = 1,
                       .past = past ? (int64_t)gopt_ref_number(x, PAST_LENGTH, 0) : 0,
                       .mask = MASK,
                       .bias = ADDEND};
    h.d = h.dv = q->dim[2] / h.heads;
    h.t = past ? h.past + 1 : k->dim[2];
    if (past && (h.past < 0 || h.t > past->dim[2]))
        return gopt_fail(e, GOPT_EINPUT, "past_sequence_length: %lld leaves no room in a buffer of %lld",
                         (long long)h.past, (long long)past->dim[2]);
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    GOPT_TRY(load(x, &h, bias, e));
    if (gopt_ref_out(x, 3))
        GOPT_TRY(gopt_ref_buffer(x, h.batch * h.heads * h.t, &h.kept, e));
    GOPT_TRY(gopt_ms_heads_run(x, &h, e));
    if (h.kept)
        gopt_ref_store(x, 3, h.kept);
    return GOPT_OK;
}

const gopt_op gopt_op_ms_DecoderMaskedMultiHeadAttention = {.name = "DecoderMaskedMultiHeadAttention",
                                                            .domain = "com.microsoft",
                                                            .in_min = 3,
                                                            .in_max = 11,
                                                            .out_min = 1,
                                                            .out_max = 4,
                                                            .traits = GOPT_TRAIT_HEAVY,
                                                            .infer = infer,
                                                            .run = run};
