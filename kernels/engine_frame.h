/* engine_frame.h: inner types of the engine: a frame is one plan (the main one or a body) with memory to run it in. */
#ifndef GOPT_ENGINE_FRAME_H
#define GOPT_ENGINE_FRAME_H

#include "base/pool.h"
#include "engine.h"

/* A kernel made ready for one group. */
typedef struct gopt_ready {
    void (*run)(const gopt_task *t);
    gopt_work work;
    void *spec;
} gopt_ready;

/* A kernel chosen at run time, with the shapes it was chosen for. */
typedef struct gopt_late {
    struct gopt_late *next;
    gopt_group group;
    gopt_ready ready; /* run NULL: no kernel fits, the reference does it */
    void **packed;    /* by operand; NULL: as bound */
} gopt_late;

struct gopt_frame;
typedef struct gopt_step_state {
    const void **in;
    void **out;
    gopt_ready ready;
    gopt_late *late;
    struct gopt_frame **body;
    int free_head; /* first DYNAMIC value that dies after this step, -1 */
} gopt_step_state;

typedef struct gopt_frame {
    gopt_engine *engine;
    const gopt_plan *plan;
    struct gopt_frame *outer;
    unsigned char *arena;
    gopt_tensor *tensor; /* by value: shape and where it is now */
    size_t *dynamic;     /* by value: bytes allocated for it at run time */
    int *free_next;      /* by value: next in its step's list */
    gopt_step_state *step;
    bool stale; /* addresses changed since the steps' pointers were filled in */
} gopt_frame;

struct gopt_engine {
    gopt_arena arena; /* frames, states, specs */
    const gopt_plan *plan;
    gopt_frame *frame;
    gopt_pool *pool;
    int threads;
    gopt_target target;
    void *workspace;
    size_t workspace_bytes, arena_bytes;
    struct gopt_dynlib **code;
    size_t dynamic_now, dynamic_peak; /* bytes of DYNAMIC values */
    gopt_arena late;                  /* kernels chosen at run time, their packed constants */
    int64_t deadline;
    bool ran;
};

gopt_status gopt_frame_run(gopt_frame *f, int64_t *ns, gopt_err *e);
/* Runs a kernel on the pool. */
void gopt_engine_call(gopt_engine *g, const gopt_ready *r, const void *const *in, void *const *out);
gopt_status gopt_engine_need_workspace(gopt_engine *g, size_t bytes, gopt_err *e);
/* One step whose kernel is chosen now. */
gopt_status gopt_frame_run_late(gopt_frame *f, int step, gopt_err *e);
/* Memory for a DYNAMIC value of the shape that tensor[v] has. */
gopt_status gopt_frame_allocate(gopt_frame *f, int v, gopt_err *e);
void gopt_frame_drop(gopt_frame *f, int v); /* frees it, if there is any */

#endif
