/* made_study.c: made-up studies with known speeds. */
#include "support/made_study.h"

#include "support/test.h"

static const gopt_study_identity identity = {
    .model_sha256 = "00", .shapes = "batch=1", .tool = "test", .device = "here", .seed = 1};

int test_study_add(gopt_study *s, gopt_trial_role role, int pass_a, int pass_b, double compile_ms, double peak_mib)
{
    char json[512];
    gopt_err e = {0};
    gopt_trial t = {.role = role, .pass_a = pass_a, .pass_b = pass_b, .elapsed_s = s->n_trials};
    if (role == GOPT_ROLE_BASELINE)
        gopt_config_baseline(&t.config);
    else
        gopt_config_default(&t.config);
    snprintf(json, sizeof json,
             "{\"status\":\"ok\",\"plan_hash\":\"h%d\",\"compile_ns\":%.0f,\"compile\":{\"passes\":%.0f},"
             "\"memory\":{\"peak\":%.0f,\"steady\":10,\"weights\":5,\"arena\":3,\"workspace\":1,\"runtime\":1},"
             "\"max_abs\":0.001,\"max_rel\":0.0001,\"native\":3,\"origins\":2,\"passes\":[{\"pass\":\"fold_const\","
             "\"changed\":1,\"nodes_before\":9,\"nodes_after\":5,\"ns\":1000,\"touched\":[0]}]}",
             s->n_trials, compile_ms * 1e6, compile_ms * 1e6, peak_mib * 1048576);
    assert_ok(gopt_study_add_trial(s, &t, json, &e), &e);
    return t.id;
}

void test_study_sample(gopt_study *s, int trial, int round, double ms)
{
    gopt_err e = {0};
    gopt_sample x = {.trial = trial, .round = round, .ns = ms * 1e6, .repeats = 1};
    assert_ok(gopt_study_add_sample(s, &x, &e), &e);
}

gopt_study *test_study_make(const char *dir, const double *ms, const double *compile_ms, int more, int rounds)
{
    char path[4096];
    gopt_err e = {0};
    gopt_study *s;
    assert_ok(gopt_study_open(&s, test_path(path, dir, "study.db"), &identity, true, &e), &e);
    test_study_add(s, GOPT_ROLE_BASELINE, -1, -1, 10, 100);
    test_study_add(s, GOPT_ROLE_DEFAULT, -1, -1, 200, 60);
    for (int i = 0; i < more; i++)
        test_study_add(s, GOPT_ROLE_SEARCH, -1, -1, compile_ms[i], 60);
    for (int r = 0; r < rounds; r++) {
        double speed = 1 + 0.5 * r / rounds, jitter = 1 + 0.002 * (r % 5);
        test_study_sample(s, 0, r, 10 * speed);
        test_study_sample(s, 0, r, 10 * speed * jitter);
        test_study_sample(s, 1, r, 4 * speed * jitter);
        for (int i = 0; i < more; i++)
            test_study_sample(s, 2 + i, r, ms[i] * speed * (1 + 0.002 * ((r + i) % 5)));
    }
    return s;
}
