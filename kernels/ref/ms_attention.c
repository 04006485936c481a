/* ms_attention.c: com.microsoft.Attention: projects its input to queries, keys and values, then attends. */
#include <string.h>

#include "ref/ms_heads.h"
#include "ref/multiply.h"

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, ADDEND, PAST_LENGTH };

/* Sizes of queries, keys and values, all heads together: qkv_hidden_sizes, or thirds of the weights. */
static gopt_status read_sizes(const gopt_infer *x, gopt_dim size[3], int64_t *heads, gopt_err *e)
{
    int64_t n;
    const int64_t *given = gopt_attr_ints(x->attrs, "qkv_hidden_sizes", &n);
    *heads = gopt_attr_int(x->attrs, "num_heads", 0);
    if (*heads < 1 || *heads > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute num_heads: %lld, 1 or more expected", (long long)*heads);
    if (n && n != 3)
        return gopt_fail(e, GOPT_EINPUT, "attribute qkv_hidden_sizes: %lld values, 3 expected", (long long)n);
    gopt_dim all = gopt_ref_ranked(x, WEIGHTS) ? x->in[WEIGHTS].dim[1] : GOPT_DIM_UNKNOWN;
    for (int i = 0; i < 3; i++) {
        size[i] = n ? gopt_dim_of(given[i]) : gopt_dim_div(x->dims, all, gopt_dim_of(3));
        if (gopt_dim_is_const(size[i]) && (size[i].k < 0 || size[i].k > INT32_MAX || size[i].k % *heads))
            return gopt_fail(e, GOPT_EINPUT, "a hidden size of %lld does not divide into %lld heads",
                             (long long)size[i].k, (long long)*heads);
    }
    GOPT_TRY(gopt_ref_equal(size[0], size[1], "hidden sizes of queries and keys", e));
    gopt_dim sum = gopt_dim_add(x->dims, size[0], gopt_dim_add(x->dims, size[1], size[2]));
    return gopt_ref_equal(all, sum, "columns of weights and hidden sizes", e);
}

static gopt_status check(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, INPUT, GOPT_REF_FLOAT, "input", e));
    GOPT_TRY(gopt_ref_same_type(x, INPUT, WEIGHTS, e));
    GOPT_TRY(gopt_ref_same_type(x, INPUT, BIAS, e));
    GOPT_TRY(gopt_ref_same_type(x, INPUT, PAST, e));
    GOPT_TRY(gopt_ref_same_type(x, INPUT, ADDEND, e));
    GOPT_TRY(gopt_ref_rank(x, INPUT, 3, 3, "input", e));
    GOPT_TRY(gopt_ref_rank(x, WEIGHTS, 2, 2, "weights", e));
    GOPT_TRY(gopt_ref_rank(x, PAST, 5, 5, "past", e));
    if (gopt_ref_ranked(x, INPUT) && gopt_ref_ranked(x, WEIGHTS))
        GOPT_TRY(gopt_ref_equal(x->in[INPUT].dim[2], x->in[WEIGHTS].dim[0], "columns of input and rows of weights", e));
    if (gopt_ref_ranked(x, WEIGHTS))
        GOPT_TRY(gopt_ref_vector(x, BIAS, x->in[WEIGHTS].dim[1], "bias", e));
    if (gopt_infer_has(x, PAST_LENGTH) || gopt_attr_int(x->attrs, "past_present_share_buffer", 0))
        return gopt_fail(e, GOPT_EUNSUP, "a buffer that past and present share is not supported");
    if (gopt_attr_int(x->attrs, "do_rotary", 0))
        return gopt_fail(e, GOPT_EUNSUP, "attribute do_rotary is not supported");
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim size[3];
    int64_t heads;
    GOPT_TRY(check(x, e));
    GOPT_TRY(read_sizes(x, size, &heads, e));
    for (int k = 0; k < x->n_out && k < 2; k++)
        gopt_ref_infer_type(x, k, x->in[INPUT].dtype);
    if (!gopt_ref_ranked(x, INPUT))
        return GOPT_OK;
    const gopt_dim *in = x->in[INPUT].dim;
    gopt_dim t = in[1], each = gopt_dim_div(x->dims, size[1], gopt_dim_of(heads));
    if (gopt_infer_has(x, PAST))
        t = gopt_ref_ranked(x, PAST) ? gopt_dim_add(x->dims, t, x->in[PAST].dim[3]) : GOPT_DIM_UNKNOWN;
    gopt_dim present[5] = {gopt_dim_of(2), in[0], gopt_dim_of(heads), t, each};
    for (int d = 0; gopt_ref_ranked(x, PAST) && d < 5; d++)
        if (d != 3)
            GOPT_TRY(gopt_ref_equal(x->in[PAST].dim[d], present[d], "shape of past", e));
    if (gopt_infer_has(x, PAST))
        GOPT_TRY(gopt_ref_equal(size[1], size[2], "hidden sizes of keys and values, which share a cache,", e));
    GOPT_TRY(gopt_ms_heads_check_mask(x, MASK, (gopt_dim[]){in[0], in[1], t}, e));
    GOPT_TRY(gopt_ms_heads_check_bias(x, ADDEND, (gopt_dim[]){in[0], gopt_dim_of(heads), in[1], t}, e));
    gopt_infer_set(x, 0, x->in[INPUT].dtype, 3, (gopt_dim[]){in[0], in[1], size[2]});
    if (x->n_out > 1)
        gopt_infer_set(x, 1, x->in[INPUT].dtype, 5, present);
    return GOPT_OK;
}

/* The three projections, rows of all hidden sizes together. */
static gopt_status project(gopt_exec *x, double **out, gopt_err *e)
{
    const gopt_tensor *in = x->in[INPUT], *w = x->in[WEIGHTS];
    int64_t rows = in->dim[0] * in->dim[1];
    double *v, *weights, *bias;
    GOPT_TRY(gopt_ref_load(x, INPUT, &v, e));
    GOPT_TRY(gopt_ref_load(x, WEIGHTS, &weights, e));
    GOPT_TRY(gopt_ref_load(x, BIAS, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, rows * w->dim[1], out, e));
    for (int64_t i = 0; bias && i < rows; i++)
        memcpy(*out + i * w->dim[1], bias, (size_t)w->dim[1] * sizeof *bias);
    gopt_ref_multiply(rows, w->dim[1], in->dim[2], v, in->dim[2], weights, w->dim[1], *out, w->dim[1]);
    return gopt_ref_tick(x, e);
}

static gopt_status split(gopt_exec *x, const gopt_ms_heads *h, const double *all, int64_t first, int64_t size,
                         double **out, gopt_err *e)
{
    GOPT_TRY(gopt_ref_buffer(x, h->batch * h->heads * h->s * size, out, e));
    gopt_ms_heads_split(all + first, h->batch, h->s, x->in[WEIGHTS]->dim[1], h->heads, size, NULL, *out);
    return GOPT_OK;
}

static gopt_status store_present(gopt_exec *x, const gopt_ms_heads *h, const double *k, const double *v, gopt_err *e)
{
    int64_t n = h->batch * h->heads * h->t * h->d;
    double *both;
    if (!gopt_ref_out(x, 1))
        return GOPT_OK;
    if (h->d != h->dv)
        return gopt_fail(e, GOPT_EINPUT, "keys of size %lld and values of size %lld cannot share a cache",
                         (long long)h->d, (long long)h->dv);
    GOPT_TRY(gopt_ref_buffer(x, 2 * n, &both, e));
    memcpy(both, k, (size_t)n * sizeof *both);
    memcpy(both + n, v, (size_t)n * sizeof *both);
    gopt_ref_store(x, 1, both);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *all, *past, *q, *k, *v;
    GOPT_TRY(gopt_ref_begin_with(x, 1u << INPUT | 1u << WEIGHTS, e));
    const gopt_tensor *in = x->in[INPUT], *old = gopt_ref_in(x, PAST);
    int64_t n;
    const int64_t *sizes = gopt_attr_ints(x->attrs, "qkv_hidden_sizes", &n);
    gopt_ms_heads h = {.batch = in->dim[0],
                       .heads = gopt_attr_int(x->attrs, "num_heads", 1),
                       .s = in->dim[1],
                       .past = old ? old->dim[3] : 0,
                       .mask = MASK,
                       .bias = ADDEND};
    int64_t hidden = sizes ? sizes[0] : x->in[WEIGHTS]->dim[1] / 3;
    h.t = h.past + h.s;
    h.d = hidden / h.heads;
    h.dv = (sizes ? sizes[2] : hidden) / h.heads;
    GOPT_TRY(project(x, &all, e));
    GOPT_TRY(split(x, &h, all, 0, h.d, &q, e));
    GOPT_TRY(split(x, &h, all, hidden, h.d, &k, e));
    GOPT_TRY(split(x, &h, all, 2 * hidden, h.dv, &v, e));
    GOPT_TRY(gopt_ref_load(x, PAST, &past, e));
    GOPT_TRY(gopt_ms_heads_join(x, &h, past, h.d, &k, e));
    GOPT_TRY(gopt_ms_heads_join(x, &h, past ? past + h.batch * h.heads * h.past * h.d : NULL, h.d, &v, e));
    GOPT_TRY(store_present(x, &h, k, v, e));
    h.q = q;
    h.k = k;
    h.v = v;
    return gopt_ms_heads_run(x, &h, e);
}

const gopt_op gopt_op_ms_Attention = {.name = "Attention",
                                      .domain = "com.microsoft",
                                      .in_min = 2,
                                      .in_max = 7,
                                      .out_min = 1,
                                      .out_max = 2,
                                      .traits = GOPT_TRAIT_HEAVY,
                                      .infer = infer,
                                      .run = run};
