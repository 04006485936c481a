/* attributes.c: AttributeProto to attributes of nodes, and the values of Constant nodes. */
#include "onnx/attributes.h"

#include <string.h>

#include "onnx/importer.h"

typedef Onnx__AttributeProto__AttributeType attribute_type;

#define ATTRIBUTE(type) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##type

const Onnx__AttributeProto *gopt_onnx_attribute(const gopt_onnx_frame *f, const Onnx__AttributeProto *a)
{
    if (!a->ref_attr_name || !*a->ref_attr_name)
        return a;
    for (int i = 0; i < f->n_attr; i++)
        if (!strcmp(f->attr[i]->name, a->ref_attr_name))
            return f->attr[i];
    return NULL;
}

/* Files of the first versions do not say which of the fields is meant. */
attribute_type gopt_onnx_attribute_type(const Onnx__AttributeProto *a)
{
    if (a->has_type && a->type != ATTRIBUTE(UNDEFINED))
        return a->type;
    const struct {
        bool given;
        attribute_type type;
    } forms[] = {
        {a->has_f, ATTRIBUTE(FLOAT)},
        {a->has_i, ATTRIBUTE(INT)},
        {a->has_s, ATTRIBUTE(STRING)},
        {a->t, ATTRIBUTE(TENSOR)},
        {a->g, ATTRIBUTE(GRAPH)},
        {a->n_floats, ATTRIBUTE(FLOATS)},
        {a->n_ints, ATTRIBUTE(INTS)},
        {a->n_strings, ATTRIBUTE(STRINGS)},
        {a->n_graphs, ATTRIBUTE(GRAPHS)},
        {a->n_tensors, ATTRIBUTE(TENSORS)},
        {a->sparse_tensor, ATTRIBUTE(SPARSE_TENSOR)},
    };
    for (int i = 0; i < GOPT_COUNT(forms); i++)
        if (forms[i].given)
            return forms[i].type;
    return ATTRIBUTE(UNDEFINED);
}

static gopt_status copy_string(const ProtobufCBinaryData *s, gopt_arena *a, const char **out, gopt_err *e)
{
    if (s->len && memchr(s->data, 0, s->len))
        return gopt_fail(e, GOPT_EUNSUP, "a string that holds a NUL byte");
    *out = gopt_arena_strn(a, (const char *)s->data, s->len);
    return *out ? GOPT_OK : gopt_oom(e);
}

static gopt_status copy_strings(gopt_attr *to, const Onnx__AttributeProto *p, gopt_arena *a, gopt_err *e)
{
    const char **strings = GOPT_NEW(a, const char *, p->n_strings);
    if (!strings)
        return gopt_oom(e);
    for (size_t i = 0; i < p->n_strings; i++)
        GOPT_TRY(copy_string(&p->strings[i], a, &strings[i], e));
    to->kind = GOPT_ATTR_STRINGS;
    to->n = (int64_t)p->n_strings;
    to->strings = strings;
    return GOPT_OK;
}

static gopt_status copy_floats(gopt_attr *to, const Onnx__AttributeProto *p, gopt_arena *a, gopt_err *e)
{
    double *floats = GOPT_NEW(a, double, p->n_floats);
    if (!floats)
        return gopt_oom(e);
    for (size_t i = 0; i < p->n_floats; i++)
        floats[i] = (double)p->floats[i];
    to->kind = GOPT_ATTR_FLOATS;
    to->n = (int64_t)p->n_floats;
    to->floats = floats;
    return GOPT_OK;
}

static gopt_status copy_ints(gopt_attr *to, const Onnx__AttributeProto *p, gopt_arena *a, gopt_err *e)
{
    to->kind = GOPT_ATTR_INTS;
    to->n = (int64_t)p->n_ints;
    to->ints = gopt_arena_copy(a, p->ints, p->n_ints, sizeof *p->ints);
    return to->ints ? GOPT_OK : gopt_oom(e);
}

static gopt_status copy_value(gopt_onnx_importer *x, gopt_attr *to, const Onnx__AttributeProto *p, gopt_err *e)
{
    gopt_arena *a = &x->family->arena;
    switch (gopt_onnx_attribute_type(p)) {
    case ATTRIBUTE(FLOAT):
        to->kind = GOPT_ATTR_FLOAT;
        to->f = (double)p->f;
        return GOPT_OK;
    case ATTRIBUTE(INT):
        to->kind = GOPT_ATTR_INT;
        to->i = p->i;
        return GOPT_OK;
    case ATTRIBUTE(STRING):
        to->kind = GOPT_ATTR_STRING;
        return copy_string(&p->s, a, &to->s, e);
    case ATTRIBUTE(TENSOR):
        to->kind = GOPT_ATTR_TENSOR;
        return p->t ? gopt_onnx_tensor(&to->tensor, p->t, &x->source, e)
                    : gopt_fail(e, GOPT_EINPUT, "the tensor is missing");
    case ATTRIBUTE(FLOATS):
        return copy_floats(to, p, a, e);
    case ATTRIBUTE(INTS):
        return copy_ints(to, p, a, e);
    case ATTRIBUTE(STRINGS):
        return copy_strings(to, p, a, e);
    case ATTRIBUTE(UNDEFINED):
        return gopt_fail(e, GOPT_EINPUT, "it has no value");
    default:
        return gopt_fail(e, GOPT_EUNSUP, "values of its type are not supported");
    }
}

static gopt_status check(const gopt_attr *made, int n, const gopt_attr *one, bool standard, gopt_err *e)
{
    gopt_attr_kind want = GOPT_ATTR_NONE;
    for (int i = 0; i < n; i++)
        if (!strcmp(made[i].name, one->name))
            return gopt_fail(e, GOPT_EINPUT, "it is given twice");
    if (standard && !gopt_onnx_attribute_fits(one->name, one->kind, &want))
        return gopt_fail(e, GOPT_EINPUT, "%s, but %s is expected", gopt_onnx_kind_name(one->kind),
                         gopt_onnx_kind_name(want));
    return GOPT_OK;
}

static bool is_graph(const Onnx__AttributeProto *a)
{
    attribute_type t = gopt_onnx_attribute_type(a);
    return t == ATTRIBUTE(GRAPH) || t == ATTRIBUTE(GRAPHS);
}

gopt_status gopt_onnx_attributes(gopt_onnx_importer *x, const gopt_onnx_frame *f, const Onnx__NodeProto *n,
                                 gopt_attrs *out, gopt_err *e)
{
    bool standard = !*gopt_onnx_domain(n->domain);
    gopt_attr *at = GOPT_NEW(&x->family->arena, gopt_attr, n->n_attribute);
    int count = 0;
    if (!at)
        return gopt_oom(e);
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = gopt_onnx_attribute(f, n->attribute[i]);
        if (!a || is_graph(a))
            continue;
        gopt_attr one = {.name = gopt_arena_str(&x->family->arena, n->attribute[i]->name ? n->attribute[i]->name : "")};
        gopt_status s = one.name ? copy_value(x, &one, a, e) : gopt_oom(e);
        if (!s)
            s = check(at, count, &one, standard, e);
        if (s)
            return gopt_within(e, s, "attribute %.60s", n->attribute[i]->name ? n->attribute[i]->name : "");
        at[count++] = one;
    }
    *out = (gopt_attrs){.at = at, .n = count};
    return GOPT_OK;
}

/* ---- Constant ---- */

static gopt_status constant_of_numbers(gopt_onnx_importer *x, const gopt_attr *a, const gopt_tensor **out, gopt_err *e)
{
    bool list = a->kind == GOPT_ATTR_INTS || a->kind == GOPT_ATTR_FLOATS;
    gopt_dtype d = a->kind == GOPT_ATTR_INT || a->kind == GOPT_ATTR_INTS ? GOPT_DTYPE_I64 : GOPT_DTYPE_F32;
    gopt_tensor *t = gopt_tensor_new(&x->family->arena, d, list, &a->n);
    if (!t)
        return gopt_oom(e);
    if (a->kind == GOPT_ATTR_INT)
        gopt_tensor_set_int(t, 0, a->i);
    if (a->kind == GOPT_ATTR_FLOAT)
        gopt_tensor_set(t, 0, a->f);
    for (int64_t i = 0; i < a->n && a->kind == GOPT_ATTR_INTS; i++)
        gopt_tensor_set_int(t, i, a->ints[i]);
    for (int64_t i = 0; i < a->n && a->kind == GOPT_ATTR_FLOATS; i++)
        gopt_tensor_set(t, i, a->floats[i]);
    *out = t;
    return GOPT_OK;
}

static gopt_status constant_of_sparse(gopt_onnx_importer *x, const gopt_onnx_frame *f, const Onnx__NodeProto *n,
                                      const gopt_tensor **out, gopt_err *e)
{
    const Onnx__AttributeProto *a = n->n_attribute == 1 ? gopt_onnx_attribute(f, n->attribute[0]) : NULL;
    *out = NULL;
    if (!a || !a->sparse_tensor || gopt_onnx_attribute_type(a) != ATTRIBUTE(SPARSE_TENSOR))
        return GOPT_OK;
    gopt_status s = gopt_onnx_sparse_tensor(out, a->sparse_tensor, &x->source, e);
    return s ? gopt_within(e, s, "attribute %.60s", n->attribute[0]->name ? n->attribute[0]->name : "") : GOPT_OK;
}

gopt_status gopt_onnx_constant(gopt_onnx_importer *x, const gopt_onnx_frame *f, const Onnx__NodeProto *n,
                               const gopt_tensor **out, gopt_err *e)
{
    gopt_attrs attrs;
    GOPT_TRY(constant_of_sparse(x, f, n, out, e));
    if (*out)
        return GOPT_OK;
    GOPT_TRY(gopt_onnx_attributes(x, f, n, &attrs, e));
    if (attrs.n != 1)
        return gopt_fail(e, GOPT_EINPUT, "%d attributes, one is expected: its value", attrs.n);
    const gopt_attr *a = &attrs.at[0];
    if (a->kind == GOPT_ATTR_STRING || a->kind == GOPT_ATTR_STRINGS)
        return gopt_fail(e, GOPT_EUNSUP, "tensors of strings are not supported");
    if (a->kind != GOPT_ATTR_TENSOR)
        return constant_of_numbers(x, a, out, e);
    *out = a->tensor;
    return GOPT_OK;
}
