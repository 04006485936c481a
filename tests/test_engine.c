/* test_engine.c: what is compiled computes what the graph says: engine against reference executor, before and after a
 * bundle, with every pass and none, on static and on run-time shapes, in control flow, on one thread and on two. */
#include <math.h>

#include "base/clock.h"
#include "base/file.h"
#include "bundle.h"
#include "compile.h"
#include "engine.h"
#include "inputs.h"
#include "support/test.h"
#include "verify.h"

static const char mlp[] = "input x float32[3,8]\n"
                          "const w1 float32[8,16] random(1)\n"
                          "const b1 float32[16] random(2)\n"
                          "const w2 float32[16,4] random(3)\n"
                          "const shape int64[2] {4,3}\n"
                          "n1: h float32[3,16] = MatMul(x, w1)\n"
                          "n2: hb float32[3,16] = Add(h, b1)\n"
                          "n3: r float32[3,16] = Relu(hb)\n"
                          "n4: y float32[3,4] = MatMul(r, w2)\n"
                          "n5: z float32[4,3] = Reshape(y, shape)\n"
                          "n6: s float32[4,3] = Sigmoid(z)\n"
                          "n7: t float32[4,3] = Mul(z, s)\n"
                          "output t\n"
                          "output hb\n";

/* The number of non-zeros is known only at run time, and so is every shape after it. */
static const char dynamic[] = "input x float32[4,5]\n"
                              "n1: i int64[2,?] = NonZero(x)\n"
                              "n2: f float32[2,?] = Cast(i) {to=1}\n"
                              "n3: g float32[2,?] = Sqrt(f)\n"
                              "n4: t float32[?,2] = Transpose(g) {perm=[1,0]}\n"
                              "n5: y float32[?,2] = Add(t, t)\n"
                              "output y\n";

static const char *const models[] = {mlp, dynamic};

static gopt_graph *read_graph(const char *text)
{
    gopt_err e = {0};
    gopt_graph *g;
    assert_ok(gopt_graph_read(&g, text, &e), &e);
    return g;
}

static gopt_plan *compile(const char *text, bool optimized, int threads, const char *dir, gopt_compile_log *log)
{
    gopt_err e = {0};
    gopt_config c;
    gopt_plan *p;
    gopt_compile_options o = {.cache_dir = dir, .scratch_dir = dir};
    if (optimized)
        gopt_config_default(&c);
    else
        gopt_config_baseline(&c);
    gopt_target_host(&o.target, threads);
    assert_ok(gopt_compile(&p, read_graph(text), &c, &o, log, &e), &e);
    return p;
}

static void assert_same(const gopt_engine *engine, const gopt_tensor *want, int n)
{
    gopt_err e = {0};
    for (int i = 0; i < n; i++)
        assert_ok(gopt_verify_tensor(gopt_engine_output(engine, i), &want[i], GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
}

static void run_against_reference(const gopt_plan *p, const char *text, int threads)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_engine *engine;
    gopt_tensor want[4];
    gopt_graph *g = read_graph(text);
    assert_ok(gopt_engine_new(&engine, p, threads, &e), &e);
    for (gopt_input_case c = GOPT_INPUT_RANDOM; c < GOPT_INPUT_CASES; c++) {
        const gopt_tensor *const *in;
        assert_ok(gopt_inputs_make(&in, g, c, 5, &a, &e), &e);
        assert_ok(gopt_graph_eval(g, in, want, &a, 0, &e), &e);
        for (int i = 0; i < g->n_inputs; i++)
            assert_ok(gopt_engine_bind(engine, i, in[i], &e), &e);
        for (int run = 0; run < 3; run++) {
            assert_ok(gopt_engine_run(engine, 0, &e), &e);
            assert_same(engine, want, g->n_outputs);
        }
    }
    gopt_engine_free(engine);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static void engines_compute_what_the_graph_says(void **state)
{
    for (int m = 0; m < GOPT_COUNT(models); m++)
        for (int optimized = 0; optimized < 2; optimized++)
            for (int threads = 1; threads <= 2; threads++) {
                gopt_compile_log log;
                gopt_plan *p = compile(models[m], optimized, threads, *state, &log);
                run_against_reference(p, models[m], threads);
                gopt_compile_log_fini(&log);
                gopt_plan_free(p);
            }
}

static void a_bundle_runs_like_the_plan_it_was_made_of(void **state)
{
    char path[4096];
    gopt_err e = {0};
    test_path(path, *state, "m.gopt");
    for (int m = 0; m < GOPT_COUNT(models); m++)
        for (int optimized = 0; optimized < 2; optimized++) {
            gopt_compile_log log;
            gopt_hash written, found;
            gopt_plan *p = compile(models[m], optimized, 1, *state, &log), *again;
            assert_ok(gopt_bundle_write(p, path, &written, &e), &e);
            gopt_plan_free(p);
            assert_ok(gopt_bundle_read(&again, path, &found, &e), &e);
            assert_memory_equal(&written, &found, sizeof written);
            run_against_reference(again, models[m], 0);
            gopt_plan_free(again);
            gopt_compile_log_fini(&log);
        }
}

static void a_damaged_bundle_is_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_plan *p = compile(mlp, true, 1, *state, &log), *again;
    test_path(path, *state, "m.gopt");
    assert_ok(gopt_bundle_write(p, path, NULL, &e), &e);
    gopt_plan_free(p);
    gopt_compile_log_fini(&log);
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    size_t bytes = m.bytes;
    unsigned char *copy = gopt_malloc(bytes);
    memcpy(copy, m.data, bytes);
    gopt_file_unmap(&m);
    for (size_t at = 0; at < bytes; at += bytes / 37 + 1) {
        copy[at] ^= 0x40;
        assert_ok(gopt_file_write(path, &(gopt_piece){copy, bytes}, 1, &e), &e);
        assert_int_not_equal(gopt_bundle_read(&again, path, NULL, &e), GOPT_OK);
        assert_null(again);
        assert_non_null(strstr(e.msg, "m.gopt"));
        copy[at] ^= 0x40;
    }
    assert_ok(gopt_file_write(path, &(gopt_piece){copy, bytes / 2}, 1, &e), &e);
    assert_int_equal(gopt_bundle_read(&again, path, NULL, &e), GOPT_EINPUT);
    gopt_free(copy);
}

static void reuse_and_aliases_save_memory(void **state)
{
    gopt_compile_log log;
    gopt_plan *plain = compile(mlp, false, 1, *state, &log);
    gopt_compile_log_fini(&log);
    gopt_plan *tuned = compile(mlp, true, 1, *state, &log);
    assert_true(tuned->arena_bytes < plain->arena_bytes);
    assert_true(tuned->n_steps < plain->n_steps);
    assert_true(log.n_records > 5);
    assert_int_equal(log.kernels_reference, 0);
    assert_true(gopt_compile_total(&log) > 0);
    gopt_compile_log_fini(&log);
    gopt_plan_free(plain);
    gopt_plan_free(tuned);
}

static void wrong_inputs_are_refused(void **state)
{
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_engine *engine;
    float data[24] = {0};
    gopt_plan *p = compile(mlp, false, 1, *state, &log);
    assert_ok(gopt_engine_new(&engine, p, 1, &e), &e);
    assert_int_equal(gopt_engine_run(engine, 0, &e), GOPT_EUSAGE);
    gopt_tensor t = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {3, 7}, .data = data};
    assert_int_equal(gopt_engine_bind(engine, 0, &t, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "float32[3,8]"));
    assert_int_equal(gopt_engine_bind(engine, 1, &t, &e), GOPT_EUSAGE);
    assert_null(gopt_engine_output(engine, 0));
    gopt_engine_free(engine);
    gopt_plan_free(p);
    gopt_compile_log_fini(&log);
}

static gopt_status make_engine(void *ctx, gopt_err *e)
{
    gopt_engine *engine;
    GOPT_TRY(gopt_engine_new(&engine, ctx, 2, e));
    gopt_engine_free(engine);
    return GOPT_OK;
}

static gopt_status make_bundle(void *ctx, gopt_err *e)
{
    gopt_plan *p;
    GOPT_TRY(gopt_bundle_read(&p, ctx, NULL, e));
    gopt_plan_free(p);
    return GOPT_OK;
}

static gopt_status make_plan(void *ctx, gopt_err *e)
{
    gopt_graph *g;
    gopt_config c;
    gopt_plan *p;
    gopt_compile_log log;
    gopt_compile_options o = {.cache_dir = ctx, .scratch_dir = ctx};
    gopt_config_default(&c);
    gopt_target_host(&o.target, 1);
    GOPT_TRY(gopt_graph_read(&g, mlp, e));
    gopt_status s = gopt_compile(&p, g, &c, &o, &log, e);
    gopt_plan_free(p);
    gopt_compile_log_fini(&log);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_compile_log log;
    gopt_plan *p = compile(mlp, true, 1, *state, &log);
    gopt_compile_log_fini(&log);
    assert_ok(gopt_bundle_write(p, test_path(path, *state, "m.gopt"), NULL, &e), &e);
    assert_true(test_every_oom(make_engine, p) > 3);
    assert_true(test_every_oom(make_bundle, path) > 3);
    assert_true(test_every_oom(make_plan, *state) > 20);
    gopt_plan_free(p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(engines_compute_what_the_graph_says),
        T(a_bundle_runs_like_the_plan_it_was_made_of),
        T(a_damaged_bundle_is_refused),
        T(reuse_and_aliases_save_memory),
        T(wrong_inputs_are_refused),
        T(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
