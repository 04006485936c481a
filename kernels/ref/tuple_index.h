/* tuple_index.h: index tuples in the last dimension of a tensor, each the place of a slice: GatherND, ScatterND. */
#ifndef GOPT_REF_TUPLE_INDEX_H
#define GOPT_REF_TUPLE_INDEX_H

#include "ref/move.h"

/* Checks type, ranks and tuple size of indices (input 1) into data (input 0) after `batch` leading dimensions that both
 * share. *width is the tuple size where it is known, else -1. */
gopt_status gopt_tuple_index_infer(const gopt_infer *x, int64_t batch, int *width, gopt_err *e);
/* Calls visit(ctx, k, place, n) for every tuple k: `place` is the flat position in data of a slice of n elements. */
gopt_status gopt_tuple_index_each(gopt_exec *x, const gopt_tensor *data, const gopt_tensor *indices, int batch,
                                  void (*visit)(void *ctx, int64_t k, int64_t place, int64_t n), void *ctx,
                                  gopt_err *e);

#endif
