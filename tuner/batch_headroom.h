/* batch_headroom.h: the largest batch that fits a memory limit: found by search over plans, verified by running. */
#ifndef GOPT_BATCH_HEADROOM_H
#define GOPT_BATCH_HEADROOM_H

#include "cli.h"
#include "config.h"

enum { GOPT_BATCH_MOST = 1 << 20 }; /* none larger is tried */

typedef struct gopt_batch_headroom {
    int64_t largest;   /* 0: not even 1 */
    size_t peak;       /* at it: weights, activations, workspace and runtime of one engine with one thread */
    int64_t above;     /* the smallest that was tried and does not fit; 0: all did */
    size_t peak_above; /* 0: not known, `why` says more */
    bool ran;          /* the largest ran, in a process that could not take more than the limit */
    char others[256];  /* sizes that were not given: "seq=32, state=batch" where it follows the batch; empty: none */
    char why[256];     /* what, other than its memory, keeps `above` or the run; empty: nothing */
} gopt_batch_headroom;

/* The symbolic dimension of the model's inputs that is a batch; NULL when there is none. */
const char *gopt_batch_symbol(const gopt_graph *g);
/* Compiles images of the imported graph for sizes of `symbol` in processes of their own, then runs the largest that
 * fits once; other symbols as given in `shapes`, else sensible for a length that the model takes; those that
 * gopt_inputs_shape takes for batches, too, follow `symbol` where it cannot grow alone. A model whose memory only a run
 * tells is run every time. The configuration must not generate kernels if that has to be quick. Fails as a batch of 1
 * does for any other reason than memory; EINTR. */
gopt_status gopt_batch_headroom_find(gopt_batch_headroom *out, const gopt_graph *g, const gopt_config *c,
                                     const char *symbol, const gopt_shapes *shapes, size_t limit, gopt_err *e);

#endif
