/* shape.h: sizes for the symbolic dimensions of a model. */
#ifndef GOPT_SHAPE_H
#define GOPT_SHAPE_H

#include "cli.h"
#include "graph.h"

/* Binds every symbol: to what was given, else to a sensible size, `length` where it is a length. EUSAGE when something
 * was given that the model does not have. The outcomes may be NULL: *bound is appended "batch=1,seq=32"; *made_up is
 * the number of sizes that were not given. */
gopt_status gopt_shape_bind(gopt_graph *g, const gopt_shapes *given, int64_t length, gopt_text *bound, int *made_up,
                            gopt_err *e);
/* Binds every symbol to what these tensors, one per graph input, say. EINPUT when they contradict each other or the
 * model. */
gopt_status gopt_shape_bind_to(gopt_graph *g, const gopt_tensor *const *in, gopt_err *e);

/* Sizes to try, in this order, for a length that was not given: a model may take only long or only short ones. */
enum { GOPT_LENGTHS = 5 };
extern const int64_t gopt_lengths[GOPT_LENGTHS];

/* What is done with a model at some length. EINPUT or EUNSUP with *made_up, the number of sizes that were not given:
 * another length may do. */
typedef gopt_status gopt_shape_attempt(void *ctx, int64_t length, int *made_up, gopt_err *e);
/* Makes attempts until one succeeds or fails otherwise. When none does, the first failure is told, and which sizes to
 * choose: those that g, not bound, has and that were not given. */
gopt_status gopt_shape_search(const gopt_graph *g, const gopt_shapes *given, gopt_shape_attempt *attempt, void *ctx,
                              gopt_err *e);
/* EUSAGE unless every size was given: "say all of --shape batch=N,seq=N", or when one that the model does not have was.
 */
gopt_status gopt_shape_need_all(const gopt_graph *g, const gopt_shapes *given, gopt_err *e);

#endif
