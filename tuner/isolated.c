/* isolated.c: the child writes its tensors into a memory file that the parent maps when it has ended. */
#include "isolated.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* What the child sends down the pipe when it is done; the data are in the memory file, one after the other. */
typedef struct verdict {
    gopt_status status;
    gopt_err error;
    int64_t ns;
    size_t bytes;
} verdict;

static bool write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t n)
{
    char *p = data;
    while (n > 0) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

enum { ALIGN = 64 };

static size_t padded(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static gopt_status publish(int memory, const gopt_tensor *out, int n_out, size_t *bytes, gopt_err *e)
{
    static const char zero[ALIGN];
    for (int i = 0; i < n_out; i++) {
        size_t n = out[i].data ? gopt_tensor_bytes(&out[i]) : 0;
        if (!write_all(memory, out[i].data, n) || !write_all(memory, zero, padded(n) - n))
            return gopt_fail(e, GOPT_ENOMEM, "no memory for the outputs");
        *bytes += padded(n);
    }
    return GOPT_OK;
}

static void child(int pipe_fd, int memory, gopt_isolated_fn *fn, void *ctx, gopt_tensor *out, int n_out, size_t limit)
{
    struct rlimit none = {0}, most = {limit, limit};
    verdict v = {0};
    gopt_arena a = {0};
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    if (limit)
        setrlimit(RLIMIT_AS, &most);
    int64_t begin = gopt_now();
    v.status = fn(ctx, out, n_out, &a, &v.error);
    v.ns = gopt_now() - begin;
    for (int i = 0; !v.status && i < n_out; i++)
        if (out[i].dtype == GOPT_DTYPE_STRING)
            v.status = gopt_fail(&v.error, GOPT_EUNSUP, "output %d: strings do not cross processes", i);
    if (!v.status)
        v.status = publish(memory, out, n_out, &v.bytes, &v.error);
    write_all(pipe_fd, &v, sizeof v);
    for (int i = 0; i < n_out; i++)
        write_all(pipe_fd, &out[i], sizeof out[i]);
    _exit(0);
}

static gopt_status map_results(gopt_isolated *keep, int memory, size_t bytes, gopt_tensor *out, int n_out, gopt_err *e)
{
    keep->bytes = bytes;
    if (bytes) {
        keep->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        if (keep->memory == MAP_FAILED) {
            keep->memory = NULL;
            return gopt_oom(e);
        }
    }
    size_t at = 0;
    for (int i = 0; i < n_out; i++) {
        size_t n = gopt_tensor_bytes(&out[i]);
        out[i].data = (char *)keep->memory + at;
        at += padded(n);
    }
    return GOPT_OK;
}

static gopt_status crash(int status, gopt_err *e)
{
    if (WIFSIGNALED(status))
        return gopt_fail(e, GOPT_EBUG, "crashed: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return gopt_fail(e, GOPT_EBUG, "ended with exit code %d before its results came", WEXITSTATUS(status));
}

static gopt_status collect(gopt_isolated *keep, pid_t pid, int pipe_fd, int memory, gopt_tensor *out, int n_out,
                           int64_t limit_ns, const volatile int *interrupted, gopt_err *e)
{
    int64_t deadline = gopt_now() + limit_ns;
    int ready = 0, status = 0;
    while (!ready && gopt_now() < deadline && !(interrupted && *interrupted)) {
        struct pollfd p = {.fd = pipe_fd, .events = POLLIN};
        int64_t left = (deadline - gopt_now()) / 1000000 + 1;
        ready = poll(&p, 1, (int)GOPT_MIN(left, (int64_t)1000)) > 0;
    }
    verdict v;
    bool told = ready && read_all(pipe_fd, &v, sizeof v);
    for (int i = 0; told && i < n_out; i++)
        told = read_all(pipe_fd, &out[i], sizeof out[i]);
    if (!ready)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ready && interrupted && *interrupted)
        return gopt_fail(e, GOPT_EINTR, "interrupted");
    if (!ready)
        return gopt_fail(e, GOPT_ELIMIT, "over the time limit of %.1f s", (double)limit_ns / 1e9);
    if (!told)
        return crash(status, e);
    keep->ns = v.ns;
    if (v.status)
        return gopt_fail(e, v.status, "%s", v.error.msg);
    return map_results(keep, memory, v.bytes, out, n_out, e);
}

gopt_status gopt_isolated_run(gopt_isolated *keep, gopt_isolated_fn *fn, void *ctx, gopt_tensor *out, int n_out,
                              int64_t limit_ns, size_t memory_limit, const volatile int *interrupted, gopt_err *e)
{
    *keep = (gopt_isolated){0};
    int ends[2], memory = memfd_create("gopt-results", MFD_CLOEXEC);
    if (memory < 0 || pipe(ends)) {
        if (memory >= 0)
            close(memory);
        return gopt_fail(e, GOPT_EIO, "cannot start a process: %s", strerror(errno));
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(ends[1], memory, fn, ctx, out, n_out, memory_limit);
    }
    close(ends[1]);
    gopt_status s = pid < 0 ? gopt_fail(e, GOPT_EIO, "cannot start a process: %s", strerror(errno))
                            : collect(keep, pid, ends[0], memory, out, n_out, limit_ns, interrupted, e);
    close(ends[0]);
    close(memory);
    return s;
}

void gopt_isolated_fini(gopt_isolated *keep)
{
    if (keep->memory)
        munmap(keep->memory, keep->bytes);
    *keep = (gopt_isolated){0};
}
