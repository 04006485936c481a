/* If, Loop and Scan: what they compute, what inference says of them before, and how they end. */
#include "support/test.h"

#include "base/clock.h"
#include "graph.h"

typedef struct run {
    gopt_graph *g;
    gopt_arena arena;
    gopt_tensor *in[4], out[4];
    int n_in;
    gopt_err e;
} run;

/* A graph without inputs yet; run_end frees it. */
static run run_begin(const char *text)
{
    run r = {0};
    assert_ok(gopt_graph_read(&r.g, text, &r.e), &r.e);
    return r;
}

static void run_end(run *r)
{
    gopt_arena_fini(&r->arena);
    gopt_graph_free(r->g);
}

/* The next input: a scalar, or a vector of n. */
static void give(run *r, gopt_dtype d, int n, const double *v)
{
    gopt_tensor *t = gopt_tensor_new(&r->arena, d, n < 0 ? 0 : 1, (int64_t[]){n});
    for (int i = 0; i < (n < 0 ? 1 : n); i++)
        gopt_tensor_set(t, i, v[i]);
    r->in[r->n_in++] = t;
}

static void give_scalar(run *r, gopt_dtype d, double v)
{
    give(r, d, -1, &v);
}

static gopt_status eval(run *r, int64_t deadline)
{
    return gopt_graph_eval(r->g, (const gopt_tensor *const *)r->in, r->out, &r->arena, deadline, &r->e);
}

/* Infers, runs, and checks that inference told nothing wrong. */
static void infer_and_run(run *r)
{
    assert_ok(gopt_graph_infer(r->g, &r->e), &r->e);
    assert_ok(eval(r, 0), &r->e);
    for (int k = 0; k < r->g->n_outputs; k++) {
        const gopt_fact *f = &r->g->outputs[k]->fact;
        assert_int_equal(f->dtype, r->out[k].dtype);
        assert_true(f->rank < 0 || f->rank == r->out[k].rank);
        for (int d = 0; d < f->rank; d++)
            if (gopt_dim_is_const(f->dim[d]))
                assert_int_equal(f->dim[d].k, r->out[k].dim[d]);
    }
}

static void expect(const run *r, int k, const char *shape, int n, const double *v)
{
    char have[160];
    assert_string_equal(gopt_tensor_describe(have, sizeof have, &r->out[k]), shape);
    for (int i = 0; i < n; i++)
        assert_float_equal(gopt_tensor_get(&r->out[k], i), v[i], 1e-6);
}

/* What inference says of output k: "[2,b]", "?" without a rank. */
static void expect_fact(const run *r, int k, const char *want)
{
    const gopt_fact *f = &r->g->outputs[k]->fact;
    gopt_text t = {0};
    char dim[64];
    gopt_text_put(&t, f->rank < 0 ? "?" : "[");
    for (int d = 0; d < f->rank; d++)
        gopt_text_add(&t, "%s%s", d ? "," : "", gopt_dim_print(r->g->family->dims, f->dim[d], dim, sizeof dim));
    gopt_text_put(&t, f->rank < 0 ? "" : "]");
    assert_string_equal(gopt_text_str(&t), want);
    gopt_text_fini(&t);
}

/* Reading, which infers, or running fails. */
static void expect_failure(run *r, const char *text, gopt_status want, const char *word)
{
    gopt_status s = gopt_graph_read(&r->g, text, &r->e);
    s = s ? s : eval(r, 0);
    if (s != want || !strstr(r->e.msg, word))
        fail_msg("\"%s\" (%s), expected \"%s\"", r->e.msg, gopt_status_text(s), word);
}

#define NUMBERS(...)                                                                                                   \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[])                                                \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* ---- If ---- */

static const char two_branches[] =
    "input c bool[]\ninput x float32[n]\ni: y float32, z float32 = If(c)\n"
    "  body then_branch\n    const one float32[] {1}\n    t: p float32 = Add(x, one)\n"
    "    output p\n    output x\n  end\n  body else_branch\n    const two float32[1] {2}\n"
    "    e: q float32 = Neg(x)\n    output q\n    output two\n  end\noutput y\noutput z\n";

static void if_runs_one_branch(void **state)
{
    (void)state;
    run yes = run_begin(two_branches), no = run_begin(two_branches);
    give_scalar(&yes, GOPT_DTYPE_BOOL, 1);
    give(&yes, GOPT_DTYPE_F32, NUMBERS(5, 6));
    infer_and_run(&yes);
    expect_fact(&yes, 0, "[n]"); /* both branches agree */
    expect_fact(&yes, 1, "[?]"); /* they do not */
    expect(&yes, 0, "float32[2]", NUMBERS(6, 7));
    expect(&yes, 1, "float32[2]", NUMBERS(5, 6));
    give_scalar(&no, GOPT_DTYPE_BOOL, 0);
    give(&no, GOPT_DTYPE_F32, NUMBERS(5, 6));
    infer_and_run(&no);
    expect(&no, 0, "float32[2]", NUMBERS(-5, -6));
    expect(&no, 1, "float32[1]", NUMBERS(2));
    run_end(&yes);
    run_end(&no);
}

/* What exporters write for a squeeze that may find a dimension of 1 or not. */
static const char dead_branch[] = "input x float32[1,5]\nconst ax int64[1] {1}\nconst at int64[] {1}\n"
                                  "const one int64[] {1}\ns: sh int64 = Shape(x)\ng: d int64 = Gather(sh, at)\n"
                                  "q: c bool = Equal(d, one)\ni: y float32 = If(c)\n  body then_branch\n"
                                  "    t: p float32 = Squeeze(x, ax)\n    output p\n  end\n  body else_branch\n"
                                  "    e: r float32 = Identity(x)\n    output r\n  end\noutput y\n";

static void a_branch_that_cannot_run_harms_nobody(void **state)
{
    (void)state;
    run r = run_begin(dead_branch);
    r.in[r.n_in++] = gopt_tensor_new(&r.arena, GOPT_DTYPE_F32, 2, (int64_t[]){1, 5});
    infer_and_run(&r);
    expect_fact(&r, 0, "[1,5]");
    expect(&r, 0, "float32[1,5]", NUMBERS(0, 0, 0, 0, 0));
    run_end(&r);
}

static void branches_must_have_one_type(void **state)
{
    (void)state;
    run r = {0};
    expect_failure(&r,
                   "input c bool[]\ninput x float32[2]\ninput k int64[2]\n"
                   "i: y float32 = If(c)\n  body then_branch\n    output x\n  end\n"
                   "  body else_branch\n    output k\n  end\noutput y\n",
                   GOPT_EINPUT, "int64 in the other");
    run_end(&r);
}

static void a_condition_is_one_bool(void **state)
{
    (void)state;
    run r = {0};
    give(&r, GOPT_DTYPE_BOOL, NUMBERS(1, 0));
    give(&r, GOPT_DTYPE_F32, NUMBERS(5, 6));
    expect_failure(&r,
                   "input c bool[n]\ninput x float32[2]\n"
                   "i: y float32 = If(c)\n  body then_branch\n    output x\n  end\n"
                   "  body else_branch\n    output x\n  end\noutput y\n",
                   GOPT_EINPUT, "one bool");
    run_end(&r);
}

/* ---- Loop ---- */

/* v doubles every time; the rows are the iteration number and v before. Goes on while v < 20. */
static const char doubling[] = "input m int64[]\ninput c bool[]\ninput v float32[1]\n"
                               "l: w float32, i int64, r float32 = Loop(m, c, v)\n  body body\n    input n int64[]\n"
                               "    input go bool[]\n    input a float32[1]\n    const limit float32[] {20}\n"
                               "    const ax int64[1] {0}\n    x: b float32 = Add(a, a)\n"
                               "    y: f bool = Less(b, limit)\n    z: g bool = Squeeze(f, ax)\n    output g\n"
                               "    output b\n    output n\n    output a\n  end\noutput w\noutput i\noutput r\n";

static void loop(run *r, double trips, double go)
{
    *r = run_begin(doubling);
    give_scalar(r, GOPT_DTYPE_I64, trips);
    give_scalar(r, GOPT_DTYPE_BOOL, go);
    give(r, GOPT_DTYPE_F32, NUMBERS(3));
    infer_and_run(r);
}

static void loop_stops_at_the_count_or_the_condition(void **state)
{
    (void)state;
    run count, condition, never;
    loop(&count, 2, 1);
    expect(&count, 0, "float32[1]", NUMBERS(12));
    expect(&count, 1, "int64[2]", NUMBERS(0, 1)); /* every row has memory of its own */
    expect(&count, 2, "float32[2,1]", NUMBERS(3, 6));
    expect_fact(&count, 0, "[1]");
    expect_fact(&count, 2, "[?,1]");
    loop(&condition, 100, 1);
    expect(&condition, 0, "float32[1]", NUMBERS(24));
    expect(&condition, 2, "float32[3,1]", NUMBERS(3, 6, 12));
    loop(&never, 100, 0); /* the rows' shape then comes from the body */
    expect(&never, 0, "float32[1]", NUMBERS(3));
    expect(&never, 1, "int64[0]", 0, NULL);
    expect(&never, 2, "float32[0,1]", 0, NULL);
    run_end(&count);
    run_end(&condition);
    run_end(&never);
}

static const char growing[] =
    "input v float32[n]\nconst m int64[] {3}\nl: w float32 = Loop(m, _, v)\n  body body\n"
    "    input n int64[]\n    input go bool[]\n    input a float32[n]\n"
    "    x: b float32 = Concat(a, a) {axis=0}\n    output go\n    output b\n  end\noutput w\n";

static void state_may_grow(void **state)
{
    (void)state;
    run r = run_begin(growing);
    give(&r, GOPT_DTYPE_F32, NUMBERS(1, 2));
    infer_and_run(&r);
    expect_fact(&r, 0, "[?]");
    expect(&r, 0, "float32[16]", NUMBERS(1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2));
    run_end(&r);
}

static const char counted[] = "input v float32[2]\ninput x float32[b,3]\nconst at int64[] {0}\ns: sh int64 = Shape(x)\n"
                              "g: m int64 = Gather(sh, at)\nconst yes bool[] {1}\n"
                              "l: w float32, r float32 = Loop(m, yes, v)\n  body body\n    input n int64[]\n"
                              "    input go bool[]\n    input a float32[2]\n    const on bool[] {1}\n"
                              "    x1: k bool = Identity(on)\n    x2: b float32 = Neg(a)\n    output k\n    output b\n"
                              "    output b\n  end\noutput r\n";

static void a_known_count_is_the_number_of_rows(void **state)
{
    (void)state;
    run r = run_begin(counted);
    give(&r, GOPT_DTYPE_F32, NUMBERS(1, 2));
    r.in[r.n_in++] = gopt_tensor_new(&r.arena, GOPT_DTYPE_F32, 2, (int64_t[]){2, 3});
    infer_and_run(&r);
    expect_fact(&r, 0, "[b,2]");
    expect(&r, 0, "float32[2,2]", NUMBERS(-1, -2, 1, 2));
    run_end(&r);
}

static const char endless[] = "input v float32[1]\nl: w float32 = Loop(_, _, v)\n  body body\n    input n int64[]\n"
                              "    input go bool[]\n    input a float32[1]\n    output go\n    output a\n  end\n"
                              "output w\n";

static void an_endless_loop_meets_its_deadline(void **state)
{
    (void)state;
    run r = run_begin(endless);
    give(&r, GOPT_DTYPE_F32, NUMBERS(1));
    assert_ok(gopt_graph_infer(r.g, &r.e), &r.e);
    int64_t start = gopt_now();
    assert_int_equal(eval(&r, start + 50000000), GOPT_ELIMIT);
    assert_true(gopt_now() - start < 2000000000);
    run_end(&r);
}

static void bodies_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"input v float32[1]\nconst m int64[] {1}\nl: w float32 = Loop(m, _, v)\n  body body\n    input n int64[]\n"
         "    input go bool[]\n    input a float32[1]\n    output go\n    output n\n  end\noutput w\n",
         "the body makes it int64"},
        {"input v float32[1]\nconst m int64[] {1}\nl: w float32 = Loop(m, _, v)\n  body body\n    input n int64[]\n"
         "    output n\n    output v\n  end\noutput w\n",
         "3 and 2 expected"},
        {"input v float32[1]\nconst m float32[] {1}\nl: w float32 = Loop(m, _, v)\n  body body\n    input n int64[]\n"
         "    input go bool[]\n    input a float32[1]\n    output go\n    output a\n  end\noutput w\n",
         "input M"},
        {"input v float32[4]\nl: w float32 = Scan(v) {num_scan_inputs=2}\n  body body\n    input a float32[]\n"
         "    output a\n  end\noutput w\n",
         "num_scan_inputs"},
        {"input v float32[4]\nl: w float32 = Scan(v) {num_scan_inputs=1, scan_input_axes=[1]}\n  body body\n"
         "    input a float32[]\n    output a\n  end\noutput w\n",
         "scan_input_axes"},
        {"input v float32[4]\nl: w float32 = Scan(v) {num_scan_inputs=1, scan_output_axes=[0,0]}\n  body body\n"
         "    input a float32[]\n    output a\n  end\noutput w\n",
         "1 expected"},
        {"input v float32[4]\ninput u float32[3]\nl: w float32 = Scan(v, u) {num_scan_inputs=2}\n  body body\n"
         "    input a float32[]\n    input b float32[]\n    output a\n  end\noutput w\n",
         "do not match"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        run r = {0};
        give(&r, GOPT_DTYPE_F32, NUMBERS(1, 2, 3, 4));
        expect_failure(&r, cases[i].text, GOPT_EINPUT, cases[i].word);
        run_end(&r);
    }
}

/* The body's Concat makes a row longer each time. */
static void rows_of_one_output_have_one_shape(void **state)
{
    (void)state;
    run r = {0};
    give(&r, GOPT_DTYPE_F32, NUMBERS(1, 2));
    expect_failure(&r,
                   "input v float32[n]\nconst m int64[] {3}\nl: w float32, s float32 = Loop(m, _, v)\n"
                   "  body body\n    input n int64[]\n    input go bool[]\n    input a float32[k]\n"
                   "    x: b float32 = Concat(a, a) {axis=0}\n    output go\n    output b\n    output b\n  end\n"
                   "output s\n",
                   GOPT_EINPUT, "but the first one was float32[4]");
    run_end(&r);
}

/* Inference tries a loop whose state changes up to three times; loops within loops must not multiply that for ever. */
static void deep_nesting_takes_no_time(void **state)
{
    (void)state;
    enum { DEPTH = 30 };
    gopt_text t = {0};
    gopt_text_put(&t, "input v0 float32[n]\nconst m int64[] {1}\n");
    for (int d = 1; d <= DEPTH; d++)
        gopt_text_add(&t,
                      "l%d: w%d float32 = Loop(m, _, v%d)\nbody body\ninput i%d int64[]\ninput g%d bool[]\n"
                      "input v%d float32[n]\n",
                      d, d, d - 1, d, d, d);
    gopt_text_add(&t, "c: x float32 = Concat(v%d, v%d) {axis=0}\noutput g%d\noutput x\nend\n", DEPTH, DEPTH, DEPTH);
    for (int d = DEPTH - 1; d >= 1; d--)
        gopt_text_add(&t, "output g%d\noutput w%d\nend\n", d, d + 1);
    gopt_text_put(&t, "output w1\n");
    run r = run_begin(gopt_text_str(&t));
    give(&r, GOPT_DTYPE_F32, NUMBERS(1));
    int64_t start = gopt_now();
    infer_and_run(&r);
    assert_true(gopt_now() - start < 2000000000);
    expect(&r, 0, "float32[2]", NUMBERS(1, 1));
    gopt_text_fini(&t);
    run_end(&r);
}

/* ---- Scan ---- */

/* Sums of rows so far, of x forward and backward. */
static const char sums[] = "input s float32[2]\ninput x float32[n,2]\n"
                           "k: f float32, r float32 = Scan(s, x) {num_scan_inputs=1%s}\n  body body\n"
                           "    input a float32[2]\n    input b float32[2]\n    p: c float32 = Add(a, b)\n"
                           "    output c\n    output c\n  end\noutput f\noutput r\n";

static void scan(run *r, const char *attrs, int64_t length)
{
    char text[600];
    snprintf(text, sizeof text, sums, attrs);
    *r = run_begin(text);
    give(r, GOPT_DTYPE_F32, NUMBERS(0, 0));
    gopt_tensor *x = gopt_tensor_new(&r->arena, GOPT_DTYPE_F32, 2, (int64_t[]){length, 2});
    for (int i = 0; i < 2 * length; i++)
        gopt_tensor_set(x, i, i + 1);
    r->in[r->n_in++] = x;
    infer_and_run(r);
}

static void scan_goes_both_ways(void **state)
{
    (void)state;
    run forward, backward, none;
    scan(&forward, "", 3);
    expect_fact(&forward, 0, "[2]");
    expect_fact(&forward, 1, "[n,2]");
    expect(&forward, 0, "float32[2]", NUMBERS(9, 12));
    expect(&forward, 1, "float32[3,2]", NUMBERS(1, 2, 4, 6, 9, 12));
    scan(&backward, ", scan_input_directions=[1], scan_output_directions=[1], scan_output_axes=[-1]", 3);
    expect_fact(&backward, 1, "[2,n]");
    expect(&backward, 1, "float32[2,3]", NUMBERS(9, 8, 5, 12, 10, 6));
    scan(&none, "", 0);
    expect(&none, 0, "float32[2]", NUMBERS(0, 0));
    expect(&none, 1, "float32[0,2]", 0, NULL);
    run_end(&forward);
    run_end(&backward);
    run_end(&none);
}

static void scan_along_another_axis(void **state)
{
    (void)state;
    run r = run_begin("input x int64[2,n]\n"
                      "k: r int64 = Scan(x) {num_scan_inputs=1, scan_input_axes=[1]}\n"
                      "  body body\n    input a int64[2]\n    output a\n  end\noutput r\n");
    gopt_tensor *x = gopt_tensor_new(&r.arena, GOPT_DTYPE_I64, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 6; i++)
        gopt_tensor_set_int(x, i, i);
    r.in[r.n_in++] = x;
    infer_and_run(&r);
    expect_fact(&r, 0, "[n,2]");
    expect(&r, 0, "int64[3,2]", NUMBERS(0, 3, 1, 4, 2, 5));
    run_end(&r);
}

/* ---- memory ---- */

static gopt_status run_all(void *ctx, gopt_err *e)
{
    run *r = ctx;
    gopt_status s = gopt_graph_infer(r->g, e);
    s = s ? s : gopt_graph_eval(r->g, (const gopt_tensor *const *)r->in, r->out, &r->arena, 0, e);
    r->arena.failed = false;
    r->g->family->arena.failed = false;
    return s;
}

static void memory_may_be_short(void **state)
{
    (void)state;
    run r = run_begin(doubling), s = run_begin(two_branches);
    give_scalar(&r, GOPT_DTYPE_I64, 3);
    give_scalar(&r, GOPT_DTYPE_BOOL, 1);
    give(&r, GOPT_DTYPE_F32, NUMBERS(3));
    assert_true(test_every_oom(run_all, &r) > 0);
    give_scalar(&s, GOPT_DTYPE_BOOL, 1);
    give(&s, GOPT_DTYPE_F32, NUMBERS(5, 6));
    assert_true(test_every_oom(run_all, &s) > 0);
    run_end(&r);
    run_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_runs_one_branch),
        cmocka_unit_test(a_branch_that_cannot_run_harms_nobody),
        cmocka_unit_test(branches_must_have_one_type),
        cmocka_unit_test(a_condition_is_one_bool),
        cmocka_unit_test(loop_stops_at_the_count_or_the_condition),
        cmocka_unit_test(state_may_grow),
        cmocka_unit_test(a_known_count_is_the_number_of_rows),
        cmocka_unit_test(an_endless_loop_meets_its_deadline),
        cmocka_unit_test(bodies_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_of_one_output_have_one_shape),
        cmocka_unit_test(deep_nesting_takes_no_time),
        cmocka_unit_test(scan_goes_both_ways),
        cmocka_unit_test(scan_along_another_axis),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
