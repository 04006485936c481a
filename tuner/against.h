/* against.h: is this decision better or worse than an earlier one? */
#ifndef GOPT_AGAINST_H
#define GOPT_AGAINST_H

#include "findings.h"

/* Sets f->verdict by comparison with the manifest at path. Speedups are compared, each against the baseline of its own
 * job, so that a machine that was slower that day does not count: regression when the interval of S_new / S_old lies
 * below 1 by more than the noise, improvement when above, else a tie. EINPUT when it is of another model. */
gopt_status gopt_against_judge(gopt_findings *f, const char *path, gopt_err *e);

#endif
