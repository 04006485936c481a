/* late.h: what of a plan only a run can tell: shapes that follow from contents. */
#ifndef GOPT_LATE_H
#define GOPT_LATE_H

#include "base/text.h"
#include "plan.h"

/* Whether a shape that the step reads or writes is known only at run time. */
bool gopt_step_is_late(const gopt_plan *p, const gopt_step *s);
/* Values allocated at run time, those of bodies, too: memory that no figure of the plan holds. */
int gopt_late_values(const gopt_plan *p);
/* " and those of 3 values, known only at run time"; nothing of 0. */
void gopt_late_values_put(gopt_text *t, int n);

#endif
