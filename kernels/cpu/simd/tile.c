/* tile.c: the interpreter of tile programs. */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

#include <math.h>

typedef struct tile_args {
    float *d;
    const float *a, *b, *c;
    int n; /* a multiple of the vector width */
} tile_args;

/* Inlined with a known function each: these are the loops. */
static inline __attribute__((always_inline)) void map1(const tile_args *t, vf (*f)(vf))
{
    for (int i = 0; i < t->n; i += GOPT_VW)
        v_store(t->d + i, f(v_load(t->a + i)));
}

static inline __attribute__((always_inline)) void map2(const tile_args *t, vf (*f)(vf, vf))
{
    for (int i = 0; i < t->n; i += GOPT_VW)
        v_store(t->d + i, f(v_load(t->a + i), v_load(t->b + i)));
}

static void each1(const tile_args *t, float (*f)(float))
{
    for (int i = 0; i < t->n; i++)
        t->d[i] = f(t->a[i]);
}

static void each2(const tile_args *t, float (*f)(float, float))
{
    for (int i = 0; i < t->n; i++)
        t->d[i] = f(t->a[i], t->b[i]);
}

/* A vector function that holds on a part of the numbers only: elsewhere the scalar one. */
static inline __attribute__((always_inline)) void map_sine(const tile_args *t, int quarter, float (*f)(float))
{
    for (int i = 0; i < t->n; i += GOPT_VW) {
        vf x = v_load(t->a + i), y = v_sine(x, quarter);
        vi far = ~(v_abs(x) <= 8192.0f);
        for (int j = 0; j < GOPT_VW; j++)
            if (far[j])
                y[j] = f(x[j]);
        v_store(t->d + i, y);
    }
}

/* Bases below 0 have powers for whole exponents only; their sign is that of odd ones. */
static void map_pow(const tile_args *t)
{
    for (int i = 0; i < t->n; i += GOPT_VW) {
        vf x = v_load(t->a + i), y = v_load(t->b + i), size = v_abs(x), r = v_pow_positive(size, y);
        vi whole = v_round(y) == y, odd = whole & (v_round(y * 0.5f) != y * 0.5f);
        r = (vf)((vi)r ^ ((x < 0.0f) & odd & (int)0x80000000));
        r = v_select((x < 0.0f) & ~whole, v_splat(NAN), r);
        vi special = ~((size > 0.0f) & (size < INFINITY) & (v_abs(y) < INFINITY));
        for (int j = 0; j < GOPT_VW; j++)
            if (special[j])
                r[j] = powf(x[j], y[j]);
        v_store(t->d + i, r);
    }
}

static void map_select(const tile_args *t)
{
    for (int i = 0; i < t->n; i += GOPT_VW)
        v_store(t->d + i, v_select(v_load(t->a + i) != 0.0f, v_load(t->b + i), v_load(t->c + i)));
}

static inline vf same(vf a)
{
    return a;
}
static inline vf number(vf a)
{
    return v_select(a == a, a, v_splat(0));
}
static inline vf neg(vf a)
{
    return -a;
}
static inline vf reciprocal(vf a)
{
    return 1.0f / a;
}
static inline vf is_nan(vf a)
{
    return v_truth(a != a);
}
static inline vf is_inf(vf a)
{
    return v_truth(v_abs(a) == INFINITY);
}
static inline vf not(vf a)
{
    return v_truth(a == 0.0f);
}
static inline vf add(vf a, vf b)
{
    return a + b;
}
static inline vf sub(vf a, vf b)
{
    return a - b;
}
static inline vf mul(vf a, vf b)
{
    return a * b;
}
static inline vf quotient(vf a, vf b)
{
    return a / b;
}
static inline vf lt(vf a, vf b)
{
    return v_truth(a < b);
}
static inline vf le(vf a, vf b)
{
    return v_truth(a <= b);
}
static inline vf gt(vf a, vf b)
{
    return v_truth(a > b);
}
static inline vf ge(vf a, vf b)
{
    return v_truth(a >= b);
}
static inline vf eq(vf a, vf b)
{
    return v_truth(a == b);
}
static inline vf ne(vf a, vf b)
{
    return v_truth(a != b);
}
static inline vf both(vf a, vf b)
{
    return v_truth((a != 0.0f) & (b != 0.0f));
}
static inline vf either(vf a, vf b)
{
    return v_truth((a != 0.0f) | (b != 0.0f));
}

/* The remainder with the divisor's sign. */
static float modulo(float a, float b)
{
    float r = fmodf(a, b);
    if (r == 0)
        return copysignf(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static void run_rare(gopt_expr_code code, const tile_args *t)
{
    static float (*const fn1[GOPT_EXPR_CODE_COUNT])(float) = {
        [GOPT_EXPR_TAN] = tanf,     [GOPT_EXPR_ASIN] = asinf,   [GOPT_EXPR_ACOS] = acosf,   [GOPT_EXPR_ATAN] = atanf,
        [GOPT_EXPR_SINH] = sinhf,   [GOPT_EXPR_COSH] = coshf,   [GOPT_EXPR_ASINH] = asinhf, [GOPT_EXPR_ACOSH] = acoshf,
        [GOPT_EXPR_ATANH] = atanhf, [GOPT_EXPR_LOG1P] = log1pf, [GOPT_EXPR_EXPM1] = expm1f,
    };
    if (fn1[code])
        each1(t, fn1[code]);
    else
        each2(t, code == GOPT_EXPR_MOD ? modulo : fmodf);
}

static void run_function(gopt_expr_code code, const tile_args *t)
{
    switch (code) {
    case GOPT_EXPR_EXP:
        map1(t, v_exp);
        break;
    case GOPT_EXPR_LOG:
        map1(t, v_log);
        break;
    case GOPT_EXPR_TANH:
        map1(t, v_tanh);
        break;
    case GOPT_EXPR_SIGMOID:
        map1(t, v_sigmoid);
        break;
    case GOPT_EXPR_ERF:
        map1(t, v_erf);
        break;
    case GOPT_EXPR_SIN:
        map_sine(t, 0, sinf);
        break;
    case GOPT_EXPR_COS:
        map_sine(t, 1, cosf);
        break;
    case GOPT_EXPR_FLOOR:
        map1(t, v_floor);
        break;
    case GOPT_EXPR_CEIL:
        map1(t, v_ceil);
        break;
    case GOPT_EXPR_ROUND:
        map1(t, v_round);
        break;
    case GOPT_EXPR_POW:
        map_pow(t);
        break;
    default:
        run_rare(code, t);
        break;
    }
}

static void run_test(gopt_expr_code code, const tile_args *t)
{
    switch (code) {
    case GOPT_EXPR_LT:
        map2(t, lt);
        break;
    case GOPT_EXPR_LE:
        map2(t, le);
        break;
    case GOPT_EXPR_GT:
        map2(t, gt);
        break;
    case GOPT_EXPR_GE:
        map2(t, ge);
        break;
    case GOPT_EXPR_EQ:
        map2(t, eq);
        break;
    case GOPT_EXPR_NE:
    case GOPT_EXPR_XOR: /* of truths: both are 0 or 1 */
        map2(t, ne);
        break;
    case GOPT_EXPR_AND:
        map2(t, both);
        break;
    case GOPT_EXPR_OR:
        map2(t, either);
        break;
    case GOPT_EXPR_NOT:
        map1(t, not );
        break;
    case GOPT_EXPR_ISNAN:
        map1(t, is_nan);
        break;
    case GOPT_EXPR_ISINF:
        map1(t, is_inf);
        break;
    default:
        run_function(code, t);
        break;
    }
}

static void run_op(int code, const tile_args *t)
{
    switch (code) {
    case GOPT_TILE_NUMBER:
        map1(t, number);
        break;
    case GOPT_TILE_TO_F16:
        map1(t, v_round_f16);
        break;
    case GOPT_TILE_TO_BF16:
        map1(t, v_round_bf16);
        break;
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
    case GOPT_EXPR_MAX:
        map2(t, v_max);
        break;
    case GOPT_EXPR_MIN:
        map2(t, v_min);
        break;
    case GOPT_EXPR_SELECT:
        map_select(t);
        break;
    case GOPT_EXPR_CAST:
        map1(t, same);
        break;
    case GOPT_EXPR_NEG:
        map1(t, neg);
        break;
    case GOPT_EXPR_ABS:
        map1(t, v_abs);
        break;
    case GOPT_EXPR_SIGN:
        map1(t, v_sign);
        break;
    case GOPT_EXPR_SQRT:
        map1(t, v_sqrt);
        break;
    case GOPT_EXPR_RECIPROCAL:
        map1(t, reciprocal);
        break;
    default:
        run_test((gopt_expr_code)code, t);
        break;
    }
}

void GOPT_LEVEL(gopt_tile_run)(const gopt_tile *p, float *const *reg, int n)
{
    for (int k = 0; k < p->n_op; k++) {
        const gopt_tile_op *o = &p->op[k];
        tile_args t = {.d = reg[o->dst], .a = reg[o->arg[0]], .b = reg[o->arg[1]], .c = reg[o->arg[2]], .n = n};
        run_op(o->code, &t);
    }
}

void GOPT_LEVEL(gopt_fill)(float *dst, float value, int64_t n)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(dst + i, v_splat(value));
    for (; i < n; i++)
        dst[i] = value;
}
