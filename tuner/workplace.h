/* workplace.h: where a command compiles: the shared cache, and a scratch folder of its own that is gone afterwards,
 * also when a process that worked in it was killed. Ctrl-C ends a command between two pieces of work. */
#ifndef GOPT_WORKPLACE_H
#define GOPT_WORKPLACE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

typedef struct gopt_workplace {
    const char *cache; /* NULL where no cache can be written: then nothing is kept */
    char cache_dir[PATH_MAX], scratch[PATH_MAX];
} gopt_workplace;

void gopt_workplace_open(gopt_workplace *w); /* catches SIGINT, a second one ends the process */
void gopt_workplace_close(gopt_workplace *w);
bool gopt_workplace_interrupted(void);
/* GOPT_EINTR when it was interrupted. */
gopt_status gopt_workplace_check(gopt_err *e);

#endif
