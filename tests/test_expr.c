/* expr: builders (sharing, folding, conversions), splicing and queries. */
#include "support/test.h"

#include <math.h>

#include "expr.h"

static int setup(void **state)
{
    static gopt_arena a;
    *state = &a;
    return 0;
}

static int teardown(void **state)
{
    gopt_arena_fini(*state);
    return 0;
}

static double eval1(const gopt_expr *x, double in)
{
    gopt_scalar tmp[GOPT_EXPR_LIMIT], load = {.f = in};
    return gopt_expr_eval(x, &load, (gopt_scalar){0}, tmp).f;
}

/* Building may move x->at: this reads it afterwards. */
static gopt_instr at(const gopt_expr *x, int k)
{
    return x->at[k];
}

static uint64_t bits(double v)
{
    uint64_t u;
    v = isnan(v) ? (double)NAN : v;
    memcpy(&u, &v, sizeof u);
    return u;
}

static void equal_instructions_are_shared(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    assert_int_equal(x.result, -1);
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), b = gopt_expr_load(&x, 1, GOPT_DTYPE_F32);
    int sum = gopt_expr_op2(&x, GOPT_EXPR_ADD, a, b);
    assert_int_equal(gopt_expr_load(&x, 0, GOPT_DTYPE_F32), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, a, b), sum);
    assert_int_equal(x.result, sum);
    assert_int_not_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, b, a), -1);
    assert_int_not_equal(gopt_expr_float(&x, 0.0), gopt_expr_float(&x, -0.0));
    assert_int_equal(gopt_expr_float(&x, NAN), gopt_expr_float(&x, -NAN));
    assert_int_not_equal(gopt_expr_int(&x, GOPT_CLASS_INT, 1), gopt_expr_int(&x, GOPT_CLASS_UINT, 1));
    assert_false(x.failed);
}

static void halves_are_rounded_by_casts(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F16), zero = gopt_expr_float(&x, 0), tenth = gopt_expr_float(&x, 0.1);
    int sum = gopt_expr_op2(&x, GOPT_EXPR_ADD, a, a), acc = gopt_expr_acc(&x, GOPT_DTYPE_BF16);
    assert_int_equal(gopt_expr_cast(&x, a, GOPT_DTYPE_F16), a);
    int rounded = gopt_expr_cast(&x, sum, GOPT_DTYPE_F16);
    assert_int_not_equal(rounded, sum);
    assert_int_equal(gopt_expr_cast(&x, rounded, GOPT_DTYPE_F16), rounded);
    assert_int_equal(gopt_expr_cast(&x, gopt_expr_cast(&x, rounded, GOPT_DTYPE_F32), GOPT_DTYPE_F16), rounded);
    assert_int_not_equal(gopt_expr_cast(&x, acc, GOPT_DTYPE_BF16), acc);
    int positive = gopt_expr_op2(&x, GOPT_EXPR_MAX, rounded, zero);
    assert_int_equal(gopt_expr_cast(&x, positive, GOPT_DTYPE_F16), positive);
    int chosen = gopt_expr_op3(&x, GOPT_EXPR_SELECT, gopt_expr_load(&x, 1, GOPT_DTYPE_BOOL), a, rounded);
    assert_int_equal(gopt_expr_cast(&x, chosen, GOPT_DTYPE_F16), chosen);
    int least = gopt_expr_op2(&x, GOPT_EXPR_MAX, a, tenth); /* 0.1 is no float16 */
    assert_int_not_equal(gopt_expr_cast(&x, least, GOPT_DTYPE_F16), least);
    int either = gopt_expr_op2(&x, GOPT_EXPR_MAX, sum, zero);
    assert_int_not_equal(gopt_expr_cast(&x, either, GOPT_DTYPE_F16), either);
    int other = gopt_expr_cast(&x, gopt_expr_cast(&x, acc, GOPT_DTYPE_BF16), GOPT_DTYPE_F16);
    assert_int_equal(at(&x, other).code, GOPT_EXPR_CAST);
    assert_false(x.failed);
}

static void constants_fold(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int two = gopt_expr_float(&x, 2), three = gopt_expr_float(&x, 3);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_POW, two, three), gopt_expr_float(&x, 8));
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_SQRT, gopt_expr_float(&x, 9)), three);
    int less = gopt_expr_op2(&x, GOPT_EXPR_LT, two, three);
    assert_int_equal(less, gopt_expr_int(&x, GOPT_CLASS_BOOL, 1));
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), b = gopt_expr_load(&x, 1, GOPT_DTYPE_F32);
    assert_int_equal(gopt_expr_op3(&x, GOPT_EXPR_SELECT, less, a, b), a);
    assert_int_equal(gopt_expr_op3(&x, GOPT_EXPR_SELECT, gopt_expr_op1(&x, GOPT_EXPR_NOT, less), a, b), b);
    gopt_instr half = at(&x, gopt_expr_cast(&x, gopt_expr_float(&x, 0.1), GOPT_DTYPE_F16));
    assert_int_equal(half.code, GOPT_EXPR_CONST);
    assert_int_equal(half.dtype, GOPT_DTYPE_F16);
    assert_true(half.f == 0.0999755859375);
    int wrapped = gopt_expr_cast(&x, gopt_expr_int(&x, GOPT_CLASS_INT, 300), GOPT_DTYPE_U8);
    assert_int_equal(x.at[wrapped].i, 44);
}

/* What the builders leave of an operation with one constant must still be that operation for every x, to the bit. */
static void simplification_is_exact_for_every_operand(void **state)
{
    static const gopt_expr_code codes[] = {GOPT_EXPR_ADD, GOPT_EXPR_SUB, GOPT_EXPR_MUL, GOPT_EXPR_DIV,
                                           GOPT_EXPR_POW, GOPT_EXPR_MIN, GOPT_EXPR_MAX};
    static const double v[] = {0.0, -0.0, 1, -1, 0.5, 3, INFINITY, -INFINITY, NAN, 5e-324, 1e308};
    for (int c = 0; c < GOPT_COUNT(codes); c++)
        for (int k = 0; k < 2 * GOPT_COUNT(v); k++) {
            gopt_expr x = gopt_expr_new(*state);
            int load = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), constant = gopt_expr_float(&x, v[k / 2]);
            x.result = gopt_expr_op2(&x, codes[c], k % 2 ? constant : load, k % 2 ? load : constant);
            for (int i = 0; i < GOPT_COUNT(v); i++) {
                double a = k % 2 ? v[k / 2] : v[i], b = k % 2 ? v[i] : v[k / 2];
                double want[] = {
                    a + b, a - b, a * b, a / b, pow(a, b), isnan(a) || a < b ? a : b, isnan(a) || a > b ? a : b};
                assert_int_equal(bits(eval1(&x, v[i])), bits(want[c]));
            }
        }
}

static void only_exact_neutral_elements_vanish(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), i = gopt_expr_load(&x, 1, GOPT_DTYPE_I64);
    int zero = gopt_expr_float(&x, 0.0), minus = gopt_expr_float(&x, -0.0), one = gopt_expr_float(&x, 1);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_MUL, a, one), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_MUL, one, a), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_DIV, a, one), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, a, minus), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_SUB, a, zero), a);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, i, zero), i);
    assert_int_not_equal(gopt_expr_op2(&x, GOPT_EXPR_MUL, a, zero), zero);
    assert_int_not_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, a, zero), a);
    assert_int_not_equal(gopt_expr_op2(&x, GOPT_EXPR_SUB, a, minus), a);
    assert_int_not_equal(gopt_expr_op2(&x, GOPT_EXPR_SUB, zero, a), gopt_expr_op1(&x, GOPT_EXPR_NEG, a));
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_NEG, gopt_expr_op1(&x, GOPT_EXPR_NEG, a)), a);
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_BITNOT, gopt_expr_op1(&x, GOPT_EXPR_BITNOT, i)), i);
    assert_int_equal(gopt_expr_cast(&x, a, GOPT_DTYPE_F32), a);
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_FLOOR, i), i);
    assert_false(x.failed);
}

static void operands_get_one_class(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int f = gopt_expr_load(&x, 0, GOPT_DTYPE_F16), i = gopt_expr_load(&x, 1, GOPT_DTYPE_I32);
    int u = gopt_expr_load(&x, 2, GOPT_DTYPE_U8), b = gopt_expr_load(&x, 3, GOPT_DTYPE_BOOL);
    gopt_instr relu = at(&x, gopt_expr_op2(&x, GOPT_EXPR_MAX, i, gopt_expr_float(&x, 0)));
    assert_int_equal(relu.class, GOPT_CLASS_INT);
    assert_int_equal(relu.dtype, GOPT_DTYPE_I32);
    gopt_instr scaled = at(&x, gopt_expr_op2(&x, GOPT_EXPR_MUL, i, gopt_expr_float(&x, 0.5)));
    assert_int_equal(scaled.class, GOPT_CLASS_FLOAT);
    assert_int_equal(x.at[scaled.arg[0]].code, GOPT_EXPR_CAST);
    gopt_instr half = at(&x, gopt_expr_op2(&x, GOPT_EXPR_ADD, gopt_expr_float(&x, 0.5), f));
    assert_int_equal(half.dtype, GOPT_DTYPE_F16);
    gopt_instr mixed = at(&x, gopt_expr_op2(&x, GOPT_EXPR_ADD, u, i));
    assert_int_equal(mixed.dtype, GOPT_DTYPE_I32);
    assert_int_equal(mixed.class, GOPT_CLASS_INT);
    gopt_instr masked = at(&x, gopt_expr_op2(&x, GOPT_EXPR_MUL, b, f));
    assert_int_equal(masked.class, GOPT_CLASS_FLOAT);
    assert_int_equal(masked.dtype, GOPT_DTYPE_F16);
    gopt_instr below = at(&x, gopt_expr_op2(&x, GOPT_EXPR_LT, u, gopt_expr_int(&x, GOPT_CLASS_INT, -1)));
    assert_int_equal(x.at[below.arg[0]].class, GOPT_CLASS_INT);
    assert_int_equal(below.dtype, GOPT_DTYPE_BOOL);
    gopt_instr root = at(&x, gopt_expr_op1(&x, GOPT_EXPR_SQRT, i));
    assert_int_equal(root.dtype, GOPT_DTYPE_F32);
    gopt_instr both = at(&x, gopt_expr_op2(&x, GOPT_EXPR_AND, f, b));
    assert_int_equal(both.class, GOPT_CLASS_BOOL);
    assert_false(x.failed);
}

static void a_power_has_the_type_of_its_base(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int f = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), d = gopt_expr_load(&x, 1, GOPT_DTYPE_F64);
    int i = gopt_expr_load(&x, 2, GOPT_DTYPE_I32), l = gopt_expr_load(&x, 3, GOPT_DTYPE_I64);
    gopt_scalar tmp[GOPT_EXPR_LIMIT], load[] = {{.f = 2}, {.f = 1.5}, {.i = 3}, {.i = 4}};
    int pairs[][2] = {{f, i}, {f, d}, {i, f}, {i, d}, {i, l}, {l, i}, {d, l}};
    static const double want[] = {8, 2.8284271247461903, 9, 5, 81, 64, 5.0625};
    for (int k = 0; k < GOPT_COUNT(pairs); k++) {
        x.result = gopt_expr_op2(&x, GOPT_EXPR_POW, pairs[k][0], pairs[k][1]);
        gopt_scalar v = gopt_expr_eval(&x, load, (gopt_scalar){0}, tmp);
        assert_int_equal(gopt_expr_dtype(&x), x.at[pairs[k][0]].dtype);
        assert_true((x.at[x.result].class == GOPT_CLASS_FLOAT ? v.f : (double)v.i) == want[k]);
    }
}

static void the_dtype_of_a_result(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_NONE);
    gopt_expr_float(&x, 2);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_F32);
    gopt_expr_int(&x, GOPT_CLASS_INT, 2);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_I64);
    int b = gopt_expr_load(&x, 0, GOPT_DTYPE_BF16), k = gopt_expr_load(&x, 1, GOPT_DTYPE_BOOL);
    gopt_expr_op2(&x, GOPT_EXPR_LE, b, gopt_expr_float(&x, 1));
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_BOOL);
    gopt_expr_op3(&x, GOPT_EXPR_SELECT, k, gopt_expr_float(&x, 0), b);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_BF16);
    gopt_expr_cast(&x, b, GOPT_DTYPE_I8);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_I8);
    gopt_expr_acc(&x, GOPT_DTYPE_F64);
    assert_int_equal(gopt_expr_dtype(&x), GOPT_DTYPE_F64);
}

static void splicing_replaces_operands(void **state)
{
    gopt_expr gelu = gopt_expr_new(*state), x = gopt_expr_new(*state);
    int in = gopt_expr_acc(&gelu, GOPT_DTYPE_F32), scale = gopt_expr_load(&gelu, 0, GOPT_DTYPE_F32);
    int gate = gopt_expr_op1(&gelu, GOPT_EXPR_SIGMOID, gopt_expr_op2(&gelu, GOPT_EXPR_MUL, in, scale));
    gopt_expr_op2(&gelu, GOPT_EXPR_MUL, in, gate);
    int acc = gopt_expr_acc(&x, GOPT_DTYPE_F32), bias = gopt_expr_load(&x, 2, GOPT_DTYPE_F32);
    int sum = gopt_expr_op2(&x, GOPT_EXPR_ADD, acc, bias), two = gopt_expr_float(&x, 2);
    int r = gopt_expr_splice(&x, &gelu, (int[]){two}, 1, sum);
    assert_int_equal(r, x.result);
    assert_int_equal(gopt_expr_loads(&x), 3);
    gopt_scalar tmp[GOPT_EXPR_LIMIT], load[3] = {{0}, {0}, {.f = 0.25}};
    double t = 0.75;
    assert_true(gopt_expr_eval(&x, load, (gopt_scalar){.f = 0.5}, tmp).f == t * (1 / (1 + exp(-t * 2))));
    int one = gopt_expr_float(&x, 1);
    int plain = gopt_expr_splice(&x, &gelu, (int[]){one}, 1, sum); /* the product with 1 goes */
    assert_int_equal(x.at[x.at[plain].arg[1]].code, GOPT_EXPR_SIGMOID);
    assert_int_equal(x.at[x.at[plain].arg[1]].arg[0], sum);
    assert_int_equal(gopt_expr_splice(&x, &gelu, NULL, 0, sum), -1);
}

static void queries_ignore_what_the_result_does_not_need(void **state)
{
    gopt_expr x = gopt_expr_new(*state), y = gopt_expr_new(*state);
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), unused = gopt_expr_load(&x, 7, GOPT_DTYPE_I64);
    gopt_expr_op2(&x, GOPT_EXPR_DIV, unused, unused);
    gopt_expr_op2(&x, GOPT_EXPR_ADD, gopt_expr_op1(&x, GOPT_EXPR_EXP, a), a);
    assert_int_equal(gopt_expr_loads(&x), 1);
    assert_int_equal(gopt_expr_cost(&x), 11);
    assert_true(gopt_expr_is_float(&x));
    int b = gopt_expr_load(&y, 0, GOPT_DTYPE_F32);
    gopt_expr_op2(&y, GOPT_EXPR_ADD, gopt_expr_op1(&y, GOPT_EXPR_EXP, b), b);
    assert_true(gopt_expr_equal(&x, &y));
    gopt_expr_op2(&y, GOPT_EXPR_ADD, b, gopt_expr_op1(&y, GOPT_EXPR_EXP, b));
    assert_false(gopt_expr_equal(&x, &y));
    gopt_expr copy = gopt_expr_copy(*state, &x);
    assert_true(gopt_expr_equal(&x, &copy));
    assert_true(copy.at != x.at);
}

static void float_expressions_are_told_apart(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    assert_false(gopt_expr_is_float(&x));
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32), k = gopt_expr_load(&x, 1, GOPT_DTYPE_BOOL);
    int test = gopt_expr_op2(&x, GOPT_EXPR_OR, k, gopt_expr_op1(&x, GOPT_EXPR_ISNAN, a));
    assert_false(gopt_expr_is_float(&x)); /* a bool result */
    gopt_expr_op3(&x, GOPT_EXPR_SELECT, test, a, gopt_expr_float(&x, 0));
    assert_true(gopt_expr_is_float(&x));
    gopt_expr_op2(&x, GOPT_EXPR_MUL, a, k); /* needs a cast from bool */
    assert_false(gopt_expr_is_float(&x));
    gopt_expr_cast(&x, gopt_expr_load(&x, 2, GOPT_DTYPE_F16), GOPT_DTYPE_F32);
    assert_true(gopt_expr_is_float(&x));
    gopt_expr_cast(&x, gopt_expr_load(&x, 3, GOPT_DTYPE_F64), GOPT_DTYPE_F32);
    assert_false(gopt_expr_is_float(&x));
    gopt_expr_cast(&x, a, GOPT_DTYPE_BOOL);
    assert_false(gopt_expr_is_float(&x));
}

/* What quantized models have between two integers. */
static void integers_may_be_at_the_ends(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int q = gopt_expr_load(&x, 0, GOPT_DTYPE_U8), z = gopt_expr_load(&x, 1, GOPT_DTYPE_U8);
    assert_false(gopt_expr_is_float_inside(&x)); /* an integer that nothing computed */
    int f = gopt_expr_dequantize(&x, q, gopt_expr_float(&x, 0.5), z);
    assert_true(gopt_expr_is_float_inside(&x));
    assert_false(gopt_expr_is_float(&x));
    int y = gopt_expr_quantize(&x, f, gopt_expr_load(&x, 2, GOPT_DTYPE_F32), z, GOPT_DTYPE_I8);
    assert_true(gopt_expr_is_float_inside(&x));
    gopt_expr_op2(&x, GOPT_EXPR_ADD, y, y); /* arithmetic of integers */
    assert_false(gopt_expr_is_float_inside(&x));
    gopt_expr_dequantize(&x, y, f, -1);
    assert_true(gopt_expr_is_float_inside(&x));
    gopt_expr_cast(&x, f, GOPT_DTYPE_I8); /* truncates */
    assert_false(gopt_expr_is_float_inside(&x));
    int clamped = gopt_expr_op2(
        &x, GOPT_EXPR_MIN,
        gopt_expr_op2(&x, GOPT_EXPR_MAX, gopt_expr_op1(&x, GOPT_EXPR_ROUND, f), gopt_expr_float(&x, -128)),
        gopt_expr_float(&x, 127));
    gopt_expr_cast(&x, clamped, GOPT_DTYPE_U8); /* wraps */
    assert_false(gopt_expr_is_float_inside(&x));
    gopt_expr_cast(&x, clamped, GOPT_DTYPE_I16);
    assert_true(gopt_expr_is_float_inside(&x));
    gopt_expr_cast(&x, gopt_expr_load(&x, 3, GOPT_DTYPE_I64), GOPT_DTYPE_F32); /* too wide */
    assert_false(gopt_expr_is_float_inside(&x));
}

static void wrong_calls_fail_softly(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int a = gopt_expr_load(&x, 0, GOPT_DTYPE_F32);
    assert_int_equal(gopt_expr_op2(&x, GOPT_EXPR_ADD, a, -1), -1);
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_EXP, -1), -1);
    assert_int_equal(gopt_expr_cast(&x, -1, GOPT_DTYPE_F16), -1);
    assert_int_equal(gopt_expr_op3(&x, GOPT_EXPR_SELECT, a, -1, a), -1);
    assert_false(x.failed);
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_ADD, a), -1);
    assert_true(x.failed);
}

static void too_long_an_expression_fails_and_stays_failed(void **state)
{
    gopt_expr x = gopt_expr_new(*state);
    int r = gopt_expr_load(&x, 0, GOPT_DTYPE_F32);
    for (int i = 1; i < GOPT_EXPR_LIMIT; i++)
        r = gopt_expr_op1(&x, i % 2 ? GOPT_EXPR_SIN : GOPT_EXPR_EXP, r);
    assert_int_equal(r, GOPT_EXPR_LIMIT - 1);
    assert_false(x.failed);
    assert_int_equal(gopt_expr_op1(&x, GOPT_EXPR_COS, r), -1);
    assert_true(x.failed);
    assert_int_equal(gopt_expr_load(&x, 0, GOPT_DTYPE_F32), -1);
}

static gopt_status build(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    (void)ctx;
    int r = gopt_expr_load(&x, 0, GOPT_DTYPE_F32);
    for (int i = 0; i < 200; i++)
        r = gopt_expr_op2(&x, GOPT_EXPR_MUL, gopt_expr_op1(&x, GOPT_EXPR_TANH, r), gopt_expr_float(&x, 2));
    gopt_expr copy = gopt_expr_copy(&a, &x);
    bool failed = a.failed;
    assert_true(!failed || x.failed || copy.failed);
    gopt_arena_fini(&a);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(build, NULL) > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_instructions_are_shared),
        TEST(halves_are_rounded_by_casts),
        TEST(constants_fold),
        TEST(simplification_is_exact_for_every_operand),
        TEST(only_exact_neutral_elements_vanish),
        TEST(operands_get_one_class),
        TEST(a_power_has_the_type_of_its_base),
        TEST(the_dtype_of_a_result),
        TEST(splicing_replaces_operands),
        TEST(queries_ignore_what_the_result_does_not_need),
        TEST(float_expressions_are_told_apart),
        TEST(integers_may_be_at_the_ends),
        TEST(wrong_calls_fail_softly),
        TEST(too_long_an_expression_fails_and_stays_failed),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
