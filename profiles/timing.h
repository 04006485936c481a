/* timing.h: timing an engine whose inputs are bound. */
#ifndef GOPT_TIMING_H
#define GOPT_TIMING_H

#include "engine.h"

/* At least 5 runs, and until two successive medians of 10 agree within 5 % or limit_ns are over. *median_ns is of the
 * last. */
gopt_status gopt_timing_warm(gopt_engine *g, int64_t limit_ns, double *median_ns, gopt_err *e);
/* One sample: *repeats inferences timed together, raised until they take min_ns; *ns is of one. */
gopt_status gopt_timing_sample(gopt_engine *g, double min_ns, int *repeats, double *ns, gopt_err *e);

#endif
