/* eval: graphs run by the reference: operators, posts, groups, bodies; limits and errors; and kernels/refrun on its
 * own. */
#include "support/test.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "graph.h"
#include "refrun.h"

static gopt_graph *g;
static gopt_arena arena;
static gopt_err e;

static int setup(void **state)
{
    (void)state;
    g = NULL;
    arena = (gopt_arena){0};
    e = (gopt_err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gopt_graph_free(g);
    gopt_arena_fini(&arena);
    return 0;
}

static void read(const char *text)
{
    assert_ok(gopt_graph_read(&g, text, &e), &e);
}

static const gopt_tensor *vector(gopt_dtype d, int rank, const int64_t *dim, const double *v)
{
    gopt_tensor *t = gopt_tensor_new(&arena, d, rank, dim);
    assert_non_null(t);
    for (int64_t i = 0; v && i < gopt_tensor_count(t); i++)
        gopt_tensor_set(t, i, v[i]);
    return t;
}

#define FLOATS(n, ...) vector(GOPT_DTYPE_F32, 1, (int64_t[]){n}, (double[]){__VA_ARGS__})
#define SCALAR(d, v) vector(d, 0, NULL, (double[]){v})

static void assert_values(const gopt_tensor *t, int64_t n, const double *v)
{
    assert_int_equal(gopt_tensor_count(t), n);
    for (int64_t i = 0; i < n; i++)
        if (gopt_tensor_get(t, i) != v[i])
            fail_msg("element %lld is %g, %g expected", (long long)i, gopt_tensor_get(t, i), v[i]);
}

#define ASSERT_VALUES(t, n, ...) assert_values(t, n, (double[]){__VA_ARGS__})

static void eval(const gopt_tensor *const *in, gopt_tensor *out)
{
    assert_ok(gopt_graph_eval(g, in, out, &arena, 0, &e), &e);
}

static void runs_in_order(void **state)
{
    gopt_tensor out[3];
    (void)state;
    read("input x float32[n]\n"
         "const k float32[1] {2}\n"
         "a: p float32[n] = Mul(x, k)\n"
         "b: q float32[n] = Neg(p)\n"
         "c: r float32[n] = Add(p, q)\n"
         "output q\n"
         "output x\n"
         "output k\n");
    eval((const gopt_tensor *[]){FLOATS(3, 1, 2, 3)}, out);
    ASSERT_VALUES(&out[0], 3, -2, -4, -6);
    ASSERT_VALUES(&out[1], 3, 1, 2, 3);
    ASSERT_VALUES(&out[2], 1, 2);
    assert_ptr_not_equal(out[2].data, g->outputs[2]->fact.constant->data); /* outputs outlive the graph */
}

/* The post reads its own operands, whatever the shapes of the anchor's, and may change the type. */
static void applies_posts(void **state)
{
    gopt_tensor out[3];
    (void)state;
    read("input x float32[2,3]\n"
         "input r float32[2,1]\n"
         "const w float32[3,2] {1,0,0,1,0,0}\n"
         "a: p float32[2,2] = MatMul(x, w; r) post=mul(add(acc, in2), const(2.0))\n"
         "b: q int32[2,2] = MatMul(x, w; r) post=cast(neg(add(acc, in2)), int32)\n"
         "c: s bool[2,2] = gopt::Pointwise(;r, p) post=lt(in0, in1)\n"
         "output p\n"
         "output q\n"
         "output s\n");
    const gopt_tensor *in[] = {vector(GOPT_DTYPE_F32, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, 6}),
                               vector(GOPT_DTYPE_F32, 2, (int64_t[]){2, 1}, (double[]){10, -20})};
    eval(in, out);
    ASSERT_VALUES(&out[0], 4, 22, 24, -32, -30);
    ASSERT_VALUES(&out[1], 4, -11, -12, 16, 15);
    assert_int_equal(out[1].dtype, GOPT_DTYPE_I32);
    ASSERT_VALUES(&out[2], 4, 1, 1, 0, 0);
}

static void branches(void **state)
{
    gopt_tensor out[2];
    (void)state;
    read("input x float32[2]\n"
         "input c bool[]\n"
         "a: p float32[2] = Neg(x)\n"
         "b: y float32[2], z float32[2] = If(c)\n"
         "  body then_branch\n"
         "    t: q float32[2] = Add(p, p)\n"
         "    output q\n"
         "    output q\n"
         "  end\n"
         "  body else_branch\n"
         "    output p\n"
         "    output x\n"
         "  end\n"
         "output y\n"
         "output z\n");
    eval((const gopt_tensor *[]){FLOATS(2, 1, 2), SCALAR(GOPT_DTYPE_BOOL, 1)}, out);
    ASSERT_VALUES(&out[0], 2, -2, -4);
    ASSERT_VALUES(&out[1], 2, -2, -4);
    eval((const gopt_tensor *[]){FLOATS(2, 1, 2), SCALAR(GOPT_DTYPE_BOOL, 0)}, out);
    ASSERT_VALUES(&out[0], 2, -1, -2);
    ASSERT_VALUES(&out[1], 2, 1, 2);
}

static const char COUNTING[] = "input x float32[n]\n"
                               "input trips int64[]\n"
                               "input go bool[]\n"
                               "const step float32[1] {0.5}\n"
                               "a: p float32[n] = Add(x, step)\n"
                               "b: y float32[n], rows float32[?,n] = Loop(trips, go, x)\n"
                               "  body body\n"
                               "    input i int64[]\n"
                               "    input c bool[]\n"
                               "    input s float32[n]\n"
                               "    d: t float32[n] = Add(s, p)\n"
                               "    h: again bool[] = Identity(c)\n"
                               "    output again\n"
                               "    output t\n"
                               "    output s\n"
                               "  end\n"
                               "output y\n"
                               "output rows\n";

/* The body reads a value of the outer graph in every iteration. */
static void loops(void **state)
{
    gopt_tensor out[2];
    (void)state;
    read(COUNTING);
    eval((const gopt_tensor *[]){FLOATS(1, 2), SCALAR(GOPT_DTYPE_I64, 3), SCALAR(GOPT_DTYPE_BOOL, 1)}, out);
    ASSERT_VALUES(&out[0], 1, 9.5);
    ASSERT_VALUES(&out[1], 3, 2, 4.5, 7);
    eval((const gopt_tensor *[]){FLOATS(1, 2), SCALAR(GOPT_DTYPE_I64, 0), SCALAR(GOPT_DTYPE_BOOL, 1)}, out);
    ASSERT_VALUES(&out[0], 1, 2);
    assert_int_equal(gopt_tensor_count(&out[1]), 0);
}

static void loops_end_at_the_deadline(void **state)
{
    gopt_tensor out[2];
    (void)state;
    read(COUNTING);
    const gopt_tensor *in[] = {FLOATS(1, 2), SCALAR(GOPT_DTYPE_I64, 1e15), SCALAR(GOPT_DTYPE_BOOL, 1)};
    assert_int_equal(gopt_graph_eval(g, in, out, &arena, gopt_now() + 20000000, &e), GOPT_ELIMIT);
    assert_non_null(strstr(e.msg, "node b (Loop): "));
    assert_int_equal(gopt_graph_eval(g, in, out, &arena, gopt_now() - 1, &e), GOPT_ELIMIT);
    assert_non_null(strstr(e.msg, "node a (Add): time limit"));
}

static void refuses_other_inputs(void **state)
{
    gopt_tensor out;
    (void)state;
    read("input x float32[n,4]\na: y float32[n,4] = Neg(x)\noutput y\n");
    static const struct {
        gopt_dtype d;
        int rank;
        int64_t dim[2];
        const char *message;
    } cases[] = {
        {GOPT_DTYPE_F64, 2, {1, 4}, "input x is float64[1,4], float32 expected"},
        {GOPT_DTYPE_F32, 1, {4}, "input x is float32[4], rank 2 expected"},
        {GOPT_DTYPE_F32, 2, {1, 3}, "input x is float32[1,3], 4 expected in dimension 1"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        const gopt_tensor *in = vector(cases[i].d, cases[i].rank, cases[i].dim, NULL);
        assert_int_equal(gopt_graph_eval(g, &in, &out, &arena, 0, &e), GOPT_EINPUT);
        assert_string_equal(e.msg, cases[i].message);
    }
    const gopt_tensor *none = NULL;
    assert_int_equal(gopt_graph_eval(g, &none, &out, &arena, 0, &e), GOPT_EUSAGE);
    gopt_tensor empty = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {0, 4}};
    eval((const gopt_tensor *[]){&empty}, &out);
    assert_int_equal(gopt_tensor_count(&out), 0);
}

static void errors_name_node_and_operator(void **state)
{
    gopt_tensor out;
    (void)state;
    read("input x float32[n]\ninput z float32[m]\na: y float32[?] = Add(x, z)\noutput y\n");
    const gopt_tensor *in[] = {FLOATS(2, 1, 2), FLOATS(3, 1, 2, 3)};
    assert_int_equal(gopt_graph_eval(g, in, &out, &arena, 0, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "node a (Add): inputs"));
}

static long peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

/* A chain of large values never holds more than a few of them. */
static void frees_what_is_no_longer_read(void **state)
{
    enum { LINKS = 64 }; /* of 4 MiB each */
    gopt_text t = {0};
    gopt_tensor out;
    (void)state;
    gopt_text_put(&t, "input x float32[1]\nconst n int64[1] {1048576}\na: v0 float32[1048576] = Expand(x, n)\n");
    for (int i = 0; i < LINKS; i++)
        gopt_text_add(&t, "b%d: v%d float32[1048576] = Neg(v%d)\n", i, i + 1, i);
    gopt_text_add(&t, "const zero int64[1] {0}\nc: y float32[1] = ReduceMax(v%d, zero)\noutput y\n", LINKS);
    read(gopt_text_str(&t));
    gopt_text_fini(&t);
    long before = peak_kib();
    eval((const gopt_tensor *[]){FLOATS(1, 7)}, &out);
    ASSERT_VALUES(&out, 1, 7);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory for a while */
    assert_true(peak_kib() - before < LINKS * 4096 / 2);
#endif
    (void)before;
}

static void folds_one_node(void **state)
{
    gopt_tensor out[2];
    (void)state;
    read("input x float32[2]\n"
         "const k float32[4] {4,3,2,1}\n"
         "a: p float32[2], q float32[2] = Split(k) {num_outputs=2}\n"
         "b: y float32[2] = Add(x, q)\n"
         "output y\n");
    assert_ok(gopt_node_eval(g->nodes[0], out, &arena, 0, 8, &e), &e);
    ASSERT_VALUES(&out[1], 2, 2, 1);
    assert_int_equal(gopt_node_eval(g->nodes[0], out, &arena, 0, 7, &e), GOPT_ELIMIT);
    assert_non_null(strstr(e.msg, "node a (Split): output 0 would take 8 bytes, 7 allowed"));
    assert_int_equal(gopt_node_eval(g->nodes[1], out, &arena, 0, 1024, &e), GOPT_EUSAGE);
}

/* ---- refrun ---- */

static gopt_status make(void *ctx, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *err)
{
    gopt_tensor **out = ctx;
    const gopt_tensor *t = gopt_tensor_new(&arena, d, rank, dim);
    if (!t)
        return gopt_oom(err);
    *out[k] = *t;
    return GOPT_OK;
}

static gopt_status run_step(gopt_ref_step *s, gopt_expr *post, const gopt_tensor *const *in, int n_in, gopt_tensor *out)
{
    static gopt_tensor *outs[1];
    outs[0] = out;
    *s = (gopt_ref_step){.op = gopt_op_find("", "Softmax"),
                         .n_in = n_in,
                         .n_anchor = 1,
                         .n_out = 1,
                         .in = in,
                         .out = outs,
                         .post = post,
                         .ctx = outs,
                         .alloc = make};
    return gopt_ref_run(s, &e);
}

static void a_step_checks_what_its_post_reads(void **state)
{
    gopt_ref_step s;
    gopt_expr post;
    gopt_tensor out = {0};
    (void)state;
    assert_ok(gopt_expr_parse(&post, &arena, "add(acc, in1)", &e), &e);
    assert_ok(run_step(&s, &post, (const gopt_tensor *[]){FLOATS(1, 5), FLOATS(1, 2)}, 2, &out), &e);
    ASSERT_VALUES(&out, 1, 3);
    out = (gopt_tensor){0};
    assert_int_equal(run_step(&s, &post, (const gopt_tensor *[]){FLOATS(1, 5), FLOATS(2, 1, 2)}, 2, &out), GOPT_EINPUT);
    assert_string_equal(e.msg, "operand 1, float32[2], is larger than what it is applied to");
    out = (gopt_tensor){0};
    assert_int_equal(run_step(&s, &post, (const gopt_tensor *[]){FLOATS(1, 5), SCALAR(GOPT_DTYPE_F64, 2)}, 2, &out),
                     GOPT_EBUG);
}

/* Data that are there are used, and must have the shape that comes out. */
static void a_step_writes_into_what_was_planned(void **state)
{
    gopt_ref_step s;
    gopt_tensor out = *FLOATS(2, 0, 0);
    const void *data = out.data;
    (void)state;
    assert_ok(run_step(&s, NULL, (const gopt_tensor *[]){FLOATS(2, 3, 3)}, 1, &out), &e);
    assert_ptr_equal(out.data, data);
    ASSERT_VALUES(&out, 2, 0.5, 0.5);
    assert_int_equal(run_step(&s, NULL, (const gopt_tensor *[]){FLOATS(3, 3, 3, 3)}, 1, &out), GOPT_EINPUT);
}

static gopt_status eval_once(void *ctx, gopt_err *err)
{
    gopt_tensor out[2], x = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {1}}, n = {.dtype = GOPT_DTYPE_I64},
                        c = {.dtype = GOPT_DTYPE_BOOL};
    x.data = &(float){2};
    n.data = &(int64_t){3};
    c.data = &(unsigned char){1};
    gopt_arena results = {0};
    gopt_status s = gopt_graph_eval(ctx, (const gopt_tensor *[]){&x, &n, &c}, out, &results, 0, err);
    gopt_arena_fini(&results);
    return s;
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    read(COUNTING);
    assert_true(test_every_oom(eval_once, g) > 20);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(runs_in_order),
        T(applies_posts),
        T(branches),
        T(loops),
        T(loops_end_at_the_deadline),
        T(refuses_other_inputs),
        T(errors_name_node_and_operator),
        T(frees_what_is_no_longer_read),
        T(folds_one_node),
        T(a_step_checks_what_its_post_reads),
        T(a_step_writes_into_what_was_planned),
        T(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
