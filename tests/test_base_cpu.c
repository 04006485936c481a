/* base/cpu and base/cgroup: what may be used here, and quotas of both versions of control groups. */
#include "support/test.h"

#include <sched.h>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "base/file.h"

static void the_processor_is_known(void **state)
{
    (void)state;
    assert_true(strlen(gopt_cpu_name()) > 0);
    assert_ptr_equal(gopt_cpu_name(), gopt_cpu_name());
    size_t l1 = gopt_cpu_cache(1), l2 = gopt_cpu_cache(2);
    assert_true(l1 == 0 || (l1 >= 4096 && l1 <= 1 << 20));
    assert_true(l2 == 0 || l2 >= l1);
    assert_int_equal(gopt_cpu_cache(0), 0);
    assert_int_equal(gopt_cpu_cache(4), 0);
}

static void the_environment_lowers_the_level_and_never_raises_it(void **state)
{
    (void)state;
    unsetenv("GOPT_ISA");
    gopt_isa best = gopt_cpu_isa();
    for (int i = 0; i < GOPT_ISA_COUNT; i++) {
        setenv("GOPT_ISA", gopt_isa_name((gopt_isa)i), 1);
        assert_int_equal(gopt_cpu_isa(), GOPT_MIN(i, (int)best));
    }
    setenv("GOPT_ISA", "sse9", 1);
    assert_int_equal(gopt_cpu_isa(), best);
    unsetenv("GOPT_ISA");
    assert_string_equal(gopt_isa_name(GOPT_ISA_AVX512), "avx512");
    assert_string_equal(gopt_isa_name(GOPT_ISA_COUNT), "unknown");
}

static void affinity_counts(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int all = gopt_cpu_count();
    assert_in_range(all, 1, CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(gopt_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(gopt_cpu_count(), all);
}

static void put(const char *dir, const char *folder, const char *file, const char *text)
{
    char path[4096], in[4096];
    gopt_err e = {0};
    assert_ok(gopt_dir_make(test_path(path, dir, folder), &e), &e);
    assert_ok(gopt_file_write_text(test_path(in, path, file), text, &e), &e);
}

static int cpus(const char *dir)
{
    char membership[4096];
    return gopt_cgroup_cpus(test_path(membership, dir, "membership"), dir);
}

static void version_2_takes_the_tightest_quota(void **state)
{
    put(*state, "", "membership", "0::/a/b\n");
    assert_int_equal(cpus(*state), 0);
    put(*state, "a/b", "cpu.max", "max 100000\n");
    assert_int_equal(cpus(*state), 0);
    put(*state, "a", "cpu.max", "350000 100000\n");
    assert_int_equal(cpus(*state), 3);
    put(*state, "a/b", "cpu.max", "50000 100000\n");
    assert_int_equal(cpus(*state), 1);
    put(*state, "a/b", "cpu.max", "nonsense");
    assert_int_equal(cpus(*state), 3);
}

static void a_path_from_outside_the_container_falls_back_to_the_mount(void **state)
{
    put(*state, "", "membership", "0::/machine/outer/name\n");
    put(*state, "", "cpu.max", "200000 100000\n");
    assert_int_equal(cpus(*state), 2);
}

static void version_1_reads_its_controller(void **state)
{
    put(*state, "", "membership", "9:memory:/x\n4:cpu,cpuacct:/x\n3:cpuset:/x\n0::/x\n");
    put(*state, "cpu,cpuacct/x", "cpu.cfs_period_us", "100000\n");
    put(*state, "cpu,cpuacct/x", "cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cpus(*state), 0);
    put(*state, "cpu,cpuacct/x", "cpu.cfs_quota_us", "400000\n");
    assert_int_equal(cpus(*state), 4);
    put(*state, "", "membership", "9:memory:/x\n3:cpuset:/x\nnonsense\n:\n");
    assert_int_equal(cpus(*state), 0);
}

static void no_control_groups_no_quota(void **state)
{
    assert_int_equal(cpus(*state), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_setup, test_dir_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processor_is_known),
        cmocka_unit_test(the_environment_lowers_the_level_and_never_raises_it),
        cmocka_unit_test(affinity_counts),
        TEST(version_2_takes_the_tightest_quota),
        TEST(a_path_from_outside_the_container_falls_back_to_the_mount),
        TEST(version_1_reads_its_controller),
        TEST(no_control_groups_no_quota),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
