/* engine.h: runs a plan. One engine serves one thread at a time; the plan is shared and only read. */
#ifndef GOPT_ENGINE_H
#define GOPT_ENGINE_H

#include "plan.h"

typedef struct gopt_engine gopt_engine;

/* Bytes as defined in design/product.md; peak = weights + arena + workspace + runtime. */
typedef struct gopt_memory {
    size_t weights, arena, workspace;
    size_t runtime; /* engine, specs, pool, dynamic values and late packing at their highest */
    size_t peak;    /* highest so far */
    size_t steady;  /* after the last run */
} gopt_memory;

/* threads 0: the plan's. Borrows the plan. */
gopt_status gopt_engine_new(gopt_engine **out, const gopt_plan *p, int threads, gopt_err *e);
void gopt_engine_free(gopt_engine *g);
gopt_status gopt_engine_bind(gopt_engine *g, int input, const gopt_tensor *t, gopt_err *e); /* borrows t->data */
/* deadline: gopt_now() after which control-flow loops give up (ELIMIT); 0: none. */
gopt_status gopt_engine_run(gopt_engine *g, int64_t deadline, gopt_err *e);
const gopt_tensor *gopt_engine_output(const gopt_engine *g, int output); /* valid until the next run */
void gopt_engine_memory(const gopt_engine *g, gopt_memory *out);
/* One run with a clock read round every step of the main plan; ns[] has room for n_steps. Never use it for latency. */
gopt_status gopt_engine_trace(gopt_engine *g, int64_t *ns, gopt_err *e);

#endif
