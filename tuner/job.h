/* job.h: one tuning job while it runs. tune.c is its course; the other files are its parts. */
#ifndef GOPT_JOB_H
#define GOPT_JOB_H

#include <limits.h>
#include <signal.h>

#include "cli.h"
#include "device.h"
#include "goal.h"
#include "import.h"
#include "inputs.h"
#include "isolated.h"
#include "lock.h"
#include "progress.h"
#include "stats.h"
#include "verify.h"
#include "worker.h"

enum { GOPT_THREADS_MAX = 32 };

typedef struct gopt_tune_options {
    const char *model, *out;
    const char *preset;  /* NULL: max-autotune */
    const char *sampler; /* "auto", ... */
    const char *against; /* an earlier manifest; NULL: none */
    double budget_s;
    int threads[GOPT_THREADS_MAX], n_threads; /* 0: from 1 to the processors there are */
    unsigned precisions; /* bit v: value v of precision.weights may be tried; that of the preset always is */
    gopt_shapes shapes;  /* of symbolic dimensions; those not given get a proposal */
    gopt_goal goal;
    double memory_limit; /* of a worker, bytes; 0: most of what there is */
    gopt_tolerance tolerance;
    int64_t seed;
    bool fresh, json, quiet;
    int verbose;
    gopt_progress_mode progress;
} gopt_tune_options;

/* A trial whose worker lives and can be timed. */
typedef struct gopt_contender {
    int trial;
    gopt_worker *worker;
    int repeats; /* inferences per sample, from the warm-up */
    double warm_ns;
} gopt_contender;

typedef struct gopt_accounting { /* seconds of this run */
    double compile, verify, measure, search;
} gopt_accounting;

enum { GOPT_CASES_MAX = 8 };

typedef struct gopt_job {
    const gopt_tune_options *options;
    gopt_arena arena;
    gopt_model_info info;
    gopt_graph *graph; /* bound */
    gopt_device device;
    gopt_bench bench;
    gopt_isolated expected_memory[GOPT_CASES_MAX];
    gopt_lock lock; /* on OUT */
    gopt_study *study;
    gopt_contender baseline;
    gopt_random random;
    gopt_progress *progress;
    gopt_accounting spent;
    int64_t begin, search_end, end; /* gopt_now(): start, last moment to begin a trial, end of the budget */
    double render_s;                /* what writing results takes here, as measured */
    double trial_s;                 /* what a trial has taken on average */
    int rounds_flagged, rounds;
    double workers_cpu_s, workers_waited_s; /* while they were timed; waited: below 0 when not known */
    gopt_disturbance disturbance;           /* of the rounds */
    gopt_text shapes;                       /* canonical text of the bound shape, "batch=1,seq=32" */
    char shape_note[128];                   /* how it was chosen, empty when given */
    gopt_text boundaries;                   /* what came of other shapes; empty: there are none */
    char cache_dir[PATH_MAX], scratch_dir[PATH_MAX];
    bool timed;          /* enough for a decision, at the last one */
    bool unmet;          /* nothing keeps the constraints, at the last decision */
    bool regressed;      /* against options->against, at the last decision */
    const char *stopped; /* budget, converged, exhausted, interrupted */
    bool writing;        /* the last results are being written: an interruption does not end that */
} gopt_job;

extern volatile sig_atomic_t gopt_job_interrupted; /* number of SIGINTs so far */

double gopt_job_elapsed(const gopt_job *j);
bool gopt_job_over(const gopt_job *j); /* no further trial may begin */

/* setup.c: model, shape, inputs, reference, study. */
gopt_status gopt_job_setup(gopt_job *j, gopt_err *e);
void gopt_job_fini(gopt_job *j);

/* trial.c: one configuration in a worker: compiled, verified, stored. *out has a live worker only when the trial is ok
 * and is no copy of an earlier one. EINTR when interrupted. */
gopt_status gopt_job_try(gopt_job *j, const gopt_config *c, gopt_trial_role role, int pass_a, int pass_b,
                         gopt_contender *out, gopt_err *e);
/* The worker of a trial that is in the study already (resume, final). path: through the deployment path, NULL:
 * compiled. */
gopt_status gopt_job_revive(gopt_job *j, int trial, const char *path, gopt_contender *out, gopt_err *e);
gopt_status gopt_job_trace(gopt_job *j, gopt_contender *c, gopt_err *e);
void gopt_contender_stop(gopt_contender *c);

/* race.c: rounds in random order with the baseline twice (A/A), until `rounds` are done or the deadline. A contender
 * that fails is marked in the study and stopped. */
gopt_status gopt_job_race(gopt_job *j, gopt_contender *at, int n, gopt_sample_stage stage, int rounds, int64_t deadline,
                          gopt_err *e);

/* dormant.c: looks once for passes whose work another does before them; gopt_effects_dormant() tells them. */
gopt_status gopt_job_find_dormant(gopt_job *j, gopt_err *e);

/* boundary.c: is the choice, this trial, right at other shapes, too? Says so in j->boundaries. */
gopt_status gopt_job_check_boundaries(gopt_job *j, int trial, int64_t deadline, gopt_err *e);

/* propose.c: what to try next; false when there is nothing more. Deterministic: the same study and seed give the same.
 */
typedef struct gopt_proposal {
    gopt_config config;
    gopt_trial_role role;
    int pass_a, pass_b;
} gopt_proposal;
bool gopt_job_propose(gopt_job *j, gopt_proposal *out);

/* results.c: bundles, manifest, reports. Fine before anything was timed: then there is nothing to write. */
gopt_status gopt_job_publish(gopt_job *j, bool reports, gopt_err *e);
/* Gives a trial the file that a deployment would load: written by c's worker, or by one that is started for it. */
gopt_status gopt_contender_bundle(gopt_job *j, gopt_contender *c, gopt_err *e);
gopt_status gopt_job_need_bundle(gopt_job *j, int trial, gopt_err *e);
/* What was chosen and what it brings, for people. */
void gopt_job_summary(gopt_job *j, gopt_text *out);

#endif
