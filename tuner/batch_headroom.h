/* batch_headroom.h: the largest batch that fits a memory limit: found by search over plans, verified by running. */
#ifndef GOPT_BATCH_HEADROOM_H
#define GOPT_BATCH_HEADROOM_H

#include "cli.h"
#include "config.h"

enum { GOPT_BATCH_MOST = 1 << 20 }; /* none larger is tried */

/* The sizes of the model's symbolic dimensions for any batch. */
typedef struct gopt_batch_sizes {
    gopt_shapes shapes; /* of what was given; the last `batches`, the first of which was asked for, are the batch */
    int batches;
    int64_t length;   /* for those that are not in shapes */
    char others[256]; /* sizes that were not given: "seq=32, state=batch" where it follows the batch; empty: none */
    char shape[256];  /* all, as gopt_shape_bind says them for this length: "batch=1,seq=32" */
} gopt_batch_sizes;

typedef struct gopt_batch_headroom {
    int64_t largest;   /* 0: not even 1 */
    size_t peak;       /* at it: weights, activations, workspace and runtime of one engine with one thread */
    int64_t above;     /* the smallest that was tried and does not fit; 0: all did */
    size_t peak_above; /* 0: not known */
    bool ran;          /* the largest ran, in a process that could not take more than the limit */
    char why[256];     /* what, other than memory, keeps `above` or the largest from running; empty: nothing */
} gopt_batch_headroom;

/* The symbolic dimension of the model's inputs that is a batch; NULL when there is none. */
const char *gopt_batch_symbol(const gopt_graph *g);
/* Sizes with which the model runs, as imported and in a process of its own, for batches of `symbol` of 1, 2 and 3,
 * whatever memory it takes: other symbols as given, else sensible for a length that the model takes; those that
 * gopt_inputs_shape takes for batches, too, follow `symbol` where it cannot grow alone. Fails as a batch of 1 does. */
gopt_status gopt_batch_sizes_find(gopt_batch_sizes *out, const gopt_graph *g, const char *symbol,
                                  const gopt_shapes *given, gopt_err *e);
/* Compiles images of the imported graph for batches in processes of their own, then runs the largest that fits once. A
 * model whose memory only a run tells is run every time. The configuration must not generate kernels if that has to be
 * quick. Fails as a batch of 1 does for any other reason than memory. */
gopt_status gopt_batch_headroom_find(gopt_batch_headroom *out, const gopt_graph *g, const gopt_config *c,
                                     const gopt_batch_sizes *sizes, size_t limit, gopt_err *e);

#endif
