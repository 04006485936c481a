/* test_serve.c: the worker's side of the protocol, spoken to in this process: what it answers to every request. */
#include <cjson/cJSON.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "bundle.h"
#include "support/subject.h"
#include "support/test.h"

enum { LINES_MAX = 12, LINE_SIZE = 8192 };

typedef struct talk {
    test_subject subject;
    char request[LINES_MAX][LINE_SIZE];
    int n;
    cJSON *reply[LINES_MAX];
} talk;

static void say(talk *t, const char *line)
{
    assert_true(t->n < LINES_MAX);
    snprintf(t->request[t->n++], LINE_SIZE, "%s", line);
}

static void say_prepare(talk *t, bool optimized)
{
    gopt_config c;
    if (optimized)
        gopt_config_default(&c);
    else
        gopt_config_baseline(&c);
    c.v[gopt_setting_find("engine.threads")] = 1;
    test_prepare_request(t->request[t->n++], LINE_SIZE, &c);
}

/* Serves all that was said; the subject's graph is the server's from a "prepare" on. */
static void hold(talk *t, bool takes_graph)
{
    FILE *in = tmpfile(), *out = tmpfile();
    assert_true(in && out);
    for (int i = 0; i < t->n; i++)
        fprintf(in, "%s\n", t->request[i]);
    fflush(in);
    rewind(in);
    gopt_worker_serve(&t->subject.bench, dup(fileno(in)), dup(fileno(out)));
    if (takes_graph)
        t->subject.graph = NULL;
    rewind(out);
    char *line = NULL;
    size_t cap = 0;
    for (int i = 0; i < t->n; i++) {
        assert_true(getline(&line, &cap, out) > 0);
        t->reply[i] = cJSON_Parse(line);
        assert_true(cJSON_IsObject(t->reply[i]));
    }
    assert_true(getline(&line, &cap, out) < 0); /* one line for each, no more */
    free(line);
    fclose(in);
    fclose(out);
}

static void end(talk *t)
{
    for (int i = 0; i < t->n; i++)
        cJSON_Delete(t->reply[i]);
    test_subject_fini(&t->subject);
    free(t);
}

static talk *begin(const char *dir, int cases)
{
    talk *t = calloc(1, sizeof *t);
    assert_non_null(t);
    test_subject_make(&t->subject, test_subject_model, cases, dir);
    return t;
}

static double number(const cJSON *o, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);
    assert_true(cJSON_IsNumber(n));
    return n->valuedouble;
}

static const char *text(const cJSON *o, const char *name)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
    return s ? s : "";
}

static void assert_status(const talk *t, int i, const char *status, const char *why)
{
    if (strcmp(text(t->reply[i], "status"), status) != 0 || !strstr(text(t->reply[i], "why"), why))
        fail_msg("%.60s: %s, \"%s\"", t->request[i], text(t->reply[i], "status"), text(t->reply[i], "why"));
}

/* For percentiles every inference is timed alone, after one that fills the caches and does not count. */
static void an_inference_is_timed_alone(void **state)
{
    talk *t = begin(*state, 3);
    say_prepare(t, true);
    say(t, "{\"do\":\"sample\",\"min_ns\":0,\"repeats\":1,\"warm\":true}");
    hold(t, true);
    assert_status(t, 1, "ok", "");
    assert_true(number(t->reply[1], "repeats") == 1 && number(t->reply[1], "ns") > 0);
    end(t);
}

static void a_configuration_is_prepared_and_timed(void **state)
{
    talk *t = begin(*state, 3);
    say_prepare(t, true);
    say(t, "{\"do\":\"warm\",\"ns\":1000000}");
    say(t, "{\"do\":\"sample\",\"min_ns\":2000000}");
    say(t, "{\"do\":\"sample\",\"min_ns\":0,\"repeats\":3}");
    say(t, "{\"do\":\"trace\",\"runs\":2}");
    hold(t, true);
    for (int i = 0; i < t->n; i++)
        assert_status(t, i, "ok", "");
    assert_true(number(t->reply[1], "runs") >= 5 && number(t->reply[1], "ns") > 0);
    assert_true(number(t->reply[2], "ns") * number(t->reply[2], "repeats") >= 2e6);
    assert_true(number(t->reply[3], "repeats") == 3 && number(t->reply[3], "ns") > 0);
    assert_true(number(t->reply[4], "total") > 0);
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(t->reply[4], "steps");
    assert_true(cJSON_GetArraySize(steps) > 0);
    assert_true(text(cJSON_GetArrayItem(steps, 0), "kernel")[0]);
    end(t);
}

static void a_reply_says_what_compiling_took_and_did(void **state)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_reply r;
    talk *t = begin(*state, 1);
    say_prepare(t, true);
    hold(t, true);
    char *json = cJSON_PrintUnformatted(t->reply[0]);
    assert_ok(gopt_reply_parse(&r, json, &a, &e), &e);
    assert_int_equal(r.status, GOPT_TRIAL_ok);
    assert_int_equal(r.stage_ns[GOPT_STAGE_import], 7);
    assert_true(r.stage_ns[GOPT_STAGE_shape_inference] >= 3);
    int64_t sum = 0;
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        sum += r.stage_ns[i];
    assert_int_equal(r.compile_ns, sum);
    assert_true(r.compile_peak > 1 << 20 && r.verify_ns > 0 && r.predicted_s > 0);
    assert_true(r.native + r.generated > 0 && r.reference == 0);
    assert_true(r.max_abs >= 0 && r.max_abs < 1e-3 && r.max_rel < 1e-3);
    assert_true(r.memory.peak >= r.memory.weights + r.memory.arena && r.memory.weights > 8 * 16 * 4);
    assert_int_equal(r.n_passes, gopt_pass_count());
    assert_int_equal(r.n_origins, 5);
    assert_int_equal(strlen(r.plan_hash), 32);
    cJSON_free(json);
    gopt_arena_fini(&a);
    end(t);
}

static void hash_of(const char *dir, bool optimized, char *hash)
{
    talk *t = begin(dir, 1);
    say_prepare(t, optimized);
    hold(t, true);
    snprintf(hash, 33, "%s", text(t->reply[0], "plan_hash"));
    end(t);
}

static void equal_plans_have_equal_hashes(void **state)
{
    char a[33], b[33], c[33];
    hash_of(*state, true, a);
    hash_of(*state, true, b);
    hash_of(*state, false, c);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
}

static void a_wrong_result_is_found(void **state)
{
    talk *t = begin(*state, 2);
    ((float *)t->subject.outputs[1].data)[7] += 0.5f;
    say_prepare(t, false);
    say_prepare(t, false);
    hold(t, true);
    assert_status(t, 0, "wrong", "inputs random, output 1: element 7");
    assert_true(number(t->reply[0], "max_abs") > 0.4);
    assert_status(t, 1, "run_failed", "prepares once");
    end(t);
}

/* More than the type allows, but no more than rounding in the model itself does. */
static void slack_is_granted(void **state)
{
    static const gopt_slack slack[] = {{0}, {.abs = 0.6}};
    talk *t = begin(*state, 1);
    t->subject.bench.slack[0] = slack;
    ((float *)t->subject.outputs[1].data)[7] += 0.5f;
    say_prepare(t, false);
    hold(t, true);
    assert_status(t, 0, "ok", "");
    end(t);
}

static void what_makes_no_sense_is_refused(void **state)
{
    talk *t = begin(*state, 1);
    say(t, "{\"do\":\"dance\"}");
    say(t, "{}");
    say(t, "no JSON at all");
    say(t, "[1,2]");
    say(t, "{\"do\":7}");
    say(t, "{\"do\":\"warm\",\"ns\":5}");
    say(t, "{\"do\":\"sample\"}");
    say(t, "{\"do\":\"trace\"}");
    say(t, "{\"do\":\"bundle\",\"path\":\"x.gopt\"}");
    hold(t, false);
    for (int i = 0; i < 5; i++)
        assert_status(t, i, "run_failed", "unknown request");
    for (int i = 5; i < t->n; i++)
        assert_status(t, i, "run_failed", "nothing prepared");
    end(t);
}

static void a_wrong_configuration_is_refused(void **state)
{
    talk *t = begin(*state, 1);
    say(t, "{\"do\":\"prepare\",\"config\":{\"pass.nonsense\":true}}");
    say(t, "{\"do\":\"sample\"}");
    hold(t, false);
    assert_status(t, 0, "compile_failed", "pass.nonsense");
    assert_status(t, 1, "run_failed", "nothing prepared");
    end(t);
    t = begin(*state, 1);
    say(t, "{\"do\":\"prepare\"}");
    hold(t, false);
    assert_status(t, 0, "compile_failed", "no configuration");
    end(t);
}

/* A plan as a bundle, and the bundle through the deployment path. */
static void a_bundle_is_written_and_opened(void **state)
{
    char path[4096], line[LINE_SIZE], hex[33];
    gopt_err e = {0};
    gopt_hash content;
    gopt_plan *p;
    talk *t = begin(*state, 2);
    test_path(path, *state, "m.gopt");
    say_prepare(t, true);
    snprintf(line, sizeof line, "{\"do\":\"bundle\",\"path\":\"%s\"}", path);
    say(t, line);
    snprintf(line, sizeof line, "{\"do\":\"bundle\",\"path\":\"%s/no/such/folder/m.gopt\"}", (char *)*state);
    say(t, line);
    hold(t, true);
    assert_status(t, 1, "ok", "");
    assert_status(t, 2, "run_failed", "no/such/folder");
    assert_ok(gopt_bundle_read(&p, path, &content, &e), &e);
    assert_string_equal(text(t->reply[1], "hash"), gopt_hash_hex(hex, content));
    gopt_plan_free(p);
    end(t);
    t = begin(*state, 2);
    snprintf(line, sizeof line, "{\"do\":\"open\",\"path\":\"%s\"}", path);
    say(t, line);
    say(t, "{\"do\":\"sample\",\"min_ns\":1000}");
    say(t, "{\"do\":\"trace\"}"); /* only of a plan that was compiled here */
    say_prepare(t, true);
    hold(t, false);
    assert_status(t, 0, "ok", "");
    assert_true(number(cJSON_GetObjectItem(t->reply[0], "memory"), "peak") > 0);
    assert_status(t, 1, "ok", "");
    assert_status(t, 2, "run_failed", "nothing prepared");
    assert_status(t, 3, "run_failed", "prepares once");
    end(t);
}

static void what_cannot_be_opened_is_said(void **state)
{
    talk *t = begin(*state, 1);
    say(t, "{\"do\":\"open\",\"path\":\"no-such-file.gopt\"}");
    hold(t, false);
    assert_status(t, 0, "run_failed", "no-such-file.gopt");
    end(t);
    t = begin(*state, 1);
    say(t, "{\"do\":\"open\"}");
    hold(t, false);
    assert_status(t, 0, "run_failed", "");
    end(t);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(an_inference_is_timed_alone),
        D(a_configuration_is_prepared_and_timed),
        D(a_reply_says_what_compiling_took_and_did),
        D(equal_plans_have_equal_hashes),
        D(a_wrong_result_is_found),
        D(slack_is_granted),
        D(what_makes_no_sense_is_refused),
        D(a_wrong_configuration_is_refused),
        D(a_bundle_is_written_and_opened),
        D(what_cannot_be_opened_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
