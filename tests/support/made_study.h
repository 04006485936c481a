/* made_study.h: made-up studies with known speeds. */
#ifndef GOPT_TEST_MADE_STUDY_H
#define GOPT_TEST_MADE_STUDY_H

#include "study.h"

/* A study in dir: baseline (10 ms), default (4 ms), and for each of `more` further trials one that takes ms[i] and
 * compiles for compile_ms[i]; `rounds` rounds in which the machine's speed drifts by a factor of up to 1.5. */
gopt_study *test_study_make(const char *dir, const double *ms, const double *compile_ms, int more, int rounds);
/* One trial as a worker would report it; returns its id. */
int test_study_add(gopt_study *s, gopt_trial_role role, int pass_a, int pass_b, double compile_ms, double peak_mib);
void test_study_sample(gopt_study *s, int trial, int round, double ms);

#endif
