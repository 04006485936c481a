/* case.h: one verification, in a process of its own: inputs, what must come out, what an engine makes of them. */
#ifndef GOPT_CASE_H
#define GOPT_CASE_H

#include "cli.h"
#include "config.h"
#include "inputs.h"
#include "verify.h"

typedef struct gopt_case {
    const gopt_graph *graph; /* imported, not bound; the process works on its own image of it */
    const char *data;        /* folder of a data set; NULL: inputs are made up, the reference says what must come out */
    const char *deployed;    /* manifest or bundle to run; NULL: compile with config */
    int threads;             /* of what is deployed; 0: as it says itself */
    const gopt_config *config;
    const gopt_shapes *shapes; /* of made-up inputs; may be NULL */
    gopt_input_case inputs;    /* what made-up inputs are */
    const char *cache_dir, *scratch_dir;
    gopt_tolerance tolerance;
    double timeout_s; /* 0: 10 s when the model has loops, else long enough for any reference */
    uint64_t seed;
} gopt_case;

typedef struct gopt_case_result {
    gopt_status status; /* OK: passed */
    bool unusable;      /* the model or its data is at fault, not the engine */
    bool random;        /* differs, as two runs of this model do */
    gopt_difference difference;
    int64_t compile_ns;
    int native, generated, reference; /* steps by kind of kernel; 0 of a deployed engine */
} gopt_case_result;

/* The message of a result that did not pass is in *e. EINTR is none of its statuses: a case runs to its end. */
void gopt_case_run(gopt_case_result *out, const gopt_case *c, gopt_err *e);

#endif
