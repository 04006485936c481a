/* test_study.c: what is stored is what comes back; a study of something else is refused. */
#include "support/made_study.h"
#include "support/test.h"

static const gopt_study_identity same = {
    .model_sha256 = "00", .shapes = "batch=1", .tool = "test", .device = "here", .seed = 1};

static void a_study_comes_back_as_it_was(void **state)
{
    char path[4096];
    gopt_err e = {0};
    const double ms[] = {3, 5}, compile[] = {50, 20};
    gopt_study *s = test_study_make(*state, ms, compile, 2, 12), *again;
    assert_ok(gopt_study_set_status(s, 3, GOPT_TRIAL_crashed, "signal 11", &e), &e);
    assert_ok(gopt_study_set_bundle(s, 1, "trial-1.gopt", &e), &e);
    assert_ok(gopt_study_flag_round(s, 11, &e), &e);
    assert_ok(gopt_study_set(s, "about", "{}", &e), &e);
    assert_ok(
        gopt_study_set_trace(s, 0,
                             "{\"status\":\"ok\",\"total\":9e6,\"steps\":[{\"name\":\"n\",\"op\":\"Conv\",\"kernel\":"
                             "\"conv_f32\",\"origin\":[0,1],\"ns\":5}]}",
                             &e),
        &e);
    assert_ok(gopt_study_end_run(s, 12.5, "budget", &e), &e);
    gopt_study_close(s);
    assert_ok(gopt_study_open(&again, test_path(path, *state, "study.db"), &same, false, &e), &e);
    assert_int_equal(again->n_trials, 4);
    assert_int_equal(again->n_samples, 12 * 5);
    assert_int_equal(again->next_round, 12);
    assert_int_equal(again->run, 2);
    assert_true(again->spent_before == 12.5);
    assert_int_equal(again->trials[3].reply.status, GOPT_TRIAL_crashed);
    assert_string_equal(again->trials[3].reply.why, "signal 11");
    assert_string_equal(again->trials[1].bundle, "trial-1.gopt");
    assert_int_equal(again->trials[1].reply.compile_ns, 200000000);
    assert_int_equal(again->trials[1].reply.memory.peak, 60 << 20);
    assert_int_equal(again->trials[1].reply.n_passes, 1);
    assert_int_equal(again->trials[1].reply.touched[0][0], 1);
    assert_int_equal(again->trials[0].n_steps, 1);
    assert_int_equal(again->trials[0].steps[0].n_origin, 2);
    gopt_config c;
    gopt_config_default(&c);
    assert_true(gopt_config_equal(&c, &again->trials[1].config));
    assert_true(again->samples[again->n_samples - 1].flagged && !again->samples[0].flagged);
    assert_string_equal(gopt_study_get(again, "about"), "{}");
    assert_null(gopt_study_get(again, "nothing"));
    gopt_study_close(again);
    assert_ok(gopt_study_read(&again, path, &e), &e);
    assert_int_equal(again->n_trials, 4);
    gopt_study_close(again);
}

static void a_study_of_something_else_is_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_study *s = test_study_make(*state, NULL, NULL, 0, 1), *again;
    gopt_study_close(s);
    gopt_study_identity other = same;
    other.model_sha256 = "11";
    assert_int_equal(gopt_study_open(&again, test_path(path, *state, "study.db"), &other, false, &e), GOPT_EUSAGE);
    assert_null(again);
    assert_non_null(strstr(e.msg, "another model"));
    other = same;
    other.seed = 2;
    assert_int_equal(gopt_study_open(&again, path, &other, false, &e), GOPT_EUSAGE);
    assert_ok(gopt_study_open(&again, path, &other, true, &e), &e);
    assert_int_equal(again->n_trials, 0);
    gopt_study_close(again);
    assert_int_equal(gopt_study_read(&again, test_path(path, *state, "absent.db"), &e), GOPT_EINPUT);
    assert_int_equal(gopt_study_open(&again, "no-such-folder/study.db", &same, false, &e), GOPT_EIO);
}

static void configurations_travel_as_json(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_config c, back;
    gopt_config_default(&c);
    assert_ok(gopt_config_set(&c, "pass.fold_const=off", &e), &e);
    assert_ok(gopt_config_set(&c, "engine.threads=3", &e), &e);
    gopt_config_normalize(&c);
    char *json = gopt_config_json(&c);
    assert_non_null(json);
    assert_ok(gopt_config_from_json(&back, json, &e), &e);
    assert_true(gopt_config_equal(&c, &back));
    free(json);
    assert_int_equal(gopt_config_from_json(&back, "{\"pass.nonsense\":true}", &e), GOPT_EUSAGE);
    assert_int_equal(gopt_config_from_json(&back, "[", &e), GOPT_EINPUT);
    assert_int_equal(gopt_config_from_json(&back, "{\"engine.threads\":0}", &e), GOPT_EUSAGE);
    assert_int_equal(gopt_config_set(&c, "pass.fold_cons=off", &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "pass.fold_const"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_study_comes_back_as_it_was), T(a_study_of_something_else_is_refused),
                                       T(configurations_travel_as_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
