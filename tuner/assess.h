/* assess.h: from a study to figures per trial, the front, regimes and the choice. Measures as in design/product.md. */
#ifndef GOPT_ASSESS_H
#define GOPT_ASSESS_H

#include "effects.h"
#include "goal.h"

/* One trial that was timed often enough. Latencies are those of the machine at its median speed during the job: a
 * trial's samples are scaled so that its median is the baseline's over the paired speedup. */
typedef struct gopt_assessed {
    int trial;
    gopt_latency latency; /* ns */
    gopt_estimate speedup;
    gopt_verdict verdict; /* under false-discovery control over all trials */
    double throughput;    /* per second, one session */
    double saving;        /* (M_base - M) / M_base of peaks */
    double compile_ns, run_ns, peak;
    double cautious_ns; /* what a decision takes run_ns for: by the low end of the speedup where not in the final */
    double break_even;  /* requests; NAN: never */
    double utility;
    bool on_front;
    bool in_final; /* timed again on fresh samples, loaded through the deployment path */
} gopt_assessed;

typedef struct gopt_regime { /* [from, to): the trial that wins; to INFINITY: unbounded */
    double from, to;
    int trial;
} gopt_regime;

typedef struct gopt_assessment {
    gopt_arena arena;
    const gopt_study *study;
    gopt_goal goal;
    double floor;      /* noise; NAN unknown */
    gopt_assessed *at; /* timed trials in order of id */
    int n;
    bool had_final;
    int baseline, standard, chosen; /* trials; -1: none yet. standard: the default's stand-in */
    const char *reason;             /* why the chosen one, a sentence */
    bool unmet;                     /* nothing keeps the constraints */
    gopt_regime *alpha, *requests;
    int n_alpha, n_requests;
} gopt_assessment;

gopt_status gopt_assess(gopt_assessment *out, const gopt_study *s, const gopt_goal *goal, gopt_err *e);
void gopt_assess_fini(gopt_assessment *a);
const gopt_assessed *gopt_assess_find(const gopt_assessment *a, int trial); /* NULL: not timed */
/* The best trials for the goal, best first; constraints respected. Returns their number. */
int gopt_assess_leaders(const gopt_assessment *a, int *trial, int max);

#endif
