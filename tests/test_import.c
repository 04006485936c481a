/* onnx: files become graphs. */
#include "support/onnx.h"

static void a_model_becomes_a_graph(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[2,4]");
    test_onnx_output(m, m->graph, "float32 y[2,3]");
    test_onnx_initializer(m, m->graph, "float32 w[4,3] = 1 2 3 4 5 6 7 8 9 10 11 12");
    test_onnx_initializer(m, m->graph, "float32 b[3] = -1 0 0.5");
    test_onnx_node(m, m->graph, "mm: h = MatMul(x, w)");
    test_onnx_node(m, m->graph, "add: y = Add(h, b)");
    test_onnx_becomes(m, "input x float32[2,4]\n"
                         "const w float32[4,3] {1,2,3,4,5,6,7,8,9,10,11,12}\n"
                         "const b float32[3] {-1,0,0.5}\n"
                         "mm: h float32[2,3] = MatMul(x, w)\n"
                         "add: y float32[2,3] = Add(h, b)\n"
                         "output y\n");
}

static void the_file_is_described(void **state)
{
    test_onnx *m = *state;
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    gopt_model_info info;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[2,4]");
    test_onnx_output(m, m->graph, "y");
    test_onnx_initializer(m, m->graph, "float32 unused[4] = 1 2 3 4");
    test_onnx_node(m, m->graph, "first: h = Relu(x)");
    test_onnx_node(m, m->graph, "second: y = Exp(h)");
    assert_ok(gopt_model_import(&g, test_onnx_save(m, path, "m.onnx"), &info, &e), &e);
    assert_int_equal(info.ir_version, 8);
    assert_int_equal(info.opset, 17);
    assert_string_equal(info.producer, "tests");
    assert_int_equal(info.nodes, 2);
    assert_int_equal(info.parameters_bytes, 16);
    assert_int_equal(strspn(info.sha256, "0123456789abcdef"), 64);
    assert_int_equal(g->family->imported_nodes, 2);
    assert_string_equal(g->family->imported_name[1], "second");
    assert_string_equal(g->family->imported_op[1], "Exp");
    assert_int_equal(g->nodes[1]->n_origin, 1);
    assert_int_equal(g->nodes[1]->origin[0], 1);
    gopt_graph_free(g);
}

static void parameters_are_counted_wherever_they_are(void **state)
{
    test_onnx *m = *state;
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    gopt_model_info info;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "bool p[]");
    test_onnx_input(m, m->graph, "float32 x[2]");
    test_onnx_output(m, m->graph, "y");
    Onnx__NodeProto *n = test_onnx_node(m, m->graph, "choose: y = If(p)");
    Onnx__GraphProto *otherwise = test_onnx_body(m, n, "else_branch"), *then = test_onnx_body(m, n, "then_branch");
    test_onnx_initializer(m, then, "float32 w[2] = 3 4");
    test_onnx_node(m, then, "t: r = Add(x, w)");
    test_onnx_output(m, then, "r");
    test_onnx_node(m, otherwise, "c: w = Constant() value_floats=[1.5,2.5]");
    test_onnx_node(m, otherwise, "e: r = Mul(x, w)");
    test_onnx_output(m, otherwise, "r");
    assert_ok(gopt_model_import(&g, test_onnx_save(m, path, "m.onnx"), &info, &e), &e);
    assert_int_equal(info.parameters_bytes, 16);
    gopt_graph_free(g);
}

static void dimensions_have_names(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[batch,-1,?,4]");
    test_onnx_input(m, m->graph, "float32 z[2*seq+1, batch]");
    test_onnx_input(m, m->graph, "float32 v[x_d1]"); /* not the one that x gets */
    test_onnx_output(m, m->graph, "float32 y[9,9,9,4]");
    test_onnx_output(m, m->graph, "w");
    test_onnx_output(m, m->graph, "u");
    test_onnx_node(m, m->graph, "r: y = Relu(x)");
    test_onnx_node(m, m->graph, "s: w = Relu(z)");
    test_onnx_node(m, m->graph, "t: u = Relu(v)");
    test_onnx_becomes(m, "input x float32[batch,x_d1_,x_d2,4]\n"
                         "input z float32[\"2*seq + 1\",batch]\n"
                         "input v float32[x_d1]\n"
                         "r: y float32[batch,x_d1_,x_d2,4] = Relu(x)\n"
                         "s: w float32[\"2*seq + 1\",batch] = Relu(z)\n"
                         "t: u float32[x_d1] = Relu(v)\n"
                         "output y\n"
                         "output w\n"
                         "output u\n");
}

static void what_the_file_declares_fills_gaps(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[2,3]");
    test_onnx_output(m, m->graph, "int64 y[2,?]");
    test_onnx_value(m, m->graph, "int64 h[2,4]");
    test_onnx_node(m, m->graph, "n: h = NonZero(x)");
    test_onnx_node(m, m->graph, "c: y = Neg(h)");
    test_onnx_becomes(m, "input x float32[2,3]\n"
                         "n: h int64[2,4] = NonZero(x)\n"
                         "c: y int64[2,4] = Neg(h)\n"
                         "output y\n");
    m->graph->input[0]->type->tensor_type->shape->dim[0]->value_case =
        ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
    test_onnx_becomes(m, "input x float32[x_d0,3]\n" /* sizes may be left from another export */
                         "n: h int64[2,?] = NonZero(x)\n"
                         "c: y int64[2,?] = Neg(h)\n"
                         "output y\n");
}

/* Sizes that follow from what an operand holds, or from more than one node, are often declared wrongly in old files. */
static void wrong_sizes_do_no_harm(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[2,3]");
    test_onnx_output(m, m->graph, "float32 y[2,3]");
    test_onnx_output(m, m->graph, "float32 z[2,3]");
    test_onnx_initializer(m, m->graph, "int64 one[1] = 1");
    test_onnx_initializer(m, m->graph, "int64 two[1] = 2");
    test_onnx_node(m, m->graph, "n: y = Slice(x, one, two, one, one)");
    test_onnx_node(m, m->graph, "r: z = Relu(y)");
    test_onnx_becomes(m, "input x float32[2,3]\n"
                         "const one int64[1] {1}\n"
                         "const two int64[1] {2}\n"
                         "n: y float32[2,1] = Slice(x, one, two, one, one)\n"
                         "r: z float32[2,1] = Relu(y)\n"
                         "output y\noutput z\n");
}

/* ---- names, order, scopes ---- */

static void names_are_made_up(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[1]");
    test_onnx_output(m, m->graph, "d");
    test_onnx_node(m, m->graph, "a = Relu(x)");
    test_onnx_node(m, m->graph, "n: b = Relu(a)");
    test_onnx_node(m, m->graph, "n: c = Relu(b)");
    test_onnx_node(m, m->graph, "Relu_2: d = Relu(c)");
    test_onnx_becomes(m, "input x float32[1]\n"
                         "Relu_0: a float32[1] = Relu(x)\n"
                         "n: b float32[1] = Relu(a)\n"
                         "Relu_2_: c float32[1] = Relu(b)\n"
                         "Relu_2: d float32[1] = Relu(c)\n"
                         "output d\n");
}

static void nodes_come_in_any_order(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[1]");
    test_onnx_output(m, m->graph, "c");
    test_onnx_node(m, m->graph, "third: c = Relu(b)");
    test_onnx_node(m, m->graph, "first: a = Exp(x)");
    test_onnx_node(m, m->graph, "second: b = Neg(a)");
    test_onnx_becomes(m, "input x float32[1]\n"
                         "first: a float32[1] = Exp(x)\n"
                         "second: b float32[1] = Neg(a)\n"
                         "third: c float32[1] = Relu(b)\n"
                         "output c\n");
}

static void bodies_read_outer_values(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "bool p[]");
    test_onnx_input(m, m->graph, "float32 x[2]");
    test_onnx_output(m, m->graph, "y");
    test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
    Onnx__NodeProto *n = test_onnx_node(m, m->graph, "choose: y = If(p)");
    Onnx__GraphProto *otherwise = test_onnx_body(m, n, "else_branch"), *then = test_onnx_body(m, n, "then_branch");
    test_onnx_initializer(m, then, "float32 w[2] = 3 4"); /* hides the outer one */
    test_onnx_node(m, then, "t: r = Add(h, w)");
    test_onnx_output(m, then, "r");
    test_onnx_node(m, otherwise, "e: r = Mul(h, w)");
    test_onnx_output(m, otherwise, "r");
    test_onnx_node(m, m->graph, "late: h = Relu(x)");
    test_onnx_becomes(m, "input p bool[]\n"
                         "input x float32[2]\n"
                         "const w float32[2] {1,2}\n"
                         "late: h float32[2] = Relu(x)\n"
                         "choose: y float32[2] = If(p)\n"
                         "  body then_branch\n"
                         "    const w_7 float32[2] {3,4}\n"
                         "    t: r_8 float32[2] = Add(h, w_7)\n"
                         "    output r_8\n"
                         "  end\n"
                         "  body else_branch\n"
                         "    e: r float32[2] = Mul(h, w)\n"
                         "    output r\n"
                         "  end\n"
                         "output y\n");
}

static void nodes_without_outputs_are_dropped(void **state)
{
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_input(m, m->graph, "float32 x[1]");
    test_onnx_output(m, m->graph, "y");
    test_onnx_node(m, m->graph, "r: y = Relu(x)");
    m->graph->node[0]->n_output = 1;
    test_onnx_node(m, m->graph, "nothing: z = If(x)")->n_output = 0;
    test_onnx_becomes(m, "input x float32[1]\n"
                         "r: y float32[1] = Relu(x)\n"
                         "output y\n");
}

/* ---- constants ---- */

static void inputs_with_initializers_are_constants(void **state)
{
    test_onnx *m = *state;
    for (int64_t ir = 3; ir <= 8; ir += 5) {
        test_onnx_begin(m, 17);
        m->model.ir_version = ir;
        test_onnx_input(m, m->graph, "float32 x[2]");
        test_onnx_input(m, m->graph, "float32 w[2]");
        test_onnx_output(m, m->graph, "y");
        test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
        test_onnx_node(m, m->graph, "a: y = Add(x, w)");
        test_onnx_becomes(m, "input x float32[2]\n"
                             "const w float32[2] {1,2}\n"
                             "a: y float32[2] = Add(x, w)\n"
                             "output y\n");
    }
}

static void constant_nodes_become_constants(void **state)
{
    test_onnx *m = *state;
    static const char *const outputs[] = {"i", "is", "f", "fs", "t", "s", "twice"};
    test_onnx_begin(m, 17);
    for (int i = 0; i < GOPT_COUNT(outputs); i++)
        test_onnx_output(m, m->graph, outputs[i]);
    test_onnx_node(m, m->graph, "i = Constant() value_int=7");
    test_onnx_node(m, m->graph, "is = Constant() value_ints=[1,2]");
    test_onnx_node(m, m->graph, "f = Constant() value_float=0.5");
    test_onnx_node(m, m->graph, "fs = Constant() value_floats=[1.5,2.5]");
    Onnx__AttributeProto *t = test_onnx_attribute(m, test_onnx_node(m, m->graph, "t = Constant()"), "value");
    t->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    t->t = test_onnx_tensor(m, "int32 [2,1] = 3 4");
    Onnx__AttributeProto *s = test_onnx_attribute(m, test_onnx_node(m, m->graph, "s = Constant()"), "sparse_value");
    Onnx__SparseTensorProto sparse = ONNX__SPARSE_TENSOR_PROTO__INIT;
    int64_t dims[] = {2, 3};
    sparse.values = test_onnx_tensor(m, "float32 [2] = 5 6");
    sparse.indices = test_onnx_tensor(m, "int64 [2,2] = 0 1 1 2");
    sparse.dims = dims;
    sparse.n_dims = 2;
    s->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR;
    s->sparse_tensor = &sparse;
    test_onnx_node(m, m->graph, "twice = Constant() value_int=1");
    test_onnx_node(m, m->graph, "twice = Constant() value_int=2"); /* seen in real files: the last one counts */
    test_onnx_becomes(m, "const i int64[] {7}\n"
                         "const is int64[2] {1,2}\n"
                         "const f float32[] {0.5}\n"
                         "const fs float32[2] {1.5,2.5}\n"
                         "const t int32[2,1] {3,4}\n"
                         "const s float32[2,3] {0,5,0,0,0,6}\n"
                         "const twice int64[] {2}\n"
                         "output i\noutput is\noutput f\noutput fs\noutput t\noutput s\noutput twice\n");
}

/* ---- functions ---- */

static void functions_are_inlined(void **state)
{
    static const char *const inner[] = {"r: y = Relu(a)", NULL};
    static const char *const outer[] = {"c = Constant() value_floats=[2.0]", "k: h = own::Inner(a)", "m: y = Mul(h, c)",
                                        NULL};
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_import(m, "own", 1);
    test_onnx_function(m, "own::Outer(a) -> y, c, a", outer);
    test_onnx_function(m, "own::Inner(a) -> y", inner);
    test_onnx_input(m, m->graph, "float32 x[2]");
    test_onnx_output(m, m->graph, "p");
    test_onnx_output(m, m->graph, "q");
    test_onnx_output(m, m->graph, "r");
    test_onnx_node(m, m->graph, "call: p, q, r = own::Outer(x)");
    test_onnx_becomes(m, "input x float32[2]\n"
                         "const call/c float32[1] {2}\n"
                         "call/k/r: call/h float32[2] = Relu(x)\n"
                         "call/m: p float32[2] = Mul(call/h, call/c)\n"
                         "call/Identity: q float32[1] = Identity(call/c)\n"
                         "call/Identity_9: r float32[2] = Identity(x)\n"
                         "output p\noutput q\noutput r\n");
}

static void functions_have_arguments(void **state)
{
    static const char *const lines[] = {"l: h = LeakyRelu(a) alpha=@slope", "s: t = Transpose(h) perm=@order",
                                        "c: y = Clip(t, low, high)", NULL};
    test_onnx *m = *state;
    test_onnx_begin(m, 17);
    test_onnx_import(m, "own", 1);
    Onnx__FunctionProto *f = test_onnx_function(m, "own::F(a, low, high) -> y", lines);
    /* slope has the default 0.25: attribute_proto, field 11, is newer than the schema */
    static uint8_t by_default[] = {15, 0x0a, 5, 's', 'l', 'o', 'p', 'e', 0x15, 0, 0, 0x80, 0x3e, 0xa0, 0x01, 1};
    ProtobufCMessageUnknownField extra = {
        .tag = 11, .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, .len = sizeof by_default, .data = by_default};
    f->base.n_unknown_fields = 1;
    f->base.unknown_fields = &extra;
    test_onnx_input(m, m->graph, "float32 x[2,3]");
    test_onnx_output(m, m->graph, "y");
    test_onnx_output(m, m->graph, "z");
    test_onnx_initializer(m, m->graph, "float32 top[] = 6");
    test_onnx_node(m, m->graph, "A: y = own::F(x, , top) order=[1,0]");
    test_onnx_node(m, m->graph, "B: z = own::F(x) slope=0.5");
    test_onnx_becomes(m, "input x float32[2,3]\n"
                         "const top float32[] {6}\n"
                         "A/l: A/h float32[2,3] = LeakyRelu(x) {alpha=0.25}\n"
                         "A/s: A/t float32[3,2] = Transpose(A/h) {perm=[1,0]}\n"
                         "A/c: y float32[3,2] = Clip(A/t, _, top)\n"
                         "B/l: B/h float32[2,3] = LeakyRelu(x) {alpha=0.5}\n"
                         "B/s: B/t float32[3,2] = Transpose(B/h)\n"
                         "B/c: z float32[3,2] = Clip(B/t)\n"
                         "output y\noutput z\n");
}

/* ---- memory ---- */

static gopt_status import_once(void *path, gopt_err *e)
{
    gopt_graph *g;
    gopt_model_info info;
    gopt_status s = gopt_model_import(&g, path, &info, e);
    gopt_graph_free(g);
    return s;
}

static void importing_survives_every_failed_allocation(void **state)
{
    static const char *const lines[] = {"n: y = Softmax(a)", NULL};
    test_onnx *m = *state;
    char path[4096];
    test_onnx_begin(m, 11);
    test_onnx_import(m, "own", 1);
    test_onnx_function(m, "own::F(a) -> y", lines);
    test_onnx_input(m, m->graph, "float32 x[2,?,4]");
    test_onnx_input(m, m->graph, "bool p[]");
    test_onnx_output(m, m->graph, "y");
    test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
    test_onnx_node(m, m->graph, "h = own::F(x)");
    test_onnx_node(m, m->graph, "k = ReduceMean(h) axes=[1,2]");
    Onnx__NodeProto *n = test_onnx_node(m, m->graph, "y = If(p)");
    Onnx__GraphProto *then = test_onnx_body(m, n, "then_branch"), *otherwise = test_onnx_body(m, n, "else_branch");
    test_onnx_node(m, then, "r = Squeeze(k) axes=[1,2]");
    test_onnx_output(m, then, "float32 r[2]");
    test_onnx_output(m, otherwise, "w");
    test_onnx_save(m, path, "m.onnx");
    assert_true(test_every_oom(import_once, path) > 20);
}

/* ---- real files ---- */

static void real_models_are_imported(void **state)
{
    (void)state;
    char line[8192], path[8300], folder[4096];
    FILE *f = fopen(test_shared("models/MANIFEST.tsv", 27), "r");
    snprintf(folder, sizeof folder, "%s", test_shared("models", 27));
    int count = 0;
    while (fgets(line, sizeof line, f)) {
        gopt_err e = {0};
        gopt_graph *g;
        gopt_model_info info;
        char *save, *name = strtok_r(line, "\t", &save);
        strtok_r(NULL, "\t", &save);
        char *sha256 = strtok_r(NULL, "\t", &save);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        gopt_status s = gopt_model_import(&g, path, &info, &e);
        if (s == GOPT_OK) {
            assert_ok(gopt_graph_check(g, &e), &e);
            assert_string_equal(info.sha256, sha256);
            count++;
        }
        gopt_graph_free(g);
    }
    fclose(f);
    assert_true(count >= 27); /* classic machine learning and one without its weights are refused */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_becomes_a_graph, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(the_file_is_described, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(parameters_are_counted_wherever_they_are, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(dimensions_have_names, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(what_the_file_declares_fills_gaps, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(wrong_sizes_do_no_harm, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(names_are_made_up, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(nodes_come_in_any_order, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(bodies_read_outer_values, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(nodes_without_outputs_are_dropped, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(inputs_with_initializers_are_constants, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(constant_nodes_become_constants, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(functions_are_inlined, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(functions_have_arguments, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(importing_survives_every_failed_allocation, test_onnx_setup,
                                        test_onnx_teardown),
        cmocka_unit_test(real_models_are_imported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
