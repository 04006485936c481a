/* attention_heads.h: where the heads of queries, keys and values lie: back through the views, transposes, splits and
 * repetitions that exporters write, to what gopt Attention can read in place. */
#ifndef GOPT_ATTENTION_HEADS_H
#define GOPT_ATTENTION_HEADS_H

#include "passes/rewrite.h"

/* What one operand of attention is: (batch, heads, length, size). */
typedef struct gopt_heads_shape {
    int64_t batch, heads, length, size;
} gopt_heads_shape;

/* Where it was found. Nothing in the graph has changed. */
typedef struct gopt_heads_found {
    gopt_heads_shape shape; /* heads: fewer than asked for where they are repeated */
    gopt_value *v;          /* holds the elements, row-major, in some shape */
    bool columns;           /* in v's rows heads lie side by side, from `first` of `width` columns on; else by heads */
    int64_t first, width;
    int64_t group; /* heads that lie side by side: shape.heads, or fewer: then rows are (length, batch of these) */
    bool turned;   /* by heads, but (size, length): a Transpose is needed */
    double factor; /* they are to be multiplied with */
} gopt_heads_found;

/* v is (batch, heads, length, size), or (.., size, length) where `turned`, perhaps with batch and heads as one
 * dimension or without any. Scalar factors are looked through where `scalable`. Rows of fewer heads than there are, the
 * batch among them, are looked for where `grouped`. */
gopt_heads_found gopt_heads_find(gopt_value *v, gopt_heads_shape shape, bool turned, bool scalable, bool grouped);
/* Keys or values of which one head serves several of queries: what is repeated, `turned` after which; v itself when
 * nothing is. Lowers shape->heads. */
gopt_value *gopt_heads_ungroup(gopt_value *v, gopt_heads_shape *shape, bool *turned);
/* The operand for gopt Attention; views and transposes it takes are put before `before`. NULL without memory. */
gopt_value *gopt_heads_operand(const gopt_heads_found *f, gopt_node *before);
/* A new node with one output, inferred. NULL without memory. */
gopt_value *gopt_heads_node(gopt_node *before, const char *op, gopt_attrs attrs, gopt_value *const *in, int n_in);
gopt_value *gopt_heads_reshape(gopt_value *v, const int64_t *dim, int rank, gopt_node *before);
gopt_value *gopt_heads_transpose(gopt_value *v, const int64_t *perm, int rank, gopt_node *before);
/* n is a Transpose with this perm. */
bool gopt_heads_is_transpose(const gopt_node *n, const int64_t *perm, int rank);

#endif
