/* checkern.h: one kernel against the reference on one problem: levels, knobs, parts, packed and not, guards round
 * memory. */
#ifndef GOPT_TEST_CHECKERN_H
#define GOPT_TEST_CHECKERN_H

#include "base/pool.h"
#include "support/problem.h"

typedef struct checkern_case {
    const gopt_kernel *kernel;
    const problem *p;
    const char *what; /* of the problem, for messages */
    gopt_target target;
    int64_t knob[GOPT_KERNEL_KNOBS];
    bool pack;                            /* constants as the kernel wants them */
    void (*generated)(const gopt_task *); /* of a kernel that emits C: the compiled function */
    gopt_pool *pool;                      /* runs the parts at once; NULL: one after the other */
} checkern_case;

/* Memory of one prepared call. */
typedef struct checkern_call {
    gopt_arena arena;
    gopt_group group; /* with packed marked */
    gopt_work work;
    gopt_task task;
    void (*run)(const gopt_task *);
    gopt_pool *pool;
} checkern_call;

/* The problem's group, with constants marked packed where the case has them so; in: room for its operands. */
gopt_group checkern_group(const checkern_case *k, gopt_operand *in);
/* A target that makes everything look expensive, so that work is split whatever its size. */
gopt_target checkern_target(gopt_isa isa, int threads);
void checkern_call_init(checkern_call *c, const checkern_case *k);
void checkern_call_run(checkern_call *c);
void checkern_call_fini(checkern_call *c);
/* Prepares, runs and compares; fails the running test with the first difference. */
void checkern_run(const checkern_case *k);

#endif
