/* attention.h: where the heads of an attention operator lie: ai.onnx Attention and gopt Attention as one geometry. */
#ifndef GOPT_CPU_ATTENTION_H
#define GOPT_CPU_ATTENTION_H

#include "kernel.h"

enum { GOPT_ATTENTION_Q, GOPT_ATTENTION_K, GOPT_ATTENTION_V, GOPT_ATTENTION_MASK, GOPT_ATTENTION_PAST };

/* Row `row` of head `head` of sequence `batch` begins at first + batch * of_batch + head * of_head + row * of_row. */
typedef struct gopt_heads {
    int64_t first, of_batch, of_head, of_row;
} gopt_heads;

/* A mask broadcast to the scores; operand -1: none. */
typedef struct gopt_score_mask {
    int operand;
    bool is_bool;
    int64_t stride[4]; /* by batch, head, query, key */
} gopt_score_mask;

typedef struct gopt_attention {
    int64_t batch, heads, kv_heads, queries, past, keys; /* keys: those of the past included */
    int64_t d, dv;                                       /* size of a key, of a value */
    gopt_heads q, k, v, out;
    gopt_score_mask mask; /* added; a bool: -inf where false */
    gopt_score_mask keep; /* where false the score is `fill` */
    int64_t mask_keys;    /* keys from there on are not seen */
    int64_t left, right;  /* how far a query sees; right is 0 where causal; -1: all */
    float scale, softcap, fill;
    bool like_softmax;     /* a query that sees no key gives NaN; else 0 */
    int64_t past_first[2]; /* where in operand past_key, past_value they begin */
    bool present[2];       /* which of outputs 1 and 2 are wanted */
} gopt_attention;

/* False when the group is no float32 attention of the kind. */
bool gopt_attention_of(const gopt_group *g, gopt_attention *a);
int64_t gopt_heads_at(const gopt_heads *h, int64_t batch, int64_t head, int64_t row);

#endif
