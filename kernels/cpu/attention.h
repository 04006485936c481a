/* attention.h: where the heads of an attention operator lie: ai.onnx Attention and gopt Attention as one geometry. */
#ifndef GOPT_CPU_ATTENTION_H
#define GOPT_CPU_ATTENTION_H

#include "cpu/simd.h"
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
    gopt_score_mask keep; /* where false the score is `fill`, or with keep_scales itself times 0 */
    int64_t mask_keys;    /* keys from there on are not seen */
    int64_t left, right;  /* how far a query sees; right is 0 where causal; -1: all */
    float scale, softcap, fill;
    float factor;       /* of products that have been rounded */
    bool factor_rounds; /* what it gives has to be rounded again */
    bool keep_scales;
    float hidden;          /* added to what is not seen */
    bool hidden_replaces;  /* the score of what is not seen */
    bool masks_all;        /* what is not seen gets the mask, too */
    bool like_softmax;     /* a query that sees no key gives NaN; else its weights are 0 */
    bool zero_nan;         /* weights that are NaN count as 0 */
    bool rounds, brain;    /* scores to float16 or bfloat16 after every step, and weights */
    int64_t past_first[2]; /* where in operand past_key, past_value they begin */
    bool present[2];       /* which of outputs 1 and 2 are wanted */
} gopt_attention;

/* The scores of keys [key, key + n) for query `query` of a head. */
typedef struct gopt_scores {
    const gopt_simd *simd;
    const void *const *in; /* operands */
    int64_t batch, head, query, key, n;
    float *row;
    uint16_t *room; /* for n, where they are rounded */
} gopt_scores;

/* From products: cap, masks, windows. */
void gopt_scores_finish(const gopt_attention *a, const gopt_scores *s);
void gopt_scores_round(const gopt_attention *a, const gopt_scores *s);
/* Keys that a query may see: [*lo, *hi). */
void gopt_attention_seen(const gopt_attention *a, int64_t query, int64_t *lo, int64_t *hi);
/* Whether masks and windows alone keep all keys from a query. */
bool gopt_attention_sees_nothing(const gopt_attention *a, const void *const *in, int64_t batch, int64_t head,
                                 int64_t query);
/* Whether the query's added mask neither outweighs nor undercuts what hides keys. */
bool gopt_attention_mask_is_tame(const gopt_attention *a, const gopt_scores *s);

/* `count` rows of n floats, `step` apart; the same times the root of `square` in a run of memory with zeros. */
typedef struct gopt_rows {
    const float *row, *packed;
    int64_t count, n, step, n_packed;
    float square;
} gopt_rows;

/* Whether the sum of the squares of each row is below `most`. */
bool gopt_rows_are_below(const gopt_simd *simd, const gopt_rows *x, float most);

/* False when the group is no float32 attention of the kind. */
bool gopt_attention_of(const gopt_group *g, gopt_attention *a);
int64_t gopt_heads_at(const gopt_heads *h, int64_t batch, int64_t head, int64_t row);

#endif
