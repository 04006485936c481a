/* test_device.c: what machine this is, and when it counts as disturbed. */
#include "device.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "support/test.h"

static void the_machine_is_described(void **state)
{
    (void)state;
    gopt_device d, again;
    gopt_device_read(&d);
    assert_true(d.name[0] && d.isa[0] && d.kernel[0] && d.compiler[0] && d.hypervisor[0]);
    assert_int_equal(d.cores, gopt_cpu_count());
    assert_true(d.memory > 64 << 20);
    assert_int_equal(strlen(d.fingerprint), 32);
    assert_int_equal(strspn(d.fingerprint, "0123456789abcdef"), 32);
    gopt_device_read(&again);
    assert_string_equal(d.fingerprint, again.fingerprint);
}

static void health_counts_upwards(void **state)
{
    (void)state;
    gopt_health before, after;
    gopt_health_read(&before);
    gopt_health_read(&after);
    assert_true(after.at_ns >= before.at_ns);
    assert_true(before.steal_s >= 0 && after.steal_s >= before.steal_s);
    assert_true(before.switches >= 0 && after.switches >= before.switches);
    assert_true(before.pressure_us < 0 || after.pressure_us >= before.pressure_us);
}

static gopt_health later(const gopt_health *before, double seconds)
{
    gopt_health after = *before;
    after.at_ns += (int64_t)(seconds * (double)GOPT_NS_PER_S);
    return after;
}

static void disturbance_is_steal_or_waiting(void **state)
{
    (void)state;
    static const struct {
        double seconds, steal_s, waited_s;
        bool disturbed;
    } row[] = {
        {10, 0, 0, false},   {10, 0.09, 0, false}, {10, 0.11, 0, true},     {0.1, 0.01, 0, false}, {0.1, 0.02, 0, true},
        {10, 0, 0.9, false}, {10, 0, 1.1, true},   {0.01, 0, 0.0011, true}, {0, 1, 1, false},
    };
    for (int i = 0; i < GOPT_COUNT(row); i++) {
        gopt_health before = {.at_ns = 5, .steal_s = 100, .pressure_us = 1e9, .waited_s = 1e3},
                    after = later(&before, row[i].seconds);
        after.steal_s += row[i].steal_s;
        after.waited_s += row[i].waited_s;
        after.pressure_us += 1e6 * row[i].seconds; /* others wait all the time: for us, as it seems */
        assert_int_equal(gopt_health_disturbed(&before, &after), row[i].disturbed);
        before.waited_s = after.waited_s = -1; /* not known: the pressure stands in for it */
        after.pressure_us = before.pressure_us + 1e6 * row[i].waited_s;
        assert_int_equal(gopt_health_disturbed(&before, &after), row[i].disturbed);
        before.pressure_us = after.pressure_us = -1; /* neither known: only steal counts */
        assert_int_equal(gopt_health_disturbed(&before, &after), row[i].disturbed && row[i].steal_s > 0);
    }
}

static void disturbance_adds_up(void **state)
{
    (void)state;
    gopt_disturbance d = {0};
    gopt_health before = {.at_ns = 5, .steal_s = 1, .busy_s = 50, .own_s = 7, .waited_s = 3}, after = later(&before, 2);
    after.steal_s += 0.25;
    after.busy_s += 3;
    after.own_s += 2;
    after.waited_s += 0.5;
    gopt_disturbance_add(&d, &before, &after);
    gopt_disturbance_add(&d, &before, &after);
    assert_true(d.seconds == 4 && d.steal_s == 0.5 && d.others_s == 2 && d.waited_s == 1);
    before.waited_s = after.waited_s = -1;
    gopt_disturbance_add(&d, &before, &after);
    assert_true(d.others_s == 3 && d.waited_s < 0);
}

/* A process that must share one processor with another waits, and both see it. */
static void waiting_is_seen(void **state)
{
    (void)state;
    gopt_health before, after;
    cpu_set_t had, one;
    assert_int_equal(sched_getaffinity(0, sizeof had, &had), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &had))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    gopt_health_read(&before);
    if (before.waited_s < 0 || before.busy_s < 0) {
        print_message("skipped 1: no /proc/self/task/*/schedstat\n");
        skip();
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    for (int64_t end = gopt_clock_monotonic() + GOPT_NS_PER_S / 2; gopt_clock_monotonic() < end;) {
    }
    if (pid == 0)
        _exit(0);
    gopt_health_read(&after);
    waitpid(pid, NULL, 0);
    sched_setaffinity(0, sizeof had, &had);
    assert_true(gopt_health_disturbed(&before, &after));
    gopt_disturbance d = {0};
    gopt_disturbance_add(&d, &before, &after);
    assert_true(d.waited_s > 0.1 * d.seconds && d.others_s > 0.1 * d.seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(health_counts_upwards),
        cmocka_unit_test(disturbance_is_steal_or_waiting),
        cmocka_unit_test(disturbance_adds_up),
        cmocka_unit_test(waiting_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
