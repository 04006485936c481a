/* export.c: graphs to model files of opset 17, which every other runtime reads. Operators have today's semantics in a
 * graph: those that were different then are rewritten, or refused. */
#include <string.h>

#include "import.h"
#include "onnx/pack.h"

enum { OPSET = 17, IR_VERSION = 8, DIM_TEXT = 160 };

typedef struct exporter {
    gopt_arena arena;
    const gopt_graph *g;
    Onnx__GraphProto *graph;
    unsigned char *stored; /* by value id: constants that are initializers already */
    size_t cap_initializers;
} exporter;

/* ---- values ---- */

static gopt_status export_dim(exporter *x, Onnx__TensorShapeProto__Dimension **out, gopt_dim d, gopt_err *e)
{
    char text[DIM_TEXT];
    *out = GOPT_NEW(&x->arena, Onnx__TensorShapeProto__Dimension, 1);
    if (!*out)
        return gopt_oom(e);
    onnx__tensor_shape_proto__dimension__init(*out);
    if (gopt_dim_is_const(d)) {
        (*out)->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        (*out)->dim_value = d.k;
    } else if (gopt_dim_is_known(d)) {
        (*out)->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        (*out)->dim_param = gopt_arena_str(&x->arena, gopt_dim_print(x->g->family->dims, d, text, sizeof text));
    }
    return x->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status export_shape(exporter *x, Onnx__TypeProto__Tensor *t, const gopt_fact *f, gopt_err *e)
{
    t->has_elem_type = true;
    t->elem_type = (int32_t)f->dtype;
    if (f->rank < 0)
        return GOPT_OK;
    t->shape = GOPT_NEW(&x->arena, Onnx__TensorShapeProto, 1);
    Onnx__TensorShapeProto__Dimension **dim = GOPT_NEW(&x->arena, Onnx__TensorShapeProto__Dimension *, f->rank);
    if (!t->shape || !dim)
        return gopt_oom(e);
    onnx__tensor_shape_proto__init(t->shape);
    t->shape->dim = dim;
    for (int i = 0; i < f->rank; i++)
        GOPT_TRY(export_dim(x, &dim[t->shape->n_dim++], f->dim[i], e));
    return GOPT_OK;
}

static gopt_status export_value(exporter *x, Onnx__ValueInfoProto **out, const gopt_value *v, gopt_err *e)
{
    Onnx__ValueInfoProto *info = *out = GOPT_NEW(&x->arena, Onnx__ValueInfoProto, 1);
    Onnx__TypeProto *type = GOPT_NEW(&x->arena, Onnx__TypeProto, 1);
    Onnx__TypeProto__Tensor *tensor = GOPT_NEW(&x->arena, Onnx__TypeProto__Tensor, 1);
    if (!info || !type || !tensor)
        return gopt_oom(e);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    info->name = gopt_arena_str(&x->arena, v->name);
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    return export_shape(x, tensor, &v->fact, e);
}

static gopt_status export_values(exporter *x, Onnx__ValueInfoProto ***out, size_t *n, gopt_value *const *values,
                                 int count, gopt_err *e)
{
    *out = GOPT_NEW(&x->arena, Onnx__ValueInfoProto *, count);
    if (!*out)
        return gopt_oom(e);
    for (int i = 0; i < count; i++)
        GOPT_TRY(export_value(x, &(*out)[(*n)++], values[i], e));
    return GOPT_OK;
}

/* A constant that some node or the graph's result reads becomes an initializer, once. */
static gopt_status export_constant(exporter *x, const gopt_value *v, gopt_err *e)
{
    Onnx__GraphProto *p = x->graph;
    if (!gopt_value_is_const(v) || x->stored[v->id])
        return GOPT_OK;
    p->initializer = gopt_arena_grow(&x->arena, p->initializer, p->n_initializer, &x->cap_initializers,
                                     p->n_initializer + 1, sizeof *p->initializer);
    if (!p->initializer)
        return gopt_oom(e);
    x->stored[v->id] = 1;
    return gopt_onnx_tensor_proto(&p->initializer[p->n_initializer++], v->fact.constant, v->name, &x->arena, e);
}

/* ---- attributes ---- */

static ProtobufCBinaryData bytes_of(exporter *x, const char *s)
{
    return (ProtobufCBinaryData){.len = strlen(s), .data = (uint8_t *)gopt_arena_str(&x->arena, s)};
}

static gopt_status export_lists(exporter *x, Onnx__AttributeProto *p, const gopt_attr *a, gopt_err *e)
{
    size_t n = (size_t)a->n;
    switch (a->kind) {
    case GOPT_ATTR_INTS:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        p->n_ints = n;
        p->ints = gopt_arena_copy(&x->arena, a->ints, n, sizeof *a->ints);
        break;
    case GOPT_ATTR_FLOATS:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        p->n_floats = n;
        p->floats = GOPT_NEW(&x->arena, float, n);
        for (size_t i = 0; p->floats && i < n; i++)
            p->floats[i] = (float)a->floats[i];
        break;
    default:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
        p->n_strings = n;
        p->strings = GOPT_NEW(&x->arena, ProtobufCBinaryData, n);
        for (size_t i = 0; p->strings && i < n; i++)
            p->strings[i] = bytes_of(x, a->strings[i]);
        break;
    }
    return x->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status export_attr(exporter *x, Onnx__AttributeProto **out, const gopt_attr *a, gopt_err *e)
{
    Onnx__AttributeProto *p = *out = GOPT_NEW(&x->arena, Onnx__AttributeProto, 1);
    if (!p)
        return gopt_oom(e);
    onnx__attribute_proto__init(p);
    p->name = gopt_arena_str(&x->arena, a->name);
    p->has_type = true;
    switch (a->kind) {
    case GOPT_ATTR_INT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        p->has_i = true;
        p->i = a->i;
        break;
    case GOPT_ATTR_FLOAT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        p->has_f = true;
        p->f = (float)a->f;
        break;
    case GOPT_ATTR_STRING:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        p->has_s = true;
        p->s = bytes_of(x, a->s);
        break;
    case GOPT_ATTR_TENSOR:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
        return gopt_onnx_tensor_proto(&p->t, a->tensor, NULL, &x->arena, e);
    default:
        return export_lists(x, p, a, e);
    }
    return x->arena.failed ? gopt_oom(e) : GOPT_OK;
}

/* ---- nodes ---- */

/* What a node looks like in opset 17. */
typedef struct form {
    gopt_attrs attrs;
    int n_in;
} form;

static bool takes_axes(const char *op)
{
    return !strncmp(op, "Reduce", 6) && strcmp(op, "ReduceSum") != 0;
}

/* The reductions had their axes as an attribute then. */
static gopt_status axes_as_attribute(exporter *x, const gopt_node *n, form *f, gopt_err *e)
{
    if (n->n_in < 2 || !n->in[1])
        return GOPT_OK;
    if (!gopt_value_is_const(n->in[1]))
        return gopt_fail(e, GOPT_EUNSUP, "axes that are computed need a newer opset than %d", OPSET);
    const gopt_tensor *t = n->in[1]->fact.constant;
    gopt_attr axes = {.name = "axes", .kind = GOPT_ATTR_INTS, .n = gopt_tensor_count(t)};
    int64_t *ints = GOPT_NEW(&x->arena, int64_t, axes.n);
    for (int64_t i = 0; ints && i < axes.n; i++)
        ints[i] = gopt_tensor_get_int(t, i);
    axes.ints = ints;
    f->attrs = gopt_attrs_without(&x->arena, f->attrs, "noop_with_empty_axes");
    if (axes.n)
        f->attrs = gopt_attrs_with(&x->arena, f->attrs, axes);
    f->n_in = 1;
    return x->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status to_opset_17(exporter *x, const gopt_node *n, form *f, gopt_err *e)
{
    static const char *const newer[] = {
        "AffineGrid",     "Attention",          "BitCast",       "BitwiseAnd", "BitwiseNot",
        "BitwiseOr",      "BitwiseXor",         "CenterCropPad", "Col2Im",     "CumProd",
        "Gelu",           "GroupNormalization", "ImageDecoder",  "Mish",       "RMSNormalization",
        "RegexFullMatch", "RotaryEmbedding",    "Swish"};
    *f = (form){.attrs = n->attrs, .n_in = n->n_in};
    if (n->n_bodies || n->post.result >= 0 || !strcmp(n->op->domain, "gopt"))
        return gopt_fail(e, GOPT_EUNSUP, "bodies and fused nodes are not exported");
    if (*n->op->domain)
        return GOPT_OK;
    for (int i = 0; i < GOPT_COUNT(newer); i++)
        if (!strcmp(n->op->name, newer[i]))
            return gopt_fail(e, GOPT_EUNSUP, "opset %d has no such operator", OPSET);
    if (gopt_attr_int(n->attrs, "coerce_2d", 0))
        return gopt_fail(e, GOPT_EUNSUP, "opset %d cannot say coerce_2d", OPSET);
    if (takes_axes(n->op->name))
        return axes_as_attribute(x, n, f, e);
    if (!strcmp(n->op->name, "Split"))
        f->attrs = gopt_attrs_without(&x->arena, f->attrs, "num_outputs");
    return x->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static char **names_of(exporter *x, gopt_value *const *values, int n)
{
    char **names = GOPT_NEW(&x->arena, char *, n);
    for (int i = 0; names && i < n; i++)
        names[i] = gopt_arena_str(&x->arena, values[i] ? values[i]->name : "");
    return names;
}

static gopt_status export_node(exporter *x, Onnx__NodeProto **out, const gopt_node *n, gopt_err *e)
{
    form f;
    Onnx__NodeProto *p = *out = GOPT_NEW(&x->arena, Onnx__NodeProto, 1);
    if (!p)
        return gopt_oom(e);
    GOPT_TRY(to_opset_17(x, n, &f, e));
    onnx__node_proto__init(p);
    p->name = gopt_arena_str(&x->arena, n->name);
    p->op_type = gopt_arena_str(&x->arena, n->op->name);
    p->domain = gopt_arena_str(&x->arena, n->op->domain);
    p->n_input = (size_t)f.n_in;
    p->input = names_of(x, n->in, f.n_in);
    p->n_output = (size_t)n->n_out;
    p->output = names_of(x, n->out, n->n_out);
    p->attribute = GOPT_NEW(&x->arena, Onnx__AttributeProto *, f.attrs.n);
    if (x->arena.failed)
        return gopt_oom(e);
    for (int i = 0; i < f.attrs.n; i++)
        GOPT_TRY(export_attr(x, &p->attribute[p->n_attribute++], &f.attrs.at[i], e));
    for (int k = 0; k < f.n_in; k++)
        GOPT_TRY(export_constant(x, n->in[k], e));
    return GOPT_OK;
}

static gopt_status export_nodes(exporter *x, gopt_err *e)
{
    x->graph->node = GOPT_NEW(&x->arena, Onnx__NodeProto *, x->g->n_nodes);
    if (!x->graph->node)
        return gopt_oom(e);
    for (int i = 0; i < x->g->n_nodes; i++) {
        const gopt_node *n = x->g->nodes[i];
        gopt_status s = n->dead ? GOPT_OK : export_node(x, &x->graph->node[x->graph->n_node], n, e);
        if (s)
            return gopt_within(e, s, "node %s (%s)", n->name, n->op->name);
        x->graph->n_node += !n->dead;
    }
    return GOPT_OK;
}

/* ---- the model ---- */

static gopt_status export_graph(exporter *x, gopt_err *e)
{
    Onnx__GraphProto *p = x->graph = GOPT_NEW(&x->arena, Onnx__GraphProto, 1);
    x->stored = GOPT_NEW(&x->arena, unsigned char, x->g->family->next_id);
    if (!p || !x->stored)
        return gopt_oom(e);
    onnx__graph_proto__init(p);
    p->name = gopt_arena_str(&x->arena, x->g->name);
    GOPT_TRY(export_values(x, &p->input, &p->n_input, x->g->inputs, x->g->n_inputs, e));
    GOPT_TRY(export_nodes(x, e));
    GOPT_TRY(export_values(x, &p->output, &p->n_output, x->g->outputs, x->g->n_outputs, e));
    for (int i = 0; i < x->g->n_outputs; i++)
        GOPT_TRY(export_constant(x, x->g->outputs[i], e));
    return GOPT_OK;
}

static gopt_status export(exporter *x, const char *path, gopt_err *e)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto onnx = ONNX__OPERATOR_SET_ID_PROTO__INIT, microsoft = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto *imports[] = {&onnx, &microsoft};
    GOPT_TRY(export_graph(x, e));
    onnx.domain = (char *)"";
    onnx.has_version = microsoft.has_version = true;
    onnx.version = OPSET;
    microsoft.domain = (char *)"com.microsoft";
    microsoft.version = 1;
    model.has_ir_version = true;
    model.ir_version = IR_VERSION;
    model.producer_name = (char *)"gopt";
    model.opset_import = imports;
    model.n_opset_import = 2;
    model.graph = x->graph;
    return gopt_onnx_write(&model.base, path, e);
}

gopt_status gopt_model_export(const gopt_graph *g, const char *path, gopt_err *e)
{
    exporter x = {.g = g};
    gopt_status s = export(&x, path, e);
    gopt_arena_fini(&x.arena);
    return s;
}
