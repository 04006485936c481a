/* walk.h: how operands follow a row-major walk through the output they are broadcast to. */
#ifndef GOPT_CPU_WALK_H
#define GOPT_CPU_WALK_H

#include "kernel.h"

enum { GOPT_WALK_IN = 12 };

/* Dimensions of the output with those of 1 dropped and neighbours joined where every operand allows it; at least one.
 * Along the last one every stride is 0 or 1. */
typedef struct gopt_walk {
    int rank, n_in;
    int64_t dim[GOPT_RANK_MAX];
    int operand[GOPT_WALK_IN];
    int64_t stride[GOPT_WALK_IN][GOPT_RANK_MAX];
} gopt_walk;

/* False when an operand does not broadcast to out[0], is packed, or n is over GOPT_WALK_IN. */
bool gopt_walk_of(gopt_walk *w, const gopt_group *g, const int *operand, int n);
/* Where in-operand k has the element for output element (row, 0): row counts all dimensions but the last. */
int64_t gopt_walk_row(const gopt_walk *w, int k, int64_t row);

#endif
