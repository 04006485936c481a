#include "support/compiled.h"

#include "engine.h"
#include "inputs.h"
#include "support/graphs.h"
#include "support/test.h"
#include "verify.h"

/* Branches read an input, an intermediate, a view, a constant of the main graph, and values of the branch around them.
 */
const char test_model_captured[] = "input c bool[]\n"
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
const char test_model_looping[] = "input x float32[4]\n"
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

/* Weights of the main graph and of a branch: packed wherever they are used. */
const char test_model_products[] = "input c bool[]\n"
                                   "input x float32[5,16]\n"
                                   "const w float32[16,24] random(1)\n"
                                   "n1: y float32[5,24] = If(c)\n"
                                   "  body then_branch\n"
                                   "    t1: p float32[5,24] = MatMul(x, w)\n"
                                   "    t2: q float32[5,24] = Relu(p)\n"
                                   "    output q\n"
                                   "  end\n"
                                   "  body else_branch\n"
                                   "    const v float32[16,24] random(2)\n"
                                   "    e1: r float32[5,24] = MatMul(x, v)\n"
                                   "    e2: s float32[5,24] = Sigmoid(r)\n"
                                   "    output s\n"
                                   "  end\n"
                                   "n2: z float32[5,24] = MatMul(x, w)\n"
                                   "n3: o float32[5,24] = Add(y, z)\n"
                                   "output o\n";

/* Views of inputs, of constants, of views, of outputs; an input and a constant that are outputs; one value twice. */
const char test_model_views[] = "input x float32[2,6]\n"
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
const char test_model_chain[] = "input x float32[4,32]\n"
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

/* Large weights: u is only multiplied with, twice; v by a branch, too; w is also read as it is, by another name, and k
 * handed out. */
const char test_model_heavy[] = "input c bool[]\n"
                                "input x float32[3,128]\n"
                                "const u float32[128,160] random(1)\n"
                                "const v float32[128,160] random(2)\n"
                                "const w float32[128,160] random(3)\n"
                                "const k float32[128,160] random(4)\n"
                                "const s int64[2] {160,128}\n"
                                "const axes int64[1] {1}\n"
                                "n1: a float32[3,160] = MatMul(x, u)\n"
                                "n2: e float32[3,128] = Exp(x)\n"
                                "n3: b float32[3,160] = MatMul(e, u)\n"
                                "n4: d float32[3,160] = MatMul(x, v)\n"
                                "n5: f float32[3,160] = If(c)\n"
                                "  body then_branch\n"
                                "    t1: g float32[3,160] = MatMul(e, v)\n"
                                "    output g\n"
                                "  end\n"
                                "  body else_branch\n"
                                "    output d\n"
                                "  end\n"
                                "n6: h float32[3,160] = MatMul(x, w)\n"
                                "n7: m float32[160,128] = Reshape(w, s)\n"
                                "n8: r float32[160] = ReduceSum(m, axes) {keepdims=0}\n"
                                "n9: q float32[3,160] = MatMul(e, k)\n"
                                "output a\n"
                                "output b\n"
                                "output f\n"
                                "output h\n"
                                "output r\n"
                                "output q\n"
                                "output k\n";

const char test_model_nothing[] = "input x float32[3]\n"
                                  "output x\n";

const char *const test_models[] = {test_model_captured, test_model_looping, test_model_products, test_model_views,
                                   test_model_chain,    test_model_heavy,   test_model_nothing,  NULL};

gopt_config test_config(const char *first, ...)
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
