/* The deployment path: bundles and manifests opened, run by several sessions, refused with the reason. */
#include "deploy.h"

#include <limits.h>
#include <pthread.h>

#include "base/file.h"
#include "bundle.h"
#include "manifest.h"
#include "support/compiled.h"
#include "support/test.h"

/* Two models that tell each other apart by what they compute. */
static const char doubles[] = "input x float32[2,3]\n"
                              "const two float32[] {2}\n"
                              "n: y float32[2,3] = Mul(x, two)\n"
                              "output y\n";
static const char triples[] = "input x float32[2,3]\n"
                              "const three float32[] {3}\n"
                              "n: y float32[2,3] = Mul(x, three)\n"
                              "output y\n";

static void write_bundle(const char *dir, const char *name, const char *text, char hex[33])
{
    char path[PATH_MAX];
    gopt_err e = {0};
    gopt_hash h;
    gopt_config c = test_config(NULL);
    gopt_plan *p = test_compile(text, &c, dir, NULL);
    assert_ok(gopt_bundle_write(p, test_path(path, dir, name), &h, &e), &e);
    gopt_hash_hex(hex, h);
    gopt_plan_free(p);
}

typedef struct place {
    const char *dir;
    char chosen[33], fallback[33];
    char manifest[PATH_MAX];
} place;

/* chosen doubles, fallback triples. */
static void write_manifest(const place *p, const char *chosen_path, const char *chosen_hash, const char *fallback_hash)
{
    gopt_err e = {0};
    gopt_manifest_cluster c = {
        .id = "c0",
        .weight = 1,
        .chosen = {.trial = 2, .bundle = chosen_path, .bundle_hash = chosen_hash, .threads = 1},
        .fallback = {.trial = 1, .bundle = "fallback.gopt", .bundle_hash = fallback_hash, .threads = 1}};
    gopt_manifest m = {.tool_version = "test", .clusters = &c, .n_clusters = 1};
    assert_ok(gopt_manifest_write(&m, p->manifest, &e), &e);
}

static place set_up(const char *dir)
{
    place p = {.dir = dir};
    write_bundle(dir, "chosen.gopt", doubles, p.chosen);
    write_bundle(dir, "fallback.gopt", triples, p.fallback);
    test_path(p.manifest, dir, "manifest.yaml");
    write_manifest(&p, "chosen.gopt", p.chosen, p.fallback);
    return p;
}

static float values[6] = {0, 1, -2, 3.5f, 4, 5};
static const gopt_tensor input = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {2, 3}, .data = values};

/* By how much the model multiplies; 0: something failed. Uses no assertions, so that threads may call it. */
static float factor_of(gopt_model *m)
{
    gopt_session *s;
    float factor = 0;
    if (gopt_session_new(&s, m, NULL))
        return 0;
    if (!gopt_session_bind(s, 0, &input, NULL) && !gopt_session_run(s, NULL)) {
        const float *y = gopt_session_output(s, 0)->data;
        factor = y[1];
        for (int i = 0; i < 6; i++)
            factor = y[i] == factor * values[i] ? factor : 0;
    }
    gopt_session_free(s);
    return factor;
}

static float open_and_run(const char *path, gopt_usage *usage, char notice[512])
{
    gopt_model *m;
    gopt_err e = {0};
    assert_ok(gopt_model_open(&m, path, NULL, &e), &e);
    float factor = factor_of(m);
    gopt_model_usage(m, usage);
    snprintf(notice, 512, "%s", usage->notice ? usage->notice : "");
    gopt_model_close(m);
    return factor;
}

static void a_manifest_runs_what_was_chosen(void **state)
{
    place p = set_up(*state);
    gopt_usage u;
    char notice[512];
    assert_true(open_and_run(p.manifest, &u, notice) == 2);
    assert_int_equal(u.runs, 1);
    assert_int_equal(u.fallbacks, 0);
    assert_string_equal(notice, "");
}

static void a_bundle_runs_alone(void **state)
{
    place p = set_up(*state);
    char path[PATH_MAX], notice[512];
    gopt_usage u;
    assert_true(open_and_run(test_path(path, p.dir, "fallback.gopt"), &u, notice) == 3);
}

static void ports_say_what_goes_in_and_out(void **state)
{
    place p = set_up(*state);
    gopt_model *m;
    gopt_err e = {0};
    const gopt_port *in, *out;
    gopt_options one = {.threads = 1};
    assert_ok(gopt_model_open(&m, p.manifest, &one, &e), &e);
    assert_int_equal(gopt_model_inputs(m, &in), 1);
    assert_int_equal(gopt_model_outputs(m, &out), 1);
    assert_int_equal(gopt_model_inputs(m, NULL), 1);
    assert_string_equal(in->name, "x");
    assert_string_equal(out->name, "y");
    assert_int_equal(in->dtype, GOPT_DTYPE_F32);
    assert_int_equal(in->rank, 2);
    assert_int_equal(out->dim[1], 3);
    gopt_model_close(m);
}

static void wrong_calls_are_refused(void **state)
{
    place p = set_up(*state);
    gopt_model *m;
    gopt_session *s;
    gopt_err e = {0};
    gopt_usage u;
    gopt_tensor wrong = input, other = input;
    wrong.dim[0] = 3;
    other.dtype = GOPT_DTYPE_I32;
    assert_ok(gopt_model_open(&m, p.manifest, NULL, &e), &e);
    assert_ok(gopt_session_new(&s, m, &e), &e);
    assert_null(gopt_session_output(s, 0));
    assert_int_equal(gopt_session_run(s, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "input \"x\" is not bound");
    assert_int_equal(gopt_session_bind(s, 1, &input, &e), GOPT_EUSAGE);
    assert_int_equal(gopt_session_bind(s, 0, NULL, &e), GOPT_EUSAGE);
    assert_int_equal(gopt_session_bind(s, 0, &wrong, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "input \"x\": float32[2,3] expected"));
    assert_int_equal(gopt_session_bind(s, 0, &other, &e), GOPT_EINPUT);
    assert_ok(gopt_session_bind(s, 0, &input, &e), &e);
    assert_ok(gopt_session_run(s, &e), &e);
    assert_non_null(gopt_session_output(s, 0));
    assert_null(gopt_session_output(s, 1));
    gopt_model_usage(m, &u);
    assert_int_equal(u.refused, 2);
    assert_int_equal(u.runs, 1);
    gopt_session_free(s);
    gopt_session_free(NULL);
    gopt_model_close(m);
    gopt_model_close(NULL);
}

/* ---- what cannot be opened ---- */

static void falls_back(const place *p, const char *why)
{
    gopt_usage u;
    char notice[512];
    assert_true(open_and_run(p->manifest, &u, notice) == 3);
    assert_int_equal(u.fallbacks, 1);
    if (!strstr(notice, why))
        fail_msg("\"%s\" expected, got \"%s\"", why, notice);
}

static void refuses(const char *path, gopt_status status, const char *why)
{
    gopt_model *m;
    gopt_err e = {0};
    assert_int_equal(gopt_model_open(&m, path, NULL, &e), status);
    assert_null(m);
    if (!strstr(e.msg, why))
        fail_msg("\"%s\" expected, got \"%s\"", why, e.msg);
}

static void the_fallback_serves_when_the_chosen_cannot(void **state)
{
    place p = set_up(*state);
    char path[PATH_MAX];
    gopt_err e = {0};
    write_manifest(&p, "chosen.gopt", "00", p.fallback);
    falls_back(&p, "its hash is ");
    write_manifest(&p, "absent.gopt", p.chosen, p.fallback);
    falls_back(&p, "absent.gopt: no such file");
    write_manifest(&p, "../chosen.gopt", p.chosen, p.fallback);
    falls_back(&p, "not below the manifest's folder");
    write_manifest(&p, "/chosen.gopt", p.chosen, p.fallback);
    falls_back(&p, "not below the manifest's folder");
    write_manifest(&p, "a/../../chosen.gopt", p.chosen, p.fallback);
    falls_back(&p, "not below the manifest's folder");
    write_manifest(&p, "./chosen.gopt", p.chosen, p.fallback);
    gopt_usage u;
    char notice[512];
    assert_true(open_and_run(p.manifest, &u, notice) == 2);
    assert_ok(gopt_file_write_text(test_path(path, p.dir, "chosen.gopt"), "GOPTBNDL and nothing else", &e), &e);
    write_manifest(&p, "chosen.gopt", p.chosen, p.fallback);
    falls_back(&p, "chosen.gopt: ");
}

static void without_either_the_chosen_ones_fault_is_told(void **state)
{
    place p = set_up(*state);
    char path[PATH_MAX];
    gopt_err e = {0};
    write_manifest(&p, "chosen.gopt", "00", "11");
    refuses(p.manifest, GOPT_EINPUT, "chosen.gopt: its hash is ");
    write_manifest(&p, "absent.gopt", p.fallback, p.fallback); /* one and the same: no second try */
    refuses(p.manifest, GOPT_EINPUT, "absent.gopt: no such file");
    refuses(test_path(path, p.dir, "nothing.yaml"), GOPT_EIO, "nothing.yaml: No such file");
    assert_ok(gopt_file_write_text(path, "hello", &e), &e);
    refuses(path, GOPT_EINPUT, "nothing.yaml: line 1: not a manifest");
    refuses(p.dir, GOPT_EINPUT, "not a regular file");
    gopt_manifest empty = {.tool_version = "test"};
    assert_ok(gopt_manifest_write(&empty, path, &e), &e);
    refuses(path, GOPT_EINPUT, "it decides nothing");
}

/* ---- many sessions ---- */

enum { THREADS = 4, RUNS = 200 };

static void *run_often(void *model)
{
    uintptr_t good = 0;
    for (int i = 0; i < RUNS / 10; i++)
        good += factor_of(model) == 2;
    return (void *)good;
}

static void sessions_run_side_by_side(void **state)
{
    place p = set_up(*state);
    gopt_model *m;
    gopt_err e = {0};
    gopt_usage u;
    pthread_t thread[THREADS];
    assert_ok(gopt_model_open(&m, p.manifest, NULL, &e), &e);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_often, m), 0);
    for (int i = 0; i < THREADS; i++) {
        void *good;
        pthread_join(thread[i], &good);
        assert_int_equal((uintptr_t)good, RUNS / 10);
    }
    gopt_model_usage(m, &u);
    assert_int_equal(u.runs, THREADS * RUNS / 10);
    gopt_model_close(m);
}

static gopt_status open_and_close(void *path, gopt_err *e)
{
    gopt_model *m;
    gopt_session *s = NULL;
    GOPT_TRY(gopt_model_open(&m, path, NULL, e));
    gopt_status status = gopt_session_new(&s, m, e);
    gopt_session_free(s);
    gopt_usage u;
    gopt_model_usage(m, &u);
    if (!status && u.notice) /* the chosen one was given up for lack of memory: that must fail, not fall back */
        status = gopt_fail(e, GOPT_EBUG, "fell back");
    gopt_model_close(m);
    return status;
}

static void survives_every_oom(void **state)
{
    place p = set_up(*state);
    assert_true(test_every_oom(open_and_close, p.manifest) > 10);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_manifest_runs_what_was_chosen),
        T(a_bundle_runs_alone),
        T(ports_say_what_goes_in_and_out),
        T(wrong_calls_are_refused),
        T(the_fallback_serves_when_the_chosen_cannot),
        T(without_either_the_chosen_ones_fault_is_told),
        T(sessions_run_side_by_side),
        T(survives_every_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
