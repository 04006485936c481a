/* attention_match.h: what recognize_attention has found of one attention: the scores' parts, operands and shapes. */
#ifndef GOPT_ATTENTION_MATCH_H
#define GOPT_ATTENTION_MATCH_H

#include "passes/attention_heads.h"
#include "passes/match.h"

typedef struct gopt_attention_match {
    gopt_match match;
    gopt_graph *g;
    gopt_value *scores; /* a value of their shape */
    gopt_dtype type;    /* of all operands: float32, float16 or bfloat16 */
    gopt_node *product, *last;
    gopt_heads_shape q, k, v; /* k and v: with the past, as the products see them */
    int64_t dim[GOPT_RANK_MAX];
    int rank;
    double alpha, scale, softcap, fill; /* alpha: the product's own factor */
    bool uncapped;                      /* half precision: the division by softcap has been met */
    int factors;                        /* half precision: of the product, one by one */
    gopt_value *mask[3];
    bool minus[3];
    int n_masks;
    gopt_value *keep;
    bool inverted;    /* keep is what to replace */
    bool keep_scales; /* what is not kept is multiplied by 0, not replaced */
    bool zero_nan;    /* weights that are NaN become 0 */
    bool causal;      /* a query does not see keys behind it: a constant mask said so */
    double hidden;    /* what is added to the scores of these */
    bool replaces;    /* or replaces them */
} gopt_attention_match;

/* From the softmax, whose input is v, down to the product of queries and keys; scores, type, rank and g are set. False,
 * with *a undefined, where something else is computed. */
bool gopt_attention_match_scores(gopt_attention_match *a, gopt_value *v);
/* A constant triangle becomes is_causal, so that blocks of keys are left out where all is finite. The lowest float does
 * for that, where it is all that is added: e to the power of it less any other score is 0. */
void gopt_attention_match_causal(gopt_attention_match *a, int64_t past);

#endif
