/* onnx.h: model files for tests, written line by line. Everything lies in the model's arena. */
#ifndef GOPT_TEST_ONNX_H
#define GOPT_TEST_ONNX_H

#include <onnx.pb-c.h>

#include "support/test.h"

#include "base/arena.h"
#include "import.h"

typedef struct test_onnx {
    char *dir; /* for files */
    gopt_arena arena;
    Onnx__ModelProto model;
    Onnx__GraphProto *graph; /* the main one */
} test_onnx;

/* Setup and teardown of a test whose *state is a test_onnx with a folder. */
int test_onnx_setup(void **state);
int test_onnx_teardown(void **state);
/* Begins a model with an empty main graph that imports ai.onnx of this version; forgets the one before. */
void test_onnx_begin(test_onnx *m, int64_t opset);
void test_onnx_import(test_onnx *m, const char *domain, int64_t version);
/* Writes the model to dir/name; the path into buf of 4096 bytes, returned. */
const char *test_onnx_save(const test_onnx *m, char *buf, const char *name);
/* Imports the model; the graph is sound. */
gopt_graph *test_onnx_load(const test_onnx *m);
/* The model becomes this graph, in the form that gopt_graph_print writes. */
void test_onnx_becomes(const test_onnx *m, const char *text);
/* The model is refused, with this in the message. */
void test_onnx_refused(const test_onnx *m, gopt_status s, const char *message);

/* Declares values of a graph: "float32 x[2,batch,?]"; "x" alone has no type. */
void test_onnx_input(test_onnx *m, Onnx__GraphProto *g, const char *declaration);
void test_onnx_output(test_onnx *m, Onnx__GraphProto *g, const char *declaration);
void test_onnx_value(test_onnx *m, Onnx__GraphProto *g, const char *declaration);
/* "float32 w[2] = 1 2", stored as raw data. */
Onnx__TensorProto *test_onnx_tensor(test_onnx *m, const char *text);
Onnx__TensorProto *test_onnx_initializer(test_onnx *m, Onnx__GraphProto *g, const char *text);
/* Appends "y, z = domain::Op(a, , b) axis=1 alpha=0.5 axes=[0,1] mode=\"x\" ref=@attr" to a graph. A number with a
 * point is a float; absent operands are empty. The node may be named: "name: y = Op(x)". */
Onnx__NodeProto *test_onnx_node(test_onnx *m, Onnx__GraphProto *g, const char *line);
/* A new graph as an attribute of a node. */
Onnx__GraphProto *test_onnx_body(test_onnx *m, Onnx__NodeProto *n, const char *attribute);
Onnx__AttributeProto *test_onnx_attribute(test_onnx *m, Onnx__NodeProto *n, const char *name);
/* A local function "domain::Name(a, b) -> y" of these nodes (NULL at the end). It imports ai.onnx of the model's
 * version.
 */
Onnx__FunctionProto *test_onnx_function(test_onnx *m, const char *signature, const char *const *lines);

#endif
