/* tune.h: a whole tuning job. */
#ifndef GOPT_TUNE_H
#define GOPT_TUNE_H

#include "job.h"

/* Runs the job of these options to its end and writes OUT. GOPT_EINTR: interrupted, what there was is written.
 * GOPT_EDIFF: a regression against options->against. *summary (may be NULL) gets a line for people. */
gopt_status gopt_tune(const gopt_tune_options *o, gopt_text *summary, gopt_err *e);

#endif
