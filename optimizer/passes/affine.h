/* affine.h: scaling and shifting a product's or convolution's output channels through its weights and bias. */
#ifndef GOPT_AFFINE_H
#define GOPT_AFFINE_H

#include "passes/rewrite.h"

/* A product or convolution with constant weights. */
typedef struct gopt_affine {
    gopt_node *node;
    int64_t channels;
    int axis; /* of the channels in its output */
    /* Element e of the weights belongs to channel (e / outer) * step + (e / inner) % period. */
    int64_t outer, step, inner, period;
} gopt_affine;

/* Whether v is computed by such a node: Conv, ConvTranspose, Gemm or MatMul, without post, of floats; its weights, and
 * its bias where it has one, are constants that nothing else reads, and `reader`, in the same graph, is all that reads
 * v. */
bool gopt_affine_find(gopt_affine *p, const gopt_value *v, const gopt_node *reader);
/* Per-channel numbers from constant c that is combined with the output; NULL when it varies along another axis, or
 * without memory (the arena has failed). They lie in the arena. */
double *gopt_affine_numbers(const gopt_affine *p, const gopt_value *c, gopt_arena *a);
/* Makes the node compute scale[j] * y + shift[j] (either may be NULL) for what it computed before, y, and take over the
 * output of `reader`, which is removed. False, with nothing changed, when a new number would not be finite or there is
 * no place for a shift. */
bool gopt_affine_fold(gopt_affine *p, const double *scale, const double *shift, gopt_node *reader);

#endif
