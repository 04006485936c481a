/* test_against.c: verdicts against an earlier manifest. */
#include <math.h>

#include "against.h"
#include "manifest.h"
#include "support/test.h"

static void write_old(const char *path, double speedup, const char *sha)
{
    gopt_err e = {0};
    const char *const pipeline[] = {"fold_const"};
    gopt_manifest_choice choice = {.trial = 1,
                                   .pipeline = pipeline,
                                   .n_pipeline = 1,
                                   .bundle = "bundles/trial-1.gopt",
                                   .bundle_hash = "00000000000000000000000000000000",
                                   .threads = 1,
                                   .latency_ns = {1000, 990, 1010},
                                   .speedup = {speedup, speedup * 0.99, speedup * 1.01},
                                   .samples = 100,
                                   .peak_bytes = 1000,
                                   .compile_ns = 1000,
                                   .break_even_requests = NAN};
    gopt_manifest_cluster c = {.id = "c0", .weight = 1, .chosen = choice, .fallback = choice, .reason = "a test"};
    gopt_manifest m = {.tool_version = "0.1.0",
                       .model_path = "m.onnx",
                       .model_sha256 = sha,
                       .device_name = "here",
                       .device_fingerprint = "f0",
                       .objective = "latency",
                       .verdict = "ok",
                       .regime = "steady",
                       .seed = 1,
                       .noise_floor = 0.001,
                       .clusters = &c,
                       .n_clusters = 1};
    assert_ok(gopt_manifest_write(&m, path, &e), &e);
}

static gopt_findings *findings_of(double speedup)
{
    gopt_err e = {0};
    gopt_findings *f;
    assert_ok(gopt_findings_new(&f, &e), &e);
    f->model.sha256 = "aa";
    f->device.fingerprint = "f1";
    f->clusters = gopt_findings_take_clusters(f, 1);
    f->n_clusters = 1;
    f->clusters[0].trials = gopt_findings_take_trials(f, 1);
    f->clusters[0].n_trials = 1;
    f->clusters[0].chosen_trial = 0;
    f->clusters[0].trials[0].speedup =
        (gopt_finding_ratio){.value = speedup, .lo = speedup * 0.99, .hi = speedup * 1.01};
    return f;
}

static void slower_is_a_regression_and_a_little_is_a_tie(void **state)
{
    static const struct {
        double speedup;
        const char *result;
    } rows[] = {{1.5, "regression"}, {2.01, "tie"}, {3, "improvement"}};
    char path[4096];
    gopt_err e = {0};
    write_old(test_path(path, *state, "old.yaml"), 2, "aa");
    for (int i = 0; i < 3; i++) {
        gopt_findings *f = findings_of(rows[i].speedup);
        assert_ok(gopt_against_judge(f, path, &e), &e);
        assert_string_equal(f->verdict.result, rows[i].result);
        assert_string_equal(f->verdict.against, path);
        assert_int_equal(f->verdict.n_details, 2);
        assert_non_null(strstr(f->verdict.details[1], "here"));
        gopt_findings_free(f);
    }
}

static void another_model_or_no_manifest_is_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_findings *f = findings_of(2);
    write_old(test_path(path, *state, "old.yaml"), 2, "bb");
    assert_int_equal(gopt_against_judge(f, path, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "another model"));
    assert_int_not_equal(gopt_against_judge(f, test_path(path, *state, "absent.yaml"), &e), GOPT_OK);
    gopt_findings_free(f);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(slower_is_a_regression_and_a_little_is_a_tie),
                                       T(another_model_or_no_manifest_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
