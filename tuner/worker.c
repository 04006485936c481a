/* worker.c: the job's side of a worker process: fork, ask, watch, kill. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

struct gopt_worker {
    pid_t pid; /* 0 once it has ended */
    int to, from;
    gopt_text line; /* what has come so far */
    char made[256]; /* a reply made up for a worker that cannot speak any more */
};

static void limit_memory(size_t bytes)
{
    struct rlimit none = {0}, most = {bytes, bytes};
    setrlimit(RLIMIT_CORE, &none);
    if (bytes)
        setrlimit(RLIMIT_AS, &most);
}

/* Ends with its parent; leaves Ctrl-C to it, and none of the parent's handlers is its own; leads a group so that
 * compilers it started can be found. */
static void child(const gopt_bench *b, pid_t parent, int in, int out)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, s == SIGINT ? SIG_IGN : SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    limit_memory(b->memory_limit);
    gopt_worker_serve(b, in, out);
    _exit(0);
}

gopt_status gopt_worker_start(gopt_worker **out, const gopt_bench *b, gopt_err *e)
{
    *out = NULL;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    gopt_worker *w = gopt_calloc(1, sizeof *w);
    if (!w)
        return gopt_oom(e);
    pid_t parent = getpid();
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || (w->pid = fork()) < 0) {
        gopt_status s = gopt_fail(e, GOPT_EIO, "cannot start a worker process: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            close(to[i]);
            close(from[i]);
        }
        gopt_free(w);
        return s;
    }
    if (w->pid == 0) {
        close(to[1]);
        close(from[0]);
        child(b, parent, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    w->to = to[1];
    w->from = from[0];
    *out = w;
    return GOPT_OK;
}

static bool send_all(int fd, const char *s)
{
    for (size_t n = strlen(s), done = 0; done < n;) {
        ssize_t k = write(fd, s + done, n - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        done += (size_t)k;
    }
    return true;
}

/* The reply for a worker that has ended by itself. */
static const char *obituary(gopt_worker *w)
{
    int status = 0;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    if (WIFSIGNALED(status))
        snprintf(w->made, sizeof w->made, "{\"status\":\"crashed\",\"why\":\"signal %d (%s)\"}", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(w->made, sizeof w->made, "{\"status\":\"crashed\",\"why\":\"ended with exit code %d\"}",
                 WEXITSTATUS(status));
    return w->made;
}

static void kill_group(gopt_worker *w)
{
    if (w->pid <= 0)
        return;
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
}

/* Reads what is there; 1: a line is complete, 0: not yet, -1: end of file. */
static int take(gopt_worker *w)
{
    char buf[65536];
    ssize_t k = read(w->from, buf, sizeof buf);
    if (k < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (k <= 0)
        return -1;
    gopt_text_putn(&w->line, buf, (size_t)k);
    return buf[k - 1] == '\n';
}

gopt_status gopt_worker_ask(gopt_worker *w, const char *request, int64_t deadline, const volatile int *interrupted,
                            const char **reply, gopt_err *e)
{
    if (!w->pid) {
        *reply = w->made;
        return GOPT_OK;
    }
    if (request) {
        gopt_text_fini(&w->line);
        if (!send_all(w->to, request) || !send_all(w->to, "\n")) {
            *reply = obituary(w);
            return GOPT_OK;
        }
    }
    for (;;) {
        int64_t left = deadline - gopt_now();
        if (left <= 0) {
            kill_group(w);
            snprintf(w->made, sizeof w->made, "{\"status\":\"timed_out\",\"why\":\"over its time limit\"}");
            *reply = w->made;
            return GOPT_OK;
        }
        struct pollfd p = {.fd = w->from, .events = POLLIN};
        int n = poll(&p, 1, (int)GOPT_MIN(left / 1000000 + 1, (int64_t)1000));
        if (interrupted && *interrupted)
            return gopt_fail(e, GOPT_EINTR, "interrupted");
        int got = n > 0 ? take(w) : 0;
        if (w->line.failed)
            return gopt_oom(e);
        if (got > 0) {
            *reply = gopt_text_str(&w->line);
            return GOPT_OK;
        }
        if (got < 0) {
            *reply = obituary(w);
            return GOPT_OK;
        }
    }
}

bool gopt_worker_alive(const gopt_worker *w)
{
    return w && w->pid > 0;
}

void gopt_worker_stop(gopt_worker *w)
{
    if (!w)
        return;
    kill_group(w);
    close(w->to);
    close(w->from);
    gopt_text_fini(&w->line);
    gopt_free(w);
}
