#include "support/compiled.h"

#include "engine.h"
#include "inputs.h"
#include "support/graphs.h"
#include "support/test.h"
#include "verify.h"

gopt_plan *test_compile(const char *text, const gopt_config *c, const char *dir, gopt_compile_log *log)
{
    gopt_err e = {0};
    gopt_plan *p;
    gopt_compile_log own;
    gopt_compile_options o = {.cache_dir = dir, .scratch_dir = dir};
    gopt_target_host(&o.target, 2);
    assert_ok(gopt_compile(&p, test_graph(text), c, &o, log ? log : &own, &e), &e);
    if (!log)
        gopt_compile_log_fini(&own);
    return p;
}

static void run_case(gopt_engine *engine, const gopt_graph *g, gopt_input_case c, const char *what)
{
    enum { OUTPUTS_MAX = 16 };
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_tensor want[OUTPUTS_MAX];
    const gopt_tensor *const *in;
    assert_in_range(g->n_outputs, 0, OUTPUTS_MAX);
    assert_ok(gopt_inputs_make(&in, g, c, 5, &a, &e), &e);
    assert_ok(gopt_graph_eval(g, in, want, &a, 0, &e), &e);
    for (int i = 0; i < g->n_inputs; i++)
        assert_ok(gopt_engine_bind(engine, i, in[i], &e), &e);
    for (int run = 0; run < 2; run++) {
        assert_ok(gopt_engine_run(engine, 0, &e), &e);
        for (int i = 0; i < g->n_outputs; i++)
            if (gopt_verify_tensor(gopt_engine_output(engine, i), &want[i], GOPT_TOLERANCE_DEFAULT, NULL, &e))
                fail_msg("%s: inputs %s, run %d, output %d: %s", what, gopt_input_case_name(c), run, i, e.msg);
    }
    gopt_arena_fini(&a);
}

void test_plan_matches(const gopt_plan *p, const char *text, const char *what)
{
    gopt_err e = {0};
    gopt_engine *engine;
    gopt_graph *g = test_graph(text);
    assert_ok(gopt_engine_new(&engine, p, 0, &e), &e);
    for (gopt_input_case c = GOPT_INPUT_RANDOM; c < GOPT_INPUT_CASES; c++)
        run_case(engine, g, c, what);
    gopt_engine_free(engine);
    gopt_graph_free(g);
}
