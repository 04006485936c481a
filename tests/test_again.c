/* test_again.c: deciding again under a goal that nothing keeps, or whose choice was never compiled. */
#include "again.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "manifest.h"
#include "support/made_study.h"
#include "support/test.h"

static const char about[] =
    "{\"seed\":1,\"budget_s\":60,\"elapsed_s\":59,\"stopped\":\"budget\",\"shapes\":\"batch=1\",\"model\":{\"sha256\":"
    "\"00\"},"
    "\"device\":{},"
    "\"goal\":{\"objective\":\"latency\",\"alpha\":0.001,\"requests\":100,\"hit_rate\":0},\"rounds\":40,"
    "\"rounds_flagged\":20,\"command\":\"gopt-tune --budget 60s --out /o /m.onnx\"}";

/* Baseline 10 ms, default 4 ms, a search trial of 2 ms; no bundles. The manifest serves the default. */
static void make_out(const char *dir, const char *sha256)
{
    const double ms[] = {2}, compile[] = {300};
    char path[4096];
    gopt_err e = {0};
    gopt_study *s = test_study_make(dir, ms, compile, 1, 40);
    assert_ok(gopt_study_set(s, "about", about, &e), &e);
    assert_ok(gopt_study_set_bundle(s, 1, "trial-1.gopt", &e), &e);
    gopt_study_close(s);
    const gopt_manifest_choice one = {.trial = 1, .bundle = "bundles/trial-1.gopt", .bundle_hash = "00", .threads = 1};
    const gopt_manifest_cluster cluster = {
        .id = "c0", .weight = 1, .chosen = one, .fallback = one, .reason = "made up"};
    const gopt_manifest m = {.tool_version = "t",
                             .model_path = "m.onnx",
                             .model_sha256 = sha256,
                             .device_name = "cpu",
                             .device_fingerprint = "f",
                             .objective = "latency",
                             .verdict = "ok",
                             .regime = "steady",
                             .noise_floor = 0.01,
                             .clusters = &cluster,
                             .n_clusters = 1};
    assert_ok(gopt_manifest_write(&m, test_path(path, dir, "manifest.yaml"), &e), &e);
}

static char *read_file(const char *dir, const char *name)
{
    char path[4096];
    gopt_err e = {0};
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, test_path(path, dir, name), &e), &e);
    char *text = strndup((const char *)m.data, m.bytes);
    gopt_file_unmap(&m);
    return text;
}

static gopt_goal_change unchanged(void)
{
    return (gopt_goal_change){.objective = GOPT_OBJECTIVE_COUNT,
                              .alpha = NAN,
                              .requests = NAN,
                              .max_memory = NAN,
                              .max_compile_ns = NAN,
                              .max_latency_ns = NAN};
}

static void what_nothing_keeps_changes_nothing(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_text summary = {0}, findings = {0};
    gopt_goal_change change = unchanged();
    make_out(*state, "00");
    change.max_latency_ns = 1e5;
    char *before = read_file(*state, "manifest.yaml");
    assert_int_equal(gopt_decide_again(*state, &change, &summary, &findings, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "no candidate keeps the constraints (lowest latency 2"));
    assert_non_null(strstr(e.msg, "stay as they were"));
    char *after = read_file(*state, "manifest.yaml");
    assert_string_equal(before, after);
    assert_false(gopt_file_exists(test_path(path, *state, "report.txt")));
    assert_false(gopt_file_exists(test_path(path, *state, "findings.json")));
    assert_non_null(strstr(gopt_text_str(&findings), "\"unmet\":\ttrue"));
    free(before);
    free(after);
    gopt_text_fini(&summary);
    gopt_text_fini(&findings);
}

/* The folder that was given, not the one that the job had. */
static void assert_command(const char *text, const char *before, const char *command, const char *dir)
{
    char line[PATH_MAX + 300], *real = realpath(dir, NULL);
    snprintf(line, sizeof line, "%s%s%s\n", before, command, real);
    if (!strstr(text, line))
        fail_msg("no \"%s\" in: %s", line, text);
    free(real);
}

static void a_choice_without_a_bundle_is_a_what_if(void **state)
{
    static const char command[] =
        "gopt-tune --budget 60s /m.onnx --objective wall --requests 1e+15 --max-latency 3ms --out ";
    char path[4096];
    gopt_err e = {0};
    gopt_text summary = {0};
    gopt_goal_change change = unchanged();
    make_out(*state, "00");
    assert_int_equal(mkdir(test_path(path, *state, "bundles"), 0777), 0);
    assert_ok(gopt_file_write_text(test_path(path, *state, "bundles/trial-1.gopt"), "x", &e), &e);
    change.objective = GOPT_OBJECTIVE_wall;
    change.requests = 1e15;
    change.max_latency_ns = 3e6;
    char *before = read_file(*state, "manifest.yaml");
    assert_int_equal(gopt_decide_again(*state, &change, &summary, NULL, &e), GOPT_EDIFF);
    char *after = read_file(*state, "manifest.yaml"), *report = read_file(*state, "report.txt"),
         *findings = read_file(*state, "findings.json");
    assert_string_equal(before, after);
    assert_non_null(strstr(e.msg, ": manifest.yaml stays as it was and serves trial 1 (latency 5.00 ms, 3.00 ms "
                                  "allowed): trial 2, which would be chosen, has no bundle"));
    assert_non_null(strstr(gopt_text_str(&summary), "a what-if, would be chosen: trial 2"));
    assert_command(gopt_text_str(&summary), "to get it, with the whole budget spent again: ", command, *state);
    assert_non_null(strstr(gopt_text_str(&summary), "trust: little, measured on a disturbed machine: rerun when it is "
                                                    "quiet (20 of 40 rounds disturbed)"));
    assert_non_null(strstr(gopt_text_str(&summary), "study.db  bundles/  plots/\n"));
    assert_non_null(strstr(report, "As a what-if, trial 2 would be chosen"));
    assert_null(strstr(report, "Deploy trial"));
    assert_non_null(strstr(report, "serves trial 1, which breaks a constraint (latency"));
    assert_non_null(strstr(report, "spends the whole budget again:"));
    assert_command(report, "    ", command, *state);
    assert_non_null(strstr(findings, "\"served_breaks\":\t\"latency 5.00"));
    assert_non_null(strstr(findings, "\"chosen\":\t2"));
    assert_non_null(strstr(findings, "\"served\":\t1"));
    free(before);
    free(after);
    free(report);
    free(findings);
    gopt_text_fini(&summary);
}

/* The bundle is gone, or the manifest is another model's. */
static void a_manifest_that_cannot_serve_is_not_said_to(void **state)
{
    gopt_err e = {0};
    gopt_text summary = {0};
    gopt_goal_change change = unchanged();
    for (int other = 0; other < 2; other++) {
        char dir[4096], path[4096];
        assert_int_equal(mkdir(test_path(dir, *state, other ? "other" : "gone"), 0777), 0);
        make_out(dir, other ? "11" : "00");
        assert_int_equal(mkdir(test_path(path, dir, "bundles"), 0777), 0);
        if (other)
            assert_ok(gopt_file_write_text(test_path(path, dir, "bundles/trial-1.gopt"), "x", &e), &e);
        assert_int_equal(gopt_decide_again(dir, &change, &summary, NULL, &e), GOPT_EDIFF);
        assert_non_null(strstr(e.msg, "manifest.yaml stays as it was and serves nothing: trial 2"));
    }
    gopt_text_fini(&summary);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(what_nothing_keeps_changes_nothing), T(a_choice_without_a_bundle_is_a_what_if),
                                       T(a_manifest_that_cannot_serve_is_not_said_to)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
