/* unfold.h: an image as columns, one for each window position, and back: what turns convolution into a matrix product.
 */
#ifndef GOPT_REF_UNFOLD_H
#define GOPT_REF_UNFOLD_H

#include "ref/window.h"

/* Window positions [first, first + n) of a bound window over an image of size w->in; positions count in w->out. */
typedef struct gopt_unfold {
    const gopt_window *w;
    int64_t first, n;
} gopt_unfold;

/* How many positions to take at once when there are `size`, so that columns of `depth` rows stay of moderate size. */
int64_t gopt_unfold_block(int64_t size, int64_t depth);
/* columns[channel][tap][position] = what the tap sees there, 0 in the padding. */
void gopt_unfold_read(const gopt_unfold *u, const double *image, int64_t channels, double *columns);
/* The adjoint: adds every column element to the image cell that its tap sees. */
void gopt_unfold_add(const gopt_unfold *u, const double *columns, int64_t channels, double *image);

#endif
