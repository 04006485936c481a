/* test_device.c: what machine this is, and when it counts as disturbed. */
#include "device.h"

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

static void disturbance_is_steal_or_crowding(void **state)
{
    (void)state;
    static const struct {
        double seconds, steal_s, pressure_us;
        bool disturbed;
    } row[] = {
        {10, 0, 0, false},   {10, 0.09, 0, false}, {10, 0.11, 0, true},   {0.1, 0.01, 0, false}, {0.1, 0.02, 0, true},
        {10, 0, 9e5, false}, {10, 0, 1.1e6, true}, {0.01, 0, 1100, true}, {0, 1, 1e6, false},
    };
    for (int i = 0; i < GOPT_COUNT(row); i++) {
        gopt_health before = {.at_ns = 5, .steal_s = 100, .pressure_us = 1e9}, after = before;
        after.at_ns += (int64_t)(row[i].seconds * (double)GOPT_NS_PER_S);
        after.steal_s += row[i].steal_s;
        after.pressure_us += row[i].pressure_us;
        assert_int_equal(gopt_health_disturbed(&before, &after), row[i].disturbed);
        before.pressure_us = after.pressure_us = -1; /* not known: only steal counts */
        assert_int_equal(gopt_health_disturbed(&before, &after), row[i].disturbed && row[i].steal_s > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(health_counts_upwards),
        cmocka_unit_test(disturbance_is_steal_or_crowding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
