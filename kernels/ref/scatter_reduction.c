/* scatter_reduction.c: the reductions of the Scatter operators. They run over doubles or 64-bit integers and are
 * rounded once, at the end. */
#include "ref/scatter.h"

#include <string.h>

enum { DATA, INDICES, UPDATES };

static const struct {
    const char *name;
    gopt_expr_code number, boolean;
} rows[] = {
    {"add", GOPT_EXPR_ADD, GOPT_EXPR_OR},
    {"mul", GOPT_EXPR_MUL, GOPT_EXPR_AND},
    {"max", GOPT_EXPR_MAX, GOPT_EXPR_OR},
    {"min", GOPT_EXPR_MIN, GOPT_EXPR_AND},
};

static const char *reduction(gopt_attrs a)
{
    return gopt_attr_string(a, "reduction", "none");
}

/* LOAD when nothing is combined, COUNT for an unknown name. */
static gopt_expr_code code_of(gopt_attrs a, gopt_dtype d)
{
    if (!strcmp(reduction(a), "none"))
        return GOPT_EXPR_LOAD;
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        if (!strcmp(reduction(a), rows[i].name))
            return d == GOPT_DTYPE_BOOL ? rows[i].boolean : rows[i].number;
    return GOPT_EXPR_CODE_COUNT;
}

gopt_status gopt_scatter_infer(const gopt_infer *x, bool *combines, gopt_err *e)
{
    gopt_dtype d = gopt_move_infer_dtype(x, DATA);
    gopt_expr_code code = code_of(x->attrs, d);
    *combines = code != GOPT_EXPR_LOAD;
    GOPT_TRY(gopt_ref_same_type(x, DATA, UPDATES, e));
    if (code == GOPT_EXPR_CODE_COUNT || (*combines && d != GOPT_DTYPE_NONE && !gopt_move_is_number(d)))
        return gopt_fail(e, GOPT_EINPUT, "attribute reduction: \"%s\" of %s", reduction(x->attrs), gopt_dtype_name(d));
    return GOPT_OK;
}

static void load(const gopt_scatter *s, const gopt_tensor *t, int64_t first, int64_t n, gopt_scalar *v)
{
    if (s->class == GOPT_CLASS_FLOAT)
        gopt_dtype_load(t->dtype, t->data, first, n, &v->f);
    else
        gopt_dtype_load_int(t->dtype, t->data, first, n, &v->i);
}

gopt_status gopt_scatter_begin(gopt_scatter *s, gopt_exec *x, gopt_err *e)
{
    const gopt_tensor *data = x->in[DATA];
    int64_t n = gopt_tensor_count(data);
    gopt_expr_code code = code_of(x->attrs, data->dtype);
    *s = (gopt_scatter){.out = x->out[0], .updates = x->in[UPDATES], .combines = code != GOPT_EXPR_LOAD};
    if (!s->combines) {
        gopt_move(s->out, 0, data, 0, n);
        return GOPT_OK;
    }
    s->combine = gopt_expr_new(x->scratch);
    int a = gopt_expr_load(&s->combine, 0, data->dtype), b = gopt_expr_load(&s->combine, 1, data->dtype);
    s->sum = GOPT_NEW(x->scratch, gopt_scalar, n);
    if (gopt_expr_op2(&s->combine, code, a, b) < 0 || !s->sum)
        return gopt_oom(e);
    s->class = gopt_dtype_class(data->dtype);
    load(s, data, 0, n, s->sum);
    return GOPT_OK;
}

void gopt_scatter_put(gopt_scatter *s, int64_t to, int64_t from, int64_t n)
{
    gopt_scalar pair[2], tmp[GOPT_EXPR_LIMIT];
    if (!s->combines)
        gopt_move(s->out, to, s->updates, from, n);
    for (int64_t i = 0; s->combines && i < n; i++) {
        pair[0] = s->sum[to + i];
        load(s, s->updates, from + i, 1, &pair[1]);
        s->sum[to + i] = gopt_expr_eval(&s->combine, pair, (gopt_scalar){0}, tmp);
    }
}

void gopt_scatter_end(const gopt_scatter *s)
{
    int64_t n = gopt_tensor_count(s->out);
    if (s->combines && s->class == GOPT_CLASS_FLOAT)
        gopt_dtype_store(s->out->dtype, s->out->data, 0, n, &s->sum->f);
    else if (s->combines)
        gopt_dtype_store_int(s->out->dtype, s->out->data, 0, n, &s->sum->i);
}
