/* again.h: deciding again from what was measured. */
#ifndef GOPT_AGAIN_H
#define GOPT_AGAIN_H

#include "base/text.h"
#include "goal.h"

/* What to change of the goal that the job had: NAN and GOPT_OBJECTIVE_COUNT keep it, a limit of 0 is lifted. */
typedef struct gopt_goal_change {
    gopt_objective objective;
    double alpha, requests, max_memory, max_compile_ns, max_latency_ns;
} gopt_goal_change;

/* Decides and writes reports and manifest of OUT again; measures nothing and leaves the study as it is. EDIFF when no
 * trial keeps the constraints: then all of OUT stays as it was; and when the choice falls on a trial without a bundle:
 * then the manifest stays, reports and *summary say that and how to make one. *findings, where not NULL, gets the new
 * findings.json in any case. */
gopt_status gopt_decide_again(const char *out_dir, const gopt_goal_change *change, gopt_text *summary,
                              gopt_text *findings, gopt_err *e);

#endif
