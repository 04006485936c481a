/* reports/findings, json: findings.json holds what the findings hold, and null for what is not known. */
#include "support/test.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "base/arena.h"
#include "support/sample_findings.h"

static cJSON *parse(const gopt_findings *f)
{
    char *text;
    gopt_err e = {0};
    assert_ok(gopt_findings_json(&text, f, &e), &e);
    cJSON *top = cJSON_ParseWithOpts(text, NULL, true);
    assert_non_null(top);
    gopt_free(text);
    return top;
}

/* "clusters.0.trials.17.latency": what is there. */
static const cJSON *at(const cJSON *from, const char *path)
{
    char copy[128], *rest;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest)) {
        const cJSON *next =
            cJSON_IsArray(from) ? cJSON_GetArrayItem(from, atoi(key)) : cJSON_GetObjectItemCaseSensitive(from, key);
        if (!next)
            fail_msg("%s: no %s", path, key);
        from = next;
    }
    return from;
}

static const char *raw(const cJSON *top, const char *path)
{
    static char text[4096];
    assert_true(cJSON_PrintPreallocated((cJSON *)(uintptr_t)at(top, path), text, sizeof(text), false));
    return text;
}

static const char *const schema[] = {"tool.version",
                                     "tool.commit",
                                     "budget_s",
                                     "elapsed_s",
                                     "stopped",
                                     "settings.alpha",
                                     "settings.objective",
                                     "settings.requests",
                                     "settings.max_memory",
                                     "settings.max_compile",
                                     "settings.max_latency",
                                     "model.path",
                                     "model.sha256",
                                     "model.nodes",
                                     "model.parameters_bytes",
                                     "model.operators.Conv",
                                     "model.coverage.native",
                                     "model.coverage.reference",
                                     "model.coverage.unsupported",
                                     "device.kind",
                                     "device.name",
                                     "device.fingerprint",
                                     "noise.floor",
                                     "noise.unquiet",
                                     "noise.rounds_flagged",
                                     "noise.others_cpu",
                                     "noise.waited",
                                     "noise.steal",
                                     "noise.baseline_spread",
                                     "accounting.compile_s",
                                     "accounting.verify_s",
                                     "accounting.measure_s",
                                     "accounting.search_s",
                                     "accounting.other_s",
                                     "traffic.source",
                                     "traffic.rate_per_s",
                                     "traffic.lifetime_s",
                                     "traffic.hit_rate",
                                     "traffic.coverage",
                                     "traffic.padding_waste",
                                     "traffic.fallback_share",
                                     "clusters.0.id",
                                     "clusters.0.shapes.0.batch",
                                     "clusters.0.bounds.batch.1",
                                     "clusters.0.weight",
                                     "clusters.0.reason",
                                     "clusters.0.front.0",
                                     "clusters.0.regimes.alpha.0.from",
                                     "clusters.0.regimes.requests.0.to",
                                     "clusters.0.regimes.alpha.0.trial",
                                     "clusters.0.trials.0.why",
                                     "clusters.0.trials.1.pipeline.0",
                                     "clusters.0.trials.1.config",
                                     "clusters.0.trials.1.latency.p90",
                                     "clusters.0.trials.1.latency.p95",
                                     "clusters.0.trials.1.latency.p99",
                                     "clusters.0.trials.1.latency.mean",
                                     "clusters.0.trials.1.latency.lo",
                                     "clusters.0.trials.1.throughput_per_s",
                                     "clusters.0.trials.1.speedup.lo",
                                     "clusters.0.trials.1.speedup.hi",
                                     "clusters.0.trials.1.memory.steady",
                                     "clusters.0.trials.1.memory.weights",
                                     "clusters.0.trials.1.memory.arena",
                                     "clusters.0.trials.1.memory.workspace",
                                     "clusters.0.trials.1.memory.runtime",
                                     "clusters.0.trials.1.memory.saving",
                                     "clusters.0.trials.1.compile.peak_memory",
                                     "clusters.0.trials.1.compile.cached",
                                     "clusters.0.trials.1.compile.stages.import",
                                     "clusters.0.trials.1.break_even_requests",
                                     "clusters.0.trials.1.utility",
                                     "clusters.0.trials.1.error.max_abs",
                                     "clusters.0.trials.1.error.max_rel",
                                     "clusters.0.effects.single.0.memory_saving",
                                     "clusters.0.effects.single.0.compile",
                                     "clusters.0.effects.single.0.share",
                                     "clusters.0.effects.single.0.operator_speedup",
                                     "clusters.0.effects.single.0.amdahl_predicted",
                                     "clusters.0.effects.single.0.amdahl_ceiling",
                                     "clusters.0.effects.leave_one_out.0.slowdown.value",
                                     "clusters.0.effects.pairs.0.eta.value",
                                     "clusters.0.effects.steps.0.nodes_before",
                                     "clusters.0.effects.steps.0.nodes_after",
                                     "clusters.0.effects.steps.0.kernels_after",
                                     "clusters.0.effects.steps.0.arena_after",
                                     "clusters.0.effects.steps.0.latency",
                                     "verdict.result",
                                     "verdict.against",
                                     "verdict.details.0"};

static void every_key_of_the_schema_is_there(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    cJSON *top = parse(f);
    for (int i = 0; i < GOPT_COUNT(schema); i++)
        at(top, schema[i]);
    cJSON_Delete(top);
    gopt_findings_free(f);
}

static void values_are_written_as_they_are(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    f->model.parameters_bytes = INT64_C(9007199254740993); /* one more than a double can hold */
    f->clusters[0].trials[17].latency.median = INT64_C(1234567890123450);
    f->clusters[0].trials[17].throughput_per_s = 0.1 + 0.2;
    f->noise.floor = 0;
    cJSON *top = parse(f);
    assert_string_equal(raw(top, "schema"), "\"gopt-findings/1\"");
    assert_string_equal(raw(top, "seed"), "1");
    assert_string_equal(raw(top, "noise.floor"), "0");
    assert_string_equal(raw(top, "noise.unquiet"), "false");
    assert_string_equal(raw(top, "verdict.trust"), "\"good\"");
    assert_string_equal(raw(top, "clusters.0.chosen"), "17");
    assert_string_equal(raw(top, "clusters.0.shapes"), "[{\"batch\":1}]");
    assert_string_equal(raw(top, "clusters.0.bounds"), "{\"batch\":[1,1]}");
    assert_true(at(top, "clusters.0.trials.17.throughput_per_s")->valuedouble == 0.1 + 0.2);
    assert_string_equal(raw(top, "clusters.0.trials.17.config"),
                        "{\"fold_constants\":true,\"fuse_conv_act\":true,\"fuse_chain\":true,\"layout_nhwc\":false,"
                        "\"reuse_buffers\":true,\"engine.threads\":2,\"plan.order\":\"by_size\"}");
    assert_string_equal(raw(top, "clusters.0.trials.17.speedup.verdict"), "\"better\"");
    assert_string_equal(raw(top, "clusters.0.effects.leave_one_out.1.slowdown.verdict"), "\"worse\"");
    assert_string_equal(raw(top, "clusters.0.effects.pairs.0.eta.verdict"), "\"synergy\"");
    assert_string_equal(raw(top, "clusters.0.effects.pairs.1.eta.verdict"), "\"conflict\"");
    assert_string_equal(raw(top, "clusters.0.effects.pairs.3.eta.verdict"), "\"none\"");
    assert_string_equal(raw(top, "settings.fresh"), "false");
    cJSON_Delete(top);
    char *text;
    gopt_err e = {0};
    assert_ok(gopt_findings_json(&text, f, &e), &e);
    assert_non_null(strstr(text, ":\t9007199254740993"));
    assert_non_null(strstr(text, ":\t1234567890123450,"));
    gopt_free(text);
    gopt_findings_free(f);
}

static void unknown_is_null(void **state)
{
    (void)state;
    gopt_findings *f;
    gopt_err e = {0};
    assert_ok(gopt_findings_new(&f, &e), &e);
    f->clusters = gopt_findings_take_clusters(f, 1);
    f->clusters[0].trials = gopt_findings_take_trials(f, 1);
    f->clusters[0].n_trials = 1;
    f->n_clusters = 1;
    f->budget_s = INFINITY;
    cJSON *top = parse(f);
    static const char *const paths[] = {"budget_s",
                                        "elapsed_s",
                                        "stopped",
                                        "tool.commit",
                                        "model.nodes",
                                        "noise.floor",
                                        "noise.rounds_flagged",
                                        "traffic.hit_rate",
                                        "verdict.against",
                                        "settings.max_memory",
                                        "clusters.0.chosen",
                                        "clusters.0.weight",
                                        "clusters.0.trials.0.latency",
                                        "clusters.0.trials.0.memory",
                                        "clusters.0.trials.0.compile",
                                        "clusters.0.trials.0.speedup.value",
                                        "clusters.0.trials.0.speedup.verdict",
                                        "clusters.0.trials.0.utility",
                                        "clusters.0.trials.0.break_even_requests",
                                        "clusters.0.trials.0.error.max_abs"};
    for (int i = 0; i < GOPT_COUNT(paths); i++)
        if (!cJSON_IsNull(at(top, paths[i])))
            fail_msg("%s is %s", paths[i], raw(top, paths[i]));
    cJSON_Delete(top);
    gopt_findings_free(f);
}

static void texts_of_models_are_escaped(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    static const gopt_finding_operator operators[] = {{"Evil\"\\\x01\xff", 3}};
    f->model.path = "dir/\xff\"</script>\n.onnx";
    f->model.operators = operators;
    f->model.n_operators = 1;
    cJSON *top = parse(f);
    assert_string_equal(at(top, "model.path")->valuestring, "dir/?\"</script>\n.onnx");
    assert_int_equal(at(top, "model.operators.Evil\"\\\x01?")->valueint, 3);
    cJSON_Delete(top);
    gopt_findings_free(f);
}

static void trials_are_found_by_id(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    const gopt_finding_trial *role[GOPT_FINDING_ROLES];
    c->trials[3].id = 300;
    assert_ptr_equal(gopt_finding_trial_find(c, 300), &c->trials[3]);
    assert_null(gopt_finding_trial_find(c, 3));
    assert_null(gopt_finding_trial_find(c, -1));
    assert_false(gopt_finding_trial_is_ok(NULL));
    assert_true(gopt_finding_on_front(c, 17));
    assert_false(gopt_finding_on_front(c, 1));
    assert_int_equal(gopt_finding_roles(c, role), 3);
    c->chosen_trial = 1;
    assert_int_equal(gopt_finding_roles(c, role), 2);
    assert_string_equal(gopt_finding_role_name(c, 1), "chosen = default");
    assert_string_equal(gopt_finding_role_name(c, 0), "baseline");
    assert_string_equal(gopt_finding_role_name(c, 5), "");
    gopt_findings_free(f);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    char *text;
    gopt_findings *f;
    GOPT_TRY(gopt_findings_new(&f, e));
    gopt_findings_free(f);
    GOPT_TRY(gopt_findings_json(&text, ctx, e));
    gopt_free(text);
    return GOPT_OK;
}

static void survives_every_allocation_failure(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    f->clusters[0].n_trials = 2; /* the same code for every one of them */
    assert_true(test_every_oom(make, f) > 500);
    gopt_findings_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_the_schema_is_there),
        cmocka_unit_test(values_are_written_as_they_are),
        cmocka_unit_test(unknown_is_null),
        cmocka_unit_test(texts_of_models_are_escaped),
        cmocka_unit_test(trials_are_found_by_id),
        cmocka_unit_test(survives_every_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
