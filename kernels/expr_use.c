/* expr_use.c: what others ask of a finished expression, and expressions put together. */
#include "expr.h"

#include <math.h>
#include <string.h>

#define GOPT_X_EXPR(name, text, n) [GOPT_EXPR_##name] = {text, n},
static const struct {
    const char *text;
    int args;
} info[] = {GOPT_EXPR_CODES(GOPT_X_EXPR)};
#undef GOPT_X_EXPR

const char *gopt_expr_code_text(gopt_expr_code code)
{
    return info[code].text;
}

int gopt_expr_code_args(gopt_expr_code code)
{
    return info[code].args;
}

gopt_expr_class gopt_dtype_class(gopt_dtype d)
{
    if (d == GOPT_DTYPE_BOOL)
        return GOPT_CLASS_BOOL;
    if (gopt_dtype_is_signed(d))
        return GOPT_CLASS_INT;
    return gopt_dtype_is_int(d) ? GOPT_CLASS_UINT : GOPT_CLASS_FLOAT;
}

void gopt_expr_live(const gopt_expr *x, bool live[GOPT_EXPR_LIMIT])
{
    memset(live, 0, GOPT_EXPR_LIMIT * sizeof live[0]);
    if (x->result < 0)
        return;
    live[x->result] = true;
    for (int k = x->result; k >= 0; k--)
        for (int j = 0; live[k] && j < 3; j++)
            if (x->at[k].arg[j] >= 0)
                live[x->at[k].arg[j]] = true;
}

int gopt_expr_loads(const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    int64_t loads = 0;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++)
        if (live[k] && x->at[k].code == GOPT_EXPR_LOAD)
            loads = GOPT_MAX(loads, x->at[k].i + 1);
    return (int)loads;
}

static int code_cost(gopt_expr_code code)
{
    switch (code) {
    case GOPT_EXPR_LOAD:
    case GOPT_EXPR_ACC:
    case GOPT_EXPR_CONST:
        return 0;
    case GOPT_EXPR_DIV:
    case GOPT_EXPR_SQRT:
    case GOPT_EXPR_RECIPROCAL:
        return 5;
    case GOPT_EXPR_MOD:
    case GOPT_EXPR_FMOD:
    case GOPT_EXPR_POW:
        return 20;
    default:
        break;
    }
    bool function =
        (code >= GOPT_EXPR_EXP && code <= GOPT_EXPR_ATANH) || code == GOPT_EXPR_LOG1P || code == GOPT_EXPR_EXPM1;
    return function ? 10 : 1;
}

int gopt_expr_cost(const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    int cost = 0;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++)
        cost += live[k] ? code_cost(x->at[k].code) : 0;
    return cost;
}

/* Its values are among those of its operands, or have the other sign. */
static bool picks(gopt_expr_code code)
{
    return code == GOPT_EXPR_NEG || code == GOPT_EXPR_ABS || code == GOPT_EXPR_MIN || code == GOPT_EXPR_MAX ||
           code == GOPT_EXPR_SELECT;
}

static bool is_rounded(const gopt_instr *in, gopt_dtype d, const bool *rounded)
{
    if (in->code == GOPT_EXPR_CONST)
        return in->class != GOPT_CLASS_FLOAT || gopt_dtype_round(d, in->f) == in->f || isnan(in->f);
    if (in->class == GOPT_CLASS_FLOAT && in->dtype != d)
        return false;
    if (in->code == GOPT_EXPR_LOAD || in->code == GOPT_EXPR_CAST || in->class != GOPT_CLASS_FLOAT)
        return true;
    for (int j = 0; j < 3; j++)
        if (in->arg[j] >= 0 && !rounded[in->arg[j]])
            return false;
    return picks(in->code);
}

bool gopt_expr_is_rounded(const gopt_expr *x, int k)
{
    bool rounded[GOPT_EXPR_LIMIT];
    gopt_dtype d = x->at[k].dtype;
    for (int i = 0; i <= k && gopt_dtype_is_half(d); i++)
        rounded[i] = is_rounded(&x->at[i], d, rounded);
    return !gopt_dtype_is_half(d) || rounded[k];
}

static bool is_short(gopt_dtype d)
{
    return d == GOPT_DTYPE_F32 || gopt_dtype_is_half(d);
}

static bool float_instr(const gopt_expr *x, const gopt_instr *in)
{
    if (in->code == GOPT_EXPR_CAST && x->at[in->arg[0]].class != GOPT_CLASS_FLOAT)
        return false;
    if (in->class == GOPT_CLASS_BOOL)
        return in->code != GOPT_EXPR_CAST;
    return in->class == GOPT_CLASS_FLOAT && (is_short(in->dtype) || in->dtype == GOPT_DTYPE_NONE);
}

bool gopt_expr_is_float(const gopt_expr *x)
{
    bool live[GOPT_EXPR_LIMIT];
    if (x->failed || x->result < 0 || !is_short(gopt_expr_dtype(x)))
        return false;
    gopt_expr_live(x, live);
    for (int k = 0; k < x->n; k++)
        if (live[k] && !float_instr(x, &x->at[k]))
            return false;
    return true;
}

gopt_dtype gopt_expr_dtype(const gopt_expr *x)
{
    static const gopt_dtype untyped[] = {
        [GOPT_CLASS_FLOAT] = GOPT_DTYPE_F32,
        [GOPT_CLASS_INT] = GOPT_DTYPE_I64,
        [GOPT_CLASS_UINT] = GOPT_DTYPE_U64,
        [GOPT_CLASS_BOOL] = GOPT_DTYPE_BOOL,
    };
    if (x->result < 0)
        return GOPT_DTYPE_NONE;
    const gopt_instr *in = &x->at[x->result];
    return in->dtype == GOPT_DTYPE_NONE ? untyped[in->class] : in->dtype;
}

/* Expressions share equal instructions, so two are equal when a one-to-one map leads from result to result. */
static bool match(const gopt_expr *a, int ka, const gopt_expr *b, int kb, int *map)
{
    if (map[ka] >= 0)
        return map[ka] == kb;
    const gopt_instr *p = &a->at[ka], *q = &b->at[kb];
    if (p->code != q->code || p->class != q->class || p->dtype != q->dtype || p->i != q->i ||
        memcmp(&p->f, &q->f, sizeof p->f))
        return false;
    for (int j = 0; j < 3; j++)
        if (p->arg[j] >= 0 && !match(a, p->arg[j], b, q->arg[j], map))
            return false;
    map[ka] = kb;
    return true;
}

bool gopt_expr_equal(const gopt_expr *a, const gopt_expr *b)
{
    int map[GOPT_EXPR_LIMIT];
    if (a->result < 0 || b->result < 0)
        return a->result == b->result;
    memset(map, -1, sizeof map);
    return match(a, a->result, b, b->result, map);
}

static int rebuild(gopt_expr *x, const gopt_instr *in, const int *map)
{
    int a = in->arg[0] >= 0 ? map[in->arg[0]] : -1, b = in->arg[1] >= 0 ? map[in->arg[1]] : -1;
    if (in->code == GOPT_EXPR_CAST)
        return gopt_expr_cast(x, a, in->dtype);
    switch (gopt_expr_code_args(in->code)) {
    case 1:
        return gopt_expr_op1(x, in->code, a);
    case 2:
        return gopt_expr_op2(x, in->code, a, b);
    default:
        return gopt_expr_op3(x, in->code, a, b, map[in->arg[2]]);
    }
}

static int rebuild_constant(gopt_expr *x, const gopt_instr *in)
{
    int k = in->class == GOPT_CLASS_FLOAT ? gopt_expr_float(x, in->f) : gopt_expr_int(x, in->class, in->i);
    return in->dtype == GOPT_DTYPE_NONE ? k : gopt_expr_cast(x, k, in->dtype);
}

int gopt_expr_splice(gopt_expr *x, const gopt_expr *src, const int *load, int loads, int acc)
{
    int map[GOPT_EXPR_LIMIT];
    bool live[GOPT_EXPR_LIMIT];
    if (src->failed || src->result < 0) {
        x->failed |= src->failed;
        return -1;
    }
    gopt_expr_live(src, live);
    for (int k = 0; k <= src->result; k++) {
        const gopt_instr *in = &src->at[k];
        if (!live[k])
            continue;
        if (in->code == GOPT_EXPR_LOAD)
            map[k] = in->i < loads ? load[in->i] : -1;
        else if (in->code == GOPT_EXPR_ACC)
            map[k] = acc;
        else if (in->code == GOPT_EXPR_CONST)
            map[k] = rebuild_constant(x, in);
        else
            map[k] = rebuild(x, in, map);
        if (map[k] < 0)
            return -1;
    }
    return x->failed ? -1 : (x->result = map[src->result]);
}

gopt_expr gopt_expr_copy(gopt_arena *a, const gopt_expr *src)
{
    gopt_expr x = *src;
    x.arena = a;
    x.cap = (size_t)src->n;
    x.at = src->n ? gopt_arena_copy(a, src->at, (size_t)src->n, sizeof *src->at) : NULL;
    if (src->n && !x.at)
        x = (gopt_expr){.arena = a, .result = -1, .failed = true};
    return x;
}
