/* constant.c: Constant: the value of whichever attribute it has. */
#include "ref/move.h"

#include <string.h>

/* A float32 tensor of n doubles. */
static gopt_status make_floats(gopt_arena *a, int rank, int64_t n, const double *v, const gopt_tensor **out,
                               gopt_err *e)
{
    gopt_tensor *t = gopt_tensor_new(a, GOPT_DTYPE_F32, rank, &n);
    if (!t)
        return gopt_oom(e);
    gopt_dtype_store(GOPT_DTYPE_F32, t->data, 0, n, v);
    *out = t;
    return GOPT_OK;
}

/* A tensor that borrows n elements of the attribute. */
static gopt_status make(gopt_arena *a, gopt_dtype d, int rank, int64_t n, const void *v, const gopt_tensor **out,
                        gopt_err *e)
{
    const gopt_tensor t = {.dtype = d, .rank = rank, .dim = {n}, .data = (void *)v};
    *out = gopt_arena_copy(a, &t, 1, sizeof t);
    return *out ? GOPT_OK : gopt_oom(e);
}

static gopt_status read_attr(gopt_arena *a, const gopt_attr *v, const gopt_tensor **out, gopt_err *e)
{
    switch (v->kind) {
    case GOPT_ATTR_TENSOR:
        *out = v->tensor;
        return GOPT_OK;
    case GOPT_ATTR_FLOAT:
        return make_floats(a, 0, 1, &v->f, out, e);
    case GOPT_ATTR_FLOATS:
        return make_floats(a, 1, v->n, v->floats, out, e);
    case GOPT_ATTR_INT:
        return make(a, GOPT_DTYPE_I64, 0, 1, &v->i, out, e);
    case GOPT_ATTR_INTS:
        return make(a, GOPT_DTYPE_I64, 1, v->n, v->ints, out, e);
    case GOPT_ATTR_STRING:
        return make(a, GOPT_DTYPE_STRING, 0, 1, &v->s, out, e);
    case GOPT_ATTR_STRINGS:
        return make(a, GOPT_DTYPE_STRING, 1, v->n, v->strings, out, e);
    default:
        return gopt_fail(e, GOPT_EUNSUP, "attribute %s", v->name);
    }
}

/* The value, in the arena or borrowed from the attributes. */
static gopt_status read_value(gopt_attrs attrs, gopt_arena *a, const gopt_tensor **out, gopt_err *e)
{
    static const struct {
        const char *name;
        gopt_attr_kind kind;
    } forms[] = {{"value", GOPT_ATTR_TENSOR},         {"value_float", GOPT_ATTR_FLOAT},
                 {"value_floats", GOPT_ATTR_FLOATS},  {"value_int", GOPT_ATTR_INT},
                 {"value_ints", GOPT_ATTR_INTS},      {"value_string", GOPT_ATTR_STRING},
                 {"value_strings", GOPT_ATTR_STRINGS}};
    for (int i = 0; i < GOPT_COUNT(forms); i++) {
        const gopt_attr *v = gopt_attr_find(attrs, forms[i].name);
        if (v && v->kind == forms[i].kind)
            return read_attr(a, v, out, e);
    }
    if (gopt_attr_find(attrs, "sparse_value"))
        return gopt_fail(e, GOPT_EUNSUP, "attribute sparse_value");
    return gopt_fail(e, GOPT_EINPUT, "no attribute has its value");
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_tensor *value;
    GOPT_TRY(read_value(x->attrs, x->arena, &value, e));
    gopt_fact_of_tensor(&x->out[0], value, x->arena);
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *value;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(read_value(x->attrs, x->scratch, &value, e));
    gopt_move(x->out[0], 0, value, 0, gopt_tensor_count(value));
    return GOPT_OK;
}

const gopt_op gopt_op_Constant = {
    .name = "Constant",
    .domain = "",
    .in_min = 0,
    .in_max = 0,
    .out_min = 1,
    .out_max = 1,
    .infer = infer,
    .run = run,
};
