#include "support/onnx.h"

#include "base/file.h"
#include "base/text.h"
#include "tensor.h"

/* ---- reading lines ---- */

static void skip_space(const char **p)
{
    *p += strspn(*p, " ");
}

static bool take(const char **p, char c)
{
    skip_space(p);
    if (**p != c)
        return false;
    ++*p;
    return true;
}

static void expect(const char **p, char c)
{
    if (!take(p, c))
        fail_msg("'%c' expected at \"%s\"", c, *p);
}

/* Everything up to one of the characters in `end`, without the space around it. */
static char *word(test_onnx *m, const char **p, const char *end)
{
    skip_space(p);
    size_t n = strcspn(*p, end), kept = n;
    while (kept > 0 && (*p)[kept - 1] == ' ')
        kept--;
    char *s = gopt_arena_strn(&m->arena, *p, kept);
    *p += n;
    return s;
}

static bool is_float(const char *text)
{
    return strpbrk(text, ".") != NULL || strstr(text, "inf");
}

/* Appends to a protobuf-c array. */
static void *append(test_onnx *m, void *array, size_t *n, size_t element)
{
    void **at = array, *grown = gopt_arena_take(&m->arena, *n + 1, element);
    assert_non_null(grown);
    if (*n)
        memcpy(grown, *at, *n * element);
    *at = grown;
    return (char *)grown + (*n)++ * element;
}

#define APPEND(m, array, n) ((__typeof__(array))append((m), &(array), &(n), sizeof *(array)))

/* ---- models ---- */

int test_onnx_setup(void **state)
{
    test_onnx *m = calloc(1, sizeof *m);
    void *dir = NULL;
    int failed = m ? test_dir_setup(&dir) : -1;
    if (m)
        m->dir = dir;
    *state = m;
    return failed;
}

int test_onnx_teardown(void **state)
{
    test_onnx *m = *state;
    void *dir = m->dir;
    gopt_arena_fini(&m->arena);
    free(m);
    return test_dir_teardown(&dir);
}

void test_onnx_begin(test_onnx *m, int64_t opset)
{
    gopt_arena_fini(&m->arena);
    m->model = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
    m->model.has_ir_version = true;
    m->model.ir_version = 8;
    m->model.producer_name = (char *)"tests";
    m->model.graph = m->graph = GOPT_NEW(&m->arena, Onnx__GraphProto, 1);
    onnx__graph_proto__init(m->graph);
    m->graph->name = (char *)"g";
    test_onnx_import(m, "", opset);
}

static Onnx__OperatorSetIdProto *opset_id(test_onnx *m, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *id = GOPT_NEW(&m->arena, Onnx__OperatorSetIdProto, 1);
    onnx__operator_set_id_proto__init(id);
    id->domain = gopt_arena_str(&m->arena, domain);
    id->has_version = true;
    id->version = version;
    return id;
}

void test_onnx_import(test_onnx *m, const char *domain, int64_t version)
{
    *APPEND(m, m->model.opset_import, m->model.n_opset_import) = opset_id(m, domain, version);
}

const char *test_onnx_save(const test_onnx *m, char *buf, const char *name)
{
    gopt_err e = {0};
    size_t bytes = onnx__model_proto__get_packed_size(&m->model);
    uint8_t *packed = malloc(bytes ? bytes : 1);
    onnx__model_proto__pack(&m->model, packed);
    assert_ok(gopt_file_write(test_path(buf, m->dir, name), &(gopt_piece){packed, bytes}, 1, &e), &e);
    free(packed);
    return buf;
}

gopt_graph *test_onnx_load(const test_onnx *m)
{
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    assert_ok(gopt_model_import(&g, test_onnx_save(m, path, "model.onnx"), NULL, &e), &e);
    assert_ok(gopt_graph_check(g, &e), &e);
    return g;
}

void test_onnx_becomes(const test_onnx *m, const char *text)
{
    gopt_text t = {0};
    gopt_graph *g = test_onnx_load(m);
    gopt_graph_print(g, &t);
    assert_string_equal(gopt_text_str(&t), text);
    gopt_text_fini(&t);
    gopt_graph_free(g);
}

void test_onnx_refused(const test_onnx *m, gopt_status s, const char *message)
{
    char path[4096];
    gopt_err e = {0};
    gopt_graph *g;
    gopt_status real = gopt_model_import(&g, test_onnx_save(m, path, "model.onnx"), NULL, &e);
    assert_null(g);
    if (!strstr(e.msg, message) || strncmp(e.msg, path, strlen(path)) != 0)
        fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
    assert_int_equal(real, s);
}

/* ---- values ---- */

static Onnx__TensorShapeProto__Dimension *dimension(test_onnx *m, const char *text)
{
    Onnx__TensorShapeProto__Dimension *d = GOPT_NEW(&m->arena, Onnx__TensorShapeProto__Dimension, 1);
    onnx__tensor_shape_proto__dimension__init(d);
    if (strspn(text, "-0123456789") == strlen(text)) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        d->dim_value = strtoll(text, NULL, 10);
    } else if (strcmp(text, "?") != 0) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = (char *)text;
    }
    return d;
}

static Onnx__TypeProto *type_of(test_onnx *m, const char *dtype, const char **p)
{
    Onnx__TypeProto *t = GOPT_NEW(&m->arena, Onnx__TypeProto, 1);
    Onnx__TypeProto__Tensor *tensor = GOPT_NEW(&m->arena, Onnx__TypeProto__Tensor, 1);
    onnx__type_proto__init(t);
    onnx__type_proto__tensor__init(tensor);
    t->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    t->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = (int32_t)gopt_dtype_find(dtype);
    if (!take(p, '['))
        return t;
    tensor->shape = GOPT_NEW(&m->arena, Onnx__TensorShapeProto, 1);
    onnx__tensor_shape_proto__init(tensor->shape);
    while (!take(p, ']')) {
        *APPEND(m, tensor->shape->dim, tensor->shape->n_dim) = dimension(m, word(m, p, ",]"));
        take(p, ',');
    }
    return t;
}

static Onnx__ValueInfoProto *declare(test_onnx *m, const char *p)
{
    Onnx__ValueInfoProto *v = GOPT_NEW(&m->arena, Onnx__ValueInfoProto, 1);
    onnx__value_info_proto__init(v);
    char *first = word(m, &p, " [");
    skip_space(&p);
    if (!*p) {
        v->name = first;
        return v;
    }
    v->name = word(m, &p, "[");
    v->type = type_of(m, first, &p);
    return v;
}

void test_onnx_input(test_onnx *m, Onnx__GraphProto *g, const char *declaration)
{
    *APPEND(m, g->input, g->n_input) = declare(m, declaration);
}

void test_onnx_output(test_onnx *m, Onnx__GraphProto *g, const char *declaration)
{
    *APPEND(m, g->output, g->n_output) = declare(m, declaration);
}

void test_onnx_value(test_onnx *m, Onnx__GraphProto *g, const char *declaration)
{
    *APPEND(m, g->value_info, g->n_value_info) = declare(m, declaration);
}

Onnx__TensorProto *test_onnx_tensor(test_onnx *m, const char *p)
{
    int64_t dim[GOPT_RANK_MAX];
    int rank = 0;
    Onnx__TensorProto *t = GOPT_NEW(&m->arena, Onnx__TensorProto, 1);
    onnx__tensor_proto__init(t);
    gopt_dtype dtype = gopt_dtype_find(word(m, &p, " "));
    t->name = word(m, &p, "[");
    expect(&p, '[');
    while (!take(&p, ']')) {
        dim[rank++] = strtoll(word(m, &p, ",]"), NULL, 10);
        take(&p, ',');
    }
    expect(&p, '=');
    gopt_tensor *made = gopt_tensor_new(&m->arena, dtype, rank, dim);
    for (int64_t i = 0; i < gopt_tensor_count(made); i++) {
        char *text = word(m, &p, " ");
        if (gopt_dtype_is_float(dtype))
            gopt_tensor_set(made, i, strtod(text, NULL));
        else
            gopt_tensor_set_int(made, i, strtoll(text, NULL, 10));
    }
    t->n_dims = (size_t)rank;
    t->dims = gopt_arena_copy(&m->arena, dim, (size_t)rank, sizeof *dim);
    t->has_data_type = t->has_raw_data = true;
    t->data_type = (int32_t)dtype;
    t->raw_data = (ProtobufCBinaryData){gopt_tensor_bytes(made), made->data};
    return t;
}

Onnx__TensorProto *test_onnx_initializer(test_onnx *m, Onnx__GraphProto *g, const char *text)
{
    return *APPEND(m, g->initializer, g->n_initializer) = test_onnx_tensor(m, text);
}

/* ---- nodes ---- */

Onnx__AttributeProto *test_onnx_attribute(test_onnx *m, Onnx__NodeProto *n, const char *name)
{
    Onnx__AttributeProto *a = GOPT_NEW(&m->arena, Onnx__AttributeProto, 1);
    onnx__attribute_proto__init(a);
    a->name = gopt_arena_str(&m->arena, name);
    a->has_type = true;
    return *APPEND(m, n->attribute, n->n_attribute) = a;
}

static void read_list(test_onnx *m, Onnx__AttributeProto *a, const char **p)
{
    bool floats = is_float(gopt_arena_strn(&m->arena, *p, strcspn(*p, "]")));
    a->type = floats ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    while (!take(p, ']')) {
        char *text = word(m, p, ",]");
        if (floats)
            *APPEND(m, a->floats, a->n_floats) = strtof(text, NULL);
        else
            *APPEND(m, a->ints, a->n_ints) = strtoll(text, NULL, 10);
        take(p, ',');
    }
}

static void read_attribute(test_onnx *m, Onnx__AttributeProto *a, const char **p)
{
    if (take(p, '[')) {
        read_list(m, a, p);
    } else if (take(p, '"')) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        a->has_s = true;
        char *text = word(m, p, "\"");
        a->s = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
        expect(p, '"');
    } else if (take(p, '@')) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->ref_attr_name = word(m, p, " ");
    } else {
        char *text = word(m, p, " ");
        bool f = is_float(text);
        a->type = f ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->has_f = f;
        a->has_i = !f;
        a->f = f ? strtof(text, NULL) : 0;
        a->i = f ? 0 : strtoll(text, NULL, 10);
    }
}

static void read_operator(test_onnx *m, Onnx__NodeProto *n, const char **p)
{
    const char *op = word(m, p, "("), *colons = strstr(op, "::");
    n->domain = gopt_arena_strn(&m->arena, op, colons ? (size_t)(colons - op) : 0);
    n->op_type = gopt_arena_str(&m->arena, colons ? colons + 2 : op);
}

static Onnx__NodeProto *read_node(test_onnx *m, const char *p)
{
    Onnx__NodeProto *n = GOPT_NEW(&m->arena, Onnx__NodeProto, 1);
    onnx__node_proto__init(n);
    const char *colon = strstr(p, ": ");
    n->name = colon && colon < strchr(p, '=') ? word(m, &p, ":") : (char *)"";
    take(&p, ':');
    while (!take(&p, '=')) {
        *APPEND(m, n->output, n->n_output) = word(m, &p, ",=");
        take(&p, ',');
    }
    read_operator(m, n, &p);
    expect(&p, '(');
    while (!take(&p, ')')) {
        *APPEND(m, n->input, n->n_input) = word(m, &p, ",)");
        take(&p, ',');
    }
    for (skip_space(&p); *p; skip_space(&p)) {
        Onnx__AttributeProto *a = test_onnx_attribute(m, n, word(m, &p, "="));
        expect(&p, '=');
        read_attribute(m, a, &p);
    }
    return n;
}

Onnx__NodeProto *test_onnx_node(test_onnx *m, Onnx__GraphProto *g, const char *line)
{
    return *APPEND(m, g->node, g->n_node) = read_node(m, line);
}

Onnx__GraphProto *test_onnx_body(test_onnx *m, Onnx__NodeProto *n, const char *attribute)
{
    Onnx__AttributeProto *a = test_onnx_attribute(m, n, attribute);
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    a->g = GOPT_NEW(&m->arena, Onnx__GraphProto, 1);
    onnx__graph_proto__init(a->g);
    return a->g;
}

Onnx__FunctionProto *test_onnx_function(test_onnx *m, const char *signature, const char *const *lines)
{
    Onnx__FunctionProto *f = GOPT_NEW(&m->arena, Onnx__FunctionProto, 1);
    Onnx__NodeProto head = ONNX__NODE_PROTO__INIT;
    const char *p = signature;
    onnx__function_proto__init(f);
    read_operator(m, &head, &p);
    f->domain = head.domain;
    f->name = head.op_type;
    expect(&p, '(');
    while (!take(&p, ')')) {
        *APPEND(m, f->input, f->n_input) = word(m, &p, ",)");
        take(&p, ',');
    }
    expect(&p, '-');
    expect(&p, '>');
    while (*p) {
        *APPEND(m, f->output, f->n_output) = word(m, &p, ",");
        take(&p, ',');
    }
    for (; *lines; lines++)
        *APPEND(m, f->node, f->n_node) = read_node(m, *lines);
    *APPEND(m, f->opset_import, f->n_opset_import) = opset_id(m, "", m->model.opset_import[0]->version);
    return *APPEND(m, m->model.functions, m->model.n_functions) = f;
}
