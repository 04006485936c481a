/* Running a program to its end. Between fork and exec only calls are made that are safe in the child of a process with
 * other threads.
 *
 * The kernel kills the program itself when we die, but not what it has started. So a guardian is forked first and leads
 * the program's process group: it waits on a pipe whose other end only we hold, and kills the group when that end is
 * gone. While it is there, the group's number cannot be anyone else's. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rss.h"

enum {
    OUTPUT_MAX = 64 << 10,
    TICK_MS = 10,                 /* how late an end or the limit is seen at most */
    SAMPLE_NS = 20 * 1000 * 1000, /* between looks at memory; more where a look is slow */
    SAMPLE_SHARE = 20             /* a look may take one part in this many of the time */
};

typedef struct child {
    pid_t parent, guardian, pid; /* the guardian's number is also the group's */
    int output;                  /* read end, not blocking */
    int life;                    /* write end of the guardian's pipe */
    int exited;                  /* a pidfd: readable when it has; -1 where the kernel has none */
} child;

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* folder/program into buf, made absolute; an empty folder is the current one. */
static bool join(char *buf, size_t size, const char *folder, size_t n, const char *program)
{
    char here[PATH_MAX] = "";
    if ((n == 0 || folder[0] != '/') && !getcwd(here, sizeof(here)))
        return false;
    int used = snprintf(buf, size, "%s%s%.*s%s%s", here, here[0] ? "/" : "", (int)n, folder, n ? "/" : "", program);
    return used > 0 && (size_t)used < size && is_program(buf);
}

bool gopt_process_find(const char *program, char *buf, size_t size)
{
    const char *slash = strrchr(program, '/');
    if (slash) {
        size_t n = (size_t)(slash - program);
        return n == 0 ? snprintf(buf, size, "%s", program) < (int)size && is_program(buf)
                      : join(buf, size, program, n, slash + 1);
    }
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *program;) {
        size_t n = strcspn(p, ":");
        if (join(buf, size, p, n, program))
            return true;
        if (!p[n])
            break;
        p += n + 1;
    }
    return false;
}

/* In the child. Ignored signals stay ignored over exec, so they are put back. */
static _Noreturn void become(const char *path, const char *const *argv, const child *c, int output, int report)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int to = fcntl(output, F_DUPFD_CLOEXEC, 3), tell = fcntl(report, F_DUPFD_CLOEXEC, 3), from = -1;
    if (getppid() == c->parent && setpgid(0, c->guardian) == 0 && to >= 0 && tell >= 0 &&
        (from = open("/dev/null", O_RDONLY)) >= 0 && dup2(from, 0) >= 0 && dup2(to, 1) >= 0 && dup2(to, 2) >= 0)
        execv(path, (char *const *)argv);
    int why = errno;
    ssize_t sent = write(tell, &why, sizeof(why));
    _exit(sent == sizeof(why) ? 127 : 126);
}

/* In the guardian, with all signals blocked. It must hold nobody's pipe open but its own. */
static _Noreturn void guard(int life)
{
    enum { FILES = 1024 };
    char c;
    setpgid(0, 0);
    dup2(life, 0);
    if (syscall(SYS_close_range, 1, UINT_MAX, 0))
        for (int fd = 1; fd < FILES; fd++)
            close(fd);
    while (read(0, &c, 1) < 0 && errno == EINTR)
        ;
    if (getpgrp() == getpid())
        kill(0, SIGKILL);
    _exit(0);
}

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Forks both, with signals blocked so that no handler of ours runs in them. */
static gopt_status fork_both(child *c, const char *path, const char *const *argv, const int pipes[6], gopt_err *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->parent = getpid();
    c->guardian = fork();
    if (c->guardian == 0)
        guard(pipes[4]);
    if (c->guardian > 0) {
        setpgid(c->guardian, c->guardian); /* as it does itself: whoever comes first */
        c->pid = fork();
        if (c->pid == 0)
            become(path, argv, c, pipes[1], pipes[3]);
    }
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (c->guardian > 0 && c->pid > 0)
        return GOPT_OK;
    if (c->guardian > 0) {
        kill(c->guardian, SIGKILL);
        waitpid(c->guardian, NULL, 0);
    }
    return gopt_fail(e, GOPT_ELIMIT, "%s: cannot be started: %s", path, strerror(why));
}

/* What exec said: nothing when it succeeded, for the pipe's other end is then closed. */
static gopt_status exec_result(int report, const char *path, gopt_err *e)
{
    int why;
    ssize_t n;
    while ((n = read(report, &why, sizeof(why))) < 0 && errno == EINTR)
        ;
    return n == sizeof(why) ? gopt_fail(e, GOPT_ENODEV, "%s: %s", path, strerror(why)) : GOPT_OK;
}

static void dismiss(child *c)
{
    kill(c->guardian, SIGKILL);
    waitpid(c->guardian, NULL, 0);
    close_all((int[]){c->output, c->life, c->exited}, 3);
}

static gopt_status spawn(child *c, const char *path, const char *const *argv, gopt_err *e)
{
    int pipes[6] = {-1, -1, -1, -1, -1, -1}; /* output, report of exec, life */
    for (int i = 0; i < 6; i += 2)
        if (pipe2(&pipes[i], O_CLOEXEC)) {
            gopt_status s = gopt_fail(e, GOPT_ELIMIT, "%s: cannot be started: %s", path, strerror(errno));
            close_all(pipes, 6);
            return s;
        }
    gopt_status s = fork_both(c, path, argv, pipes, e);
    close_all((int[]){pipes[1], pipes[3], pipes[4]}, 3);
    if (s) {
        close_all((int[]){pipes[0], pipes[2], pipes[5]}, 3);
        return s;
    }
    c->output = pipes[0];
    c->life = pipes[5];
    c->exited = (int)syscall(SYS_pidfd_open, c->pid, 0);
    fcntl(c->output, F_SETFL, O_NONBLOCK);
    s = exec_result(pipes[2], path, e);
    close(pipes[2]);
    if (s) {
        waitpid(c->pid, NULL, 0);
        dismiss(c);
    }
    return s;
}

/* Takes what there is to read, keeps what fits; false at the end of the output. */
static bool drain(int fd, gopt_text *output)
{
    char buf[4096];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n > 0)
            gopt_text_putn(output, buf, GOPT_MIN((size_t)n, OUTPUT_MAX - output->n));
        else if (n == 0 || errno != EINTR)
            return n < 0 && errno == EAGAIN;
    }
}

static bool has_exited(pid_t pid)
{
    siginfo_t info = {0}; /* an error means that it was reaped already: SIGCHLD is ignored in this program */
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* Looks at the memory of the program and its children when it is time to; returns the most seen so far. What a look
 * takes is its CPU time: on a busy machine a look that had to wait would else put off the next past the program's end,
 * and the first one may see no more than a program that is still being loaded. */
static int64_t sample(pid_t group, int64_t peak, int64_t now, int64_t *next)
{
    if (now < *next)
        return peak;
    int64_t begin = gopt_cpu_thread(), seen = gopt_rss_group_peak(group);
    *next = gopt_clock_monotonic() + GOPT_MAX((int64_t)SAMPLE_NS, SAMPLE_SHARE * (gopt_cpu_thread() - begin));
    return GOPT_MAX(peak, seen);
}

/* Until the program has ended, at the latest by our kill at the deadline. */
static void watch(gopt_process_result *out, const child *c, int64_t deadline)
{
    struct pollfd fds[2] = {{.fd = c->output, .events = POLLIN}, {.fd = c->exited, .events = POLLIN}};
    int64_t next_sample = 0;
    while (!has_exited(c->pid)) {
        int64_t now = gopt_clock_monotonic();
        if ((now >= deadline || out->output.failed) && !out->timed_out) {
            out->timed_out = now >= deadline;
            kill(-c->guardian, SIGKILL);
        }
        out->peak_bytes = sample(c->guardian, out->peak_bytes, now, &next_sample);
        int64_t left = (deadline - now) / 1000000 + 1;
        poll(fds, 2, out->timed_out || left > TICK_MS ? TICK_MS : (int)left);
        if (fds[0].revents && !drain(c->output, &out->output))
            fds[0].fd = -1;
    }
}

/* Ends what the program has left behind, and tells how it ended itself. */
static void finish(gopt_process_result *out, child *c, int64_t our_bytes)
{
    enum { SLACK = 1 << 20 };
    int status = 0;
    struct rusage usage = {0};
    kill(-c->guardian, SIGKILL);
    drain(c->output, &out->output);
    wait4(c->pid, &status, 0, &usage);
    dismiss(c);
    out->exit_code = WIFEXITED(status) && !out->timed_out ? WEXITSTATUS(status) : -1;
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    /* The kernel's figure is exact, but counts from fork on, when the child was a copy of us. */
    int64_t exact = (int64_t)usage.ru_maxrss * 1024;
    if (exact > our_bytes + SLACK || out->peak_bytes == 0)
        out->peak_bytes = exact;
}

gopt_status gopt_process_run(gopt_process_result *out, const char *const *argv, int64_t limit_ns, gopt_err *e)
{
    char path[PATH_MAX];
    child c = {0};
    *out = (gopt_process_result){0};
    if (!gopt_process_find(argv[0], path, sizeof(path)))
        return gopt_fail(e, GOPT_ENODEV, "%s: no such program", argv[0]);
    int64_t start = gopt_clock_monotonic(), our_bytes = gopt_rss_now();
    GOPT_TRY(spawn(&c, path, argv, e));
    watch(out, &c, limit_ns > INT64_MAX - start ? INT64_MAX : start + limit_ns);
    out->wall_ns = gopt_clock_monotonic() - start;
    finish(out, &c, our_bytes);
    if (out->output.failed) {
        gopt_text_fini(&out->output);
        return gopt_oom(e);
    }
    return GOPT_OK;
}
