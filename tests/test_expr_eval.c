/* expr: every code against libm and 64-bit integers, tiles against single elements, and casts. */
#include "support/test.h"

#include <math.h>

#include "expr.h"

static gopt_arena arena;
static bool evaluated[GOPT_EXPR_CODE_COUNT];

static int teardown(void **state)
{
    (void)state;
    gopt_arena_fini(&arena);
    return 0;
}

static double recip(double a)
{
    return 1.0 / a;
}

static double logistic(double a)
{
    return 1.0 / (1.0 + exp(-a));
}

static double signum(double a)
{
    return isnan(a) ? a : (a > 0) - (a < 0);
}

static double minus(double a)
{
    return -a;
}

static const struct {
    gopt_expr_code code;
    double (*fn)(double);
} unary[] = {
    {GOPT_EXPR_NEG, minus},        {GOPT_EXPR_ABS, fabs},    {GOPT_EXPR_SIGN, signum}, {GOPT_EXPR_EXP, exp},
    {GOPT_EXPR_LOG, log},          {GOPT_EXPR_SQRT, sqrt},   {GOPT_EXPR_TANH, tanh},   {GOPT_EXPR_ERF, erf},
    {GOPT_EXPR_RECIPROCAL, recip}, {GOPT_EXPR_SIN, sin},     {GOPT_EXPR_COS, cos},     {GOPT_EXPR_SIGMOID, logistic},
    {GOPT_EXPR_TAN, tan},          {GOPT_EXPR_ASIN, asin},   {GOPT_EXPR_ACOS, acos},   {GOPT_EXPR_ATAN, atan},
    {GOPT_EXPR_SINH, sinh},        {GOPT_EXPR_COSH, cosh},   {GOPT_EXPR_ASINH, asinh}, {GOPT_EXPR_ACOSH, acosh},
    {GOPT_EXPR_ATANH, atanh},      {GOPT_EXPR_FLOOR, floor}, {GOPT_EXPR_CEIL, ceil},   {GOPT_EXPR_ROUND, nearbyint},
    {GOPT_EXPR_LOG1P, log1p},      {GOPT_EXPR_EXPM1, expm1},
};

static const double samples[] = {0.0,  -0.0, 0.5,  -0.5,  1,        -1,        1.5, -1.5, 2.5,  -2.5,
                                 3.75, -7.2, 1e-9, 1e300, INFINITY, -INFINITY, NAN, 100,  -3.0, 2};

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* The value of code(a, b, c) with operands of dtype d. */
static gopt_scalar value(gopt_expr_code code, gopt_dtype d, gopt_scalar a, gopt_scalar b)
{
    gopt_scalar load[] = {a, b}, tmp[8];
    gopt_expr x = gopt_expr_new(&arena);
    int p = gopt_expr_load(&x, 0, d), q = gopt_expr_load(&x, 1, d);
    int args = gopt_expr_code_args(code);
    evaluated[code] = true;
    x.result = args == 1 ? gopt_expr_op1(&x, code, p) : gopt_expr_op2(&x, code, p, q);
    assert_true(x.result >= 0);
    return gopt_expr_eval(&x, load, (gopt_scalar){0}, tmp);
}

static double float_value(gopt_expr_code code, double a, double b)
{
    return value(code, GOPT_DTYPE_F64, (gopt_scalar){.f = a}, (gopt_scalar){.f = b}).f;
}

static int64_t int_value(gopt_expr_code code, gopt_dtype d, int64_t a, int64_t b)
{
    return value(code, d, (gopt_scalar){.i = a}, (gopt_scalar){.i = b}).i;
}

static bool test_value(gopt_expr_code code, double a, double b)
{
    return value(code, GOPT_DTYPE_F32, (gopt_scalar){.f = a}, (gopt_scalar){.f = b}).u == 1;
}

static void unary_floats_are_libm(void **state)
{
    (void)state;
    for (int k = 0; k < GOPT_COUNT(unary); k++)
        for (int i = 0; i < GOPT_COUNT(samples); i++)
            assert_true(same(float_value(unary[k].code, samples[i], 0), unary[k].fn(samples[i])));
}

static void binary_floats_are_libm(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(samples); i++)
        for (int j = 0; j < GOPT_COUNT(samples); j++) {
            double a = samples[i], b = samples[j];
            bool nan = isnan(a) || isnan(b);
            assert_true(same(float_value(GOPT_EXPR_ADD, a, b), a + b));
            assert_true(same(float_value(GOPT_EXPR_SUB, a, b), a - b));
            assert_true(same(float_value(GOPT_EXPR_MUL, a, b), a * b));
            assert_true(same(float_value(GOPT_EXPR_DIV, a, b), a / b));
            assert_true(same(float_value(GOPT_EXPR_FMOD, a, b), fmod(a, b)));
            assert_true(same(float_value(GOPT_EXPR_POW, a, b), pow(a, b)));
            double low = float_value(GOPT_EXPR_MIN, a, b), high = float_value(GOPT_EXPR_MAX, a, b);
            assert_true(nan ? isnan(low) && isnan(high) : low == fmin(a, b) && high == fmax(a, b));
            assert_int_equal(test_value(GOPT_EXPR_LT, a, b), a < b);
            assert_int_equal(test_value(GOPT_EXPR_LE, a, b), a <= b);
            assert_int_equal(test_value(GOPT_EXPR_GT, a, b), a > b);
            assert_int_equal(test_value(GOPT_EXPR_GE, a, b), a >= b);
            assert_int_equal(test_value(GOPT_EXPR_EQ, a, b), a == b);
            assert_int_equal(test_value(GOPT_EXPR_NE, a, b), a != b);
            assert_int_equal(test_value(GOPT_EXPR_ISNAN, a, b), isnan(a) != 0);
            assert_int_equal(test_value(GOPT_EXPR_ISINF, a, b), isinf(a) != 0);
        }
}

static void modulo_takes_the_sign_of_the_divisor(void **state)
{
    (void)state;
    static const double cases[][3] = {{5, 3, 2}, {-5, 3, 1}, {5, -3, -1},   {-5, -3, -2},
                                      {6, 3, 0}, {-6, 3, 0}, {-0.5, 2, 1.5}};
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        double a = cases[i][0], b = cases[i][1], want = cases[i][2];
        assert_true(float_value(GOPT_EXPR_MOD, a, b) == want);
        if (a == floor(a))
            assert_int_equal(int_value(GOPT_EXPR_MOD, GOPT_DTYPE_I32, (int64_t)a, (int64_t)b), (int64_t)want);
    }
    assert_int_equal(int_value(GOPT_EXPR_FMOD, GOPT_DTYPE_I64, -5, 3), -2);
    assert_true(isnan(float_value(GOPT_EXPR_MOD, 1, 0)));
}

static void integers_wrap_and_never_trap(void **state)
{
    (void)state;
    static const struct {
        gopt_expr_code code;
        gopt_dtype d;
        int64_t a, b, want;
    } cases[] = {
        {GOPT_EXPR_DIV, GOPT_DTYPE_I32, -7, 2, -3},
        {GOPT_EXPR_DIV, GOPT_DTYPE_I64, 7, 0, 0},
        {GOPT_EXPR_DIV, GOPT_DTYPE_U64, -1, 2, INT64_MAX},
        {GOPT_EXPR_DIV, GOPT_DTYPE_U8, 7, 0, 0},
        {GOPT_EXPR_DIV, GOPT_DTYPE_I64, INT64_MIN, -1, 0},
        {GOPT_EXPR_MOD, GOPT_DTYPE_I64, INT64_MIN, -1, 0},
        {GOPT_EXPR_FMOD, GOPT_DTYPE_I64, INT64_MIN, -1, 0},
        {GOPT_EXPR_MOD, GOPT_DTYPE_I64, 7, 0, 0},
        {GOPT_EXPR_FMOD, GOPT_DTYPE_U32, 7, 0, 0},
        {GOPT_EXPR_ADD, GOPT_DTYPE_U8, 200, 100, 44},
        {GOPT_EXPR_SUB, GOPT_DTYPE_U8, 1, 2, 255},
        {GOPT_EXPR_ADD, GOPT_DTYPE_I8, 100, 100, -56},
        {GOPT_EXPR_MUL, GOPT_DTYPE_I32, 65536, 65536, 0},
        {GOPT_EXPR_ADD, GOPT_DTYPE_I64, INT64_MAX, 1, INT64_MIN},
        {GOPT_EXPR_NEG, GOPT_DTYPE_I8, -128, 0, -128},
        {GOPT_EXPR_ABS, GOPT_DTYPE_I32, INT32_MIN, 0, INT32_MIN},
        {GOPT_EXPR_ABS, GOPT_DTYPE_I32, -5, 0, 5},
        {GOPT_EXPR_ABS, GOPT_DTYPE_U64, -5, 0, -5},
        {GOPT_EXPR_SIGN, GOPT_DTYPE_I16, -5, 0, -1},
        {GOPT_EXPR_SIGN, GOPT_DTYPE_U64, -5, 0, 1},
        {GOPT_EXPR_POW, GOPT_DTYPE_I64, 3, 4, 81},
        {GOPT_EXPR_POW, GOPT_DTYPE_I64, 2, -1, 0},
        {GOPT_EXPR_POW, GOPT_DTYPE_I64, -1, -3, -1},
        {GOPT_EXPR_POW, GOPT_DTYPE_I64, 0, 0, 1},
        {GOPT_EXPR_POW, GOPT_DTYPE_U8, 2, 8, 0},
        {GOPT_EXPR_MIN, GOPT_DTYPE_U64, -1, 1, 1},
        {GOPT_EXPR_MIN, GOPT_DTYPE_I64, -1, 1, -1},
        {GOPT_EXPR_MAX, GOPT_DTYPE_U64, -1, 1, -1},
        {GOPT_EXPR_MAX, GOPT_DTYPE_I64, -1, 1, 1},
        {GOPT_EXPR_LT, GOPT_DTYPE_U64, -1, 1, 0},
        {GOPT_EXPR_LE, GOPT_DTYPE_I64, -1, 1, 1},
        {GOPT_EXPR_GT, GOPT_DTYPE_U64, -1, 1, 1},
        {GOPT_EXPR_GE, GOPT_DTYPE_I64, -1, 1, 0},
        {GOPT_EXPR_LE, GOPT_DTYPE_U64, -1, 1, 0},
        {GOPT_EXPR_LT, GOPT_DTYPE_I64, -1, 1, 1},
        {GOPT_EXPR_GE, GOPT_DTYPE_U64, -1, 1, 1},
        {GOPT_EXPR_GT, GOPT_DTYPE_I64, -1, 1, 0},
        {GOPT_EXPR_EQ, GOPT_DTYPE_I64, 4, 4, 1},
        {GOPT_EXPR_NE, GOPT_DTYPE_I64, 4, 4, 0},
        {GOPT_EXPR_SHL, GOPT_DTYPE_U8, 0x81, 1, 2},
        {GOPT_EXPR_SHL, GOPT_DTYPE_U32, 1, 32, 0},
        {GOPT_EXPR_SHL, GOPT_DTYPE_U64, 1, 64, 0},
        {GOPT_EXPR_SHR, GOPT_DTYPE_U64, -1, 63, 1},
        {GOPT_EXPR_SHR, GOPT_DTYPE_U16, 0xffff, 16, 0},
        {GOPT_EXPR_SHR, GOPT_DTYPE_U64, -1, 64, 0},
        {GOPT_EXPR_SHR, GOPT_DTYPE_I32, -8, 1, -4},
        {GOPT_EXPR_BITNOT, GOPT_DTYPE_U8, 1, 0, 254},
        {GOPT_EXPR_BITNOT, GOPT_DTYPE_I8, 1, 0, -2},
        {GOPT_EXPR_BITAND, GOPT_DTYPE_U8, 12, 10, 8},
        {GOPT_EXPR_BITOR, GOPT_DTYPE_U8, 12, 10, 14},
        {GOPT_EXPR_BITXOR, GOPT_DTYPE_U8, 12, 10, 6},
        {GOPT_EXPR_NOT, GOPT_DTYPE_BOOL, 1, 0, 0},
        {GOPT_EXPR_AND, GOPT_DTYPE_BOOL, 1, 0, 0},
        {GOPT_EXPR_OR, GOPT_DTYPE_BOOL, 1, 0, 1},
        {GOPT_EXPR_XOR, GOPT_DTYPE_BOOL, 1, 1, 0},
        {GOPT_EXPR_EQ, GOPT_DTYPE_BOOL, 1, 1, 1},
        {GOPT_EXPR_FLOOR, GOPT_DTYPE_I32, -3, 0, -3},
        {GOPT_EXPR_CEIL, GOPT_DTYPE_I32, -3, 0, -3},
        {GOPT_EXPR_ROUND, GOPT_DTYPE_U8, 3, 0, 3},
        {GOPT_EXPR_ISNAN, GOPT_DTYPE_I32, 3, 0, 0},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++)
        assert_int_equal(int_value(cases[i].code, cases[i].d, cases[i].a, cases[i].b), cases[i].want);
}

static void a_chain_wraps_where_its_nodes_would(void **state)
{
    (void)state;
    gopt_expr x = gopt_expr_new(&arena);
    gopt_scalar tmp[8], load[] = {{.i = 200}, {.i = 100}};
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_U8), b = gopt_expr_load(&x, 1, GOPT_DTYPE_U8);
    gopt_expr_op2(&x, GOPT_EXPR_DIV, gopt_expr_op2(&x, GOPT_EXPR_ADD, a, b), gopt_expr_int(&x, GOPT_CLASS_INT, 2));
    assert_int_equal(gopt_expr_eval(&x, load, (gopt_scalar){0}, tmp).i, 22);
}

static void casts_round_truncate_and_wrap(void **state)
{
    (void)state;
    static const struct {
        gopt_expr_class from;
        gopt_dtype to;
        double f;
        int64_t i;
        double want;
    } cases[] = {
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_I32, -2.7, 0, -2},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_U8, 258.5, 0, 2},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_I64, NAN, 0, 0},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_BOOL, -0.25, 0, 1},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_BOOL, -0.0, 0, 0},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_F32, 0.1, 0, 0.1f},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_F64, 0.1, 0, 0.1},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_BF16, 1.00390625, 0, 1},
        {GOPT_CLASS_FLOAT, GOPT_DTYPE_F8E4M3FN, 1000, 0, 448},
        {GOPT_CLASS_INT, GOPT_DTYPE_F32, 0, 0x1000001000000001, 0x1.000002p60}, /* through double it would be 2^60 */
        {GOPT_CLASS_UINT, GOPT_DTYPE_F64, 0, -1, 0x1p64},
        {GOPT_CLASS_INT, GOPT_DTYPE_I8, 0, 200, -56},
        {GOPT_CLASS_INT, GOPT_DTYPE_BOOL, 0, 256, 1},
        {GOPT_CLASS_BOOL, GOPT_DTYPE_F16, 0, 1, 1},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        gopt_scalar v = {.i = cases[i].i};
        if (cases[i].from == GOPT_CLASS_FLOAT)
            v.f = cases[i].f;
        v = gopt_scalar_cast(v, cases[i].from, cases[i].to);
        assert_true((gopt_dtype_is_float(cases[i].to) ? v.f : (double)v.i) == cases[i].want);
    }
}

static void scalars_move_between_tensors_of_any_type(void **state)
{
    (void)state;
    static const gopt_dtype types[] = {GOPT_DTYPE_F32, GOPT_DTYPE_F16, GOPT_DTYPE_I8, GOPT_DTYPE_U64, GOPT_DTYPE_I4};
    int64_t dim = 3;
    for (int s = 0; s < GOPT_COUNT(types); s++)
        for (int d = 0; d < GOPT_COUNT(types); d++) {
            gopt_tensor *from = gopt_tensor_new(&arena, types[s], 1, &dim),
                        *to = gopt_tensor_new(&arena, types[d], 1, &dim);
            gopt_tensor_set(from, 1, 5);
            gopt_scalar_store(to, 1, gopt_dtype_class(types[s]), gopt_scalar_load(from, 1));
            assert_true(gopt_tensor_get(to, 1) == 5 && gopt_tensor_get(to, 0) == 0 && gopt_tensor_get(to, 2) == 0);
        }
}

static void a_tile_is_its_elements(void **state)
{
    (void)state;
    enum { N = 37 };
    gopt_expr x = gopt_expr_new(&arena);
    int a = gopt_expr_load(&x, 1, GOPT_DTYPE_F32), i = gopt_expr_load(&x, 0, GOPT_DTYPE_I32);
    int test = gopt_expr_op2(&x, GOPT_EXPR_GT, i, gopt_expr_int(&x, GOPT_CLASS_INT, 10));
    int acc = gopt_expr_acc(&x, GOPT_DTYPE_F32);
    gopt_expr_op3(&x, GOPT_EXPR_SELECT, test, gopt_expr_op2(&x, GOPT_EXPR_MUL, a, acc),
                  gopt_expr_op1(&x, GOPT_EXPR_EXP, a));
    gopt_scalar load[2 * N], acc_tile[N], tmp[16 * N];
    for (int k = 0; k < N; k++) {
        load[k].i = k;
        load[N + k].f = 0.1 * k;
        acc_tile[k].f = 1 - k;
    }
    assert_true(x.n <= 16);
    const gopt_scalar *r = gopt_expr_eval_tile(&x, load, acc_tile, tmp, N);
    for (int k = 0; k < N; k++) {
        gopt_scalar one[] = {load[k], load[N + k]}, spare[16];
        assert_true(r[k].f == gopt_expr_eval(&x, one, acc_tile[k], spare).f);
        assert_true(r[k].f == (k > 10 ? 0.1 * k * (1 - k) : exp(0.1 * k)));
    }
}

static void every_code_was_evaluated(void **state)
{
    (void)state;
    for (int k = GOPT_EXPR_NEG; k < GOPT_EXPR_CODE_COUNT; k++)
        if (k != GOPT_EXPR_CAST && k != GOPT_EXPR_SELECT) /* have tests of their own */
            assert_true(evaluated[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_floats_are_libm),
        cmocka_unit_test(binary_floats_are_libm),
        cmocka_unit_test(modulo_takes_the_sign_of_the_divisor),
        cmocka_unit_test(integers_wrap_and_never_trap),
        cmocka_unit_test(a_chain_wraps_where_its_nodes_would),
        cmocka_unit_test(casts_round_truncate_and_wrap),
        cmocka_unit_test(scalars_move_between_tensors_of_any_type),
        cmocka_unit_test(a_tile_is_its_elements),
        cmocka_unit_test(every_code_was_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
