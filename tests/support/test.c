#include "support/test.h"

#include <limits.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

int test_dir_setup(void **state)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/gopt-test-XXXXXX", parent ? parent : P_tmpdir);
    *state = mkdtemp(path) ? strdup(path) : NULL;
    return *state ? 0 : -1;
}

int test_dir_teardown(void **state)
{
    gopt_err e = {0};
    gopt_status s = gopt_dir_remove(*state, &e);
    if (s)
        print_error("%s\n", e.msg);
    free(*state);
    return s ? -1 : 0;
}

char *test_path(char *buf, const char *dir, const char *name)
{
    snprintf(buf, PATH_MAX, "%s/%s", dir, name);
    return buf;
}

const char *test_shared(const char *name, int cases)
{
    static char path[PATH_MAX];
    const char *shared = getenv("GOPT_SHARED");
    if (shared && gopt_file_exists(test_path(path, shared, name)))
        return path;
    print_message("skipped %d: no shared folder\n", cases);
    skip();
    return NULL;
}

void test_ok_at(gopt_status s, const gopt_err *e, const char *file, int line)
{
    if (s == GOPT_OK)
        return;
    print_error("%s (%s)\n", e->msg, gopt_status_text(s));
    _fail(file, line);
}

long test_every_oom(gopt_status (*make)(void *ctx, gopt_err *e), void *ctx)
{
    enum { ALLOCATIONS_MAX = 100000 };
    for (long n = 0; n < ALLOCATIONS_MAX; n++) {
        gopt_err e = {0};
        gopt_alloc_fail_at = n;
        gopt_status s = make(ctx, &e);
        gopt_alloc_fail_at = -1;
        if (s == GOPT_OK)
            return n;
        if (s != GOPT_ENOMEM || !e.msg[0])
            fail_msg("allocation %ld failed: \"%s\" (%s)", n, e.msg, gopt_status_text(s));
    }
    fail_msg("no success after %d allocations", ALLOCATIONS_MAX);
    return -1;
}
