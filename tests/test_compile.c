/* test_compile.c: the course of a compilation: shared code, the cache, no compiler, deadlines, what is watched and
 * recorded.
 */
#include "compile.h"

#include <dirent.h>

#include "base/clock.h"
#include "base/file.h"
#include "build/cc.h"
#include "engine.h"
#include "support/child.h"
#include "support/compiled.h"
#include "support/graphs.h"
#include "support/test.h"

static int entries(const char *dir, const char *ending)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *one; d && (one = readdir(d));)
        n += one->d_name[0] != '.' && strstr(one->d_name, ending);
    if (d)
        closedir(d);
    return n;
}

/* Three equal Sigmoids are one function; the next compilation finds it. */
static void equal_groups_share_code_and_the_cache_keeps_it(void **state)
{
    char path[4096];
    gopt_compile_log log;
    gopt_config c = test_config("pass.codegen=on", "codegen.gemm=off", NULL);
    if (!gopt_cc_find()->path[0])
        skip();
    gopt_plan *p = test_compile(test_model_chain, &c, *state, &log);
    assert_false(log.no_compiler || log.cached);
    assert_int_equal(log.kernels_generated, 3);
    assert_int_equal(p->n_code, 1);
    assert_true(log.stage_ns[GOPT_STAGE_code_compilation] > 0 && log.compiler_peak_bytes > 1 << 20);
    assert_int_equal(entries(test_path(path, *state, "code"), ".fn"), 1);
    assert_int_equal(entries(*state, "cc-"), 0);
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    p = test_compile(test_model_chain, &c, *state, &log);
    assert_true(log.cached && log.saved_ns > 0);
    assert_true(log.stage_ns[GOPT_STAGE_code_compilation] >= log.saved_ns); /* what it would take without the cache */
    assert_true(log.compiler_peak_bytes > 1 << 20);
    test_plan_matches(p, test_model_chain, "from the cache");
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
}

static void a_damaged_cache_is_made_anew(void **state)
{
    char path[4096], file[4096];
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_config c = test_config("pass.codegen=on", NULL);
    if (!gopt_cc_find()->path[0])
        skip();
    gopt_plan_free(test_compile(test_model_chain, &c, *state, NULL));
    DIR *d = opendir(test_path(path, *state, "code"));
    assert_non_null(d);
    for (const struct dirent *one; (one = readdir(d));)
        if (strstr(one->d_name, ".so"))
            assert_ok(gopt_file_write_text(test_path(file, path, one->d_name), "damaged", &e), &e);
    closedir(d);
    gopt_plan *p = test_compile(test_model_chain, &c, *state, &log);
    assert_false(log.cached);
    test_plan_matches(p, test_model_chain, "made anew");
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    p = test_compile(test_model_chain, &c, *state, &log);
    assert_true(log.cached);
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
}

/* ---- no compiler ---- */

static int compile_without_compiler(void *ctx)
{
    gopt_err e = {0};
    gopt_config c;
    gopt_plan *p;
    gopt_graph *g;
    gopt_compile_log log;
    gopt_compile_options o = {.cache_dir = ctx, .scratch_dir = ctx};
    setenv("GOPT_CC", "no-such-compiler", 1);
    gopt_config_default(&c);
    gopt_target_host(&o.target, 1);
    if (gopt_graph_read(&g, test_model_chain, &e) || gopt_compile(&p, g, &c, &o, &log, &e))
        return 2;
    bool sound = log.no_compiler && log.kernels_generated == 0 && log.kernels_native > 0 && p->n_code == 0;
    gopt_engine *engine = NULL;
    gopt_tensor x = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {4, 32}, .data = (float[4 * 32]){0}};
    sound = sound && !gopt_engine_new(&engine, p, 1, &e) && !gopt_engine_bind(engine, 0, &x, &e) &&
            !gopt_engine_run(engine, 0, &e);
    gopt_engine_free(engine);
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    return !sound;
}

static void without_a_compiler_precompiled_kernels_do(void **state)
{
    assert_int_equal(test_in_child(compile_without_compiler, *state), 0);
}

/* ---- limits and failures ---- */

static gopt_status try_compile(const char *text, const gopt_compile_options *given, gopt_compile_log *log, gopt_err *e)
{
    gopt_config c;
    gopt_plan *p;
    gopt_compile_options o = *given;
    gopt_config_default(&c);
    gopt_target_host(&o.target, 1);
    gopt_status s = gopt_compile(&p, test_graph(text), &c, &o, log, e);
    assert_true((s == GOPT_OK) == (p != NULL));
    gopt_plan_free(p);
    return s;
}

static void a_deadline_ends_the_compilation(void **state)
{
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_compile_options o = {.scratch_dir = *state, .deadline = gopt_now() - 1};
    assert_int_equal(try_compile(test_model_chain, &o, &log, &e), GOPT_ELIMIT);
    assert_non_null(strstr(e.msg, "time limit"));
    gopt_compile_log_fini(&log);
    o.deadline = gopt_now() + 600 * GOPT_NS_PER_S;
    assert_ok(try_compile(test_model_chain, &o, &log, &e), &e);
    gopt_compile_log_fini(&log);
}

static void open_dimensions_are_refused(void **state)
{
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_compile_options o = {.scratch_dir = *state};
    assert_int_equal(try_compile("input x float32[batch,3]\noutput x\n", &o, &log, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "input \"x\""));
    assert_non_null(strstr(e.msg, "--shape"));
    gopt_compile_log_fini(&log);
}

typedef struct watcher {
    int seen, stop_at;
} watcher;

static gopt_status watch(void *ctx, const gopt_graph *g, const gopt_pass_record *r, gopt_err *e)
{
    watcher *w = ctx;
    assert_true(r->pass == gopt_passes[w->seen]);
    assert_int_equal(r->nodes_after, gopt_graph_count(g));
    return ++w->seen == w->stop_at ? gopt_fail(e, GOPT_EINTR, "enough") : GOPT_OK;
}

static void every_pass_is_watched_and_recorded(void **state)
{
    gopt_err e = {0};
    gopt_compile_log log;
    watcher w = {0};
    gopt_compile_options o = {.scratch_dir = *state, .watch = watch, .watch_ctx = &w};
    assert_ok(try_compile(test_model_chain, &o, &log, &e), &e);
    assert_int_equal(w.seen, gopt_pass_count());
    assert_int_equal(log.n_records, gopt_pass_count());
    int64_t sum = 0;
    for (int i = 0; i < log.n_records; i++)
        sum += log.records[i].ns;
    assert_true(sum > 0 && sum <= log.stage_ns[GOPT_STAGE_passes]);
    assert_true(log.stage_ns[GOPT_STAGE_passes] <= gopt_compile_total(&log));
    gopt_compile_log_fini(&log);
    w = (watcher){.stop_at = 2};
    assert_int_equal(try_compile(test_model_chain, &o, &log, &e), GOPT_EINTR);
    assert_int_equal(log.n_records, 2);
    gopt_compile_log_fini(&log);
}

static void the_cache_folder_follows_the_environment(void **state)
{
    (void)state;
    char buf[256], small[8];
    const char *own = getenv("GOPT_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *saved[] = {own ? strdup(own) : NULL, xdg ? strdup(xdg) : NULL, home ? strdup(home) : NULL};
    const char *const names[] = {"GOPT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    setenv("GOPT_CACHE_DIR", "/c", 1);
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    assert_string_equal(gopt_cache_dir(buf, sizeof buf), "/c");
    setenv("GOPT_CACHE_DIR", "", 1);
    assert_string_equal(gopt_cache_dir(buf, sizeof buf), "/x/gopt");
    unsetenv("XDG_CACHE_HOME");
    assert_string_equal(gopt_cache_dir(buf, sizeof buf), "/h/.cache/gopt");
    unsetenv("HOME");
    assert_string_equal(gopt_cache_dir(buf, sizeof buf), "./.cache/gopt");
    gopt_cache_dir(small, sizeof small);
    for (int i = 0; i < 3; i++) {
        if (saved[i])
            setenv(names[i], saved[i], 1);
        else
            unsetenv(names[i]);
        free(saved[i]);
    }
}

/* ---- memory ---- */

typedef struct attempt {
    const char *text, *dir;
    gopt_config config;
} attempt;

static gopt_status make_plan(void *ctx, gopt_err *e)
{
    attempt *a = ctx;
    gopt_graph *g;
    gopt_plan *p;
    gopt_compile_log log;
    gopt_compile_options o = {.cache_dir = a->dir, .scratch_dir = a->dir};
    gopt_target_host(&o.target, 1);
    GOPT_TRY(gopt_graph_read(&g, a->text, e));
    gopt_status s = gopt_compile(&p, g, &a->config, &o, &log, e);
    gopt_plan_free(p);
    gopt_compile_log_fini(&log);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    for (int m = 0; test_models[m]; m++) {
        attempt a = {.text = test_models[m], .dir = *state};
        gopt_config_default(&a.config);
        gopt_plan_free(test_compile(test_models[m], &a.config, *state, NULL)); /* the compiler's work is in the cache */
        assert_true(test_every_oom(make_plan, &a) > 3);
    }
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(without_a_compiler_precompiled_kernels_do), /* first: the compiler is looked up once per process */
        D(equal_groups_share_code_and_the_cache_keeps_it),
        D(a_damaged_cache_is_made_anew),
        D(a_deadline_ends_the_compilation),
        D(open_dimensions_are_refused),
        D(every_pass_is_watched_and_recorded),
        D(the_cache_folder_follows_the_environment),
        D(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
