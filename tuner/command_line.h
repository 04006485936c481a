/* command_line.h: the call of gopt-tune that repeats a job. */
#ifndef GOPT_COMMAND_LINE_H
#define GOPT_COMMAND_LINE_H

#include "again.h"
#include "job.h"

/* How a shell finds this program of ours from any folder: its name when PATH leads to it, else where it lies beside
 * this one, else its name. */
void gopt_program_word(gopt_text *out, const char *name);
/* Everything given that changes what comes out, as a shell reads it from any folder. shapes: what was bound, "batch=1".
 */
void gopt_tune_command(gopt_text *out, const gopt_tune_options *o, const char *shapes);
/* Such a call, with another goal and folder of results. */
void gopt_tune_command_change(gopt_text *out, const char *line, const gopt_goal_change *c, const char *out_dir);

#endif
