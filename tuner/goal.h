/* goal.h: what a decision is for: objective, its weights, constraints. The same for a job and for deciding again. */
#ifndef GOPT_GOAL_H
#define GOPT_GOAL_H

#include "base/err.h"

#define GOPT_OBJECTIVES(X)                                                                                             \
    X(latency, "median latency of one inference")                                                                      \
    X(p99, "99th percentile of latency")                                                                               \
    X(throughput, "inferences per second of one session")                                                              \
    X(memory, "peak memory")                                                                                           \
    X(compile, "time to compile")                                                                                      \
    X(utility, "S / (1 + alpha T_compile / T_run)")                                                                    \
    X(wall, "T_compile + requests * T_run")
#define GOPT_X_OBJECTIVE(n, doc) GOPT_OBJECTIVE_##n,
typedef enum gopt_objective { GOPT_OBJECTIVES(GOPT_X_OBJECTIVE) GOPT_OBJECTIVE_COUNT } gopt_objective;
#undef GOPT_X_OBJECTIVE

typedef struct gopt_goal {
    gopt_objective objective;
    double alpha;      /* of utility */
    double requests;   /* of wall */
    double hit_rate;   /* of the compile cache in deployment */
    double max_memory; /* bytes; 0: none. The same for the next two, in ns */
    double max_compile_ns, max_latency_ns;
} gopt_goal;

extern const gopt_goal gopt_goal_default;
const char *gopt_objective_name(gopt_objective o);
gopt_status gopt_objective_parse(gopt_objective *out, const char *name, gopt_err *e);

#endif
