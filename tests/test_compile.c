/* test_compile.c: from graphs to plans: captured values, aliases, decisions, shared code, the cache, no compiler,
 * deadlines. What a plan computes is always compared with the reference executor. */
#include "compile.h"

#include <dirent.h>

#include "base/clock.h"
#include "base/file.h"
#include "build/cc.h"
#include "engine.h"
#include "memory.h"
#include "support/child.h"
#include "support/compiled.h"
#include "support/graphs.h"
#include "support/test.h"

/* ---- models ---- */

/* Branches read an input, an intermediate, a view, a constant of the main graph, and values of the branch around them.
 */
static const char captured[] = "input c bool[]\n"
                               "input d bool[]\n"
                               "input x float32[2,6]\n"
                               "const k float32[2,6] random(1)\n"
                               "const s int64[2] {3,4}\n"
                               "const t int64[2] {2,6}\n"
                               "n1: a float32[2,6] = Exp(x)\n"
                               "n2: v float32[3,4] = Reshape(a, s)\n"
                               "n3: y float32[3,4], z float32[2,6] = If(c)\n"
                               "  body then_branch\n"
                               "    t1: p float32[3,4] = Neg(v)\n"
                               "    t2: q float32[2,6] = Add(x, k)\n"
                               "    t3: r float32[2,6] = If(d)\n"
                               "      body then_branch\n"
                               "        u1: w float32[2,6] = Mul(q, a)\n"
                               "        output w\n"
                               "      end\n"
                               "      body else_branch\n"
                               "        u2: m float32[2,6] = Reshape(p, t)\n"
                               "        output m\n"
                               "      end\n"
                               "    output p\n"
                               "    output r\n"
                               "  end\n"
                               "  body else_branch\n"
                               "    output v\n"
                               "    output k\n"
                               "  end\n"
                               "n4: o float32[2,6] = Add(z, a)\n"
                               "n5: last float32[3,4] = Relu(y)\n"
                               "output last\n"
                               "output o\n"
                               "output y\n";

/* State of changing meaning, rows collected, a value of the main graph read in every iteration. */
static const char looping[] = "input x float32[4]\n"
                              "const n int64[] {3}\n"
                              "const yes bool[] {1}\n"
                              "n1: e float32[4] = Tanh(x)\n"
                              "n2: y float32[4], rows float32[3,4] = Loop(n, yes, x)\n"
                              "  body loop\n"
                              "    input i int64[]\n"
                              "    input go bool[]\n"
                              "    input at float32[4]\n"
                              "    l1: next float32[4] = Add(at, e)\n"
                              "    l2: f float32[] = Cast(i) {to=1}\n"
                              "    l3: row float32[4] = Mul(next, f)\n"
                              "    output go\n"
                              "    output next\n"
                              "    output row\n"
                              "  end\n"
                              "n3: z float32[4] = Sub(y, e)\n"
                              "output z\n"
                              "output rows\n";

/* Views of inputs, of constants, of views, of outputs; an input and a constant that are outputs; one value twice. */
static const char views[] = "input x float32[2,6]\n"
                            "const k float32[2,6] random(1)\n"
                            "const s int64[2] {3,4}\n"
                            "const f int64[1] {12}\n"
                            "n1: a float32[3,4] = Reshape(x, s)\n"
                            "n2: b float32[12] = Reshape(a, f)\n"
                            "n3: c float32[3,4] = Reshape(k, s)\n"
                            "n4: m float32[3,4] = Mul(a, c)\n"
                            "n5: u float32[1,12] = Flatten(m) {axis=0}\n"
                            "n6: w float32[12] = Reshape(u, f)\n"
                            "n7: r float32[12] = Exp(w)\n"
                            "n8: i float32[12] = Identity(r)\n"
                            "output a\n"
                            "output b\n"
                            "output c\n"
                            "output u\n"
                            "output w\n"
                            "output x\n"
                            "output k\n"
                            "output i\n"
                            "output i\n";

/* Lives that end before others begin, of several sizes, and groups that are equal. */
static const char chain[] = "input x float32[4,32]\n"
                            "const w float32[32,32] random(1)\n"
                            "const v float32[32,32] random(2)\n"
                            "n1: a float32[4,32] = MatMul(x, w)\n"
                            "n2: b float32[4,32] = Sigmoid(a)\n"
                            "n3: c float32[4,32] = MatMul(b, v)\n"
                            "n4: d float32[4,32] = Sigmoid(c)\n"
                            "n5: e float32[4,64] = Concat(d, a) {axis=1}\n"
                            "n6: f float32[4] = ReduceSum(e) {keepdims=0}\n"
                            "n7: g float32[4,32] = MatMul(d, w)\n"
                            "n8: h float32[4,32] = Sigmoid(g)\n"
                            "output h\n";

static const char nothing[] = "input x float32[3]\n"
                              "output x\n";

static const char *const models[] = {captured, looping, views, chain, nothing};

static gopt_config config_of(const char *first, ...)
{
    gopt_err e = {0};
    gopt_config c;
    va_list more;
    va_start(more, first);
    gopt_config_baseline(&c);
    for (const char *a = first; a; a = va_arg(more, const char *))
        assert_ok(gopt_config_set(&c, a, &e), &e);
    va_end(more);
    gopt_config_normalize(&c);
    return c;
}

static void check(const char *text, const gopt_config *c, const char *dir, const char *what)
{
    gopt_plan *p = test_compile(text, c, dir, NULL);
    test_plan_matches(p, text, what);
    gopt_plan_free(p);
}

/* ---- what plans compute ---- */

static void every_pass_alone_and_left_out_keeps_the_results(void **state)
{
    for (int m = 0; m < GOPT_COUNT(models); m++) {
        gopt_config c;
        gopt_config_baseline(&c);
        check(models[m], &c, *state, "baseline");
        gopt_config_default(&c);
        check(models[m], &c, *state, "default");
        for (int i = 0; gopt_passes[i]; i++) {
            char row[80];
            snprintf(row, sizeof row, "pass.%s", gopt_passes[i]->name);
            gopt_config_baseline(&c);
            c.v[gopt_setting_find(row)] = 1;
            check(models[m], &c, *state, row);
            gopt_config_default(&c);
            c.v[gopt_setting_find(row)] = 0;
            gopt_config_normalize(&c);
            check(models[m], &c, *state, row);
        }
    }
}

static void a_branch_must_not_lose_what_it_captures(void **state)
{
    for (int planner = 0; planner < 2; planner++) {
        gopt_config c = config_of("pass.reuse_memory=on", "pass.alias_views=on", NULL);
        c.v[gopt_setting_find("reuse_memory.planner")] = planner;
        check(captured, &c, *state, "captured");
        check(looping, &c, *state, "looping");
    }
}

/* ---- aliases ---- */

static int places(const gopt_plan *p, gopt_place place)
{
    int n = 0;
    for (int i = 0; i < p->n_values; i++)
        n += p->values[i].place == place;
    return n;
}

static void views_move_no_data(void **state)
{
    gopt_config plain = config_of(NULL, NULL), c = config_of("pass.alias_views=on", NULL);
    gopt_plan *p = test_compile(views, &plain, *state, NULL), *q = test_compile(views, &c, *state, NULL);
    assert_int_equal(places(p, GOPT_PLACE_ALIAS), 0);
    assert_true(places(q, GOPT_PLACE_ALIAS) >= 5);
    assert_int_equal(p->n_steps, 8);
    assert_int_equal(q->n_steps, 2);
    assert_true(q->arena_bytes < p->arena_bytes);
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].place == GOPT_PLACE_ALIAS)
            assert_int_not_equal(q->values[q->values[i].outer].place, GOPT_PLACE_ALIAS);
    test_plan_matches(q, views, "views");
    gopt_plan_free(p);
    gopt_plan_free(q);
}

static void ports_are_what_the_model_declares(void **state)
{
    gopt_config c = config_of(NULL, NULL);
    gopt_plan *p = test_compile(views, &c, *state, NULL);
    assert_int_equal(p->n_inputs, 1);
    assert_int_equal(p->n_outputs, 9);
    assert_string_equal(p->ports[0].name, "x");
    assert_string_equal(p->ports[1].name, "a");
    assert_int_equal(p->ports[1].dim[1], 4);
    assert_int_equal(p->outputs[7], p->outputs[8]);
    gopt_plan_free(p);
}

/* ---- decisions ---- */

static bool overlap(const gopt_plan *p)
{
    for (int i = 0; i < p->n_values; i++)
        for (int k = 0; k < i; k++) {
            const gopt_plan_value *a = &p->values[i], *b = &p->values[k];
            if (a->place == GOPT_PLACE_ARENA && b->place == GOPT_PLACE_ARENA && a->offset < b->offset + b->bytes &&
                b->offset < a->offset + a->bytes)
                return true;
        }
    return false;
}

static void reuse_is_a_decision(void **state)
{
    gopt_config apart = config_of(NULL, NULL), by_size = config_of("pass.reuse_memory=on", NULL);
    gopt_config by_life = config_of("pass.reuse_memory=on", "reuse_memory.planner=by_lifetime", NULL);
    gopt_plan *p = test_compile(chain, &apart, *state, NULL), *q = test_compile(chain, &by_size, *state, NULL);
    gopt_plan *r = test_compile(chain, &by_life, *state, NULL);
    assert_false(overlap(p));
    assert_true(overlap(q) && overlap(r));
    assert_true(q->arena_bytes < p->arena_bytes && r->arena_bytes < p->arena_bytes);
    assert_int_equal(p->weight_bytes, q->weight_bytes);
    gopt_plan_free(p);
    gopt_plan_free(q);
    gopt_plan_free(r);
}

static int packed(const gopt_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->steps[i].group.n_in; k++)
            n += p->steps[i].group.in[k].packed;
    return n;
}

static void packing_is_a_decision(void **state)
{
    gopt_config loose = config_of(NULL, NULL), tight = config_of("pass.prepack=on", NULL);
    gopt_plan *p = test_compile(chain, &loose, *state, NULL), *q = test_compile(chain, &tight, *state, NULL);
    assert_int_equal(packed(p), 0);
    assert_true(packed(q) >= 3);
    gopt_plan_free(p);
    gopt_plan_free(q);
}

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
    gopt_config c = config_of("pass.codegen=on", "codegen.gemm=off", NULL);
    if (!gopt_cc_find()->path[0])
        skip();
    gopt_plan *p = test_compile(chain, &c, *state, &log);
    assert_false(log.no_compiler || log.cached);
    assert_int_equal(log.kernels_generated, 3);
    assert_int_equal(p->n_code, 1);
    assert_true(log.stage_ns[GOPT_STAGE_code_compilation] > 0 && log.compiler_peak_bytes > 1 << 20);
    assert_int_equal(entries(test_path(path, *state, "code"), ".fn"), 1);
    assert_int_equal(entries(*state, "cc-"), 0);
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    p = test_compile(chain, &c, *state, &log);
    assert_true(log.cached && log.saved_ns > 0);
    assert_true(log.stage_ns[GOPT_STAGE_code_compilation] >= log.saved_ns); /* what it would take without the cache */
    assert_true(log.compiler_peak_bytes > 1 << 20);
    test_plan_matches(p, chain, "from the cache");
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
}

static void a_damaged_cache_is_made_anew(void **state)
{
    char path[4096], file[4096];
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_config c = config_of("pass.codegen=on", NULL);
    if (!gopt_cc_find()->path[0])
        skip();
    gopt_plan_free(test_compile(chain, &c, *state, NULL));
    DIR *d = opendir(test_path(path, *state, "code"));
    assert_non_null(d);
    for (const struct dirent *one; (one = readdir(d));)
        if (strstr(one->d_name, ".so"))
            assert_ok(gopt_file_write_text(test_path(file, path, one->d_name), "damaged", &e), &e);
    closedir(d);
    gopt_plan *p = test_compile(chain, &c, *state, &log);
    assert_false(log.cached);
    test_plan_matches(p, chain, "made anew");
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    p = test_compile(chain, &c, *state, &log);
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
    if (gopt_graph_read(&g, chain, &e) || gopt_compile(&p, g, &c, &o, &log, &e))
        return 2;
    bool sound = log.no_compiler && log.kernels_generated == 0 && log.kernels_native > 0 && p->n_code == 0;
    gopt_engine *engine;
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
    assert_int_equal(try_compile(chain, &o, &log, &e), GOPT_ELIMIT);
    assert_non_null(strstr(e.msg, "time limit"));
    gopt_compile_log_fini(&log);
    o.deadline = gopt_now() + 600 * GOPT_NS_PER_S;
    assert_ok(try_compile(chain, &o, &log, &e), &e);
    gopt_compile_log_fini(&log);
}

static void open_dimensions_are_refused(void **state)
{
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_compile_options o = {.scratch_dir = *state};
    assert_int_equal(try_compile("input x float32[batch,3]\noutput x\n", &o, &log, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "input x"));
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
    assert_ok(try_compile(chain, &o, &log, &e), &e);
    assert_int_equal(w.seen, gopt_pass_count());
    assert_int_equal(log.n_records, gopt_pass_count());
    int64_t sum = 0;
    for (int i = 0; i < log.n_records; i++)
        sum += log.records[i].ns;
    assert_true(sum > 0 && sum <= log.stage_ns[GOPT_STAGE_passes]);
    assert_true(log.stage_ns[GOPT_STAGE_passes] <= gopt_compile_total(&log));
    gopt_compile_log_fini(&log);
    w = (watcher){.stop_at = 2};
    assert_int_equal(try_compile(chain, &o, &log, &e), GOPT_EINTR);
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
    for (int m = 0; m < GOPT_COUNT(models); m++) {
        attempt a = {.text = models[m], .dir = *state};
        gopt_config_default(&a.config);
        gopt_plan_free(test_compile(models[m], &a.config, *state, NULL)); /* the compiler's work is in the cache */
        assert_true(test_every_oom(make_plan, &a) > 3);
    }
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(without_a_compiler_precompiled_kernels_do), /* first: the compiler is looked up once per process */
        D(every_pass_alone_and_left_out_keeps_the_results),
        D(a_branch_must_not_lose_what_it_captures),
        D(views_move_no_data),
        D(ports_are_what_the_model_declares),
        D(reuse_is_a_decision),
        D(packing_is_a_decision),
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
