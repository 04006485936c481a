/* pool.h: fork/join over a few threads with a bounded spin (waking a parked thread costs 35-60 us in a virtual
 * machine, longer than most kernels; spinning for ever starves an oversubscribed machine). */
#ifndef GOPT_BASE_POOL_H
#define GOPT_BASE_POOL_H

#include "base/err.h"

/* Only the process that made it has its threads: a child made by fork() may free a pool, but not run it. */
typedef struct gopt_pool gopt_pool;

enum { GOPT_POOL_MOST = 4096 }; /* threads; what asks for more is a mistake, not a machine */

/* threads in [1, GOPT_POOL_MOST], the caller is one of them. */
gopt_status gopt_pool_new(gopt_pool **out, int threads, gopt_err *e);
void gopt_pool_free(gopt_pool *p);
int gopt_pool_threads(const gopt_pool *p);
/* Calls fn(ctx, part) for every part in [0, parts), each once, on the caller and the pool's threads; returns when all
 * are done. One caller at a time. */
void gopt_pool_run(gopt_pool *p, void (*fn)(void *ctx, int part), void *ctx, int parts);
/* Between begin and end the workers spin instead of parking: call them round a whole inference. */
void gopt_pool_begin(gopt_pool *p);
void gopt_pool_end(gopt_pool *p);

#endif
