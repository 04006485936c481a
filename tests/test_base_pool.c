/* base/pool: every part once, at any number of threads, parked or held. */
#include "support/test.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pool.h"

enum { PARTS_MAX = 1000 };

typedef struct tally {
    int plain[PARTS_MAX]; /* not atomic: the pool itself must order the writes before the caller's reads */
    atomic_int calls;
} tally;

static void count(void *ctx, int part)
{
    tally *t = ctx;
    t->plain[part]++;
    atomic_fetch_add(&t->calls, 1);
}

static gopt_pool *new_pool(int threads)
{
    gopt_err e = {0};
    gopt_pool *p;
    assert_ok(gopt_pool_new(&p, threads, &e), &e);
    assert_int_equal(gopt_pool_threads(p), threads);
    return p;
}

static void run_and_check(gopt_pool *p, int parts)
{
    tally t = {0};
    gopt_pool_run(p, count, &t, parts);
    assert_int_equal(t.calls, parts);
    for (int i = 0; i < PARTS_MAX; i++)
        assert_int_equal(t.plain[i], i < parts);
}

static void every_part_once(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 4}, parts[] = {0, 1, 2, 3, 4, 7, 64, PARTS_MAX};
    for (int i = 0; i < GOPT_COUNT(threads); i++) {
        gopt_pool *p = new_pool(threads[i]);
        for (int round = 0; round < 20; round++)
            for (int k = 0; k < GOPT_COUNT(parts); k++)
                run_and_check(p, parts[k]);
        gopt_pool_free(p);
    }
}

/* Jobs of changing size, one after the other, without a pause: a worker that is late must not take a part of the next
 * job for one of its own. */
static void jobs_in_a_row_are_kept_apart(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(4);
    gopt_pool_begin(p);
    for (int round = 0; round < 3000; round++)
        run_and_check(p, 1 + round * 7 % 23);
    gopt_pool_end(p);
    gopt_pool_free(p);
}

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void parked_workers_wake_up(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(2);
    for (int round = 0; round < 5; round++) {
        sleep_ms(2);
        run_and_check(p, 8);
    }
    gopt_pool_free(p);
}

typedef struct meeting {
    atomic_int arrived;
    atomic_bool met;
} meeting;

static void meet(void *ctx, int part)
{
    (void)part;
    meeting *m = ctx;
    atomic_fetch_add(&m->arrived, 1);
    for (int64_t end = gopt_clock_monotonic() + 2 * GOPT_NS_PER_S; gopt_clock_monotonic() < end; sleep_ms(1))
        if (atomic_load(&m->arrived) == 2) {
            atomic_store(&m->met, true);
            return;
        }
}

static void parts_run_at_the_same_time(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(2);
    for (int held = 0; held < 2; held++) {
        meeting m = {0};
        if (held)
            gopt_pool_begin(p);
        sleep_ms(held ? 40 : 2); /* long enough for the worker to park in either case */
        gopt_pool_run(p, meet, &m, 2);
        if (held)
            gopt_pool_end(p);
        assert_true(m.met);
    }
    gopt_pool_free(p);
}

static void slow(void *ctx, int part)
{
    (void)ctx;
    if (part == 0)
        sleep_ms(5);
}

static void the_caller_waits_for_a_slow_part(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(2);
    for (int round = 0; round < 4; round++) {
        int64_t start = gopt_clock_monotonic();
        gopt_pool_run(p, slow, NULL, 2);
        assert_true(gopt_clock_monotonic() - start >= 5000000);
    }
    gopt_pool_free(p);
}

static void idle_workers_use_no_processor(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(4);
    run_and_check(p, 8);
    sleep_ms(5);
    int64_t before = gopt_cpu_now();
    sleep_ms(50);
    assert_true(gopt_cpu_now() - before < 20000000);
    gopt_pool_free(p);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    gopt_pool *p;
    (void)ctx;
    gopt_status s = gopt_pool_new(&p, 3, e);
    if (s)
        assert_null(p);
    gopt_pool_free(p);
    return s;
}

static void what_cannot_be_made(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_pool *p;
    assert_int_equal(gopt_pool_new(&p, 0, &e), GOPT_EUSAGE);
    assert_null(p);
    assert_int_equal(gopt_pool_new(&p, 99999999, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "99999999 threads asked for, 1 to 4096 can be had");
    assert_null(p);
    assert_int_equal(test_every_oom(make, NULL), 1);
}

static void a_forked_child_may_free_it(void **state)
{
    (void)state;
    gopt_pool *p = new_pool(2);
    run_and_check(p, 4);
    pid_t child = fork();
    if (child == 0) {
        gopt_pool_free(p);
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    gopt_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_once),
        cmocka_unit_test(jobs_in_a_row_are_kept_apart),
        cmocka_unit_test(parked_workers_wake_up),
        cmocka_unit_test(parts_run_at_the_same_time),
        cmocka_unit_test(the_caller_waits_for_a_slow_part),
        cmocka_unit_test(idle_workers_use_no_processor),
        cmocka_unit_test(what_cannot_be_made),
        cmocka_unit_test(a_forked_child_may_free_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
