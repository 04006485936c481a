/* choose.h: which trial a goal chooses, and which one other weights would. Inner part of assess.c. */
#ifndef GOPT_CHOOSE_H
#define GOPT_CHOOSE_H

#include "assess.h"

/* Sets a->chosen, a->reason and a->unmet. The figures of all trials are there. */
void gopt_assess_choose(gopt_assessment *a);
/* Sets the regimes of alpha and requests: what costs least by utility and wall time, the constraints kept, whether or
 * not the noise tells it from the default. */
void gopt_assess_regimes(gopt_assessment *a);

/* x beats y for certain: faster beyond both intervals, no worse otherwise. */
bool gopt_assessed_beats(const gopt_assessed *x, const gopt_assessed *y);

#endif
