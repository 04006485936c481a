/* command_line.h: the call of gopt-tune that repeats a job. */
#ifndef GOPT_COMMAND_LINE_H
#define GOPT_COMMAND_LINE_H

#include "job.h"

/* Everything given that changes what comes out, as a shell reads it from any folder. shapes: what was bound, "batch=1".
 */
void gopt_tune_command(gopt_text *out, const gopt_tune_options *o, const char *shapes);

#endif
