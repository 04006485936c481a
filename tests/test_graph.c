/* graph: building, edits that keep everything consistent, order, names, and the invariants that catch what is broken.
 */
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

static void assert_text(const char *expected)
{
    gopt_text t = {0};
    assert_ok(gopt_graph_check(g, &e), &e);
    gopt_graph_print(g, &t);
    assert_string_equal(gopt_text_str(&t), expected);
    gopt_text_fini(&t);
}

static gopt_node *find(const char *name)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (!strcmp(g->nodes[i]->name, name))
            return g->nodes[i];
    fail_msg("no node %s", name);
    return NULL;
}

static const char DIAMOND[] = "input x float32[n,4]\n"
                              "const k float32[4] {1,2,3,4}\n"
                              "a: p float32[n,4] = Exp(x)\n"
                              "b: q float32[n,4] = Neg(p)\n"
                              "c: r float32[n,4] = Add(p, k)\n"
                              "d: y float32[n,4] = Mul(q, r)\n"
                              "output y\n";

static void reads_and_counts(void **state)
{
    (void)state;
    read(DIAMOND);
    assert_text(DIAMOND);
    assert_int_equal(gopt_graph_count(g), 4);
    assert_int_equal(gopt_graph_constant_bytes(g), 16);
    assert_int_equal(find("a")->out[0]->n_users, 2);
    assert_false(gopt_value_single_use(find("a")->out[0]));
    assert_true(gopt_value_single_use(find("b")->out[0]));
    assert_false(gopt_value_single_use(find("d")->out[0]));
}

static void scalars(void **state)
{
    double v = 0;
    (void)state;
    read("input x float16[2]\nconst a float16[1,1] {0.5}\nconst c float16[2] {1,2}\n"
         "m: p float16[1,2] = Mul(x, a)\nn: q float16[1,2] = Mul(p, c)\noutput q\n");
    assert_true(gopt_value_scalar(find("m")->in[1], &v));
    assert_true(v == 0.5);
    assert_false(gopt_value_scalar(find("n")->in[1], &v));
    assert_false(gopt_value_scalar(g->inputs[0], &v));
    assert_false(gopt_value_is_const(NULL));
}

static void operand_changes(void **state)
{
    (void)state;
    read(DIAMOND);
    gopt_node *d = find("d");
    assert_true(gopt_node_set_in(d, 0, find("a")->out[0]));
    assert_int_equal(find("b")->out[0]->n_users, 0);
    assert_int_equal(find("a")->out[0]->n_users, 3);
    gopt_node_remove(find("b"));
    gopt_graph_compact(g);
    assert_text("input x float32[n,4]\n"
                "const k float32[4] {1,2,3,4}\n"
                "a: p float32[n,4] = Exp(x)\n"
                "c: r float32[n,4] = Add(p, k)\n"
                "d: y float32[n,4] = Mul(p, r)\n"
                "output y\n");
}

static void replacing_keeps_output_names(void **state)
{
    (void)state;
    read(DIAMOND);
    gopt_value *y = find("d")->out[0], *r = find("c")->out[0];
    assert_true(gopt_value_can_replace(y, r));
    assert_false(gopt_value_can_replace(y, g->inputs[0]));
    assert_false(gopt_value_can_replace(y, find("c")->in[1]));
    assert_true(gopt_value_can_replace(r, g->inputs[0]));
    gopt_value_replace(y, r);
    gopt_node_remove(find("d"));
    gopt_node_remove(find("b"));
    gopt_graph_compact(g);
    assert_text("input x float32[n,4]\n"
                "const k float32[4] {1,2,3,4}\n"
                "a: p float32[n,4] = Exp(x)\n"
                "c: y float32[n,4] = Add(p, k)\n"
                "output y\n");
}

static void two_outputs_cannot_become_one(void **state)
{
    (void)state;
    read("input x float32[4]\na: p float32[4] = Exp(x)\nb: q float32[4] = Exp(x)\noutput p\noutput q\n");
    assert_false(gopt_value_can_replace(find("b")->out[0], find("a")->out[0]));
}

/* The node that absorbs stands where the absorbed one stood, behind all that it reads. */
static void absorbing(void **state)
{
    (void)state;
    read("input x float32[4]\n"
         "a: p float32[4] = Softmax(x)\n"
         "b: q float32[4] = Exp(x)\n"
         "c: y float32[4] = Add(p, q)\n"
         "output y\n");
    gopt_graph_touched_clear(g->family);
    gopt_node *a = find("a"), *c = find("c");
    gopt_value *q = find("b")->out[0];
    int acc = gopt_expr_acc(&a->post, GOPT_DTYPE_F32);
    int in = gopt_node_add_in(a, q);
    gopt_expr_op2(&a->post, GOPT_EXPR_ADD, acc, gopt_expr_load(&a->post, in, GOPT_DTYPE_F32));
    assert_true(gopt_node_absorb(a, c));
    gopt_graph_compact(g);
    assert_text("input x float32[4]\n"
                "b: q float32[4] = Exp(x)\n"
                "a: y float32[4] = Softmax(x; q) post=add(acc, in1)\n"
                "output y\n");
    assert_int_equal(a->n_origin, 2);
    assert_int_equal(a->origin[0], 0);
    assert_int_equal(a->origin[1], 2);
    const unsigned char *touched = g->family->touched;
    assert_true(touched[0] && !touched[1] && touched[2]);
    assert_string_equal(g->family->imported_name[2], "c");
    assert_string_equal(g->family->imported_op[2], "Add");
}

static void another_node_in_its_place(void **state)
{
    (void)state;
    read(DIAMOND);
    gopt_node *a = find("a"), *b = find("b");
    gopt_node *n = gopt_node_replace(b, gopt_op_find("", "Tanh"), (gopt_attrs){0}, &a->in[0], 1, &a, 1);
    assert_non_null(n);
    assert_int_equal(n->n_origin, 2);
    gopt_graph_compact(g);
    assert_text("input x float32[n,4]\n"
                "const k float32[4] {1,2,3,4}\n"
                "a: p float32[n,4] = Exp(x)\n"
                "b: q float32[n,4] = Tanh(x)\n"
                "c: r float32[n,4] = Add(p, k)\n"
                "d: y float32[n,4] = Mul(q, r)\n"
                "output y\n");
}

/* Removing a node releases what its bodies read and hand out. */
static void removing_bodies(void **state)
{
    (void)state;
    read("input x float32[4]\n"
         "input c bool[]\n"
         "a: p float32[4] = Exp(x)\n"
         "b: q float32[4] = If(c)\n"
         "  body then_branch\n"
         "    t: r float32[4] = Neg(p)\n"
         "    output r\n"
         "  end\n"
         "  body else_branch\n"
         "    output p\n"
         "  end\n"
         "d: y float32[4] = Neg(x)\n"
         "output y\n");
    gopt_value *p = find("a")->out[0];
    assert_int_equal(gopt_graph_count(g), 4);
    assert_int_equal(p->n_users, 1);
    assert_int_equal(p->n_results, 1);
    gopt_node_remove(find("b"));
    assert_int_equal(p->n_users, 0);
    assert_int_equal(p->n_results, 0);
    assert_int_equal(gopt_graph_count(g), 2);
}

/* ---- order ---- */

enum { LONG = 20000 };

/* Built back to front: every node reads the one after it. */
static void sorts_a_long_chain(void **state)
{
    gopt_node *n[LONG];
    gopt_fact f = {.dtype = GOPT_DTYPE_F32};
    (void)state;
    assert_ok(gopt_graph_new(&g, &e), &e);
    gopt_value *x = gopt_graph_input(g, "x", &f);
    for (int i = 0; i < LONG; i++) {
        n[i] = gopt_graph_node(g, NULL, gopt_op_find("", "Neg"), (gopt_attrs){0}, &x, 1, 1, NULL, NULL, 0);
        assert_non_null(n[i]);
    }
    for (int i = 0; i + 1 < LONG; i++)
        assert_true(gopt_node_set_in(n[i], 0, n[i + 1]->out[0]));
    assert_true(gopt_graph_output(g, n[0]->out[0]));
    assert_ok(gopt_graph_sort(g, &e), &e);
    for (int i = 0; i < LONG; i++) {
        assert_ptr_equal(g->nodes[i], n[LONG - 1 - i]);
        assert_int_equal(n[LONG - 1 - i]->index, i);
    }
    assert_ok(gopt_graph_infer(g, &e), &e);
    assert_ok(gopt_graph_check(g, &e), &e);
}

static void keeps_an_order_that_is_right(void **state)
{
    (void)state;
    read(DIAMOND);
    assert_ok(gopt_graph_sort(g, &e), &e);
    assert_text(DIAMOND);
}

/* What a body reads must come before the node that has it. */
static void sorts_by_what_bodies_read(void **state)
{
    (void)state;
    read("input x float32[4]\n"
         "input c bool[]\n"
         "a: p float32[4] = Exp(x)\n"
         "b: y float32[4] = If(c)\n"
         "  body then_branch\n"
         "    t: r float32[4] = Neg(p)\n"
         "    output r\n"
         "  end\n"
         "  body else_branch\n"
         "    output p\n"
         "  end\n"
         "output y\n");
    gopt_node *a = g->nodes[0];
    g->nodes[0] = g->nodes[1];
    g->nodes[1] = a;
    assert_int_equal(gopt_graph_check(g, &e), GOPT_EBUG);
    assert_non_null(strstr(e.msg, "node t (Neg): value p is read before it is computed"));
    assert_ok(gopt_graph_sort(g, &e), &e);
    assert_ptr_equal(g->nodes[0], a);
    assert_ok(gopt_graph_check(g, &e), &e);
}

static void finds_a_cycle(void **state)
{
    (void)state;
    read(DIAMOND);
    assert_true(gopt_node_set_in(find("a"), 0, find("d")->out[0]));
    assert_int_equal(gopt_graph_sort(g, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "depends on its own output"));
}

/* ---- names ---- */

static void makes_names_unique(void **state)
{
    (void)state;
    read("input x float32[4]\n"
         "input c bool[]\n"
         "b: y float32[4] = If(c)\n"
         "  body then_branch\n"
         "    t: r float32[4] = Neg(x)\n"
         "    output r\n"
         "  end\n"
         "  body else_branch\n"
         "    u: s float32[4] = Neg(x)\n"
         "    output s\n"
         "  end\n"
         "output y\n");
    gopt_node *then = g->nodes[0]->body[0]->nodes[0], *other = g->nodes[0]->body[1]->nodes[0];
    then->out[0]->name = other->out[0]->name = "y";
    then->name = other->name = "b";
    assert_int_equal(gopt_graph_check(g, &e), GOPT_EBUG);
    assert_ok(gopt_graph_unique_names(g, &e), &e);
    assert_ok(gopt_graph_check(g, &e), &e);
    assert_string_equal(g->nodes[0]->name, "b");
    assert_string_equal(g->nodes[0]->out[0]->name, "y");
    assert_string_not_equal(then->out[0]->name, other->out[0]->name);
}

/* A name that looks made up does not collide with one that is. */
static void made_up_names_step_aside(void **state)
{
    gopt_fact f = {.dtype = GOPT_DTYPE_F32};
    (void)state;
    assert_ok(gopt_graph_new(&g, &e), &e);
    gopt_value *x = gopt_graph_input(g, "~2", &f);
    gopt_node *n = gopt_graph_node(g, NULL, gopt_op_find("", "Neg"), (gopt_attrs){0}, &x, 1, 1, NULL, NULL, 0);
    assert_true(gopt_graph_output(g, n->out[0]));
    assert_ok(gopt_graph_infer(g, &e), &e);
    assert_ok(gopt_graph_unique_names(g, &e), &e);
    assert_ok(gopt_graph_check(g, &e), &e);
    assert_string_equal(x->name, "~2");
    gopt_value *later = gopt_graph_value(g, NULL);
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_out; k++)
            assert_string_not_equal(later->name, g->nodes[i]->out[k]->name);
    assert_string_not_equal(later->name, x->name);
}

/* ---- what must not be ---- */

static void assert_broken(const char *what)
{
    gopt_err why = {0};
    assert_int_equal(gopt_graph_check(g, &why), GOPT_EBUG);
    if (!strstr(why.msg, what))
        fail_msg("\"%s\" expected, got \"%s\"", what, why.msg);
}

static void catches_what_is_broken(void **state)
{
    (void)state;
    read(DIAMOND);
    gopt_node *a = find("a"), *d = find("d");
    a->out[0]->n_users--;
    assert_broken("value p: 1 readers");
    a->out[0]->n_users++;
    d->out[0]->n_results = 0;
    assert_broken("value y: ");
    d->out[0]->n_results = 1;
    a->out[0]->producer = d;
    assert_broken("node a (Exp): its output does not know it");
    a->out[0]->producer = a;
    a->out[0]->fact.dtype = GOPT_DTYPE_NONE;
    assert_broken("node a (Exp): the type of its output is unknown");
    a->out[0]->fact.dtype = GOPT_DTYPE_F32;
    a->name = "d";
    assert_broken("node d (Mul): another node has its name");
    a->name = "a";
    d->n_anchor = 1;
    assert_broken("node d (Mul): operands that nothing reads");
    gopt_expr_load(&d->post, 1, GOPT_DTYPE_F64);
    assert_broken("node d (Mul): post reads an operand that is absent or of another type");
    d->post = gopt_expr_new(&g->family->arena);
    d->n_anchor = 2;
    a->graph = NULL;
    assert_broken("node a (Exp): it belongs to another graph");
    a->graph = g;
    find("c")->in[1]->fact.rank = 0;
    assert_broken("constant k: type or shape is not its tensor's");
    find("c")->in[1]->fact.rank = 1;
    assert_ok(gopt_graph_check(g, &e), &e);
}

static gopt_status edit(void *ctx, gopt_err *err)
{
    gopt_graph *made;
    (void)ctx;
    GOPT_TRY(gopt_graph_read(&made, DIAMOND, err));
    gopt_node *a = made->nodes[0], *b = made->nodes[1];
    gopt_node_replace(b, gopt_op_find("", "Tanh"), (gopt_attrs){0}, &a->in[0], 1, &a, 1);
    gopt_value_replace(made->nodes[2]->in[0], made->inputs[0]);
    gopt_status s = made->family->arena.failed ? gopt_oom(err) : gopt_graph_sort(made, err);
    if (!s)
        s = gopt_graph_unique_names(made, err);
    gopt_graph_free(made);
    return s;
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_every_oom(edit, NULL) > 5);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(reads_and_counts),
        T(scalars),
        T(operand_changes),
        T(replacing_keeps_output_names),
        T(two_outputs_cannot_become_one),
        T(absorbing),
        T(another_node_in_its_place),
        T(removing_bodies),
        T(sorts_a_long_chain),
        T(keeps_an_order_that_is_right),
        T(sorts_by_what_bodies_read),
        T(finds_a_cycle),
        T(makes_names_unique),
        T(made_up_names_step_aside),
        T(catches_what_is_broken),
        T(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
