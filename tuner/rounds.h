/* rounds.h: timing one engine, or two in turns. Two are timed in the same circumstances: a round takes two samples of
 * each in random order, each in warm caches, and both are opened anew several times, in either order and elsewhere in
 * memory, because where an engine happens to lie makes it a little faster or slower. */
#ifndef GOPT_ROUNDS_H
#define GOPT_ROUNDS_H

#include "base/text.h"
#include "engine.h"
#include "stats.h"

enum { GOPT_OPENINGS = 15 };

/* Where engines come from. close may be NULL with one lane, which is opened once. */
typedef struct gopt_lane_source {
    gopt_status (*open)(void *ctx, int lane, gopt_engine **out, gopt_err *e); /* inputs bound; lent until closed */
    void (*close)(void *ctx, int lane); /* also before it was opened first, and after a failed open */
    void *ctx;
} gopt_lane_source;

typedef struct gopt_lane {
    gopt_engine *engine;
    double *ns;        /* of one inference, by sample: gopt_rounds.per_round to a round */
    double typical_ns; /* as warming up showed */
    int repeats;       /* inferences that a sample takes together */
    bool singly;       /* each of them is long enough to be timed alone, too: */
    double *single;    /* every stride-th, in the order taken */
    int n_single, stride, skipped;
} gopt_lane;

typedef struct gopt_rounds {
    gopt_lane lane[2];
    int n_lanes, per_round;                     /* 1 sample with one lane, 2 of each with two */
    int n;                                      /* rounds */
    int opening[GOPT_OPENINGS + 1], n_openings; /* their first rounds, and the end */
    double busy_share;                          /* of the time, in which the machine was busy with other things */
} gopt_rounds;

typedef struct gopt_comparison {
    gopt_estimate ratio; /* T of the second over T of the first, from one figure for each opening */
    double floor;        /* noise: what the ratio of each to itself shows, or what opening anew does, if that is more */
    gopt_verdict verdict; /* of the first */
} gopt_comparison;

/* Lanes stay open. Free with gopt_rounds_fini, also after a failure. */
gopt_status gopt_rounds_take(gopt_rounds *r, int n_lanes, const gopt_lane_source *source, double seconds, uint64_t seed,
                             gopt_err *e);
gopt_latency gopt_rounds_latency(const gopt_rounds *r, int lane); /* of samples */
/* Of single inferences; no samples where one is too short for the clock. */
gopt_latency gopt_rounds_singles(const gopt_rounds *r, int lane);
gopt_comparison gopt_rounds_compare(const gopt_rounds *r); /* of two lanes */
void gopt_rounds_fini(gopt_rounds *r);
const char *gopt_verdict_name(gopt_verdict v); /* "better", "worse", "tie", "unknown" */
/* With the noise floor; of a tie whose interval leaves out 1, why it is one. */
void gopt_verdict_put(gopt_text *t, const gopt_comparison *c);

#endif
