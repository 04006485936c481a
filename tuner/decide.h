/* decide.h: from a study to findings: what the reports say and the manifest fixes. Everything comes from the study, so
 * that deciding again measures nothing. */
#ifndef GOPT_DECIDE_H
#define GOPT_DECIDE_H

#include "assess.h"
#include "findings.h"

/* The findings of a study under a goal; the study must outlive them. The study's "about" (about.c) says the rest. */
gopt_status gopt_decide(gopt_findings **out, gopt_study *s, const gopt_goal *goal, gopt_err *e);
/* The goal that the job was given. */
gopt_status gopt_decide_goal(gopt_goal *out, gopt_study *s, gopt_err *e);
/* The best trials so far for the goal, best first; returns their number. */
int gopt_decide_leaders(const gopt_study *s, const gopt_goal *goal, int *trial, int max);
int gopt_decide_chosen(const gopt_study *s, const gopt_goal *goal); /* the trial; -1: nothing was timed */

/* Inner parts. */
gopt_status gopt_decide_trials(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e);
gopt_status gopt_decide_effects(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e);
gopt_status gopt_decide_together(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e);
gopt_status gopt_decide_presets(gopt_findings *f, gopt_finding_cluster *c, const gopt_assessment *a, gopt_err *e);
double gopt_decide_floor(const gopt_assessment *a); /* of the noise; 0 when it is unknown */
/* Takes the verdicts back that one family of tests together cannot hold: Benjamini-Hochberg at 5 %. */
void gopt_decide_control(gopt_finding_ratio *const *ratio, int n, gopt_findings *f);
gopt_finding_ratio gopt_decide_ratio(const gopt_estimate *r, gopt_verdict v);

#endif
