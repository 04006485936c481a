/* progress.h: what the job tells while it runs, on stderr. */
#ifndef GOPT_PROGRESS_H
#define GOPT_PROGRESS_H

#include "base/err.h"

typedef enum gopt_progress_mode { GOPT_PROGRESS_AUTO, GOPT_PROGRESS_PLAIN, GOPT_PROGRESS_NONE } gopt_progress_mode;

typedef struct gopt_progress gopt_progress;

/* AUTO: one line that is rewritten on a terminal, plain lines elsewhere. NULL when out of memory, which is fine to pass
 * on. */
gopt_progress *gopt_progress_new(gopt_progress_mode mode, double budget_s);
void gopt_progress_free(gopt_progress *p);
/* A new stage: "baseline", "passes alone", ... */
void gopt_progress_stage(gopt_progress *p, const char *stage);
/* Trials done and failed so far, best speedup with interval (NAN: none yet). Never called while a sample is taken. */
void gopt_progress_update(gopt_progress *p, int done, int failed, double best, double lo, double hi);
void gopt_progress_note(gopt_progress *p, const char *fmt, ...) GOPT_PRINTF(2, 3); /* one lasting line */

#endif
