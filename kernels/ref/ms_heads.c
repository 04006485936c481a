/* ms_heads.c: masks add mask_filter_value to a score; a row that is masked everywhere stays a distribution. */
#include "ref/ms_heads.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/attention_head.h"

gopt_status gopt_ms_heads_check_mask(const gopt_infer *x, int mask, const gopt_dim dim[3], gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, mask, GOPT_REF_INDEX, "mask", e));
    GOPT_TRY(gopt_ref_rank(x, mask, 1, 4, "mask", e));
    if (!gopt_ref_ranked(x, mask))
        return GOPT_OK;
    const gopt_fact *m = &x->in[mask];
    gopt_dim b = dim[0], s = dim[1], t = dim[2];
    if (m->rank == 1) {
        bool doubled = gopt_dim_is_const(b) && gopt_dim_is_const(m->dim[0]) && m->dim[0].k == 2 * b.k;
        return doubled ? GOPT_OK : gopt_ref_equal(m->dim[0], b, "lengths in the mask and batch size", e);
    }
    GOPT_TRY(gopt_ref_equal(m->dim[0], b, "batch sizes of input and mask", e));
    if (m->rank == 3)
        GOPT_TRY(gopt_ref_equal(m->dim[1], s, "queries of input and mask", e));
    if (m->rank < 4)
        return gopt_ref_equal(m->dim[m->rank - 1], t, "keys of input and mask", e);
    GOPT_TRY(gopt_ref_equal(m->dim[1], gopt_dim_of(1), "axis 1 of the mask", e));
    GOPT_TRY(gopt_ref_equal(m->dim[2], m->dim[3], "rows and columns of the mask", e));
    if (gopt_dim_is_const(m->dim[3]) && gopt_dim_is_const(t) && m->dim[3].k < t.k)
        return gopt_fail(e, GOPT_EINPUT, "a mask of %lld is too small for %lld keys", (long long)m->dim[3].k,
                         (long long)t.k);
    return GOPT_OK;
}

gopt_status gopt_ms_heads_check_bias(const gopt_infer *x, int i, const gopt_dim dim[4], gopt_err *e)
{
    GOPT_TRY(gopt_ref_rank(x, i, 4, 4, "attention_bias", e));
    for (int d = 0; gopt_ref_ranked(x, i) && d < 4; d++) {
        gopt_dim a = x->in[i].dim[d];
        if (!(gopt_dim_is_const(a) && a.k == 1))
            GOPT_TRY(gopt_ref_equal(a, dim[d], "shapes of scores and attention_bias", e));
    }
    return GOPT_OK;
}

void gopt_ms_heads_split(const double *from, int64_t n, int64_t length, int64_t stride, int64_t heads, int64_t size,
                         const double *bias, double *to)
{
    for (int64_t i = 0; i < n * heads * length; i++) {
        int64_t at = i % length, h = i / length % heads, b = i / (length * heads);
        const double *row = from + (b * length + at) * stride + h * size;
        for (int64_t k = 0; k < size; k++)
            to[i * size + k] = row[k] + (bias ? bias[h * size + k] : 0);
    }
}

gopt_status gopt_ms_heads_join(gopt_exec *x, const gopt_ms_heads *h, const double *past, int64_t size, double **v,
                               gopt_err *e)
{
    int64_t was = h->past * size, is = (h->t - h->past) * size;
    double *both;
    if (!past)
        return GOPT_OK;
    GOPT_TRY(gopt_ref_buffer(x, h->batch * h->heads * (was + is), &both, e));
    for (int64_t i = 0; i < h->batch * h->heads; i++) {
        memcpy(both + i * (was + is), past + i * was, (size_t)was * sizeof *both);
        memcpy(both + i * (was + is) + was, *v + i * is, (size_t)is * sizeof *both);
    }
    *v = both;
    return GOPT_OK;
}

/* Whether the mask lets query s of sequence b see key t. */
static bool sees(const gopt_ms_heads *h, const gopt_tensor *m, int64_t b, int64_t s, int64_t t)
{
    if (m->rank == 1) {
        bool from = m->dim[0] == 2 * h->batch && m->dim[0] != h->batch;
        return t < gopt_tensor_get_int(m, b) && (!from || t >= gopt_tensor_get_int(m, h->batch + b));
    }
    if (m->rank == 2)
        return gopt_tensor_get_int(m, b * h->t + t) > 0;
    if (m->rank == 3)
        return gopt_tensor_get_int(m, (b * h->s + s) * h->t + t) > 0;
    return gopt_tensor_get_int(m, (b * m->dim[2] + h->past + s) * m->dim[3] + t) > 0;
}

typedef struct addend {
    const double *v; /* NULL: none */
    int64_t stride[4];
} addend;

/* What is added to the scores of one head. */
static void make_bias(const gopt_exec *x, const gopt_ms_heads *h, const addend *add, int64_t b, int64_t head,
                      double *out)
{
    const gopt_tensor *mask = gopt_ref_in(x, h->mask);
    double filter = gopt_attr_float(x->attrs, "mask_filter_value", -10000);
    bool causal = gopt_attr_int(x->attrs, "unidirectional", 0) != 0;
    for (int64_t s = 0; s < h->s; s++)
        for (int64_t t = 0; t < h->t; t++) {
            double v = mask && !sees(h, mask, b, s, t) ? filter : 0;
            if (causal && s < h->s - 1 && t > h->past + s) /* the last query sees all keys, whatever their number */
                v = -(double)FLT_MAX;
            if (add->v)
                v += add->v[b * add->stride[0] + head * add->stride[1] + s * add->stride[2] + t * add->stride[3]];
            out[s * h->t + t] = v;
        }
}

static gopt_status load_addend(gopt_exec *x, const gopt_ms_heads *h, addend *add, gopt_err *e)
{
    const gopt_tensor *t = gopt_ref_in(x, h->bias);
    double *v;
    GOPT_TRY(gopt_ref_load(x, h->bias, &v, e));
    add->v = v;
    if (t)
        gopt_ref_broadcast_strides(t->dim, t->rank, (int64_t[]){h->batch, h->heads, h->s, h->t}, 4, add->stride);
    return GOPT_OK;
}

gopt_status gopt_ms_heads_run(gopt_exec *x, const gopt_ms_heads *h, gopt_err *e)
{
    gopt_attention_head a = {.s = h->s, .t = h->t, .d = h->d, .dv = h->dv};
    addend add;
    double *bias, *y, *out;
    a.scale = gopt_attr_float(x->attrs, "scale", 0);
    if (a.scale == 0)
        a.scale = 1 / sqrt((double)h->d);
    GOPT_TRY(load_addend(x, h, &add, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.t, &a.scores, e));
    GOPT_TRY(gopt_ref_buffer(x, a.d * a.t, &a.turned, e));
    GOPT_TRY(gopt_ref_buffer(x, a.s * a.dv, &y, e));
    GOPT_TRY(gopt_ref_buffer(x, h->batch * h->s * h->heads * h->dv, &out, e));
    a.bias = bias;
    for (int64_t n = 0; n < h->batch * h->heads; n++) {
        int64_t b = n / h->heads, head = n % h->heads;
        make_bias(x, h, &add, b, head, bias);
        a.q = h->q + n * a.s * a.d;
        a.k = h->k + n * a.t * a.d;
        a.v = h->v + n * a.t * a.dv;
        a.kept = h->kept ? h->kept + n * a.s * a.t : NULL;
        gopt_attention_head_run(&a, y);
        for (int64_t s = 0; s < a.s; s++)
            memcpy(out + ((b * a.s + s) * h->heads + head) * a.dv, y + s * a.dv, (size_t)a.dv * sizeof *y);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}
