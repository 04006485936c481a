/* types.c: declared types and shapes. */
#include <string.h>

#include "onnx/importer.h"

static gopt_status find_tensor(const Onnx__TypeProto *t, const Onnx__TypeProto__Tensor **out, gopt_err *e)
{
    static const char *const names[] = {
        [ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE] = "sequence",
        [ONNX__TYPE_PROTO__VALUE_MAP_TYPE] = "map",
        [ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE] = "optional",
        [ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE] = "sparse tensor",
    };
    if (!t || t->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET)
        return gopt_fail(e, GOPT_EINPUT, "its type is not given");
    if (t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return gopt_fail(e, GOPT_EUNSUP, "the type %s is not supported",
                         (int)t->value_case < GOPT_COUNT(names) && names[t->value_case] ? names[t->value_case]
                                                                                        : "it has");
    *out = t->tensor_type;
    return GOPT_OK;
}

static gopt_status read_dtype(int type, gopt_dtype *out, gopt_err *e)
{
    *out = (gopt_dtype)type;
    if (type <= GOPT_DTYPE_NONE || type >= GOPT_DTYPE_COUNT)
        return gopt_fail(e, GOPT_EINPUT, "unknown element type %d", type);
    return type == GOPT_DTYPE_STRING ? gopt_fail(e, GOPT_EUNSUP, "tensors of strings are not supported") : GOPT_OK;
}

/* The dimension as the file gives it; unknown when it gives neither number nor name. dims may be NULL: no names. */
static gopt_dim read_dim(gopt_dims *dims, const Onnx__TensorShapeProto__Dimension *d)
{
    gopt_dim dim = GOPT_DIM_UNKNOWN;
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        dim = gopt_dim_of(d->dim_value);
    else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dims && *d->dim_param &&
             strcmp(d->dim_param, "?") != 0)
        dim = gopt_dim_parse(dims, d->dim_param);
    return gopt_dim_is_const(dim) && dim.k < 0 ? GOPT_DIM_UNKNOWN : dim; /* some exporters write -1 */
}

static gopt_status read_fact(gopt_dims *dims, const Onnx__ValueInfoProto *v, gopt_fact *out, gopt_err *e)
{
    const Onnx__TypeProto__Tensor *t = NULL;
    *out = (gopt_fact){.rank = -1};
    GOPT_TRY(find_tensor(v->type, &t, e));
    GOPT_TRY(read_dtype(t->elem_type, &out->dtype, e));
    if (!t->shape)
        return GOPT_OK;
    if (t->shape->n_dim > GOPT_RANK_MAX)
        return gopt_fail(e, GOPT_EUNSUP, "%zu dimensions, at most %d are supported", t->shape->n_dim, GOPT_RANK_MAX);
    out->rank = (int)t->shape->n_dim;
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = read_dim(dims, t->shape->dim[i]);
    return GOPT_OK;
}

void gopt_onnx_symbols(gopt_onnx_importer *x)
{
    const Onnx__GraphProto *g = x->model->graph;
    for (size_t i = 0; i < g->n_input; i++) {
        const Onnx__TypeProto *t = g->input[i]->type;
        if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape)
            continue;
        for (size_t k = 0; k < t->tensor_type->shape->n_dim; k++) {
            const Onnx__TensorShapeProto__Dimension *d = t->tensor_type->shape->dim[k];
            if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
                gopt_name_map_add(&x->symbols, d->dim_param, x);
        }
    }
}

gopt_status gopt_onnx_input_fact(gopt_onnx_importer *x, const Onnx__ValueInfoProto *v, gopt_fact *out, gopt_err *e)
{
    GOPT_TRY(read_fact(x->family->dims, v, out, e));
    for (int i = 0; i < out->rank; i++) {
        x->dynamic = x->dynamic || !gopt_dim_is_const(out->dim[i]);
        if (gopt_dim_is_known(out->dim[i]))
            continue;
        const char *name = gopt_arena_printf(&x->scratch, "%s_d%d", v->name, i);
        while (name && gopt_name_map_find(&x->symbols, name))
            name = gopt_arena_printf(&x->scratch, "%s_", name);
        if (!name)
            return gopt_oom(e);
        out->dim[i] = gopt_dim_symbol(x->family->dims, name);
    }
    return x->family->arena.failed || x->symbols.failed ? gopt_oom(e) : GOPT_OK;
}

gopt_status gopt_onnx_body_fact(const Onnx__ValueInfoProto *v, gopt_fact *out, gopt_err *e)
{
    *out = (gopt_fact){.rank = -1};
    return v->type && v->type->value_case ? read_fact(NULL, v, out, e) : GOPT_OK;
}

gopt_fact gopt_onnx_hint(const gopt_onnx_importer *x, const Onnx__ValueInfoProto *v)
{
    gopt_fact f;
    if (read_fact(NULL, v, &f, NULL))
        return (gopt_fact){.rank = -1};
    for (int i = 0; i < f.rank && x->dynamic; i++)
        f.dim[i] = GOPT_DIM_UNKNOWN;
    return f;
}
