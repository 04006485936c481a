/* expr.c: building expressions. Every instruction enters through `finish`, which folds constants and shares equals;
 * what is never exact for some operand (x*0, x+0.0) stays. */
#include "expr.h"

#include <math.h>
#include <string.h>

typedef enum domain {           /* what a code computes with */
                      NUMERIC,  /* any numbers, result of the operands' type */
                      FLOATING, /* floats only */
                      BITS,     /* integers only */
                      LOGIC,    /* bools only */
                      COMPARE,  /* anything, result bool */
} domain;

static const unsigned char domain_of[GOPT_EXPR_CODE_COUNT] = {
    [GOPT_EXPR_EXP] = FLOATING,   [GOPT_EXPR_LOG] = FLOATING,   [GOPT_EXPR_SQRT] = FLOATING,
    [GOPT_EXPR_TANH] = FLOATING,  [GOPT_EXPR_ERF] = FLOATING,   [GOPT_EXPR_RECIPROCAL] = FLOATING,
    [GOPT_EXPR_SIN] = FLOATING,   [GOPT_EXPR_COS] = FLOATING,   [GOPT_EXPR_SIGMOID] = FLOATING,
    [GOPT_EXPR_TAN] = FLOATING,   [GOPT_EXPR_ASIN] = FLOATING,  [GOPT_EXPR_ACOS] = FLOATING,
    [GOPT_EXPR_ATAN] = FLOATING,  [GOPT_EXPR_SINH] = FLOATING,  [GOPT_EXPR_COSH] = FLOATING,
    [GOPT_EXPR_ASINH] = FLOATING, [GOPT_EXPR_ACOSH] = FLOATING, [GOPT_EXPR_ATANH] = FLOATING,
    [GOPT_EXPR_LOG1P] = FLOATING, [GOPT_EXPR_EXPM1] = FLOATING, [GOPT_EXPR_ISNAN] = COMPARE,
    [GOPT_EXPR_ISINF] = COMPARE,  [GOPT_EXPR_NOT] = LOGIC,      [GOPT_EXPR_AND] = LOGIC,
    [GOPT_EXPR_OR] = LOGIC,       [GOPT_EXPR_XOR] = LOGIC,      [GOPT_EXPR_BITNOT] = BITS,
    [GOPT_EXPR_BITAND] = BITS,    [GOPT_EXPR_BITOR] = BITS,     [GOPT_EXPR_BITXOR] = BITS,
    [GOPT_EXPR_SHL] = BITS,       [GOPT_EXPR_SHR] = BITS,       [GOPT_EXPR_LT] = COMPARE,
    [GOPT_EXPR_LE] = COMPARE,     [GOPT_EXPR_GT] = COMPARE,     [GOPT_EXPR_GE] = COMPARE,
    [GOPT_EXPR_EQ] = COMPARE,     [GOPT_EXPR_NE] = COMPARE,
};

gopt_expr gopt_expr_new(gopt_arena *a)
{
    return (gopt_expr){.arena = a, .result = -1};
}

static int fail(gopt_expr *x)
{
    x->failed = true;
    return -1;
}

static int done(gopt_expr *x, int k)
{
    return x->result = k;
}

static bool same_instr(const gopt_instr *a, const gopt_instr *b)
{
    return a->code == b->code && a->class == b->class && a->dtype == b->dtype && a->i == b->i &&
           !memcmp(a->arg, b->arg, sizeof a->arg) && !memcmp(&a->f, &b->f, sizeof a->f);
}

static int append(gopt_expr *x, gopt_instr in)
{
    if (x->failed)
        return -1;
    for (int k = 0; k < x->n; k++)
        if (same_instr(&x->at[k], &in))
            return done(x, k);
    if (x->n == GOPT_EXPR_LIMIT)
        return fail(x);
    gopt_instr *at = gopt_arena_grow(x->arena, x->at, (size_t)x->n, &x->cap, (size_t)x->n + 1, sizeof *at);
    if (!at)
        return fail(x);
    x->at = at;
    at[x->n] = in;
    return done(x, x->n++);
}

static gopt_instr leaf(gopt_expr_code code, gopt_expr_class class, gopt_dtype d)
{
    return (gopt_instr){.code = code, .class = class, .dtype = d, .arg = {-1, -1, -1}};
}

int gopt_expr_load(gopt_expr *x, int operand, gopt_dtype d)
{
    if (operand < 0)
        return -1;
    gopt_instr in = leaf(GOPT_EXPR_LOAD, gopt_dtype_class(d), d);
    in.i = operand;
    return append(x, in);
}

int gopt_expr_acc(gopt_expr *x, gopt_dtype d)
{
    return append(x, leaf(GOPT_EXPR_ACC, gopt_dtype_class(d), d));
}

static int constant(gopt_expr *x, gopt_expr_class class, gopt_dtype d, gopt_scalar v)
{
    gopt_instr in = leaf(GOPT_EXPR_CONST, class, class == GOPT_CLASS_BOOL ? GOPT_DTYPE_NONE : d);
    if (class == GOPT_CLASS_FLOAT)
        in.f = isnan(v.f) ? (double)NAN : v.f; /* one NaN, so that equal constants are shared */
    else
        in.i = class == GOPT_CLASS_BOOL ? v.i != 0 : v.i;
    return append(x, in);
}

int gopt_expr_float(gopt_expr *x, double v)
{
    return constant(x, GOPT_CLASS_FLOAT, GOPT_DTYPE_NONE, (gopt_scalar){.f = v});
}

int gopt_expr_int(gopt_expr *x, gopt_expr_class class, int64_t v)
{
    if (class == GOPT_CLASS_FLOAT)
        return gopt_expr_float(x, (double)v);
    return constant(x, class, GOPT_DTYPE_NONE, (gopt_scalar){.i = v});
}

/* Appends an instruction, or the constant that it computes. */
static int finish(gopt_expr *x, gopt_instr in)
{
    gopt_instr at[4];
    gopt_scalar tmp[4];
    int n = 0;
    for (int k = 0; k < 3 && in.arg[k] >= 0; k++) {
        if (x->at[in.arg[k]].code != GOPT_EXPR_CONST)
            return append(x, in);
        at[n++] = x->at[in.arg[k]];
    }
    at[n] = in;
    for (int k = 0; k < n; k++)
        at[n].arg[k] = k;
    gopt_expr small = {.at = at, .n = n + 1, .result = n};
    gopt_scalar v = gopt_expr_eval(&small, NULL, (gopt_scalar){0}, tmp);
    if (in.dtype != GOPT_DTYPE_NONE) /* a typed constant is a value of its type */
        v = gopt_scalar_cast(v, in.class, in.dtype);
    return constant(x, in.class, in.dtype, v);
}

static bool untyped(const gopt_instr *in)
{
    return in->code == GOPT_EXPR_CONST && in->dtype == GOPT_DTYPE_NONE;
}

int gopt_expr_cast(gopt_expr *x, int a, gopt_dtype d)
{
    if (a < 0 || x->failed)
        return -1;
    const gopt_instr *in = &x->at[a];
    if ((in->dtype == d && gopt_expr_is_rounded(x, a)) || (d == GOPT_DTYPE_BOOL && in->class == GOPT_CLASS_BOOL))
        return done(x, a);
    if (in->code == GOPT_EXPR_CAST && in->dtype == GOPT_DTYPE_F32 && gopt_dtype_is_half(d) &&
        x->at[in->arg[0]].dtype == d)
        return gopt_expr_cast(x, in->arg[0], d);
    gopt_instr cast = leaf(GOPT_EXPR_CAST, gopt_dtype_class(d), d);
    cast.arg[0] = a;
    return finish(x, cast);
}

/* Instruction a in this class: a constant without a dtype changes its form, anything else is cast to d, or where d is
 * NONE to the widest type of the class. */
static int convert(gopt_expr *x, int a, gopt_expr_class class, gopt_dtype d)
{
    static const gopt_dtype widest[] = {
        [GOPT_CLASS_FLOAT] = GOPT_DTYPE_F64,
        [GOPT_CLASS_INT] = GOPT_DTYPE_I64,
        [GOPT_CLASS_UINT] = GOPT_DTYPE_U64,
        [GOPT_CLASS_BOOL] = GOPT_DTYPE_BOOL,
    };
    if (a < 0 || x->at[a].class == class)
        return a;
    const gopt_instr *in = &x->at[a];
    if (!untyped(in))
        return gopt_expr_cast(x, a, d == GOPT_DTYPE_NONE ? widest[class] : d);
    gopt_scalar v = {.i = in->i};
    if (in->class == GOPT_CLASS_FLOAT)
        v.f = in->f;
    return constant(x, class, GOPT_DTYPE_NONE, gopt_scalar_cast(v, in->class, widest[class]));
}

static int to_bool(gopt_expr *x, int a)
{
    if (a < 0 || x->at[a].class == GOPT_CLASS_BOOL)
        return a;
    return gopt_expr_op2(x, GOPT_EXPR_NE, a, gopt_expr_int(x, x->at[a].class, 0));
}

/* Operand a as something that `code` computes with. */
static int admit(gopt_expr *x, gopt_expr_code code, int a)
{
    gopt_expr_class class = x->at[a].class;
    switch (domain_of[code]) {
    case FLOATING:
        return convert(x, a, GOPT_CLASS_FLOAT, GOPT_DTYPE_F32);
    case BITS:
        return class == GOPT_CLASS_INT || class == GOPT_CLASS_UINT ? a : convert(x, a, GOPT_CLASS_INT, GOPT_DTYPE_I64);
    case LOGIC:
        return to_bool(x, a);
    case NUMERIC:
        return class == GOPT_CLASS_BOOL ? convert(x, a, GOPT_CLASS_INT, GOPT_DTYPE_I32) : a;
    default:
        return a;
    }
}

/* Whether a constant without a dtype has the same value in this class. */
static bool adopts(const gopt_instr *in, gopt_expr_class class)
{
    if (!untyped(in))
        return false;
    if (in->class == class || class == GOPT_CLASS_FLOAT)
        return true;
    if (in->class == GOPT_CLASS_FLOAT) {
        double low = class == GOPT_CLASS_INT ? -0x1p63 : 0, high = class == GOPT_CLASS_BOOL ? 2 : 0x1p63;
        return in->f >= low && in->f < high && in->f == floor(in->f);
    }
    return class == GOPT_CLASS_BOOL ? in->i == 0 || in->i == 1 : in->i >= 0;
}

/* Brings two operands to one class; -1 in either when that failed. */
static void unify(gopt_expr *x, int *a, int *b)
{
    gopt_instr p = x->at[*a], q = x->at[*b], lead = p.class <= q.class ? p : q; /* float, int, uint, bool */
    if (!untyped(&q) && adopts(&p, q.class))
        lead = q;
    else if (!untyped(&p) && adopts(&q, p.class))
        lead = p;
    *a = convert(x, *a, lead.class, lead.dtype);
    *b = convert(x, *b, lead.class, lead.dtype);
}

/* What needs no instruction of its own: the instruction that has its value, or -1. */
static int simplify1(gopt_expr *x, gopt_expr_code code, int a)
{
    const gopt_instr *in = &x->at[a];
    bool whole = in->class != GOPT_CLASS_FLOAT;
    switch (code) {
    case GOPT_EXPR_NEG:
    case GOPT_EXPR_NOT:
    case GOPT_EXPR_BITNOT:
        return in->code == code ? in->arg[0] : -1;
    case GOPT_EXPR_FLOOR:
    case GOPT_EXPR_CEIL:
    case GOPT_EXPR_ROUND:
        return whole || in->code == code ? a : -1;
    case GOPT_EXPR_ABS:
        return in->class == GOPT_CLASS_UINT || in->code == code ? a : -1;
    case GOPT_EXPR_ISNAN:
    case GOPT_EXPR_ISINF:
        return whole ? gopt_expr_int(x, GOPT_CLASS_BOOL, 0) : -1;
    default:
        return -1;
    }
}

static bool holds(const gopt_instr *in, double v)
{
    if (in->code != GOPT_EXPR_CONST)
        return false;
    if (in->class != GOPT_CLASS_FLOAT)
        return (double)in->i == v;
    return in->f == v && signbit(in->f) == signbit(v);
}

/* The neutral right operand of a code, exact for every left operand: x + -0.0 is x also for -0.0, x + 0.0 is not. */
static bool neutral(gopt_expr_code code, const gopt_instr *in)
{
    switch (code) {
    case GOPT_EXPR_MUL:
    case GOPT_EXPR_DIV:
    case GOPT_EXPR_POW:
        return holds(in, 1);
    case GOPT_EXPR_ADD:
        return holds(in, in->class == GOPT_CLASS_FLOAT ? -0.0 : 0.0);
    case GOPT_EXPR_SUB:
    case GOPT_EXPR_SHL:
    case GOPT_EXPR_SHR:
    case GOPT_EXPR_BITOR:
    case GOPT_EXPR_BITXOR:
        return holds(in, 0.0);
    default:
        return false;
    }
}

static int simplify2(const gopt_expr *x, gopt_expr_code code, int a, int b)
{
    bool commutes =
        code == GOPT_EXPR_MUL || code == GOPT_EXPR_ADD || code == GOPT_EXPR_BITOR || code == GOPT_EXPR_BITXOR;
    bool idempotent = code == GOPT_EXPR_MIN || code == GOPT_EXPR_MAX || code == GOPT_EXPR_AND || code == GOPT_EXPR_OR ||
                      code == GOPT_EXPR_BITAND || code == GOPT_EXPR_BITOR;
    if (neutral(code, &x->at[b]) || (a == b && idempotent))
        return a;
    return commutes && neutral(code, &x->at[a]) ? b : -1;
}

static gopt_instr instruction(const gopt_expr *x, gopt_expr_code code, int a, int b, int c)
{
    bool test = domain_of[code] == COMPARE || domain_of[code] == LOGIC;
    const gopt_instr *lead = &x->at[code == GOPT_EXPR_SELECT ? b : a];
    int second = code == GOPT_EXPR_SELECT ? c : b;
    gopt_dtype d = lead->dtype != GOPT_DTYPE_NONE || second < 0 ? lead->dtype : x->at[second].dtype;
    return (gopt_instr){
        .code = code,
        .class = test ? GOPT_CLASS_BOOL : lead->class,
        .dtype = test ? GOPT_DTYPE_BOOL : d,
        .arg = {a, b, c},
    };
}

/* The instruction `known` when it has the wanted type, otherwise the new one. */
static int settle(gopt_expr *x, gopt_instr in, int known)
{
    bool fits = known >= 0 && (x->at[known].dtype == in.dtype || in.class == GOPT_CLASS_BOOL);
    return fits ? done(x, known) : finish(x, in);
}

int gopt_expr_op1(gopt_expr *x, gopt_expr_code code, int a)
{
    if (a < 0 || x->failed)
        return -1;
    if (gopt_expr_code_args(code) != 1 || code == GOPT_EXPR_CAST)
        return fail(x);
    a = admit(x, code, a);
    if (a < 0)
        return -1;
    int known = simplify1(x, code, a);
    return settle(x, instruction(x, code, a, -1, -1), known);
}

static int op2(gopt_expr *x, gopt_expr_code code, int a, int b)
{
    if (a < 0 || b < 0 || x->failed)
        return -1;
    return settle(x, instruction(x, code, a, b, -1), simplify2(x, code, a, b));
}

/* The result has the base's type, whatever the exponent's. */
static int power(gopt_expr *x, int a, int b)
{
    gopt_expr_class class = x->at[a].class;
    if (untyped(&x->at[a]))
        unify(x, &a, &b);
    else if (class == GOPT_CLASS_FLOAT || adopts(&x->at[b], class))
        b = convert(x, b, class, GOPT_DTYPE_F64);
    else if (x->at[b].class != GOPT_CLASS_FLOAT)
        b = convert(x, b, class, GOPT_DTYPE_NONE);
    else
        return gopt_expr_cast(x, op2(x, GOPT_EXPR_POW, gopt_expr_cast(x, a, GOPT_DTYPE_F64), b), x->at[a].dtype);
    return op2(x, GOPT_EXPR_POW, a, b);
}

int gopt_expr_op2(gopt_expr *x, gopt_expr_code code, int a, int b)
{
    if (a < 0 || b < 0 || x->failed)
        return -1;
    if (gopt_expr_code_args(code) != 2)
        return fail(x);
    a = admit(x, code, a);
    b = admit(x, code, b);
    if (a < 0 || b < 0)
        return -1;
    if (code == GOPT_EXPR_POW)
        return power(x, a, b);
    unify(x, &a, &b);
    return op2(x, code, a, b);
}

int gopt_expr_op3(gopt_expr *x, gopt_expr_code code, int a, int b, int c)
{
    if (a < 0 || b < 0 || c < 0 || x->failed)
        return -1;
    if (code != GOPT_EXPR_SELECT)
        return fail(x);
    a = to_bool(x, a);
    unify(x, &b, &c);
    if (a < 0 || b < 0 || c < 0)
        return -1;
    const gopt_instr *test = &x->at[a];
    int known = b == c ? b : test->code != GOPT_EXPR_CONST ? -1 : test->i ? b : c;
    return settle(x, instruction(x, code, a, b, c), known);
}
