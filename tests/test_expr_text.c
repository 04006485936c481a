/* expr: the text form, by example, by random round trips, and its errors. */
#include "support/test.h"

#include <math.h>

#include "expr.h"

static gopt_arena arena;

static int teardown(void **state)
{
    (void)state;
    gopt_arena_fini(&arena);
    return 0;
}

/* text parses, and prints as `want`. */
static void check(const char *text, const char *want)
{
    gopt_err e = {0};
    gopt_expr x;
    gopt_text t = {0};
    assert_ok(gopt_expr_parse(&x, &arena, text, &e), &e);
    gopt_expr_print(&x, &t);
    assert_string_equal(gopt_text_str(&t), want);
    gopt_text_fini(&t);
}

static void texts_read_and_print(void **state)
{
    (void)state;
    static const char *const same[] = {
        "add(mul(acc, in1), const(0.5))",
        "in0",
        "acc:float16",
        "select(in2:bool, in0, const(-inf))",
        "max(in0:int64, const(-3))",
        "bitand(in0:uint8, const(15u))",
        "mul(in0, const(0.1))",
        "add(in0, const(0.0))",
        "add(in0, const(1e-30))",
        "const(nan)",
        "const(true)",
        "const(-0.0)",
        "const(18446744073709551615u)",
        "cast(in0, int8)",
        "mul(t0=exp(in0), t0)",
        "add(t0=mul(t1=sin(in0), t1), t0)",
        "mul(in0:float16, const(0.5):float16)",
    };
    for (int i = 0; i < GOPT_COUNT(same); i++)
        check(same[i], same[i]);
    check(" add ( in0 ,\n in0:float32 ) ", "add(in0, in0)");
    check("add(in0, mul(const(2.0), const(3.0)))", "add(in0, const(6.0))");
    check("const(0x1p-1)", "const(0.5)");
    check("mul(exp(in0), exp(in0))", "mul(t0=exp(in0), t0)");
}

static void malformed_texts_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "add",
        "add(in0",
        "add(in0)",
        "add(in0, in1",
        "exp(in0) x",
        "foo(in0)",
        "in",
        "in-1",
        "in99999999999",
        "in0:",
        "in0:string",
        "const()",
        "const(x)",
        "const(1",
        "t0",
        "mul(t1=exp(in0), t1)",
        "cast(in0)",
        "cast(in0, )",
        "cast(in0, int9)",
        "t0=exp(t0)",
        "add(t0=exp(in0), t0=exp(in1))",
        "exp in0",
        "const 1",
        "select(in0, in1)",
        "add(in0,, in1)",
        "exp(in0, in1)",
        "t0=t0",
    };
    for (int i = 0; i < GOPT_COUNT(wrong); i++) {
        gopt_err e = {0};
        gopt_expr x;
        assert_int_equal(gopt_expr_parse(&x, &arena, wrong[i], &e), GOPT_EINPUT);
        assert_int_equal(strncmp(e.msg, "expression: ", 12), 0);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    static char text[200000];
    gopt_err e = {0};
    gopt_expr x;
    for (int i = 0; i < 40000; i++)
        memcpy(text + 4 * i, "exp(", 4);
    assert_int_equal(gopt_expr_parse(&x, &arena, text, &e), GOPT_EINPUT);
}

static uint32_t seed = 12345;

static int draw(int n)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 8) % n;
}

static int random_leaf(gopt_expr *x)
{
    static const gopt_dtype types[] = {GOPT_DTYPE_F32, GOPT_DTYPE_F32, GOPT_DTYPE_F16, GOPT_DTYPE_I64,
                                       GOPT_DTYPE_U8,  GOPT_DTYPE_I32, GOPT_DTYPE_BOOL};
    switch (draw(5)) {
    case 0:
        return gopt_expr_float(x, ldexp((double)draw(1 << 20) / 3 - 100000, draw(60) - 30));
    case 1:
        return gopt_expr_int(x, (gopt_expr_class)draw(4), draw(1000) - 500);
    case 2:
        return gopt_expr_acc(x, GOPT_DTYPE_F32);
    default:
        return gopt_expr_load(x, draw(4), types[draw(GOPT_COUNT(types))]);
    }
}

static void grow(gopt_expr *x)
{
    static const gopt_dtype targets[] = {GOPT_DTYPE_F32, GOPT_DTYPE_BF16, GOPT_DTYPE_I32, GOPT_DTYPE_U8,
                                         GOPT_DTYPE_BOOL};
    gopt_expr_code code = (gopt_expr_code)(GOPT_EXPR_NEG + draw(GOPT_EXPR_CODE_COUNT - GOPT_EXPR_NEG));
    int a = draw(x->n), b = draw(x->n), c = draw(x->n);
    if (code == GOPT_EXPR_CAST)
        gopt_expr_cast(x, a, targets[draw(GOPT_COUNT(targets))]);
    else if (gopt_expr_code_args(code) == 1)
        gopt_expr_op1(x, code, a);
    else if (gopt_expr_code_args(code) == 2)
        gopt_expr_op2(x, code, a, b);
    else
        gopt_expr_op3(x, code, a, b, c);
}

static void random_expressions_round_trip(void **state)
{
    (void)state;
    for (int n = 0; n < 2000; n++) {
        gopt_arena a = {0};
        gopt_expr x = gopt_expr_new(&a), y;
        gopt_text first = {0}, second = {0};
        gopt_err e = {0};
        for (int i = 0; i < 6; i++)
            random_leaf(&x);
        for (int i = draw(60); i > 0; i--)
            grow(&x);
        assert_false(x.failed);
        gopt_expr_print(&x, &first);
        assert_ok(gopt_expr_parse(&y, &a, gopt_text_str(&first), &e), &e);
        gopt_expr_print(&y, &second);
        assert_string_equal(gopt_text_str(&first), gopt_text_str(&second));
        assert_true(gopt_expr_equal(&x, &y));
        gopt_text_fini(&first);
        gopt_text_fini(&second);
        gopt_arena_fini(&a);
    }
}

/* A splice of an expression onto its own operands is that expression. */
static void random_expressions_splice_onto_themselves(void **state)
{
    (void)state;
    for (int n = 0; n < 500; n++) {
        gopt_arena a = {0};
        gopt_expr x = gopt_expr_new(&a), y = gopt_expr_new(&a);
        int load[4];
        for (int i = 0; i < 4; i++)
            gopt_expr_load(&x, i, GOPT_DTYPE_F32);
        gopt_expr_acc(&x, GOPT_DTYPE_F32);
        for (int i = draw(40); i > 0; i--)
            grow(&x);
        for (int i = 0; i < 4; i++)
            load[i] = gopt_expr_load(&y, i, GOPT_DTYPE_F32);
        assert_true(gopt_expr_splice(&y, &x, load, 4, gopt_expr_acc(&y, GOPT_DTYPE_F32)) >= 0);
        assert_true(gopt_expr_equal(&x, &y));
        gopt_arena_fini(&a);
    }
}

static gopt_status parse(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_expr x;
    gopt_status s = gopt_expr_parse(&x, &a, ctx, e);
    gopt_arena_fini(&a);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(parse, "add(mul(t0=exp(in0), t0), const(0.5))") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_read_and_print),
        cmocka_unit_test(malformed_texts_are_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(random_expressions_round_trip),
        cmocka_unit_test(random_expressions_splice_onto_themselves),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
