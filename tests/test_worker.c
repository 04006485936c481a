/* test_worker.c: a candidate in a process of its own: it works, crashes, hangs, eats memory, is interrupted, loses its
 * parent.
 */
#include "worker.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/child.h"
#include "support/processes.h"
#include "support/sanitizer.h"
#include "support/subject.h"
#include "support/test.h"

enum { REQUEST_SIZE = 8192 };

static int64_t in_seconds(double s)
{
    return gopt_now() + (int64_t)(s * (double)GOPT_NS_PER_S);
}

static char *baseline_request(char *buf)
{
    gopt_config c;
    gopt_config_baseline(&c);
    c.v[gopt_setting_find("engine.threads")] = 1;
    return test_prepare_request(buf, REQUEST_SIZE, &c);
}

static gopt_worker *start(const test_subject *s)
{
    gopt_err e = {0};
    gopt_worker *w;
    assert_ok(gopt_worker_start(&w, &s->bench, &e), &e);
    assert_true(gopt_worker_alive(w));
    return w;
}

static pid_t only_child(void)
{
    pid_t child[4];
    assert_int_equal(test_children(getpid(), child, 4), 1);
    return child[0];
}

/* The status of the answer; *why (may be NULL) is valid until the next call. */
static gopt_trial_status ask(gopt_worker *w, const char *request, double seconds, const char **why)
{
    static gopt_arena a;
    gopt_err e = {0};
    gopt_reply r;
    const char *reply;
    gopt_arena_fini(&a);
    assert_ok(gopt_worker_ask(w, request, in_seconds(seconds), NULL, &reply, &e), &e);
    assert_ok(gopt_reply_parse(&r, reply, &a, &e), &e);
    if (why)
        *why = r.why ? r.why : "";
    return r.status;
}

static void a_worker_prepares_and_is_timed(void **state)
{
    char request[REQUEST_SIZE];
    test_subject s;
    test_subject_make(&s, test_subject_model, 2, *state);
    gopt_worker *w = start(&s), *other = start(&s);
    assert_int_equal(ask(w, baseline_request(request), 60, NULL), GOPT_TRIAL_ok);
    assert_int_equal(ask(other, request, 60, NULL), GOPT_TRIAL_ok); /* each has its own image of the graph */
    assert_int_equal(ask(w, "{\"do\":\"warm\",\"ns\":1000000}", 60, NULL), GOPT_TRIAL_ok);
    assert_int_equal(ask(w, "{\"do\":\"sample\",\"min_ns\":100000}", 60, NULL), GOPT_TRIAL_ok);
    assert_int_equal(ask(other, "{\"do\":\"nonsense\"}", 60, NULL), GOPT_TRIAL_run_failed);
    assert_true(gopt_worker_alive(w) && gopt_worker_alive(other));
    gopt_worker_stop(w);
    gopt_worker_stop(other);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* reaped */
    assert_int_equal(gopt_graph_count(s.graph), 5);   /* ours is as it was */
    test_subject_fini(&s);
}

static void a_wrong_result_is_told(void **state)
{
    char request[REQUEST_SIZE];
    const char *why;
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    ((float *)s.outputs[0].data)[0] = 7;
    gopt_worker *w = start(&s);
    assert_int_equal(ask(w, baseline_request(request), 60, &why), GOPT_TRIAL_wrong);
    assert_non_null(strstr(why, "inputs random, output 0: element 0"));
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

/* Its inputs lie where no memory is. */
static void a_crash_is_a_result(void **state)
{
    char request[REQUEST_SIZE];
    const char *why;
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    ((gopt_tensor *)(uintptr_t)s.bench.inputs[0][0])->data = (void *)64;
    gopt_worker *w = start(&s);
    assert_int_equal(ask(w, baseline_request(request), 60, &why), GOPT_TRIAL_crashed);
    assert_non_null(strstr(why, "signal 11"));
    assert_false(gopt_worker_alive(w));
    assert_int_equal(ask(w, request, 60, NULL), GOPT_TRIAL_crashed); /* the dead say the same again */
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

static void a_killed_worker_is_a_crash(void **state)
{
    const char *why;
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    gopt_worker *w = start(&s);
    pid_t pid = only_child();
    assert_int_equal(ask(w, "{\"do\":\"nonsense\"}", 60, NULL), GOPT_TRIAL_run_failed);
    kill(pid, SIGKILL);
    assert_int_equal(ask(w, "{\"do\":\"sample\"}", 60, &why), GOPT_TRIAL_crashed);
    assert_non_null(strstr(why, "signal 9"));
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

static void a_hang_is_ended_at_the_deadline(void **state)
{
    const char *why;
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    gopt_worker *w = start(&s);
    pid_t pid = only_child();
    kill(pid, SIGSTOP);
    int64_t begin = gopt_now();
    assert_int_equal(ask(w, "{\"do\":\"sample\"}", 0.2, &why), GOPT_TRIAL_timed_out);
    assert_non_null(strstr(why, "time limit"));
    assert_true(gopt_now() - begin < 3 * GOPT_NS_PER_S);
    assert_false(gopt_worker_alive(w) || test_is_running(pid));
    assert_int_equal(ask(w, "{\"do\":\"sample\"}", 60, NULL), GOPT_TRIAL_timed_out);
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

static void a_stopped_worker_does_not_outlive_it(void **state)
{
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    gopt_worker *w = start(&s);
    pid_t pid = only_child();
    kill(pid, SIGSTOP);
    gopt_worker_stop(w);
    assert_false(test_is_running(pid));
    gopt_worker_stop(NULL);
    assert_false(gopt_worker_alive(NULL));
    test_subject_fini(&s);
}

/* The answer comes later; it is fetched without asking again. */
static void an_interruption_loses_no_answer(void **state)
{
    char request[REQUEST_SIZE];
    const char *reply;
    gopt_err e = {0};
    volatile int interrupted = 1;
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    gopt_worker *w = start(&s);
    assert_int_equal(gopt_worker_ask(w, baseline_request(request), in_seconds(60), &interrupted, &reply, &e),
                     GOPT_EINTR);
    interrupted = 0;
    assert_int_equal(ask(w, NULL, 60, NULL), GOPT_TRIAL_ok);
    assert_int_equal(ask(w, "{\"do\":\"sample\",\"min_ns\":1000}", 60, NULL), GOPT_TRIAL_ok);
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

static void memory_is_limited(void **state)
{
    static const char big[] = "input x float32[1]\n"
                              "const s int64[3] {1024,1024,1024}\n"
                              "n1: y float32[1024,1024,1024] = Expand(x, s)\n"
                              "n2: z float32[] = ReduceSum(y) {keepdims=0}\n"
                              "output z\n";
    char request[REQUEST_SIZE];
    test_subject s;
    if (TEST_SANITIZED)
        skip();
    test_subject_make(&s, big, 0, *state);
    s.bench.memory_limit = (size_t)2 << 30;
    gopt_worker *w = start(&s);
    assert_int_equal(ask(w, baseline_request(request), 60, NULL), GOPT_TRIAL_out_of_memory);
    gopt_worker_stop(w);
    test_subject_fini(&s);
}

/* ---- the parent's death ---- */

typedef struct orphanage {
    const test_subject *subject;
    int tell; /* where the numbers of the workers go */
} orphanage;

static int start_two_and_die(void *ctx)
{
    const orphanage *o = ctx;
    gopt_worker *w[2];
    pid_t child[4];
    if (gopt_worker_start(&w[0], &o->subject->bench, NULL) || gopt_worker_start(&w[1], &o->subject->bench, NULL) ||
        test_children(getpid(), child, 4) != 2 || write(o->tell, child, 2 * sizeof *child) != 2 * sizeof *child)
        return 1;
    raise(SIGKILL);
    return 2;
}

static void workers_die_with_their_parent(void **state)
{
    test_subject s;
    int ends[2];
    pid_t worker[2];
    test_subject_make(&s, test_subject_model, 1, *state);
    assert_int_equal(pipe(ends), 0);
    orphanage o = {.subject = &s, .tell = ends[1]};
    assert_int_equal(test_in_child(start_two_and_die, &o), -SIGKILL);
    assert_int_equal(read(ends[0], worker, sizeof worker), sizeof worker);
    for (int i = 0; i < 2; i++)
        assert_true(test_ends_within(worker[i], 5));
    close(ends[0]);
    close(ends[1]);
    test_subject_fini(&s);
}

static gopt_status start_and_stop(void *ctx, gopt_err *e)
{
    gopt_worker *w;
    GOPT_TRY(gopt_worker_start(&w, ctx, e));
    gopt_worker_stop(w);
    return GOPT_OK;
}

static void every_failed_allocation_is_survived(void **state)
{
    test_subject s;
    test_subject_make(&s, test_subject_model, 1, *state);
    assert_true(test_every_oom(start_and_stop, &s.bench) > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    test_subject_fini(&s);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as a job does */
    const struct CMUnitTest tests[] = {
        D(a_worker_prepares_and_is_timed),
        D(a_wrong_result_is_told),
        D(a_killed_worker_is_a_crash),
        D(a_hang_is_ended_at_the_deadline),
        D(a_stopped_worker_does_not_outlive_it),
        D(an_interruption_loses_no_answer),
        D(memory_is_limited),
        D(workers_die_with_their_parent),
        D(every_failed_allocation_is_survived),
        D(a_crash_is_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
