/* attention_head.h: scaled dot-product attention of one head of one sequence, shared by all attention operators. */
#ifndef GOPT_REF_ATTENTION_HEAD_H
#define GOPT_REF_ATTENTION_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor.h"

typedef enum gopt_attention_stage {
    GOPT_ATTENTION_PRODUCT, /* scaled product of queries and keys */
    GOPT_ATTENTION_CAPPED,  /* after the soft cap */
    GOPT_ATTENTION_BIASED,  /* with the bias */
    GOPT_ATTENTION_WEIGHTS  /* after softmax */
} gopt_attention_stage;

typedef struct gopt_attention_head {
    int64_t s, t, d, dv;     /* queries, keys, size of a key, size of a value */
    double scale;            /* of the products */
    double softcap;          /* 0: none */
    const double *q, *k, *v; /* s x d, t x d, t x dv */
    const double *keep;      /* s x t: where 0 the score is `fill`, before the bias; NULL: none */
    double fill;
    bool keep_scales;        /* where keep is 0 the score is multiplied by 0 instead */
    const double *bias;      /* s x t, -inf where masked; NULL: none */
    const double *sink;      /* one more score in the sum of softmax, of no value; NULL: none */
    bool like_softmax;       /* a query that may look at no key gives NaN */
    bool zero_nan;           /* weights that are NaN count as 0 */
    gopt_dtype rounds;       /* to which scores are rounded after every step, and weights; GOPT_DTYPE_NONE: not */
    double factor;           /* of products that have been rounded */
    double *scores, *turned; /* room for s x t and for t x d */
    gopt_attention_stage stage;
    double *kept; /* gets the scores (s x t) at that stage, or NULL */
} gopt_attention_head;

/* y (s x dv). A query that may look at no key gives zeros, unless like_softmax. */
void gopt_attention_head_run(const gopt_attention_head *h, double *y);

#endif
