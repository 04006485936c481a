/* expr_int.c: the arithmetic of integer and bool instructions, in 64 bits. Nothing here traps: a division by zero is 0,
 * and so is the one quotient that does not fit. */
#include "expr_tile.h"

static uint64_t bits_neg(uint64_t a)
{
    return 0 - a;
}

static uint64_t bits_not(uint64_t a)
{
    return ~a;
}

static uint64_t logic_not(uint64_t a)
{
    return !a;
}

static uint64_t magnitude(uint64_t a)
{
    return (int64_t)a < 0 ? 0 - a : a;
}

static uint64_t same(uint64_t a)
{
    return a;
}

static uint64_t sign(uint64_t a)
{
    return (uint64_t)(((int64_t)a > 0) - ((int64_t)a < 0));
}

static uint64_t positive(uint64_t a)
{
    return a > 0;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b;
}

static uint64_t sub(uint64_t a, uint64_t b)
{
    return a - b;
}

static uint64_t mul(uint64_t a, uint64_t b)
{
    return a * b;
}

static uint64_t bits_and(uint64_t a, uint64_t b)
{
    return a & b;
}

static uint64_t bits_or(uint64_t a, uint64_t b)
{
    return a | b;
}

static uint64_t bits_xor(uint64_t a, uint64_t b)
{
    return a ^ b;
}

static uint64_t eq(uint64_t a, uint64_t b)
{
    return a == b;
}

static uint64_t ne(uint64_t a, uint64_t b)
{
    return a != b;
}

static uint64_t shl(uint64_t a, uint64_t b)
{
    return b < 64 ? a << b : 0;
}

static uint64_t power(uint64_t a, uint64_t b)
{
    uint64_t r = 1;
    for (; b; b >>= 1, a *= a)
        r *= b & 1 ? a : 1;
    return r;
}

/* ---- unsigned ---- */

static uint64_t u_quotient(uint64_t a, uint64_t b)
{
    return b ? a / b : 0;
}

static uint64_t u_rest(uint64_t a, uint64_t b)
{
    return b ? a % b : 0;
}

static uint64_t u_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t u_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t u_shr(uint64_t a, uint64_t b)
{
    return b < 64 ? a >> b : 0;
}

static uint64_t u_lt(uint64_t a, uint64_t b)
{
    return a < b;
}

static uint64_t u_le(uint64_t a, uint64_t b)
{
    return a <= b;
}

static uint64_t u_gt(uint64_t a, uint64_t b)
{
    return a > b;
}

static uint64_t u_ge(uint64_t a, uint64_t b)
{
    return a >= b;
}

/* ---- signed ---- */

static int64_t s_quotient(int64_t a, int64_t b)
{
    return b == 0 || (a == INT64_MIN && b == -1) ? 0 : a / b;
}

static int64_t s_rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* The remainder with the divisor's sign. */
static int64_t s_modulo(int64_t a, int64_t b)
{
    int64_t r = s_rest(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* A negative exponent gives the truncated reciprocal: 0, but for 1 and -1. */
static int64_t s_power(int64_t a, int64_t b)
{
    if (b >= 0)
        return (int64_t)power((uint64_t)a, (uint64_t)b);
    if (a == -1)
        return b & 1 ? -1 : 1;
    return a == 1;
}

static int64_t s_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t s_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t s_shr(int64_t a, int64_t b)
{
    return b < 0 || b >= 64 ? 0 : a >> b;
}

static int64_t s_lt(int64_t a, int64_t b)
{
    return a < b;
}

static int64_t s_le(int64_t a, int64_t b)
{
    return a <= b;
}

static int64_t s_gt(int64_t a, int64_t b)
{
    return a > b;
}

static int64_t s_ge(int64_t a, int64_t b)
{
    return a >= b;
}

/* ---- tables ---- */

static uint64_t (*const signed1[GOPT_EXPR_CODE_COUNT])(uint64_t) = {
    [GOPT_EXPR_NEG] = bits_neg, [GOPT_EXPR_ABS] = magnitude, [GOPT_EXPR_SIGN] = sign,     [GOPT_EXPR_FLOOR] = same,
    [GOPT_EXPR_CEIL] = same,    [GOPT_EXPR_ROUND] = same,    [GOPT_EXPR_NOT] = logic_not, [GOPT_EXPR_BITNOT] = bits_not,
};

static uint64_t (*const unsigned1[GOPT_EXPR_CODE_COUNT])(uint64_t) = {
    [GOPT_EXPR_NEG] = bits_neg, [GOPT_EXPR_ABS] = same,   [GOPT_EXPR_SIGN] = positive, [GOPT_EXPR_FLOOR] = same,
    [GOPT_EXPR_CEIL] = same,    [GOPT_EXPR_ROUND] = same, [GOPT_EXPR_NOT] = logic_not, [GOPT_EXPR_BITNOT] = bits_not,
};

static uint64_t (*const both2[GOPT_EXPR_CODE_COUNT])(uint64_t, uint64_t) = {
    /* the sign does not matter */
    [GOPT_EXPR_ADD] = add,         [GOPT_EXPR_SUB] = sub,       [GOPT_EXPR_MUL] = mul,
    [GOPT_EXPR_AND] = bits_and,    [GOPT_EXPR_OR] = bits_or,    [GOPT_EXPR_XOR] = bits_xor,
    [GOPT_EXPR_BITAND] = bits_and, [GOPT_EXPR_BITOR] = bits_or, [GOPT_EXPR_BITXOR] = bits_xor,
    [GOPT_EXPR_EQ] = eq,           [GOPT_EXPR_NE] = ne,         [GOPT_EXPR_SHL] = shl,
};

static uint64_t (*const unsigned2[GOPT_EXPR_CODE_COUNT])(uint64_t, uint64_t) = {
    [GOPT_EXPR_DIV] = u_quotient, [GOPT_EXPR_MOD] = u_rest, [GOPT_EXPR_FMOD] = u_rest, [GOPT_EXPR_POW] = power,
    [GOPT_EXPR_MIN] = u_min,      [GOPT_EXPR_MAX] = u_max,  [GOPT_EXPR_SHR] = u_shr,   [GOPT_EXPR_LT] = u_lt,
    [GOPT_EXPR_LE] = u_le,        [GOPT_EXPR_GT] = u_gt,    [GOPT_EXPR_GE] = u_ge,
};

static int64_t (*const signed2[GOPT_EXPR_CODE_COUNT])(int64_t, int64_t) = {
    [GOPT_EXPR_DIV] = s_quotient, [GOPT_EXPR_MOD] = s_modulo, [GOPT_EXPR_FMOD] = s_rest, [GOPT_EXPR_POW] = s_power,
    [GOPT_EXPR_MIN] = s_min,      [GOPT_EXPR_MAX] = s_max,    [GOPT_EXPR_SHR] = s_shr,   [GOPT_EXPR_LT] = s_lt,
    [GOPT_EXPR_LE] = s_le,        [GOPT_EXPR_GT] = s_gt,      [GOPT_EXPR_GE] = s_ge,
};

static void map1(const gopt_expr_tile *t, uint64_t (*fn)(uint64_t))
{
    for (int i = 0; i < t->n; i++)
        t->d[i].u = fn(t->a[i].u);
}

static void map2(const gopt_expr_tile *t, uint64_t (*fn)(uint64_t, uint64_t))
{
    for (int i = 0; i < t->n; i++)
        t->d[i].u = fn(t->a[i].u, t->b[i].u);
}

static void map2_signed(const gopt_expr_tile *t, int64_t (*fn)(int64_t, int64_t))
{
    for (int i = 0; i < t->n; i++)
        t->d[i].i = fn(t->a[i].i, t->b[i].i);
}

void gopt_expr_tile_int(const gopt_expr_tile *t)
{
    bool is_signed = t->class == GOPT_CLASS_INT;
    if (signed1[t->code])
        map1(t, is_signed ? signed1[t->code] : unsigned1[t->code]);
    else if (both2[t->code])
        map2(t, both2[t->code]);
    else if (is_signed)
        map2_signed(t, signed2[t->code]);
    else
        map2(t, unsigned2[t->code]);
}
