/* cc.c: C text to shared objects by the system's compiler, in a folder of its own so that nothing is left behind even
 * when the compiler is killed. */
#include "build/cc.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/process.h"

static gopt_cc found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void identify(gopt_cc *cc)
{
    const char *const argv[] = {cc->path, "--version", NULL};
    gopt_process_result r = {0};
    const char *line = "unknown compiler";
    if (!gopt_process_run(&r, argv, 10 * GOPT_NS_PER_S, NULL) && r.exit_code == 0)
        line = gopt_text_str(&r.output);
    snprintf(cc->identity, sizeof cc->identity, "%.*s; %s, %s", (int)GOPT_MIN(strcspn(line, "\n"), (size_t)70), line,
             gopt_cpu_name(), gopt_isa_name(gopt_cpu_isa()));
    gopt_text_fini(&r.output);
}

static void look(void)
{
    const char *wanted = getenv("GOPT_CC");
    const char *const names[] = {"cc", "gcc", "clang"};
    bool there = wanted && gopt_process_find(wanted, found.path, sizeof found.path);
    for (int i = 0; !wanted && !there && i < GOPT_COUNT(names); i++)
        there = gopt_process_find(names[i], found.path, sizeof found.path);
    if (there)
        identify(&found);
    else
        found.path[0] = 0;
}

const gopt_cc *gopt_cc_find(void)
{
    pthread_once(&once, look);
    return &found;
}

typedef struct queue {
    gopt_cc_job *jobs;
    int n;
    atomic_int next;
    const char *dir;
    int64_t deadline;
} queue;

/* The flags name no language extension beyond what generated code uses; -nostdlib keeps it free of libm and libc. */
static gopt_status compile(gopt_cc_job *j, const char *dir, int index, int64_t limit, gopt_err *e)
{
    char source[PATH_MAX], object[PATH_MAX], temporary[PATH_MAX], level[8];
    snprintf(source, sizeof source, "%s/%d.c", dir, index);
    snprintf(object, sizeof object, "%s/%d.so", dir, index);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", dir);
    snprintf(level, sizeof level, "-O%d", j->level);
    GOPT_TRY(gopt_file_write_text(source, j->source, e));
    const char *const argv[] = {"env",
                                temporary,
                                gopt_cc_find()->path,
                                level,
                                "-std=gnu17",
                                "-march=native",
                                "-ffp-contract=fast",
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                "-fPIC",
                                "-fno-builtin",
                                "-fno-stack-protector",
                                "-w",
                                "-shared",
                                "-nostdlib",
                                "-o",
                                object,
                                source,
                                NULL};
    gopt_process_result r = {0};
    gopt_status s = gopt_process_run(&r, argv, limit, e);
    j->ns = r.wall_ns;
    j->peak_bytes = r.peak_bytes;
    if (!s && r.timed_out)
        s = gopt_fail(e, GOPT_ELIMIT, "%s: over the time limit", gopt_cc_find()->path);
    else if (!s && r.exit_code)
        s = gopt_fail(e, GOPT_EBUG, "%s failed on generated code: %.200s", gopt_cc_find()->path,
                      gopt_text_str(&r.output));
    gopt_text_fini(&r.output);
    GOPT_TRY(s);
    gopt_mapping m;
    GOPT_TRY(gopt_file_map(&m, object, e));
    j->elf = gopt_malloc(GOPT_MAX(m.bytes, (size_t)1));
    if (j->elf) {
        memcpy(j->elf, m.data, m.bytes);
        j->bytes = m.bytes;
    }
    gopt_file_unmap(&m);
    return j->elf ? GOPT_OK : gopt_oom(e);
}

static void *work(void *ctx)
{
    queue *q = ctx;
    for (int i; (i = atomic_fetch_add(&q->next, 1)) < q->n;) {
        gopt_cc_job *j = &q->jobs[i];
        int64_t left = q->deadline - gopt_now();
        j->status = left > 0 ? compile(j, q->dir, i, left, &j->error)
                             : gopt_fail(&j->error, GOPT_ELIMIT, "no time left to compile generated code");
    }
    return NULL;
}

static void run_all(queue *q, int parallel)
{
    pthread_t helper[8];
    int helpers = 0;
    while (helpers < GOPT_MIN(GOPT_MIN(parallel, q->n) - 1, GOPT_COUNT(helper)) &&
           !pthread_create(&helper[helpers], NULL, work, q))
        helpers++;
    work(q);
    for (int i = 0; i < helpers; i++)
        pthread_join(helper[i], NULL);
}

gopt_status gopt_cc_run(gopt_cc_job *jobs, int n, int parallel, const char *dir, int64_t limit_ns, gopt_err *e)
{
    char place[400];
    const char *wanted = getenv("GOPT_CC");
    if (!gopt_cc_find()->path[0])
        return wanted ? gopt_fail(e, GOPT_ENODEV, "GOPT_CC is '%s', which is no program", wanted)
                      : gopt_fail(e, GOPT_ENODEV, "no C compiler (cc, gcc or clang) on PATH");
    GOPT_TRY(gopt_dir_make(dir, e));
    if ((size_t)snprintf(place, sizeof place, "%s/cc-XXXXXX", dir) >= sizeof place || !mkdtemp(place))
        return gopt_fail(e, GOPT_EIO, "%s: cannot make a folder for the compiler", dir);
    queue q = {.jobs = jobs, .n = n, .dir = place, .deadline = gopt_now() + limit_ns};
    run_all(&q, parallel);
    gopt_status s = gopt_dir_remove(place, e);
    for (int i = n - 1; i >= 0; i--)
        if (jobs[i].status)
            s = gopt_fail(e, jobs[i].status, "%s", jobs[i].error.msg);
    return s;
}
