/* onnx: files that are broken or meant to do harm end in one clear error. */
#include "support/onnx.h"

#include <ctype.h>

#include "base/file.h"
#include "base/utf8.h"

/* A model with input x, output y and these nodes. */
static void model(test_onnx *m, int64_t opset, const char *const *lines)
{
    test_onnx_begin(m, opset);
    test_onnx_input(m, m->graph, "float32 x[2,3]");
    test_onnx_output(m, m->graph, "y");
    for (; *lines; lines++)
        test_onnx_node(m, m->graph, *lines);
}

static void broken_graphs_name_node_and_cause(void **state)
{
    static const struct {
        const char *lines[3], *message;
        gopt_status status;
    } rows[] = {
        {{"n: y = Relu(z)"}, "node n (Relu): input 0: \"z\" is not defined", GOPT_EINPUT},
        {{"y = Relu(y)"}, "node Relu_0 (Relu): it depends on its own output", GOPT_EINPUT},
        {{"a: y = Relu(z)", "b: z = Relu(y)"}, "node a (Relu): it depends on its own output", GOPT_EINPUT},
        {{"a: y = Relu(x)", "b: y = Exp(x)"}, "node b (Exp): output 0: \"y\" is defined twice", GOPT_EINPUT},
        {{"y = Exp(x)", "x = Exp(y)"}, "node #1 (Exp): output 0: \"x\" is defined twice", GOPT_EINPUT},
        {{"n: z = Relu(x)"}, "output y: \"y\" is not defined", GOPT_EINPUT},
        {{"n: y = Relu()"}, "node n (Relu): 0 inputs, 1 expected", GOPT_EINPUT},
        {{"n: y = Add(, x)"}, "node n (Add): input 0 is required, but has no name", GOPT_EINPUT},
        {{"n: y = Clip(x, x, x, x)"}, "node n (Clip): 4 inputs, at most 3 expected", GOPT_EINPUT},
        {{"n: y, z = Relu(x)"}, "node n (Relu): 2 outputs, 1 expected", GOPT_EINPUT},
        {{"n: y = Frob(x)"},
         "node n (Frob): operator Frob of domain ai.onnx, version 17, is not supported",
         GOPT_EUNSUP},
        {{"n: y = evil::Frob(x)"},
         "node n (Frob): operator Frob of domain evil, which is not imported, is not supported",
         GOPT_EUNSUP},
        {{"n: y = Softmax(x) axis=0.5"},
         "node n (Softmax): attribute axis: a float, but an int is expected",
         GOPT_EINPUT},
        {{"n: y = Softmax(x) axis=1 axis=1"}, "node n (Softmax): attribute axis: it is given twice", GOPT_EINPUT},
        {{"n: y = Softmax(x) axis=7"}, "node n (Softmax): ", GOPT_EINPUT},
        {{"n: y = If(x)"}, "node n (If): ", GOPT_EINPUT},
        {{"n: y = Constant()"}, "node n (Constant): 0 attributes, one is expected: its value", GOPT_EINPUT},
        {{"n: y = Constant() value_string=\"s\""},
         "node n (Constant): tensors of strings are not supported",
         GOPT_EUNSUP},
    };
    test_onnx *m = *state;
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        model(m, 17, rows[i].lines);
        test_onnx_refused(m, rows[i].status, rows[i].message);
    }
}

static void declarations_are_checked(void **state)
{
    static const char *const relu[] = {"n: y = Relu(x)", NULL};
    test_onnx *m = *state;
    model(m, 17, relu);
    test_onnx_input(m, m->graph, "float32 x[2,3]");
    test_onnx_refused(m, GOPT_EINPUT, "input x: \"x\" is defined twice");
    model(m, 17, relu);
    test_onnx_input(m, m->graph, "z");
    test_onnx_refused(m, GOPT_EINPUT, "input z: its type is not given");
    model(m, 17, relu);
    test_onnx_input(m, m->graph, "string z[2]");
    test_onnx_refused(m, GOPT_EUNSUP, "input z: tensors of strings are not supported");
    model(m, 17, relu);
    test_onnx_input(m, m->graph, "float32 z[1,1,1,1,1,1,1,1,1,1,1,1,1]");
    test_onnx_refused(m, GOPT_EUNSUP, "input z: 13 dimensions, at most 12 are supported");
    model(m, 17, relu);
    m->graph->n_output = 0;
    test_onnx_output(m, m->graph, "int64 y[2,3]");
    test_onnx_refused(m, GOPT_EINPUT, "output y: declared as int64, but it is float32");
    m->graph->n_output = 0;
    test_onnx_output(m, m->graph, "float32 y[2,4]");
    test_onnx_refused(m, GOPT_EINPUT, "output y: dimension 1 is declared as 4, but it is 3");
    m->graph->n_output = 0;
    test_onnx_refused(m, GOPT_EINPUT, "the graph has no outputs");
}

static void versions_are_checked(void **state)
{
    static const char *const relu[] = {"n: y = Relu(x)", NULL};
    test_onnx *m = *state;
    model(m, 0, relu);
    test_onnx_refused(m, GOPT_EINPUT, "opset 0 of domain ai.onnx");
    model(m, 1000, relu);
    test_onnx_refused(m, GOPT_EUNSUP, "opset 1000, at most");
    model(m, 17, relu);
    m->model.n_opset_import = 0;
    test_onnx_refused(m, GOPT_EINPUT, "no opset_import");
    test_onnx_import(m, "com.microsoft", 1);
    test_onnx_refused(m, GOPT_EINPUT, "node n (Relu): the model imports no version of ai.onnx");
    model(m, 17, relu);
    m->model.ir_version = 0;
    test_onnx_refused(m, GOPT_EINPUT, "IR version 0");
    m->model.ir_version = 9999;
    test_onnx_refused(m, GOPT_EUNSUP, "IR version 9999, at most");
    m->model.ir_version = 8;
    m->model.graph = NULL;
    test_onnx_refused(m, GOPT_EINPUT, "no graph in it: not an ONNX model");
    model(m, 4, (const char *const[]){"n: y = Tile(x, x, x)", NULL});
    test_onnx_refused(m, GOPT_EUNSUP, "node n (Tile): the operator's form in opset 4 is not supported");
}

static void tensors_are_checked(void **state)
{
    static const char *const relu[] = {"n: y = Relu(x)", NULL};
    static float value = 1;
    int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40}, negative[] = {-2, -1};
    test_onnx *m = *state;
    model(m, 17, relu);
    Onnx__TensorProto *t = test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
    t->dims[0] = 3;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: 8 bytes of data, 12 expected for float32[3]");
    t->dims = huge;
    t->n_dims = 2;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: its dimensions overflow");
    t->dims = negative;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: dimension 0 is -2");
    t = test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
    m->graph->n_initializer = 1;
    m->graph->initializer[0] = t;
    t->float_data = &value;
    t->n_float_data = 1;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: its data are given in more than one form");
    t->has_raw_data = false;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: 1 entries of data, 2 expected");
    t->data_type = GOPT_DTYPE_I64;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: its data are of another type than int64");
    t->data_type = 77;
    test_onnx_refused(m, GOPT_EINPUT, "initializer w: unknown element type 77");
}

/* ---- nesting and size ---- */

static void nest(test_onnx *m, int depth)
{
    Onnx__GraphProto *g = m->graph;
    test_onnx_begin(m, 17);
    g = m->graph;
    test_onnx_input(m, g, "bool p[]");
    for (int i = 0; i < depth; i++) {
        test_onnx_output(m, g, "y");
        Onnx__NodeProto *n = test_onnx_node(m, g, "y = If(p)");
        g = test_onnx_body(m, n, "then_branch");
        Onnx__GraphProto *otherwise = test_onnx_body(m, n, "else_branch");
        test_onnx_output(m, otherwise, "p");
    }
    test_onnx_output(m, g, "p");
}

static void nesting_is_limited(void **state)
{
    test_onnx *m = *state;
    nest(m, 32);
    gopt_graph_free(test_onnx_load(m));
    nest(m, 33);
    test_onnx_refused(m, GOPT_EUNSUP, "subgraphs nested more than 32 deep");
    nest(m, 5000);
    test_onnx_refused(m, GOPT_EINPUT, "messages nested too deeply");
}

/* F0 calls F1 twice, F1 calls F2 twice, ... */
static void doubling(test_onnx *m, int levels)
{
    char signature[40], first[40], second[40];
    model(m, 17, (const char *const[]){"n: y = own::F0(x)", NULL});
    test_onnx_import(m, "own", 1);
    for (int i = 0; i < levels; i++) {
        bool last = i == levels - 1;
        snprintf(signature, sizeof signature, "own::F%d(a) -> c", i);
        snprintf(first, sizeof first, last ? "b = Relu(a)" : "b = own::F%d(a)", i + 1);
        snprintf(second, sizeof second, last ? "c = Exp(b)" : "c = own::F%d(b)", i + 1);
        test_onnx_function(m, signature, (const char *const[]){first, second, NULL});
    }
}

static void functions_are_limited(void **state)
{
    test_onnx *m = *state;
    doubling(m, 8);
    gopt_graph *g = test_onnx_load(m);
    assert_int_equal(gopt_graph_count(g), 256);
    gopt_graph_free(g);
    doubling(m, 28);
    test_onnx_refused(m, GOPT_EUNSUP, "more than 1048576 nodes when functions are inlined");
    doubling(m, 1000);
    test_onnx_refused(m, GOPT_EUNSUP, "functions nested more than 32 deep");
    doubling(m, 2);
    m->model.functions[1]->node[0]->op_type = (char *)"F0";
    m->model.functions[1]->node[0]->domain = (char *)"own";
    test_onnx_refused(m, GOPT_EINPUT, "function F0: function F0 calls itself");
    doubling(m, 1);
    m->model.functions[0]->node[0]->op_type = (char *)"F9";
    test_onnx_refused(m, GOPT_EUNSUP, "node n (F0): node n/F9_1 (F9): operator F9");
}

static void dense_forms_are_limited(void **state)
{
    test_onnx *m = *state;
    Onnx__SparseTensorProto sparse = ONNX__SPARSE_TENSOR_PROTO__INIT, *one = &sparse;
    int64_t dims[] = {1 << 20, 1 << 20};
    model(m, 17, (const char *const[]){"n: y = Relu(x)", NULL});
    sparse.values = test_onnx_tensor(m, "float32 s[1] = 5");
    sparse.indices = test_onnx_tensor(m, "int64 i[1] = 0");
    sparse.dims = dims;
    sparse.n_dims = 2;
    m->graph->sparse_initializer = &one;
    m->graph->n_sparse_initializer = 1;
    test_onnx_refused(m, GOPT_EUNSUP, "initializer s: 4398046511104 bytes when dense");
    dims[0] = dims[1] = 1;
    sparse.indices = test_onnx_tensor(m, "int64 i[1] = 1");
    test_onnx_refused(m, GOPT_EINPUT, "initializer s: index 0 is out of range or out of order");
}

/* ---- the wire ---- */

static void refused_bytes(test_onnx *m, const void *bytes, size_t n, const char *message)
{
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    assert_ok(gopt_file_write(test_path(path, m->dir, "bytes.onnx"), &(gopt_piece){bytes, n}, 1, &e), &e);
    assert_int_equal(gopt_model_import(&g, path, NULL, &e), GOPT_EINPUT);
    if (!strstr(e.msg, message))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
}

static void the_wire_is_checked(void **state)
{
    test_onnx *m = *state;
    char many[2 * 100];
    refused_bytes(m, "", 0, "no graph in it");
    refused_bytes(m, "\x00\x01", 2, "byte 0, in a ModelProto: no field begins here");
    refused_bytes(m, "\x3b\x3c", 2, "a field of a kind that ONNX does not use"); /* a group */
    refused_bytes(m, "\x3a\x05", 2, "byte 1, in a ModelProto: a length that runs past the end");
    refused_bytes(m, "\x3a\x02\x0a\x05", 4, "byte 3, in a GraphProto: a length that runs past the end");
    refused_bytes(m, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "a number that does not end");
    refused_bytes(m, "\x3d\x01\x02\x03\x04", 5, "a field of the wrong wire type"); /* graph as fixed32 */
    refused_bytes(m,
                  "\x12\x03"
                  "a\0b",
                  5, "a text that holds a NUL byte");
    for (int i = 0; i < 100; i++)
        memcpy(many + 2 * i, "\x3a\x00", 2);
    refused_bytes(m, many, sizeof many, "a message given again and again");
}

/* Every prefix, and every byte changed in several ways: an error or a sound graph, and the message can be shown. */
static void damaged_files_do_no_harm(void **state)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    test_onnx *m = *state;
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    model(m, 11, (const char *const[]){"a: h = ReduceMean(x) axes=[1]", "b: y = Clip(h) min=0.5", NULL});
    test_onnx_initializer(m, m->graph, "float32 w[2] = 1 2");
    gopt_mapping file;
    assert_ok(gopt_file_map(&file, test_onnx_save(m, path, "whole.onnx"), &e), &e);
    unsigned char *copy = malloc(file.bytes);
    for (size_t i = 0; i < file.bytes; i++)
        for (int k = 0; k <= GOPT_COUNT(flips); k++) {
            memcpy(copy, file.data, file.bytes);
            bool cut = k == GOPT_COUNT(flips);
            if (!cut)
                copy[i] ^= flips[k];
            FILE *f = fopen(test_path(path, m->dir, "damaged.onnx"), "wb");
            fwrite(copy, 1, cut ? i : file.bytes, f);
            fclose(f);
            gopt_status s = gopt_model_import(&g, path, NULL, &e);
            assert_true(s != GOPT_EBUG);
            if (s == GOPT_OK)
                assert_ok(gopt_graph_check(g, &e), &e);
            for (const char *c = e.msg; s && *c; c += gopt_utf8_length(c))
                assert_true(gopt_utf8_length(c) > 0);
            gopt_graph_free(g);
        }
    free(copy);
    gopt_file_unmap(&file);
}

static void names_can_be_shown(void **state)
{
    test_onnx *m = *state;
    model(m, 17, (const char *const[]){"n: y = Frob(x)", NULL});
    m->graph->node[0]->name = (char *)"a\n\x1b[2J\xff\"";
    test_onnx_refused(m, GOPT_EUNSUP, "node a??[2J?\" (Frob): operator Frob");
    char *name = gopt_arena_take(&m->arena, 200001, 1);
    memset(name, 'n', 200000);
    m->graph->node[0]->name = name;
    test_onnx_refused(m, GOPT_EUNSUP, "nnn (Frob): operator Frob of domain ai.onnx, version 17, is not supported");
}

/* ---- the collection ---- */

/* hostile/INDEX.tsv says what each file expects; faults that only running shows may pass. */
static void the_collection_is_refused(void **state)
{
    (void)state;
    char line[8192], path[4600], folder[4096];
    int refused = 0;
    FILE *f = fopen(test_shared("models/hostile/INDEX.tsv", 93), "r");
    snprintf(folder, sizeof folder, "%s", test_shared("models/hostile", 93));
    while (fgets(line, sizeof line, f)) {
        gopt_err e = {0};
        gopt_graph *g;
        char *save, *name = strtok_r(line, "\t", &save);
        strtok_r(NULL, "\t", &save);
        const char *expect = strtok_r(NULL, "\t", &save), *runtime = strtok_r(NULL, "\t", &save);
        if (!isdigit((unsigned char)*name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        gopt_status s = gopt_model_import(&g, path, NULL, &e);
        bool late = !strcmp(runtime, "run-reject") || !strcmp(runtime, "timeout");
        if ((!strcmp(expect, "accept") && s) || (!strcmp(expect, "reject") && !s && !late) || s == GOPT_EBUG)
            fail_msg("%s: %s expected: %s", name, expect, e.msg);
        refused += s != GOPT_OK;
        gopt_graph_free(g);
    }
    fclose(f);
    assert_true(refused > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(broken_graphs_name_node_and_cause, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(declarations_are_checked, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(versions_are_checked, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(tensors_are_checked, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(nesting_is_limited, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(functions_are_limited, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(dense_forms_are_limited, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(the_wire_is_checked, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(damaged_files_do_no_harm, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test_setup_teardown(names_can_be_shown, test_onnx_setup, test_onnx_teardown),
        cmocka_unit_test(the_collection_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
