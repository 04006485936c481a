/* element_index.h: indices that replace the position along one axis: GatherElements, ScatterElements, Scatter. */
#ifndef GOPT_REF_ELEMENT_INDEX_H
#define GOPT_REF_ELEMENT_INDEX_H

#include "ref/move.h"

/* Checks types, ranks and sizes of data (input 0) and indices (input 1), and the axis attribute. */
gopt_status gopt_element_index_infer(const gopt_infer *x, gopt_err *e);
/* Calls visit(ctx, k, place) for every index k, `place` being the flat position in data that it stands for. */
gopt_status gopt_element_index_each(gopt_exec *x, const gopt_tensor *data, const gopt_tensor *indices,
                                    void (*visit)(void *ctx, int64_t k, int64_t place), void *ctx, gopt_err *e);

#endif
