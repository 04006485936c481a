/* isolated.h: computing tensors in a process of their own, with limits: a crash, a hang or a memory bomb there is an
 * error here. */
#ifndef GOPT_ISOLATED_H
#define GOPT_ISOLATED_H

#include "tensor.h"

/* Fills out[0..n_out); data may lie in the arena, which is freed with the process. */
typedef gopt_status gopt_isolated_fn(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e);

typedef struct gopt_isolated {
    void *memory; /* shared with the ended process; what out[].data point into */
    size_t bytes;
    int64_t ns; /* wall clock of fn */
} gopt_isolated;

/* Runs fn in a forked process. GOPT_ELIMIT past limit_ns (it is killed), GOPT_EBUG when it crashed, else fn's own
 * status and message. out[].data stay valid until gopt_isolated_fini. memory_limit: bytes of address space, 0: none.
 * GOPT_EINTR soon after *interrupted becomes other than 0; NULL: nothing interrupts it. */
gopt_status gopt_isolated_run(gopt_isolated *keep, gopt_isolated_fn *fn, void *ctx, gopt_tensor *out, int n_out,
                              int64_t limit_ns, size_t memory_limit, const volatile int *interrupted, gopt_err *e);
void gopt_isolated_fini(gopt_isolated *keep);

#endif
