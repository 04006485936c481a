/* attention_head.c: products, cap, bias, softmax, products. */
#include "ref/attention_head.h"

#include <math.h>
#include <string.h>

#include "ref/axis.h"
#include "ref/multiply.h"

static void keep(const gopt_attention_head *h, gopt_attention_stage stage)
{
    if (h->kept && h->stage == stage)
        memcpy(h->kept, h->scores, (size_t)(h->s * h->t) * sizeof *h->kept);
}

/* As a graph of single operators rounds what it stores. */
static void round_all(const gopt_attention_head *h)
{
    for (int64_t i = 0; i < h->s * h->t && h->rounds != GOPT_DTYPE_NONE; i++)
        h->scores[i] = gopt_dtype_round(h->rounds, h->scores[i]);
}

static void scale_all(const gopt_attention_head *h, double by)
{
    for (int64_t i = 0; i < h->s * h->t; i++)
        h->scores[i] *= by;
    round_all(h);
}

static void multiply_keys(const gopt_attention_head *h)
{
    for (int64_t j = 0; j < h->t; j++)
        for (int64_t i = 0; i < h->d; i++)
            h->turned[i * h->t + j] = h->k[j * h->d + i];
    memset(h->scores, 0, (size_t)(h->s * h->t) * sizeof *h->scores);
    gopt_ref_multiply(h->s, h->t, h->d, h->q, h->d, h->turned, h->t, h->scores, h->t);
    scale_all(h, h->scale);
    if (h->rounds != GOPT_DTYPE_NONE)
        scale_all(h, h->factor);
}

static void cap(const gopt_attention_head *h)
{
    for (int64_t i = 0; i < h->s * h->t; i++)
        h->scores[i] /= h->softcap;
    round_all(h);
    for (int64_t i = 0; i < h->s * h->t; i++)
        h->scores[i] = tanh(h->scores[i]);
    round_all(h);
    scale_all(h, h->softcap);
}

static void mask(const gopt_attention_head *h)
{
    for (int64_t i = 0; i < h->s * h->t && h->keep; i++)
        if (h->keep[i] == 0)
            h->scores[i] = h->keep_scales ? h->scores[i] * 0 : h->fill;
    for (int64_t i = 0; i < h->s * h->t && h->bias; i++)
        h->scores[i] += h->bias[i];
    round_all(h);
}

static bool is_masked(const double *bias, int64_t t)
{
    for (int64_t j = 0; bias && j < t; j++)
        if (bias[j] != -INFINITY)
            return false;
    return bias || t == 0;
}

static void softmax(double *v, int64_t n, bool plain, const double *sink)
{
    double max = gopt_axis_largest(v, n), sum = 0;
    if (sink)
        max = GOPT_MAX(max, *sink);
    if (max == -INFINITY && !plain)
        max = 0;
    if (sink)
        sum = exp(*sink - max);
    for (int64_t j = 0; j < n; j++)
        sum += v[j] = exp(v[j] - max);
    for (int64_t j = 0; j < n && sum != 0; j++)
        v[j] /= sum;
}

void gopt_attention_head_run(const gopt_attention_head *h, double *y)
{
    multiply_keys(h);
    keep(h, GOPT_ATTENTION_PRODUCT);
    if (h->softcap > 0)
        cap(h);
    keep(h, GOPT_ATTENTION_CAPPED);
    mask(h);
    keep(h, GOPT_ATTENTION_BIASED);
    for (int64_t i = 0; i < h->s; i++) {
        double *row = h->scores + i * h->t;
        if (!h->like_softmax && is_masked(h->bias ? h->bias + i * h->t : NULL, h->t))
            memset(row, 0, (size_t)h->t * sizeof *row);
        else
            softmax(row, h->t, h->like_softmax, h->sink);
    }
    for (int64_t i = 0; i < h->s * h->t && h->zero_nan; i++)
        h->scores[i] = isnan(h->scores[i]) ? 0 : h->scores[i];
    round_all(h);
    keep(h, GOPT_ATTENTION_WEIGHTS);
    memset(y, 0, (size_t)(h->s * h->dv) * sizeof *y);
    gopt_ref_multiply(h->s, h->dv, h->t, h->scores, h->t, h->v, h->dv, y, h->dv);
}
