/* effects.h: reading a study: paired speedups, the effect of passes alone, left out and together. */
#ifndef GOPT_EFFECTS_H
#define GOPT_EFFECTS_H

#include "stats.h"
#include "study.h"

/* The baseline and the standing default (the last one made that is ok); NULL when there is none. */
const gopt_trial *gopt_effects_baseline(const gopt_study *s);
const gopt_trial *gopt_effects_default(const gopt_study *s);
/* The trial of this role and passes; NULL when there is none. */
const gopt_trial *gopt_effects_find(const gopt_study *s, gopt_trial_role role, int pass_a, int pass_b);
/* A named preset as this job can run it: with the baseline's threads and without passes that are at fault. */
gopt_status gopt_preset_config(gopt_config *out, const char *name, const gopt_study *s);
const gopt_trial *gopt_preset_find(const gopt_study *s, const char *name); /* its trial, NULL: there is none */
/* The ok trial that stands for t: itself, or the one whose plan is the same; NULL when it failed. */
const gopt_trial *gopt_effects_stand_in(const gopt_study *s, const gopt_trial *t);

/* T_base / T of a trial, from the rounds that hold both: the final ones when there are 9, else all. NANs when there are
 * none. */
gopt_estimate gopt_effects_speedup(const gopt_study *s, int trial);
/* T_a / T_b from common rounds. */
gopt_estimate gopt_effects_ratio(const gopt_study *s, int a, int b);
/* The same where they have none: through the baseline, whose uncertainty then counts twice. */
gopt_estimate gopt_effects_compare(const gopt_study *s, int a, int b);
/* The most inferences that one of a trial's samples is the mean of, among those that its latency is made from
 * (assess.c): above 1 these have no percentiles of requests. 0: it has no samples. */
int gopt_effects_repeats(const gopt_study *s, int trial);
/* How far the final's speedups were from those of the races, over the trials that were in both: from *lo <= 1 to
 * *hi >= 1 times. The best of many short races are half luck, and a final runs other candidates in between; this is
 * what the figures of those that were not in it may be off by, too. */
void gopt_effects_drift(const gopt_study *s, double *lo, double *hi);
/* |median ln A/A| or the half-width of its interval, whichever is larger; NAN without pairs. */
double gopt_effects_noise_floor(const gopt_study *s);

/* Passes that did something in this trial: rewrote nodes or left a decision. Indices ascending; returns their number.
 */
int gopt_effects_active(const gopt_trial *t, int *pass);
/* Passes that did nothing in the default but do something alone (dormant.c); 0 before they were looked for. */
int gopt_effects_dormant(gopt_study *s, int *pass);
/* Of the n passes given, the ones with the largest single or leave-one-out effect, largest first. */
int gopt_effects_strongest(const gopt_study *s, const gopt_trial *standard, const int *from, int n, int *pass, int max);

#endif
