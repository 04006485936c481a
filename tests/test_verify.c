/* test_verify.c: when two tensors are the same result: tolerances by type, what is not a number, shapes, strings. */
#include "verify.h"

#include <math.h>

#include "support/test.h"

enum { MOST = 4 };

typedef struct pair {
    gopt_dtype dtype;
    double got[MOST], want[MOST];
    bool same;
} pair;

static gopt_tensor *tensor_of(gopt_dtype d, const double *x, gopt_arena *a)
{
    gopt_tensor *t = gopt_tensor_new(a, d, 1, (const int64_t[]){MOST});
    assert_non_null(t);
    for (int i = 0; i < MOST; i++)
        gopt_tensor_set(t, i, x[i]);
    return t;
}

static gopt_status verify(const pair *p, gopt_tolerance t, gopt_difference *d, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_status s = gopt_verify_tensor(tensor_of(p->dtype, p->got, &a), tensor_of(p->dtype, p->want, &a), t, d, e);
    gopt_arena_fini(&a);
    return s;
}

/* Largest |want| is 100: the absolute part is that of the type times 100. */
static const pair by_dtype[] = {
    {GOPT_DTYPE_F32, {100.10, 0.009, 0, 1}, {100, 0, 0, 1}, true},
    {GOPT_DTYPE_F32, {100.12, 0, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_F32, {100, 0.011, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_F64, {100.00019, 0.00009, 0, 1}, {100, 0, 0, 1}, true},
    {GOPT_DTYPE_F64, {100.00021, 0, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_F64, {100, 0.00011, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_F16, {101.9, 0.9, 0, 1}, {100, 0, 0, 1}, true},
    {GOPT_DTYPE_F16, {102.1, 0, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_BF16, {101.5, 0.9, 0, 1}, {100, 0, 0, 1}, true},
    {GOPT_DTYPE_BF16, {100, 1.1, 0, 1}, {100, 0, 0, 1}, false},
    {GOPT_DTYPE_F8E4M3FN, {96, 0.5, 0, 1}, {96, 0, 0, 1}, true},
    {GOPT_DTYPE_F8E4M3FN, {96, 2, 0, 1}, {96, 0, 0, 1}, false},
    {GOPT_DTYPE_U8, {100, 1, 0, 255}, {99, 0, 1, 254}, true},
    {GOPT_DTYPE_U8, {100, 2, 0, 255}, {100, 0, 0, 255}, false},
    {GOPT_DTYPE_I8, {-128, 1, 0, 127}, {-127, 0, 1, 126}, true},
    {GOPT_DTYPE_I8, {-128, 0, 0, 0}, {-126, 0, 0, 0}, false},
    {GOPT_DTYPE_I32, {100, 0, 0, 1}, {101, 0, 0, 1}, false},
    {GOPT_DTYPE_I64, {-7, 5, 0, 1}, {-7, 5, 0, 1}, true},
    {GOPT_DTYPE_BOOL, {1, 0, 1, 1}, {1, 0, 1, 0}, false},
};

static void every_type_has_its_tolerance(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(by_dtype); i++) {
        gopt_err e = {0};
        gopt_status s = verify(&by_dtype[i], GOPT_TOLERANCE_DEFAULT, NULL, &e);
        if (s != (by_dtype[i].same ? GOPT_OK : GOPT_EDIFF))
            fail_msg("row %d (%s): %s", i, gopt_dtype_name(by_dtype[i].dtype), e.msg);
    }
}

static const pair not_numbers[] = {
    {GOPT_DTYPE_F32, {NAN, 1, 0, 0}, {NAN, 1, 0, 0}, true},
    {GOPT_DTYPE_F32, {1, 1, 0, 0}, {NAN, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {NAN, 1, 0, 0}, {1, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {INFINITY, -INFINITY, 0, 0}, {INFINITY, -INFINITY, 0, 0}, true},
    {GOPT_DTYPE_F32, {INFINITY, 1, 0, 0}, {-INFINITY, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {3e38, 1, 0, 0}, {INFINITY, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {INFINITY, 1, 0, 0}, {3e38, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {NAN, 1, 0, 0}, {INFINITY, 1, 0, 0}, false},
    {GOPT_DTYPE_F32, {INFINITY, 1.5, 0, 0}, {INFINITY, 1, 0, 0}, false},
    {GOPT_DTYPE_F64, {-0.0, 0, 0, 0}, {0, -0.0, 0, 0}, true},
};

/* An infinity that is expected says nothing of the scale: it must not let everything else pass. */
static void nan_equals_nan_and_infinities_equal_themselves(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(not_numbers); i++) {
        gopt_err e = {0};
        if (verify(&not_numbers[i], GOPT_TOLERANCE_DEFAULT, NULL, &e) != (not_numbers[i].same ? GOPT_OK : GOPT_EDIFF))
            fail_msg("row %d: %s", i, e.msg);
    }
}

static void a_given_tolerance_holds_instead(void **state)
{
    (void)state;
    gopt_err e = {0};
    const pair p = {GOPT_DTYPE_F32, {100.5, 0.1, 0, 0}, {100, 0, 0, 0}, false};
    assert_int_equal(verify(&p, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = 0.01, .abs = 0.2}, NULL, &e), GOPT_OK);
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = 0.01, .abs = 0}, NULL, &e), GOPT_EDIFF);
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = -1, .abs = 1}, NULL, &e), GOPT_OK);
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = -1, .abs = -1, .slack.abs = 0.5}, NULL, &e), GOPT_OK);
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = -1, .abs = -1, .slack.abs = 0.3}, NULL, &e), GOPT_EDIFF);
    const pair exact = {GOPT_DTYPE_I32, {5, 0, 0, 0}, {4, 0, 0, 0}, false};
    assert_int_equal(verify(&exact, (gopt_tolerance){.rel = -1, .abs = 1}, NULL, &e), GOPT_OK);
}

/* The figure that is told, the largest error over the largest value, is the one that is held against it. */
static void one_number_is_of_the_largest_value(void **state)
{
    (void)state;
    gopt_err e = {0};
    const gopt_tolerance percent = {.rel = 0.01, .abs = -1}, tiny = {.rel = 1e-12, .abs = -1};
    static const struct {
        pair p;
        gopt_status want;
    } rows[] = {{{GOPT_DTYPE_F32, {100.5, 0.9, 0, 0}, {100, 0, 0, 0}, false}, GOPT_OK},
                {{GOPT_DTYPE_F32, {101.5, 0, 0, 0}, {100, 0, 0, 0}, false}, GOPT_EDIFF},
                {{GOPT_DTYPE_F64, {100, 1.1, 0, 0}, {100, 0, 0, 0}, false}, GOPT_EDIFF},
                {{GOPT_DTYPE_U8, {101, 0, 0, 0}, {100, 0, 0, 0}, false}, GOPT_OK},
                {{GOPT_DTYPE_U8, {102, 0, 0, 0}, {100, 0, 0, 0}, false}, GOPT_EDIFF},
                {{GOPT_DTYPE_I32, {1001, 0, 0, 0}, {1000, 0, 0, 0}, false}, GOPT_EDIFF}};
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        if (verify(&rows[i].p, percent, NULL, &e) != rows[i].want)
            fail_msg("row %d: %s", i, e.msg);
    const pair near = {GOPT_DTYPE_F32, {1, 1.5e-7, 0, 0}, {1, 0, 0, 0}, false};
    assert_int_equal(verify(&near, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_OK);
    assert_int_equal(verify(&near, tiny, NULL, &e), GOPT_EDIFF);
}

static void the_message_names_the_first_element_and_errors_are_reported(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_difference d = {.max_abs = 0.25};
    const pair p = {GOPT_DTYPE_F32, {4, 1, 0.5, 3}, {4, 1, 1, 1}, false};
    assert_int_equal(verify(&p, GOPT_TOLERANCE_DEFAULT, &d, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "element 2: 0.5, 1 expected"));
    assert_true(d.max_abs == 2 && d.max_rel == 0.5);
    const pair small = {GOPT_DTYPE_F32, {4, 1, 1, 1}, {4, 1, 1, 1}, true};
    assert_ok(verify(&small, GOPT_TOLERANCE_DEFAULT, &d, &e), &e);
    assert_true(d.max_abs == 2); /* the largest seen stays */
    const pair zeros = {GOPT_DTYPE_F32, {0}, {0}, true};
    gopt_difference none = {0};
    assert_ok(verify(&zeros, GOPT_TOLERANCE_DEFAULT, &none, &e), &e);
    assert_true(none.max_abs == 0 && none.max_rel == 0);
}

/* More than one chunk of the comparison, the difference in the last. */
static void long_tensors_are_compared_to_their_end(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    const int64_t dim[] = {3, 1001};
    gopt_tensor *got = gopt_tensor_new(&a, GOPT_DTYPE_F32, 2, dim), *want = gopt_tensor_new(&a, GOPT_DTYPE_F32, 2, dim);
    assert_ok(gopt_verify_tensor(got, want, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
    gopt_tensor_set(got, 3002, 1);
    assert_int_equal(gopt_verify_tensor(got, want, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "element 3002"));
    gopt_tensor_set(want, 0, 1e5); /* the scale comes from all of the tensor */
    gopt_tensor_set(got, 0, 1e5);
    assert_ok(gopt_verify_tensor(got, want, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
    gopt_arena_fini(&a);
}

/* A double holds 53 bits of them. */
static void wide_integers_are_exact(void **state)
{
    (void)state;
    gopt_err e = {0};
    int64_t x[] = {1, INT64_MAX}, y[] = {1, INT64_MAX - 1};
    gopt_tensor a = {.dtype = GOPT_DTYPE_I64, .rank = 1, .dim = {2}, .data = x}, b = a;
    b.data = y;
    assert_ok(gopt_verify_tensor(&a, &a, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "element 1: 9223372036854775807, 9223372036854775806 expected"));
    assert_ok(gopt_verify_tensor(&a, &b, (gopt_tolerance){.rel = -1, .abs = 1}, NULL, &e), &e);
    gopt_tolerance stray = {.rel = -1, .abs = -1, .slack = {.abs = 2}};
    assert_int_equal(gopt_verify_tensor(&a, &b, stray, NULL, &e), GOPT_EDIFF); /* a measure of floats */
    stray.slack.strays = 1;
    assert_ok(gopt_verify_tensor(&a, &b, stray, NULL, &e), &e);
    a.dtype = b.dtype = GOPT_DTYPE_U64;
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
}

static const struct {
    gopt_dtype dtype;
    double noisy[MOST], want[MOST], abs;
    int strays;
} noises[] = {
    {GOPT_DTYPE_F32, {100, 1, 2, 3}, {100, 1, 2, 3}, 0, 0},
    {GOPT_DTYPE_F32, {100.25, 1, 2, 3.5}, {100, 1, 2, 3}, 4, 0},     /* eight times the largest */
    {GOPT_DTYPE_F32, {100, 1.5, 9, 3}, {100, 1, 2, 3}, 4, 4},        /* 7 of 100 is no rounding any more */
    {GOPT_DTYPE_F32, {100, NAN, 2, 3}, {100, INFINITY, 2, 3}, 0, 4}, /* nor is another kind of number */
    {GOPT_DTYPE_F32, {100, NAN, INFINITY, 3}, {100, NAN, INFINITY, 3}, 0, 0},
    {GOPT_DTYPE_I64, {7, 1, 2, 3}, {7, 1, 2, 900}, 0, 4}, /* one index moved: four may, the rest is exact */
    {GOPT_DTYPE_I64, {7, 1, 2, 3}, {7, 1, 2, 3}, 0, 0},
    {GOPT_DTYPE_U8, {7, 1, 2, 3}, {8, 1, 2, 3}, 0, 0}, /* one step is allowed anyway */
    {GOPT_DTYPE_U8, {7, 1, 2, 3}, {9, 1, 2, 3}, 0, 4},
    {GOPT_DTYPE_BOOL, {1, 1, 0, 0}, {1, 0, 0, 0}, 0, 4},
};

static void slack_is_what_rounding_moves(void **state)
{
    (void)state;
    gopt_arena a = {0};
    for (int i = 0; i < GOPT_COUNT(noises); i++) {
        const gopt_tensor *noisy = tensor_of(noises[i].dtype, noises[i].noisy, &a);
        const gopt_tensor *want = tensor_of(noises[i].dtype, noises[i].want, &a);
        gopt_slack s = gopt_verify_slack(noisy, want);
        if (fabs(s.abs - noises[i].abs) > 1e-4 || s.strays != noises[i].strays)
            fail_msg("row %d: %g and %lld strays", i, s.abs, (long long)s.strays);
    }
    const gopt_tensor *longer = gopt_tensor_new(&a, GOPT_DTYPE_F32, 1, (const int64_t[]){MOST + 1});
    gopt_slack none = gopt_verify_slack(longer, tensor_of(GOPT_DTYPE_F32, noises[2].want, &a));
    assert_true(none.abs == 0 && none.strays == 0);
    gopt_arena_fini(&a);
}

/* An unstable index does not let a wrong one elsewhere pass for ever. */
static void no_more_strays_than_allowed(void **state)
{
    (void)state;
    gopt_err e = {0};
    const pair p = {GOPT_DTYPE_I32, {5, 6, 0, 1}, {4, 7, 0, 1}, false};
    assert_int_equal(verify(&p, (gopt_tolerance){.rel = -1, .abs = -1, .slack.strays = 1}, NULL, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "element 1: 6, 7 expected"));
    assert_ok(verify(&p, (gopt_tolerance){.rel = -1, .abs = -1, .slack.strays = 2}, NULL, &e), &e);
}

static void complex_numbers_are_compared_by_their_parts(void **state)
{
    (void)state;
    gopt_err e = {0};
    float x[] = {1, 2, 3, 4}, y[] = {1, 2, 3, 5};
    gopt_tensor a = {.dtype = GOPT_DTYPE_C64, .rank = 1, .dim = {2}, .data = x}, b = a;
    assert_ok(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
    b.data = y;
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_ok(gopt_verify_tensor(&a, &b, (gopt_tolerance){.rel = 0.5, .abs = 0}, NULL, &e), &e);
}

static void shapes_and_types_must_agree(void **state)
{
    (void)state;
    gopt_err e = {0};
    float x[6] = {0};
    gopt_tensor a = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {2, 3}, .data = x}, b = a;
    b.dim[0] = 3;
    b.dim[1] = 2;
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "float32[2,3], float32[3,2] expected"));
    b = a;
    b.dtype = GOPT_DTYPE_I32;
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    b = a;
    b.rank = 1;
    b.dim[0] = 6;
    assert_int_equal(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    a.dim[0] = b.dim[0] = 0;
    b.rank = 2;
    b.dim[1] = 3;
    a.data = b.data = NULL;
    assert_ok(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
}

static void strings_must_be_equal(void **state)
{
    (void)state;
    gopt_err e = {0};
    const char *x[] = {"one", NULL, "three"}, *y[] = {"one", "", "three"}, *z[] = {"one", "two", NULL};
    gopt_tensor a = {.dtype = GOPT_DTYPE_STRING, .rank = 1, .dim = {3}, .data = x}, b = a, c = a;
    b.data = y;
    c.data = z;
    assert_ok(gopt_verify_tensor(&a, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), &e);
    assert_int_equal(gopt_verify_tensor(&a, &c, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
    assert_non_null(strstr(e.msg, "element 1: '', 'two' expected"));
    assert_int_equal(gopt_verify_tensor(&c, &b, GOPT_TOLERANCE_DEFAULT, NULL, &e), GOPT_EDIFF);
}

static void tolerances_are_parsed(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_tolerance t;
    assert_ok(gopt_tolerance_parse(&t, "1e-3", &e), &e);
    assert_true(t.rel == 1e-3 && t.abs == -1);
    assert_ok(gopt_tolerance_parse(&t, "0.5,0", &e), &e);
    assert_true(t.rel == 0.5 && t.abs == 0);
    const char *const bad[] = {"", "x", "1e-3,", "1e-3,x", "1e-3,1,1", "-1", "1,-1", "1 2", "nan", "0,nan", "inf"};
    for (int i = 0; i < GOPT_COUNT(bad); i++) {
        if (gopt_tolerance_parse(&t, bad[i], &e) != GOPT_EUSAGE)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(e.msg, "REL[,ABS] expected"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_its_tolerance),
        cmocka_unit_test(nan_equals_nan_and_infinities_equal_themselves),
        cmocka_unit_test(a_given_tolerance_holds_instead),
        cmocka_unit_test(one_number_is_of_the_largest_value),
        cmocka_unit_test(the_message_names_the_first_element_and_errors_are_reported),
        cmocka_unit_test(long_tensors_are_compared_to_their_end),
        cmocka_unit_test(wide_integers_are_exact),
        cmocka_unit_test(slack_is_what_rounding_moves),
        cmocka_unit_test(no_more_strays_than_allowed),
        cmocka_unit_test(complex_numbers_are_compared_by_their_parts),
        cmocka_unit_test(shapes_and_types_must_agree),
        cmocka_unit_test(strings_must_be_equal),
        cmocka_unit_test(tolerances_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
