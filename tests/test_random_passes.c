/* Thousands of small random graphs, each through a random subset of the passes in random order with random knobs: the
 * reference executor must find the same outputs before and after, and so must the engine that is compiled from the
 * result. GOPT_SEED=n tries others; a failure prints the graph, the passes and the seed that repeat it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "engine.h"
#include "inputs.h"
#include "stats.h"
#include "support/graphs.h"
#include "support/random_graph.h"
#include "support/sanitizer.h"
#include "support/test.h"
#include "verify.h"

enum { GRAPHS = TEST_SANITIZED ? 300 : 4000, PASSES_MOST = 40 };

/* Longer than what a test's message holds. */
static void complain(const char *what, const char *where, const char *why)
{
    fputs(what, stderr);
    fail_msg("%s: %s", where, why);
}

static bool is_exact(const gopt_pass *p)
{
    return strcmp(p->name, "precision") != 0;
}

/* A random subset in random order; the names for messages. */
static int choose_passes(gopt_random *r, const gopt_pass **out, gopt_text *names)
{
    int n = 0;
    for (int i = 0; i < gopt_pass_count(); i++)
        if (is_exact(gopt_passes[i]) && strcmp(gopt_passes[i]->name, "codegen") && gopt_random_below(r, 2))
            out[n++] = gopt_passes[i];
    for (int i = n - 1; i > 0; i--) {
        int k = gopt_random_below(r, i + 1);
        const gopt_pass *was = out[i];
        out[i] = out[k];
        out[k] = was;
    }
    for (int i = 0; i < n; i++)
        gopt_text_add(names, "%s%s", i ? "," : "", out[i]->name);
    return n;
}

static long rewrites; /* by all passes on all graphs */

static void apply(gopt_random *r, const gopt_pass *p, gopt_graph *g, const char *what)
{
    int64_t knob[16] = {0};
    gopt_arena a = {0};
    gopt_pass_record record;
    gopt_err e = {0};
    for (int k = 0; p->knobs && p->knobs[k].name; k++) {
        int64_t n = gopt_knob_count(&p->knobs[k]);
        bool usual = n > 1000 || gopt_random_below(r, 2);
        knob[k] = usual ? p->knobs[k].init : gopt_knob_value(&p->knobs[k], gopt_random_below(r, (int)n));
    }
    if (gopt_pass_apply(p, knob, g, 0, &a, &record, &e))
        complain(what, p->name, e.msg);
    rewrites += p->decides ? 0 : record.changed;
    gopt_arena_fini(&a);
}

static void compare(const gopt_tensor *got, const gopt_tensor *want, const char *by, const char *what)
{
    gopt_err e = {0};
    if (gopt_verify_tensor(got, want, GOPT_TOLERANCE_DEFAULT, NULL, &e))
        complain(what, by, e.msg);
}

static void run_engine(gopt_graph *g, const gopt_tensor *const *in, int n_in, const gopt_tensor *want, int n,
                       const char *dir, const char *what)
{
    gopt_plan *p;
    gopt_engine *engine;
    gopt_compile_log log;
    gopt_config c;
    gopt_err e = {0};
    gopt_compile_options o = {.scratch_dir = dir};
    gopt_target_host(&o.target, 1);
    gopt_config_baseline(&c);
    if (gopt_compile(&p, g, &c, &o, &log, &e) || gopt_engine_new(&engine, p, 0, &e))
        complain(what, "compiling", e.msg);
    gopt_compile_log_fini(&log);
    for (int i = 0; i < n_in; i++)
        assert_ok(gopt_engine_bind(engine, i, in[i], &e), &e);
    if (gopt_engine_run(engine, 0, &e))
        complain(what, "running", e.msg);
    for (int i = 0; i < n; i++)
        compare(gopt_engine_output(engine, i), &want[i], "engine", what);
    gopt_engine_free(engine);
    gopt_plan_free(p);
}

static void check(uint64_t seed, const char *dir)
{
    gopt_text text = {0}, what = {0}, names = {0};
    const gopt_pass *pass[PASSES_MOST];
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_tensor want[RANDOM_GRAPH_OUTPUTS], got[RANDOM_GRAPH_OUTPUTS];
    const gopt_tensor *const *in;
    gopt_random r = random_graph_write(seed, &text);
    int n_passes = choose_passes(&r, pass, &names);
    gopt_text_add(&what, "GOPT_SEED=%llu: passes %s on\n%s", (unsigned long long)seed, gopt_text_str(&names),
                  gopt_text_str(&text));
    gopt_graph *before, *after;
    if (gopt_graph_read(&before, gopt_text_str(&text), &e) || gopt_graph_read(&after, gopt_text_str(&text), &e))
        complain(gopt_text_str(&what), "reading", e.msg);
    int n = before->n_outputs, n_in = before->n_inputs;
    assert_ok(gopt_inputs_make(&in, before, GOPT_INPUT_RANDOM, seed, &a, &e), &e);
    if (gopt_graph_eval(before, in, want, &a, 0, &e))
        complain(gopt_text_str(&what), "before", e.msg);
    for (int i = 0; i < n_passes; i++)
        apply(&r, pass[i], after, gopt_text_str(&what));
    if (gopt_graph_eval(after, in, got, &a, 0, &e))
        complain(gopt_text_str(&what), "after", e.msg);
    for (int i = 0; i < n; i++)
        compare(&got[i], &want[i], "reference", gopt_text_str(&what));
    run_engine(after, in, n_in, want, n, dir, gopt_text_str(&what));
    gopt_graph_free(before);
    gopt_arena_fini(&a);
    gopt_text_fini(&text);
    gopt_text_fini(&what);
    gopt_text_fini(&names);
}

static void any_passes_in_any_order_keep_the_function(void **state)
{
    const char *given = getenv("GOPT_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    for (int i = 0; i < GRAPHS; i++)
        check(seed + (uint64_t)i, *state);
    assert_true(rewrites > 2 * GRAPHS); /* they had something to do */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_passes_in_any_order_keep_the_function, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
