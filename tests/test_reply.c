/* test_reply.c: what workers say, read strictly enough that a damaged line or study does no harm. */
#include <cjson/cJSON.h>

#include "goal.h"
#include "study.h"
#include "support/test.h"

static const char full[] =
    "{\"status\":\"wrong\",\"why\":\"case 0, output 1: element 3\",\"plan_hash\":\"ab\",\"compile\":{\"import\":5,"
    "\"passes\":7},\"compile_ns\":12,\"compile_peak\":4096,\"cached\":true,\"native\":3,\"generated\":2,\"reference\":"
    "1,"
    "\"memory\":{\"peak\":60,\"steady\":50,\"weights\":40,\"arena\":30,\"workspace\":20,\"runtime\":10},\"max_abs\":0."
    "5,"
    "\"max_rel\":0.25,\"verify_ns\":99,\"predicted_s\":0.001,\"origins\":4,\"passes\":[{\"pass\":\"fold_const\","
    "\"changed\":2,\"nodes_before\":9,\"nodes_after\":7,\"ns\":1000,\"touched\":[0,3,4,-1]},{\"pass\":\"drop_dead\"}]}";

static void a_whole_reply_is_read(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_reply r;
    assert_ok(gopt_reply_parse(&r, full, &a, &e), &e);
    assert_int_equal(r.status, GOPT_TRIAL_wrong);
    assert_string_equal(r.why, "case 0, output 1: element 3");
    assert_string_equal(r.plan_hash, "ab");
    assert_int_equal(r.stage_ns[GOPT_STAGE_import], 5);
    assert_int_equal(r.stage_ns[GOPT_STAGE_passes], 7);
    assert_int_equal(r.stage_ns[GOPT_STAGE_serialization], 0);
    assert_true(r.compile_ns == 12 && r.compile_peak == 4096 && r.cached);
    assert_true(r.native == 3 && r.generated == 2 && r.reference == 1);
    assert_true(r.memory.peak == 60 && r.memory.steady == 50 && r.memory.weights == 40 && r.memory.arena == 30);
    assert_true(r.memory.workspace == 20 && r.memory.runtime == 10);
    assert_true(r.max_abs == 0.5 && r.max_rel == 0.25 && r.verify_ns == 99 && r.predicted_s == 0.001);
    assert_int_equal(r.n_origins, 4);
    assert_int_equal(r.n_passes, 2);
    assert_true(r.passes[0].changed == 2 && r.passes[0].nodes_before == 9 && r.passes[0].nodes_after == 7);
    assert_memory_equal(r.touched[0], ((unsigned char[]){1, 0, 0, 1}), 4);
    assert_memory_equal(r.touched[1], ((unsigned char[]){0, 0, 0, 0}), 4);
    gopt_arena_fini(&a);
}

static void what_is_missing_is_unknown(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_reply r;
    assert_ok(gopt_reply_parse(&r, "{\"status\":\"ok\"}", &a, &e), &e);
    assert_int_equal(r.status, GOPT_TRIAL_ok);
    assert_null(r.why);
    assert_null(r.plan_hash);
    assert_true(r.compile_ns == -1 && r.compile_peak == -1 && r.max_abs == -1 && r.predicted_s == -1);
    assert_int_equal(r.n_passes, 0);
    gopt_arena_fini(&a);
}

static void what_makes_no_sense_is_a_crash(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{}", "[]", "1", "null", "{\"status\":7}", "{\"status\":\"splendid\"}", "{\"STATUS\":\"ok\"}",
    };
    for (int i = 0; i < GOPT_COUNT(lines); i++) {
        gopt_err e = {0};
        gopt_arena a = {0};
        gopt_reply r;
        assert_ok(gopt_reply_parse(&r, lines[i], &a, &e), &e);
        assert_int_equal(r.status, GOPT_TRIAL_crashed);
        gopt_arena_fini(&a);
    }
}

/* Numbers that no conversion can hold, and types that are not the ones expected. */
static void damaged_numbers_do_no_harm(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_reply r;
    gopt_trial t = {0};
    assert_ok(
        gopt_reply_parse(&r,
                         "{\"status\":\"ok\",\"compile_ns\":1e300,\"native\":-1e300,\"generated\":1e12,\"origins\":-5,"
                         "\"memory\":{\"peak\":-1,\"steady\":1e300},\"passes\":[{\"touched\":[1e300,\"x\"]},7],"
                         "\"compile\":[],\"why\":3}",
                         &a, &e),
        &e);
    assert_true(r.compile_ns == -1 && r.native == 0 && r.generated == INT32_MAX && r.n_origins == 0);
    assert_true(r.memory.peak == 0 && r.memory.steady == 0);
    assert_int_equal(r.n_passes, 2);
    assert_null(r.passes[1].pass);
    assert_ok(
        gopt_trace_parse(&t, "{\"status\":\"ok\",\"steps\":[{},{\"name\":1,\"origin\":{},\"ns\":1e300}]}", &a, &e), &e);
    assert_int_equal(t.n_steps, 2);
    assert_string_equal(t.steps[0].kernel, "?");
    assert_string_equal(t.steps[1].op, "?");
    gopt_arena_fini(&a);
}

static void what_is_no_json_is_an_error(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_reply r;
    gopt_trial t = {0};
    assert_int_equal(gopt_reply_parse(&r, "{\"status\":", &a, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "{\"status\":"));
    assert_int_equal(r.status, GOPT_TRIAL_crashed);
    assert_int_equal(gopt_trace_parse(&t, "", &a, &e), GOPT_EINPUT);
    gopt_arena_fini(&a);
}

static void a_trace_is_read_when_it_is_one(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_trial t = {0};
    assert_ok(
        gopt_trace_parse(&t,
                         "{\"status\":\"ok\",\"total\":250.5,\"steps\":[{\"name\":\"c1\",\"op\":\"Conv\",\"kernel\":"
                         "\"conv_f32\",\"origin\":[4,2],\"ns\":200},{\"name\":\"r\",\"op\":\"Relu\",\"kernel\":"
                         "\"reference\",\"origin\":[],\"ns\":50}]}",
                         &a, &e),
        &e);
    assert_true(t.traced_ns == 250.5);
    assert_int_equal(t.n_steps, 2);
    assert_string_equal(t.steps[0].op, "Conv");
    assert_string_equal(t.steps[1].kernel, "reference");
    assert_true(t.steps[0].n_origin == 2 && t.steps[0].origin[0] == 4 && t.steps[0].ns == 200);
    assert_int_equal(t.steps[1].n_origin, 0);
    assert_ok(gopt_trace_parse(&t, "{\"status\":\"crashed\",\"steps\":[{}]}", &a, &e), &e);
    assert_int_equal(t.n_steps, 0);
    gopt_arena_fini(&a);
}

/* ---- configurations ---- */

static void every_setting_travels_as_json(void **state)
{
    (void)state;
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_knob *k = gopt_setting_at(i)->knob;
        gopt_err e = {0};
        gopt_config c, back;
        gopt_config_default(&c);
        c.v[i] = gopt_knob_value(k, gopt_knob_count(k) - 1);
        char *json = gopt_config_json(&c);
        assert_non_null(json);
        assert_ok(gopt_config_from_json(&back, json, &e), &e);
        assert_true(gopt_config_equal(&c, &back));
        cJSON_free(json);
    }
}

static const struct {
    const char *json;
    gopt_status status;
    const char *says;
} bad[] = {
    {"", GOPT_EINPUT, "no JSON object"},
    {"[]", GOPT_EINPUT, "no JSON object"},
    {"{\"pass.nonsense\":true}", GOPT_EUSAGE, "pass.nonsense"},
    {"{\"pass.fold_const\":null}", GOPT_EUSAGE, "pass.fold_const"},
    {"{\"pass.fold_const\":[]}", GOPT_EUSAGE, "pass.fold_const"},
    {"{\"pass.fold_const\":\"perhaps\"}", GOPT_EUSAGE, "on or off"},
    {"{\"engine.threads\":1.5}", GOPT_EUSAGE, "engine.threads"},
    {"{\"engine.threads\":1e300}", GOPT_EUSAGE, "engine.threads"},
    {"{\"engine.threads\":0}", GOPT_EUSAGE, "engine.threads"},
    {"{\"reuse_memory.planner\":\"by_luck\"}", GOPT_EUSAGE, "by_size, by_lifetime"},
};

static void a_wrong_configuration_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(bad); i++) {
        gopt_err e = {0};
        gopt_config c;
        if (gopt_config_from_json(&c, bad[i].json, &e) != bad[i].status || !strstr(e.msg, bad[i].says))
            fail_msg("%s: \"%s\"", bad[i].json, e.msg);
    }
}

static gopt_status parse_both(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_reply r;
    gopt_trial t = {0};
    (void)ctx;
    gopt_status s = gopt_reply_parse(&r, full, &a, e);
    if (!s)
        s = gopt_trace_parse(&t, "{\"status\":\"ok\",\"steps\":[{\"name\":\"c1\",\"origin\":[4,2]}]}", &a, e);
    gopt_arena_fini(&a);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_true(test_every_oom(parse_both, NULL) > 0);
}

/* ---- names ---- */

static void objectives_have_names(void **state)
{
    (void)state;
    gopt_err e = {0};
    for (gopt_objective o = 0; o < GOPT_OBJECTIVE_COUNT; o++) {
        gopt_objective back = GOPT_OBJECTIVE_COUNT;
        assert_ok(gopt_objective_parse(&back, gopt_objective_name(o), &e), &e);
        assert_int_equal(back, o);
    }
    gopt_objective o;
    assert_int_equal(gopt_objective_parse(&o, "latencies", &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean 'latency'?"));
    assert_int_equal(gopt_objective_parse(&o, "happiness", &e), GOPT_EUSAGE);
    assert_null(strstr(e.msg, "did you mean"));
    assert_non_null(strstr(e.msg, "utility, wall"));
    assert_int_equal(gopt_goal_default.objective, GOPT_OBJECTIVE_latency);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_reply_is_read),
        cmocka_unit_test(what_is_missing_is_unknown),
        cmocka_unit_test(what_makes_no_sense_is_a_crash),
        cmocka_unit_test(damaged_numbers_do_no_harm),
        cmocka_unit_test(what_is_no_json_is_an_error),
        cmocka_unit_test(a_trace_is_read_when_it_is_one),
        cmocka_unit_test(every_setting_travels_as_json),
        cmocka_unit_test(a_wrong_configuration_is_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(objectives_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
