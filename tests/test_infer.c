/* infer: facts through operators, posts, groups and bodies; symbols and their binding; errors that name the node. */
#include "support/test.h"

#include "graph.h"

static gopt_graph *g;
static gopt_err e;

static int setup(void **state)
{
    (void)state;
    g = NULL;
    e = (gopt_err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gopt_graph_free(g);
    return 0;
}

static void read(const char *text)
{
    assert_ok(gopt_graph_read(&g, text, &e), &e);
}

static const gopt_value *value_in(const gopt_graph *in, const char *name)
{
    for (int i = 0; i < in->n_inputs; i++)
        if (!strcmp(in->inputs[i]->name, name))
            return in->inputs[i];
    for (int i = 0; i < in->n_nodes; i++) {
        const gopt_node *n = in->nodes[i];
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] && !strcmp(n->out[k]->name, name))
                return n->out[k];
        for (int b = 0; b < n->n_bodies; b++)
            if (value_in(n->body[b], name))
                return value_in(n->body[b], name);
    }
    return NULL;
}

/* "float32[n,2]"; "float32" without a rank. */
static void assert_fact(const char *name, const char *expected)
{
    const gopt_value *v = value_in(g, name);
    gopt_text t = {0};
    char dim[100];
    assert_non_null(v);
    gopt_text_put(&t, gopt_dtype_name(v->fact.dtype));
    for (int i = 0; i < v->fact.rank; i++)
        gopt_text_add(&t, "%c%s", i ? ',' : '[', gopt_dim_print(g->family->dims, v->fact.dim[i], dim, sizeof dim));
    gopt_text_put(&t, v->fact.rank > 0 ? "]" : v->fact.rank == 0 ? "[]" : "");
    assert_string_equal(gopt_text_str(&t), expected);
    gopt_text_fini(&t);
}

static void through_operators(void **state)
{
    (void)state;
    read("input x float32[batch,seq,8]\n"
         "const w float32[8,4] random(0)\n"
         "a: p float32 = MatMul(x, w)\n"
         "b: q undefined = Transpose(p) {perm=[2,0,1]}\n"
         "c: r undefined = Concat(q, q) {axis=0}\n"
         "output r\n");
    assert_fact("p", "float32[batch,seq,4]");
    assert_fact("q", "float32[4,batch,seq]");
    assert_fact("r", "float32[8,batch,seq]");
    assert_null(value_in(g, "p")->fact.constant);
}

static void through_shape_computations(void **state)
{
    (void)state;
    read("input x float32[batch,seq,8]\n"
         "const heads int64[2] {2,4}\n"
         "const two int64[1] {2}\n"
         "const zero int64[1] {0}\n"
         "a: s undefined = Shape(x)\n"
         "b: lead undefined = Slice(s, zero, two)\n"
         "c: to undefined = Concat(lead, heads) {axis=0}\n"
         "d: y undefined = Reshape(x, to)\n"
         "output y\n");
    assert_fact("to", "int64[4]");
    assert_fact("y", "float32[batch,seq,2,4]");
}

/* post gives the type; an anchor's shape stays, a group's is that of all its operands. */
static void through_posts(void **state)
{
    (void)state;
    read("input x float32[n,4]\n"
         "input z float32[4]\n"
         "input k int32[3,1,1]\n"
         "a: p undefined = Softmax(x; z) post=lt(add(acc, in1), const(0.5))\n"
         "b: q undefined = gopt::Pointwise(;x, k) post=add(in1:int32, cast(in0, int32))\n"
         "output p\n"
         "output q\n");
    assert_fact("p", "bool[n,4]");
    assert_fact("q", "int32[3,n,4]");
}

static void what_cannot_be_told_stays_declared(void **state)
{
    (void)state;
    read("input x float32[2,3]\n"
         "input s int64[2]\n"
         "a: y float32[rows,3] = Reshape(x, s)\n"
         "output y\n");
    assert_fact("y", "float32[rows,3]");
}

static void branches_agree_or_not(void **state)
{
    (void)state;
    read("input x float32[2,n]\n"
         "input c bool[]\n"
         "a: y undefined = If(c)\n"
         "  body then_branch\n"
         "    t: p undefined = Neg(x)\n"
         "    output p\n"
         "  end\n"
         "  body else_branch\n"
         "    u: q undefined = Transpose(x)\n"
         "    output q\n"
         "  end\n"
         "output y\n");
    assert_fact("p", "float32[2,n]");
    assert_fact("q", "float32[n,2]");
    assert_fact("y", "float32[?,?]");
}

/* The state grows with every iteration: what holds for the first must not be taken for all. */
static void loop_states_change(void **state)
{
    (void)state;
    read("input x float32[1,4]\n"
         "input trips int64[]\n"
         "const yes bool[] {1}\n"
         "a: y undefined, z undefined = Loop(trips, yes, x)\n"
         "  body body\n"
         "    input i int64[]\n"
         "    input c bool[]\n"
         "    input s float32[1,4]\n"
         "    b: d bool[] = Identity(c)\n"
         "    f: t undefined = Concat(s, x) {axis=0}\n"
         "    h: u undefined = Neg(x)\n"
         "    output d\n"
         "    output t\n"
         "    output u\n"
         "  end\n"
         "output y\n"
         "output z\n");
    assert_fact("s", "float32[?,4]");
    assert_fact("t", "float32[?,4]");
    assert_fact("y", "float32[?,4]");
    assert_fact("u", "float32[1,4]");
    const gopt_fact *z = &value_in(g, "z")->fact;
    assert_int_equal(z->rank, 3);
    assert_false(gopt_dim_is_const(z->dim[0]));
    assert_null(value_in(g, "s")->fact.content);
}

/* ---- symbols ---- */

static const char SYMBOLIC[] = "input x float32[batch,seq]\n"
                               "input m float32[batch,\"seq + past\"]\n"
                               "a: y undefined = Concat(x, m) {axis=1}\n"
                               "output y\n";

static void symbols_are_listed_once(void **state)
{
    const char *names[8];
    (void)state;
    read(SYMBOLIC);
    assert_int_equal(gopt_graph_symbols(g, names, 8), 3);
    assert_string_equal(names[0], "batch");
    assert_string_equal(names[1], "seq");
    assert_string_equal(names[2], "past");
    assert_int_equal(gopt_graph_symbols(g, names, 2), 2);
}

static void binding(void **state)
{
    (void)state;
    read(SYMBOLIC);
    assert_fact("y", "float32[batch,2*seq + past]");
    assert_ok(gopt_graph_bind(g, (const char *[]){"seq", "past"}, (int64_t[]){3, 10}, 2, &e), &e);
    assert_fact("m", "float32[batch,13]");
    assert_fact("y", "float32[batch,16]");
    assert_ok(gopt_graph_bind(g, (const char *[]){"batch"}, (int64_t[]){2}, 1, &e), &e);
    assert_fact("y", "float32[2,16]");
}

static void binding_what_is_not_there(void **state)
{
    (void)state;
    read(SYMBOLIC);
    assert_int_equal(gopt_graph_bind(g, (const char *[]){"sec"}, (int64_t[]){3}, 1, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "no dimension is called sec; there are: batch, seq, past");
    assert_int_equal(gopt_graph_bind(g, (const char *[]){"seq"}, (int64_t[]){-3}, 1, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "dimension seq cannot be -3");
    gopt_graph_free(g);
    read("input x float32[4]\noutput x\n");
    assert_int_equal(gopt_graph_bind(g, (const char *[]){"seq"}, (int64_t[]){3}, 1, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "dimension seq: the model has no symbolic dimensions");
}

static void binding_that_makes_no_sense(void **state)
{
    (void)state;
    read("input x float32[\"n - 4\"]\ninput z float32[n]\noutput x\n");
    assert_int_equal(gopt_graph_bind(g, (const char *[]){"n"}, (int64_t[]){3}, 1, &e), GOPT_EUSAGE);
    assert_string_equal(e.msg, "input x: dimension 0 would be -1");
    gopt_graph_free(g);
    read("input x float32[n]\ninput z float32[4]\na: y float32[4] = Add(x, z)\noutput y\n");
    assert_int_equal(gopt_graph_bind(g, (const char *[]){"n"}, (int64_t[]){3}, 1, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "node a (Add): "));
}

/* A branch may be for shapes that this one has not: it fails only if it runs. */
static void a_branch_that_cannot_run(void **state)
{
    (void)state;
    read("input x float32[2]\n"
         "input z float32[3]\n"
         "input c bool[]\n"
         "a: y float32 = If(c)\n"
         "  body then_branch\n"
         "    t: p float32 = Add(x, z)\n"
         "    output p\n"
         "  end\n"
         "  body else_branch\n"
         "    output x\n"
         "  end\n"
         "output y\n");
    assert_fact("p", "float32");
    assert_fact("y", "float32");
}

static void errors_name_every_level(void **state)
{
    (void)state;
    assert_int_equal(gopt_graph_read(&g,
                                     "input x float32[2]\n"
                                     "input z float64[2]\n"
                                     "input c bool[]\n"
                                     "a: y float32 = If(c)\n"
                                     "  body then_branch\n"
                                     "    t: p float32 = Add(x, z)\n"
                                     "    output p\n"
                                     "  end\n"
                                     "  body else_branch\n"
                                     "    output x\n"
                                     "  end\n"
                                     "output y\n",
                                     &e),
                     GOPT_EUNSUP);
    assert_non_null(strstr(e.msg, "node a (If): node t (Add): "));
}

static gopt_status read_and_bind(void *ctx, gopt_err *err)
{
    gopt_graph *made;
    (void)ctx;
    GOPT_TRY(gopt_graph_read(&made, SYMBOLIC, err));
    gopt_status s = gopt_graph_bind(made, (const char *[]){"seq"}, (int64_t[]){3}, 1, err);
    gopt_graph_free(made);
    return s;
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_every_oom(read_and_bind, NULL) > 5);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(through_operators),
        T(through_shape_computations),
        T(through_posts),
        T(what_cannot_be_told_stays_declared),
        T(branches_agree_or_not),
        T(loop_states_change),
        T(symbols_are_listed_once),
        T(binding),
        T(binding_what_is_not_there),
        T(binding_that_makes_no_sense),
        T(a_branch_that_cannot_run),
        T(errors_name_every_level),
        T(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("infer", tests, NULL, NULL);
}
