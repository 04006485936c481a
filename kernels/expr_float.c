/* expr_float.c: the arithmetic of float instructions, in double. */
#include "expr_tile.h"

#include <math.h>

static double neg(double a)
{
    return -a;
}

static double sign(double a)
{
    return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;
}

static double reciprocal(double a)
{
    return 1 / a;
}

static double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

static double add(double a, double b)
{
    return a + b;
}

static double sub(double a, double b)
{
    return a - b;
}

static double mul(double a, double b)
{
    return a * b;
}

static double quotient(double a, double b)
{
    return a / b;
}

/* The remainder with the divisor's sign. */
static double modulo(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double lesser(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

static double greater(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static bool is_nan(double a)
{
    return isnan(a);
}

static bool is_inf(double a)
{
    return isinf(a);
}

static bool lt(double a, double b)
{
    return a < b;
}

static bool le(double a, double b)
{
    return a <= b;
}

static bool gt(double a, double b)
{
    return a > b;
}

static bool ge(double a, double b)
{
    return a >= b;
}

static bool eq(double a, double b)
{
    return a == b;
}

static bool ne(double a, double b)
{
    return a != b;
}

static double (*const fn1[GOPT_EXPR_CODE_COUNT])(double) = {
    [GOPT_EXPR_NEG] = neg,     [GOPT_EXPR_ABS] = fabs,    [GOPT_EXPR_SIGN] = sign,
    [GOPT_EXPR_EXP] = exp,     [GOPT_EXPR_LOG] = log,     [GOPT_EXPR_SQRT] = sqrt,
    [GOPT_EXPR_TANH] = tanh,   [GOPT_EXPR_ERF] = erf,     [GOPT_EXPR_RECIPROCAL] = reciprocal,
    [GOPT_EXPR_SIN] = sin,     [GOPT_EXPR_COS] = cos,     [GOPT_EXPR_SIGMOID] = sigmoid,
    [GOPT_EXPR_TAN] = tan,     [GOPT_EXPR_ASIN] = asin,   [GOPT_EXPR_ACOS] = acos,
    [GOPT_EXPR_ATAN] = atan,   [GOPT_EXPR_SINH] = sinh,   [GOPT_EXPR_COSH] = cosh,
    [GOPT_EXPR_ASINH] = asinh, [GOPT_EXPR_ACOSH] = acosh, [GOPT_EXPR_ATANH] = atanh,
    [GOPT_EXPR_FLOOR] = floor, [GOPT_EXPR_CEIL] = ceil,   [GOPT_EXPR_ROUND] = rint,
    [GOPT_EXPR_LOG1P] = log1p, [GOPT_EXPR_EXPM1] = expm1,
};

static bool (*const test1[GOPT_EXPR_CODE_COUNT])(double) = {[GOPT_EXPR_ISNAN] = is_nan, [GOPT_EXPR_ISINF] = is_inf};

static bool (*const test2[GOPT_EXPR_CODE_COUNT])(double, double) = {
    [GOPT_EXPR_LT] = lt, [GOPT_EXPR_LE] = le, [GOPT_EXPR_GT] = gt,
    [GOPT_EXPR_GE] = ge, [GOPT_EXPR_EQ] = eq, [GOPT_EXPR_NE] = ne,
};

/* Inlined with a known function each, so that the simple ones become vector loops. */
static inline void map2(const gopt_expr_tile *t, double (*fn)(double, double))
{
    for (int i = 0; i < t->n; i++)
        t->d[i].f = fn(t->a[i].f, t->b[i].f);
}

static void run2(const gopt_expr_tile *t)
{
    switch (t->code) {
    case GOPT_EXPR_ADD:
        map2(t, add);
        break;
    case GOPT_EXPR_SUB:
        map2(t, sub);
        break;
    case GOPT_EXPR_MUL:
        map2(t, mul);
        break;
    case GOPT_EXPR_DIV:
        map2(t, quotient);
        break;
    case GOPT_EXPR_MOD:
        map2(t, modulo);
        break;
    case GOPT_EXPR_FMOD:
        map2(t, fmod);
        break;
    case GOPT_EXPR_POW:
        map2(t, pow);
        break;
    case GOPT_EXPR_MIN:
        map2(t, lesser);
        break;
    default:
        map2(t, greater);
        break;
    }
}

void gopt_expr_tile_float(const gopt_expr_tile *t)
{
    if (fn1[t->code])
        for (int i = 0; i < t->n; i++)
            t->d[i].f = fn1[t->code](t->a[i].f);
    else if (test1[t->code])
        for (int i = 0; i < t->n; i++)
            t->d[i].u = test1[t->code](t->a[i].f);
    else if (test2[t->code])
        for (int i = 0; i < t->n; i++)
            t->d[i].u = test2[t->code](t->a[i].f, t->b[i].f);
    else
        run2(t);
}
