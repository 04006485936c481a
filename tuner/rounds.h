/* rounds.h: timing one engine, or two in turns: a round takes a sample of each in random order, and of the first once
 * more, so that the noise is known. */
#ifndef GOPT_ROUNDS_H
#define GOPT_ROUNDS_H

#include "engine.h"
#include "stats.h"

typedef struct gopt_lane {
    gopt_engine *engine; /* inputs bound; borrowed */
    double *ns;          /* of one inference, by round */
    int repeats;         /* inferences that a sample takes together */
} gopt_lane;

typedef struct gopt_rounds {
    gopt_lane lane[2];
    int n_lanes;
    double *again;     /* the first lane's second samples; NULL with one lane */
    int n;             /* rounds */
    double busy_share; /* of the time, in which the machine was busy with other things */
} gopt_rounds;

typedef struct gopt_comparison {
    gopt_estimate ratio;  /* T of the second over T of the first */
    double floor;         /* noise: what the ratio of the first to itself shows */
    gopt_verdict verdict; /* of the first */
} gopt_comparison;

/* second may be NULL. Free with gopt_rounds_fini, also after a failure. */
gopt_status gopt_rounds_take(gopt_rounds *r, gopt_engine *first, gopt_engine *second, double seconds, uint64_t seed,
                             gopt_err *e);
gopt_comparison gopt_rounds_compare(const gopt_rounds *r); /* of two lanes */
void gopt_rounds_fini(gopt_rounds *r);
const char *gopt_verdict_name(gopt_verdict v); /* "better", "worse", "tie", "unknown" */

#endif
