/* lock.c: flock on the folder itself. Forked workers share it: they die with the job, but a moment later than it. */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t WAIT_NS = 2 * GOPT_NS_PER_S;
static const struct timespec PAUSE = {.tv_nsec = 20000000};

gopt_status gopt_lock_take(gopt_lock *l, const char *folder, gopt_err *e)
{
    int64_t end = gopt_now() + WAIT_NS;
    *l = (gopt_lock){.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (l->fd < 0)
        return GOPT_OK;
    while (flock(l->fd, LOCK_EX | LOCK_NB)) {
        bool taken = errno == EWOULDBLOCK;
        if (taken && gopt_now() < end) {
            nanosleep(&PAUSE, NULL);
            continue;
        }
        close(l->fd);
        return taken ? gopt_fail(e, GOPT_EIO,
                                 "%s: another job or report is writing there; wait for it, or tune into another --out",
                                 folder)
                     : GOPT_OK;
    }
    l->held = true;
    return GOPT_OK;
}

void gopt_lock_release(gopt_lock *l)
{
    if (l->held)
        close(l->fd);
    l->held = false;
}
