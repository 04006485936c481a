/* test_about.c: what a job that was continued says of itself: its runs, and the totals of all of them. */
#include "about.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "base/clock.h"
#include "support/graphs.h"
#include "support/made_study.h"
#include "support/test.h"

static double at(const cJSON *o, const char *group, const char *name)
{
    const cJSON *in = group ? cJSON_GetObjectItemCaseSensitive(o, group) : o;
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(in, name);
    return cJSON_IsNumber(n) ? n->valuedouble : NAN;
}

/* One run of `budget` s, of which `spent` have gone, with as many disturbed rounds of ten; the text as stored. */
static cJSON *run(gopt_study *s, int number, double budget, double spent, int disturbed)
{
    gopt_err e = {0};
    gopt_tune_options o = {.model = "m.onnx", .out = "out", .budget_s = budget, .goal = gopt_goal_default, .seed = 1};
    gopt_job j = {.options = &o, .study = s, .stopped = "budget", .rounds = 10, .rounds_flagged = disturbed};
    j.begin = gopt_now() - (int64_t)(spent * 1e9);
    j.spent = (gopt_accounting){.compile = 0.5 * spent, .measure = 0.25 * spent};
    j.disturbance = (gopt_disturbance){.seconds = spent, .waited_s = 0.1 * spent * disturbed};
    j.graph = test_graph("input x float32[4]\nn0: y float32[4] = Relu(x)\noutput y\n");
    s->run = number;
    for (int twice = 0; twice < 2; twice++) /* it is stored now and then in the course of a run */
        assert_ok(gopt_about_store(&j, &e), &e);
    gopt_graph_free(j.graph);
    return cJSON_Parse(gopt_study_get(s, "about"));
}

static void a_continued_job_tells_totals(void **state)
{
    gopt_study *s = test_study_make(*state, NULL, NULL, 0, 10);
    cJSON *first = run(s, 1, 30, 6, 1);
    assert_true(at(first, NULL, "budget_s") == 30 && fabs(at(first, NULL, "elapsed_s") - 6) < 0.5);
    assert_true(isnan(at(first, "settings", "runs")));
    assert_true(fabs(at(first, "disturbance", "waited") - 0.1) < 1e-9);
    s->spent_before = 6.1;
    cJSON *second = run(s, 2, 30, 24, 4), *third = run(s, 3, 10, 10, 0);
    assert_true(at(second, NULL, "budget_s") == 60 && fabs(at(second, NULL, "elapsed_s") - 30.1) < 0.5);
    assert_true(at(second, "settings", "runs") == 2);
    assert_true(at(second, NULL, "rounds") == 20 && at(second, NULL, "rounds_flagged") == 5);
    assert_true(fabs(at(second, "accounting", "compile") - 15) < 1e-9);
    assert_true(fabs(at(second, "accounting", "measure") - 7.5) < 1e-9);
    assert_true(fabs(at(second, "disturbance", "waited") - (0.1 * 6 + 0.4 * 24) / 30) < 1e-9);
    assert_true(at(third, NULL, "budget_s") == 70 && at(third, NULL, "rounds") == 30);
    assert_true(at(third, "settings", "runs") == 3);
    double sum = 0;
    static const char *const parts[] = {"compile", "verify", "measure", "search", "other"};
    for (int i = 0; i < GOPT_COUNT(parts); i++)
        sum += at(third, "accounting", parts[i]);
    assert_true(fabs(sum - at(third, NULL, "elapsed_s")) < 1e-6);
    cJSON_Delete(first);
    cJSON_Delete(second);
    cJSON_Delete(third);
    gopt_study_close(s);
}

/* A run that was killed before it could say anything counts with what it spent. */
static void a_run_that_told_nothing_counts(void **state)
{
    gopt_study *s = test_study_make(*state, NULL, NULL, 0, 10);
    s->spent_before = 5;
    cJSON *second = run(s, 2, 30, 6, 1);
    assert_true(at(second, NULL, "budget_s") == 35 && fabs(at(second, NULL, "elapsed_s") - 11) < 0.5);
    cJSON_Delete(second);
    gopt_study_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_continued_job_tells_totals), T(a_run_that_told_nothing_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
