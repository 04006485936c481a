/* gopt inspect: what it says of a study is what the report says. */
#include "assess.h"
#include "support/made_study.h"
#include "support/test.h"

#include "inspect.h"

static gopt_text inspected(const char *dir)
{
    char path[4096];
    gopt_err e = {0};
    gopt_text t = {0};
    gopt_inspection x = {.path = test_path(path, dir, "study.db"), .text = &t};
    assert_ok(gopt_inspect_study(&x, &e), &e);
    return t;
}

static void a_trial_of_too_few_rounds_is_not_ok(void **state)
{
    const double ms[] = {2, 5}, compile[] = {1, 1};
    gopt_study *s = test_study_make(*state, ms, compile, 1, 40);
    int hasty = test_study_add(s, GOPT_ROLE_SEARCH, -1, -1, 1, 60);
    for (int round = 0; round < 3; round++)
        test_study_sample(s, hasty, round, 0.1);
    gopt_study_close(s);
    gopt_text t = inspected(*state);
    const char *out = gopt_text_str(&t);
    assert_non_null(strstr(out, "trials         4\n    ok 3\n    pruned 1\n"));
    assert_non_null(strstr(out, "the budget ended before it was timed in 9 rounds"));
    assert_null(strstr(out, "100.0")); /* what three rounds would make of its speed */
    gopt_text_fini(&t);
}

/* Not the plain median of its samples, taken while the machine slowed down by half, but the baseline's over the
 * speedup.
 */
static void a_median_is_the_one_of_the_report(void **state)
{
    const double ms[] = {2}, compile[] = {1};
    char line[64], latency[32];
    gopt_err e = {0};
    gopt_assessment a;
    gopt_study *s = test_study_make(*state, ms, compile, 1, 40);
    for (int round = 40; round < 100; round++) { /* more samples of the baseline, while the machine is twice as fast */
        test_study_sample(s, 0, round, 5);
        test_study_sample(s, 0, round, 5);
    }
    assert_ok(gopt_assess(&a, s, &gopt_goal_default, &e), &e);
    const gopt_assessed *x = gopt_assess_find(&a, 2);
    assert_true(x->latency.median.value < 1.1e6); /* its own samples are all above 2 ms */
    snprintf(line, sizeof line, "      40  %9s  ", gopt_text_ns(latency, x->latency.median.value));
    gopt_assess_fini(&a);
    gopt_study_close(s);
    gopt_text t = inspected(*state);
    assert_non_null(strstr(gopt_text_str(&t), line));
    gopt_text_fini(&t);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_trial_of_too_few_rounds_is_not_ok), T(a_median_is_the_one_of_the_report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
