/* expr_eval.c: the reference evaluation, instruction by instruction over a tile of elements. */
#include "expr_tile.h"

gopt_scalar gopt_scalar_cast(gopt_scalar v, gopt_expr_class from, gopt_dtype d)
{
    gopt_expr_class to = gopt_dtype_class(d);
    if (to != GOPT_CLASS_FLOAT && from == GOPT_CLASS_FLOAT)
        return (gopt_scalar){.i = gopt_dtype_trunc(d, v.f)};
    if (to != GOPT_CLASS_FLOAT)
        return (gopt_scalar){.i = gopt_dtype_wrap(d, v.i)};
    if (from == GOPT_CLASS_FLOAT)
        return (gopt_scalar){.f = gopt_dtype_round(d, v.f)};
    if (d == GOPT_DTYPE_F32) /* straight from the integer, to round once */
        return (gopt_scalar){.f = from == GOPT_CLASS_INT ? (float)v.i : (float)v.u};
    return (gopt_scalar){.f = gopt_dtype_round(d, from == GOPT_CLASS_INT ? (double)v.i : (double)v.u)};
}

static void fill(const gopt_instr *in, gopt_scalar *d, int n)
{
    gopt_scalar v = {.i = in->i};
    if (in->class == GOPT_CLASS_FLOAT)
        v.f = in->f;
    for (int i = 0; i < n; i++)
        d[i] = v;
}

static void cast(const gopt_expr_tile *t, gopt_dtype d)
{
    for (int i = 0; i < t->n; i++)
        t->d[i] = gopt_scalar_cast(t->a[i], t->class, d);
}

static void choose(const gopt_expr_tile *t)
{
    for (int i = 0; i < t->n; i++)
        t->d[i] = t->a[i].u ? t->b[i] : t->c[i];
}

static void compute(const gopt_expr_tile *t, const gopt_instr *in)
{
    if (in->code == GOPT_EXPR_SELECT)
        choose(t);
    else if (in->code == GOPT_EXPR_CAST)
        cast(t, in->dtype);
    else if (t->class == GOPT_CLASS_FLOAT)
        gopt_expr_tile_float(t);
    else
        gopt_expr_tile_int(t);
    int bits = gopt_dtype_bits(in->dtype);
    if ((in->class == GOPT_CLASS_INT || in->class == GOPT_CLASS_UINT) && bits > 0 && bits < 64)
        for (int i = 0; i < t->n; i++)
            t->d[i].i = gopt_dtype_wrap(in->dtype, t->d[i].i);
}

const gopt_scalar *gopt_expr_eval_tile(const gopt_expr *x, const gopt_scalar *load, const gopt_scalar *acc,
                                       gopt_scalar *tmp, int n)
{
    const gopt_scalar *value[GOPT_EXPR_LIMIT];
    bool live[GOPT_EXPR_LIMIT];
    gopt_expr_live(x, live);
    for (int k = 0; k <= x->result; k++) {
        const gopt_instr *in = &x->at[k];
        gopt_scalar *d = tmp + (size_t)k * (size_t)n;
        value[k] = in->code == GOPT_EXPR_LOAD ? load + (size_t)in->i * (size_t)n : in->code == GOPT_EXPR_ACC ? acc : d;
        if (!live[k] || value[k] != d)
            continue;
        if (in->code == GOPT_EXPR_CONST) {
            fill(in, d, n);
            continue;
        }
        gopt_expr_tile t = {.code = in->code, .class = x->at[in->arg[0]].class, .d = d, .n = n};
        t.a = value[in->arg[0]];
        t.b = in->arg[1] < 0 ? NULL : value[in->arg[1]];
        t.c = in->arg[2] < 0 ? NULL : value[in->arg[2]];
        compute(&t, in);
    }
    return value[x->result];
}

gopt_scalar gopt_expr_eval(const gopt_expr *x, const gopt_scalar *load, gopt_scalar acc, gopt_scalar *tmp)
{
    return *gopt_expr_eval_tile(x, load, &acc, tmp, 1);
}

gopt_scalar gopt_scalar_load(const gopt_tensor *t, int64_t i)
{
    if (gopt_dtype_class(t->dtype) == GOPT_CLASS_FLOAT)
        return (gopt_scalar){.f = gopt_tensor_get(t, i)};
    return (gopt_scalar){.i = gopt_tensor_get_int(t, i)};
}

void gopt_scalar_store(gopt_tensor *t, int64_t i, gopt_expr_class class, gopt_scalar v)
{
    gopt_scalar w = gopt_scalar_cast(v, class, t->dtype);
    if (gopt_dtype_class(t->dtype) == GOPT_CLASS_FLOAT)
        gopt_tensor_set(t, i, w.f);
    else
        gopt_tensor_set_int(t, i, w.i);
}
