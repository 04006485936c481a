/* lock.h: one job at a time writes into a folder. */
#ifndef GOPT_LOCK_H
#define GOPT_LOCK_H

#include <stdbool.h>

#include "base/err.h"

typedef struct gopt_lock {
    int fd;
    bool held;
} gopt_lock;

/* Waits a moment for a job that is just ending; GOPT_EIO when another one goes on writing there. It leaves no file
 * behind and goes with its holder, however that ends. Where the file system has no locks, none is held and that is
 * fine. */
gopt_status gopt_lock_take(gopt_lock *l, const char *folder, gopt_err *e);
void gopt_lock_release(gopt_lock *l); /* fine when none is held */

#endif
