/* culprit.h: which pass is at fault when a configuration fails; it alone is banned from the rest of the job. */
#ifndef GOPT_CULPRIT_H
#define GOPT_CULPRIT_H

#include "job.h"

/* Is the candidate itself to blame? Not when the budget ended before it was done. */
bool gopt_culprit_is_failure(const gopt_trial *t);
/* Finds by halving, with trials, the shortest failing prefix of the trial's pipeline; its last pass is at fault, is
 * banned in the study and told. *pass is -1 when no pass is: what fails with none of them, or time ran out. */
gopt_status gopt_culprit_find(gopt_job *j, int trial, int *pass, gopt_err *e);
/* The same for a candidate of the search, whose default runs: what only other knobs make fail is no pass's fault. */
gopt_status gopt_culprit_of_candidate(gopt_job *j, int trial, gopt_err *e);

#endif
