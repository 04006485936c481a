/* about.h: what a study's trials and samples do not say of the job: model, machine, settings, accounting; kept in the
 * study as JSON under the key "about", so that reports need nothing else. */
#ifndef GOPT_ABOUT_H
#define GOPT_ABOUT_H

#include "job.h"

/* Writes the job as it stands into its study. */
gopt_status gopt_about_store(gopt_job *j, gopt_err *e);

#endif
