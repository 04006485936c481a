/* workplace.c: folders of one command, and its Ctrl-C. */
#include "workplace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "compile.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool can_write(const char *dir)
{
    return !gopt_dir_make(dir, NULL) && !access(dir, W_OK | X_OK);
}

void gopt_workplace_open(gopt_workplace *w)
{
    struct sigaction once = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    const char *temporary = getenv("TMPDIR");
    gopt_cache_dir(w->cache_dir, sizeof w->cache_dir);
    w->cache = can_write(w->cache_dir) ? w->cache_dir : NULL;
    if (w->cache)
        snprintf(w->scratch, sizeof w->scratch, "%s/scratch/%ld", w->cache, (long)getpid());
    else
        snprintf(w->scratch, sizeof w->scratch, "%s/gopt-%ld", temporary && *temporary ? temporary : P_tmpdir,
                 (long)getpid());
    sigaction(SIGINT, &once, NULL);
}

void gopt_workplace_close(gopt_workplace *w)
{
    if (gopt_file_exists(w->scratch))
        gopt_dir_remove(w->scratch, NULL);
}

bool gopt_workplace_interrupted(void)
{
    return interrupted;
}

gopt_status gopt_workplace_check(gopt_err *e)
{
    return interrupted ? gopt_fail(e, GOPT_EINTR, "interrupted") : GOPT_OK;
}
