/* layout.h: nodes that can compute a permuted result from permuted operands. A layout is a permutation as of a
 * Transpose: axis i of what is stored is axis perm[i] of the value. */
#ifndef GOPT_LAYOUT_H
#define GOPT_LAYOUT_H

#include "passes/rewrite.h"

typedef struct gopt_layout {
    int rank;
    int64_t perm[GOPT_RANK_MAX];
} gopt_layout;

gopt_layout gopt_layout_inverse(const gopt_layout *l);
/* First a, then b. */
gopt_layout gopt_layout_then(const gopt_layout *a, const gopt_layout *b);
bool gopt_layout_is_plain(const gopt_layout *l);
/* What a Transpose does; false when n is none (it may be NULL), or of unknown rank. */
bool gopt_layout_of(const gopt_node *n, gopt_layout *l);

/* The rank in which n can be computed in any layout; 0: in its own alone. */
int gopt_layout_rank(const gopt_node *n);
/* Whether operand k has to be stored in the layout of such a node; others are constants that are rewritten, scalars,
 * or have another meaning. */
bool gopt_layout_carries(const gopt_node *n, int k);
/* Whether this layout suits n: an axis that kernels want last stays last, a convolution has its channels last. */
bool gopt_layout_suits(const gopt_node *n, const gopt_layout *l);
/* Computes n's results in layout l, from operands in l, which Transposes give (one that cancels with the Transpose
 * before is left out); Transposes give the results back to who reads them. n is gone afterwards. False without memory.
 */
bool gopt_layout_move(gopt_node *n, const gopt_layout *l);

/* ---- layout_conv.c ---- */

/* A Conv that ConvNhwc can take the place of. */
bool gopt_layout_is_conv(const gopt_node *n);
/* A MaxPool without positions or an AveragePool that PoolNhwc can take the place of. */
bool gopt_layout_is_pool(const gopt_node *n);
gopt_layout gopt_layout_channels_last(int rank);
/* What such a Conv gains, by the predictions of the kernels for this machine: as many bytes as could be read and
 * written in that time; below 0 when it loses. */
double gopt_layout_conv_gain(const gopt_node *n);

#endif
