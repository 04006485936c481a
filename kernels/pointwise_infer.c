/* pointwise_infer.c: what is known of a pointwise result before it is computed: type, shape, and for the small integer
 * tensors that shapes are made of also the elements, as symbolic dimensions. */
#include "op.h"

#include <limits.h>
#include <math.h>

#define EXACT (1 << 24) /* integers up to here are exact in float32 */

typedef struct range { /* proven bounds of a difference; INT64_MIN and INT64_MAX when there are none */
    int64_t lo, hi;
} range;

static range difference(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    int64_t lo = gopt_dim_lower(t, gopt_dim_sub(t, a, b)), minus_hi = gopt_dim_lower(t, gopt_dim_sub(t, b, a));
    return (range){.lo = lo, .hi = minus_hi == INT64_MIN ? INT64_MAX : -minus_hi};
}

/* 1 or 0 where one of the two claims is proven. */
static gopt_dim claim(bool yes, bool no)
{
    return yes ? gopt_dim_of(1) : no ? gopt_dim_of(0) : GOPT_DIM_UNKNOWN;
}

static gopt_dim compare(gopt_dims *t, gopt_expr_code code, gopt_dim a, gopt_dim b)
{
    range d = difference(t, a, b);
    bool equal = gopt_dim_equal(a, b), differ = d.lo > 0 || d.hi < 0;
    switch (code) {
    case GOPT_EXPR_LT:
        return claim(d.hi < 0, d.lo >= 0);
    case GOPT_EXPR_LE:
        return claim(d.hi <= 0, d.lo > 0);
    case GOPT_EXPR_GT:
        return claim(d.lo > 0, d.hi <= 0);
    case GOPT_EXPR_GE:
        return claim(d.lo >= 0, d.hi < 0);
    case GOPT_EXPR_EQ:
        return claim(equal, differ);
    default:
        return claim(differ, equal);
    }
}

static gopt_dim logic(gopt_expr_code code, gopt_dim a, gopt_dim b)
{
    bool a0 = gopt_dim_is_const(a) && !a.k, a1 = gopt_dim_is_const(a) && a.k;
    bool b0 = gopt_dim_is_const(b) && !b.k, b1 = gopt_dim_is_const(b) && b.k;
    switch (code) {
    case GOPT_EXPR_AND:
        return claim(a1 && b1, a0 || b0);
    case GOPT_EXPR_OR:
        return claim(a1 || b1, a0 && b0);
    case GOPT_EXPR_XOR:
        return claim((a0 && b1) || (a1 && b0), (a0 && b0) || (a1 && b1));
    default:
        return claim(a0, a1);
    }
}

/* A quotient truncates; floor division is the same only for what is known not to be negative. */
static gopt_dim quotient(gopt_dims *t, gopt_expr_class class, gopt_dim a, gopt_dim b)
{
    gopt_dim rest = gopt_dim_mod(t, a, b);
    bool whole = gopt_dim_is_const(rest) && rest.k == 0;
    bool floors = gopt_dim_lower(t, a) >= 0 && gopt_dim_lower(t, b) > 0;
    if (whole || (floors && class != GOPT_CLASS_FLOAT))
        return gopt_dim_div(t, a, b);
    if (class == GOPT_CLASS_FLOAT || !gopt_dim_is_const(a) || !gopt_dim_is_const(b) || b.k == 0)
        return GOPT_DIM_UNKNOWN;
    return gopt_dim_of(a.k / b.k); /* not INT64_MIN / -1, which is whole */
}

static gopt_dim rest(gopt_dims *t, gopt_expr_code code, gopt_dim a, gopt_dim b)
{
    bool same = gopt_dim_lower(t, a) >= 0 && gopt_dim_lower(t, b) > 0;
    return code == GOPT_EXPR_MOD || same ? gopt_dim_mod(t, a, b) : GOPT_DIM_UNKNOWN;
}

static gopt_dim magnitude(gopt_dims *t, gopt_dim a)
{
    range d = difference(t, a, gopt_dim_of(0));
    if (d.lo >= 0)
        return a;
    return d.hi <= 0 ? gopt_dim_sub(t, gopt_dim_of(0), a) : GOPT_DIM_UNKNOWN;
}

static gopt_dim extreme(gopt_dims *t, gopt_expr_code code, gopt_dim a, gopt_dim b)
{
    range d = difference(t, a, b);
    bool min = code == GOPT_EXPR_MIN;
    if (d.lo >= 0)
        return min ? b : a;
    if (d.hi <= 0)
        return min ? a : b;
    return min ? gopt_dim_min(t, a, b) : gopt_dim_max(t, a, b);
}

static gopt_dim choose(gopt_dim test, gopt_dim yes, gopt_dim no)
{
    if (gopt_dim_is_const(test))
        return test.k ? yes : no;
    return gopt_dim_equal(yes, no) ? yes : GOPT_DIM_UNKNOWN;
}

static gopt_dim constant(const gopt_instr *in)
{
    if (in->class != GOPT_CLASS_FLOAT)
        return gopt_dim_of(in->i);
    return fabs(in->f) <= EXACT && in->f == floor(in->f) ? gopt_dim_of((int64_t)in->f) : GOPT_DIM_UNKNOWN;
}

/* The value as the instruction's type holds it, as far as that is certain. */
static gopt_dim fitted(const gopt_instr *in, gopt_dim d)
{
    if (in->class == GOPT_CLASS_FLOAT) {
        bool wide = in->dtype == GOPT_DTYPE_F32 || in->dtype == GOPT_DTYPE_F64 || in->dtype == GOPT_DTYPE_NONE;
        bool exact = !gopt_dim_is_const(d) || (d.k >= -EXACT && d.k <= EXACT);
        return wide && exact ? d : GOPT_DIM_UNKNOWN;
    }
    if (gopt_dim_is_const(d) && in->dtype != GOPT_DTYPE_NONE)
        return gopt_dim_of(gopt_dtype_wrap(in->dtype, d.k));
    return d;
}

static gopt_dim arithmetic(gopt_dims *t, const gopt_instr *in, gopt_dim a, gopt_dim b)
{
    switch (in->code) {
    case GOPT_EXPR_ADD:
        return gopt_dim_add(t, a, b);
    case GOPT_EXPR_SUB:
        return gopt_dim_sub(t, a, b);
    case GOPT_EXPR_MUL:
        return gopt_dim_mul(t, a, b);
    case GOPT_EXPR_DIV:
        return quotient(t, in->class, a, b);
    case GOPT_EXPR_MOD:
    case GOPT_EXPR_FMOD:
        return rest(t, in->code, a, b);
    case GOPT_EXPR_MIN:
    case GOPT_EXPR_MAX:
        return extreme(t, in->code, a, b);
    case GOPT_EXPR_NEG:
        return gopt_dim_sub(t, gopt_dim_of(0), a);
    case GOPT_EXPR_ABS:
        return magnitude(t, a);
    case GOPT_EXPR_FLOOR:
    case GOPT_EXPR_CEIL:
    case GOPT_EXPR_ROUND:
        return a;
    case GOPT_EXPR_CAST:
        return in->class == GOPT_CLASS_BOOL ? compare(t, GOPT_EXPR_NE, a, gopt_dim_of(0)) : a;
    default:
        return GOPT_DIM_UNKNOWN;
    }
}

/* The value of one instruction from those of the earlier ones. */
static gopt_dim symbolic(gopt_dims *t, const gopt_instr *in, const gopt_dim *value)
{
    gopt_dim a = value[in->arg[0]], b = in->arg[1] < 0 ? a : value[in->arg[1]];
    switch (in->code) {
    case GOPT_EXPR_SELECT:
        return choose(a, b, value[in->arg[2]]);
    case GOPT_EXPR_NOT:
    case GOPT_EXPR_AND:
    case GOPT_EXPR_OR:
    case GOPT_EXPR_XOR:
        return logic(in->code, a, b);
    case GOPT_EXPR_LT:
    case GOPT_EXPR_LE:
    case GOPT_EXPR_GT:
    case GOPT_EXPR_GE:
    case GOPT_EXPR_EQ:
    case GOPT_EXPR_NE:
        return compare(t, in->code, a, b);
    default:
        return fitted(in, arithmetic(t, in, a, b));
    }
}

typedef struct source { /* the known elements of one operand */
    const gopt_dim *at;
    int64_t n; /* 1, or as many as the result */
} source;

static gopt_dim element(const gopt_tensor *t, int64_t i)
{
    if (gopt_dtype_class(t->dtype) != GOPT_CLASS_FLOAT)
        return gopt_dim_of(gopt_tensor_get_int(t, i));
    return constant(&(gopt_instr){.class = GOPT_CLASS_FLOAT, .f = gopt_tensor_get(t, i)});
}

/* False when nothing is known of the operand or it has another number of elements than n and 1. */
static bool source_init(source *s, const gopt_fact *f, int64_t n, gopt_arena *scratch)
{
    int64_t dim[GOPT_RANK_MAX];
    if (f->dtype == GOPT_DTYPE_NONE) {
        *s = (source){0};
        return true;
    }
    bool known = (f->content || f->constant) && gopt_fact_static(f, dim) && gopt_dims_count(dim, f->rank, &s->n);
    if (!known || (s->n != 1 && s->n != n))
        return false;
    gopt_dim *copy = f->content ? NULL : GOPT_NEW(scratch, gopt_dim, s->n);
    for (int64_t i = 0; copy && i < s->n; i++)
        copy[i] = element(f->constant, i);
    s->at = f->content ? f->content : copy;
    return s->at != NULL;
}

static gopt_dim evaluate(gopt_dims *t, const gopt_expr *x, const source *in, int64_t i)
{
    gopt_dim value[GOPT_EXPR_LIMIT];
    for (int k = 0; k <= x->result; k++) {
        const gopt_instr *at = &x->at[k];
        if (at->code == GOPT_EXPR_LOAD)
            value[k] = in[at->i].at[in[at->i].n == 1 ? 0 : i];
        else
            value[k] = at->code == GOPT_EXPR_CONST ? constant(at) : symbolic(t, at, value);
    }
    return value[x->result];
}

static void infer_content(gopt_infer *x, const gopt_expr *expr, gopt_arena *scratch)
{
    int64_t dim[GOPT_RANK_MAX], n;
    bool any = false;
    if (!gopt_fact_static(&x->out[0], dim) || !gopt_dims_count(dim, x->out[0].rank, &n) || n > GOPT_CONTENT_MAX)
        return;
    source *in = GOPT_NEW(scratch, source, x->n_in);
    for (int i = 0; i < x->n_in; i++)
        if (!in || !source_init(&in[i], &x->in[i], n, scratch))
            return;
    gopt_dim *content = GOPT_NEW(scratch, gopt_dim, n);
    for (int64_t i = 0; content && i < n; i++) {
        content[i] = evaluate(x->dims, expr, in, i);
        any |= gopt_dim_is_known(content[i]);
    }
    if (content && (any || n == 0))
        gopt_infer_content(x, 0, content, n);
}

static gopt_status infer_shape(gopt_infer *x, gopt_fact *out, gopt_err *e)
{
    bool first = true;
    for (int i = 0; i < x->n_in; i++) {
        if (!gopt_infer_has(x, i))
            continue;
        if (first)
            *out = x->in[i];
        else
            GOPT_TRY(gopt_infer_broadcast(x, out, &x->in[i], out, e));
        first = false;
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_arena *scratch, gopt_err *e)
{
    gopt_expr expr = gopt_expr_new(scratch);
    gopt_dtype *dtype = GOPT_NEW(scratch, gopt_dtype, x->n_in);
    gopt_fact shape = {.rank = -1};
    if (!dtype)
        return gopt_oom(e);
    for (int i = 0; i < x->n_in; i++)
        dtype[i] = x->in[i].dtype;
    GOPT_TRY(gopt_op_expr(&expr, x->op, x->attrs, dtype, x->n_in, e));
    GOPT_TRY(infer_shape(x, &shape, e));
    gopt_infer_set(x, 0, gopt_expr_dtype(&expr), shape.rank, shape.dim);
    infer_content(x, &expr, scratch);
    return GOPT_OK;
}

gopt_status gopt_pointwise_infer(gopt_infer *x, gopt_err *e)
{
    gopt_arena scratch = {0};
    int needed = x->op->in_max == INT_MAX ? x->n_in : x->op->in_min;
    for (int i = 0; i < needed; i++)
        if (!gopt_infer_has(x, i))
            return GOPT_OK; /* not known yet, and so is the result */
    gopt_status s = infer(x, &scratch, e);
    gopt_arena_fini(&scratch);
    return s;
}
