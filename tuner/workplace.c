/* workplace.c: folders of one command, and its Ctrl-C. */
#include "workplace.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "compile.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void gopt_workplace_open(gopt_workplace *w)
{
    struct sigaction once = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    gopt_cache_dir(w->cache, sizeof w->cache);
    snprintf(w->scratch, sizeof w->scratch, "%s/scratch/%ld", w->cache, (long)getpid());
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
