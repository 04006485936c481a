/* dim: canonical forms, exact division, text both ways, bounds, binding; random expressions against their values. */
#include "support/test.h"

#include "dim.h"

static gopt_arena arena;
static gopt_dims *t;

static int setup(void **state)
{
    (void)state;
    t = gopt_dims_new(&arena);
    return t == NULL;
}

static int teardown(void **state)
{
    (void)state;
    gopt_arena_fini(&arena);
    return 0;
}

static gopt_dim parse(const char *text)
{
    return gopt_dim_parse(t, text);
}

static void texts_read_and_print(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"7", "7"},
        {"batch", "batch"},
        {"cache+seq", "cache + seq"},
        {"2*seq+1", "2*seq + 1"},
        {"0+cache_length+cache+seq", "cache_length + cache + seq"},
        {"(h+1)/2", "(h + 1)/2"},
        {"(h + 1)//2", "(h + 1)/2"},
        {" 3 * ( seq - 1 ) ", "3*seq - 3"},
        {"-seq", "-seq"},
        {"-(h/2)", "-(h/2)"},
        {"seq - h/2", "seq - h/2"},
        {"2*(h/2)", "2*(h/2)"},
        {"seq*batch", "batch*seq"},
        {"h%2", "h%2"},
        {"max(h, 3)", "max(h, 3)"},
        {"Min(h, seq)", "min(h, seq)"},
        {"floor(h/2)", "h/2"},
        {"FloorDiv(h, 2)", "h/2"},
        {"Mod(h, 2)", "h%2"},
        {"6/4", "1"},
        {"seq - seq", "0"},
        {"batch-size", "batch-size"},
        {"batch.1", "batch.1"},
        {"2x", "2x"},
        {"a b", "a b"},
        {"a+", "a+"},
        {"(a", "(a"},
        {"input:0", "input:0"},
        {"foo(a)", "foo(a)"},
        {"max(a)", "max(a)"},
        {"99999999999999999999", "99999999999999999999"},
        {"?", "?"},
        {"", "?"},
        {"h/0", "?"},
    };
    parse("cache_length + cache + batch + seq + h"); /* the order in which terms print */
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        char buf[100];
        gopt_dim d = parse(cases[i][0]);
        assert_string_equal(gopt_dim_print(t, d, buf, sizeof buf), cases[i][1]);
        assert_true(!gopt_dim_is_known(d) || gopt_dim_equal(parse(buf), d));
    }
}

static void equal_polynomials_are_equal_dims(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"(a+b)*(a - b)", "a*a - b*b"},
        {"(h+1)/2", "(1+h)/2"},
        {"(h-1)/2+1", "(h+1)/2"},
        {"(2*h+3)/4", "(h+1)/2"},
        {"(h+7)/2", "3+(h+1)/2"},
        {"3*h/2", "h + h/2"},
        {"(h/2)/2", "h/4"},
        {"((h+1)/2+1)/2", "(h+3)/4"},
        {"(batch*seq*768)/(batch*seq)", "768"},
        {"(12*seq*batch)/(4*batch)", "3*seq"},
        {"(batch*seq+64*batch)/(seq+64)", "batch"},
        {"(a*a+2*a*b+b*b)/(a+b)", "a+b"},
        {"(batch*h)/(2*batch)", "h/2"},
        {"(2*seq)%2", "0"},
        {"(4*a+h)%4", "h%4"},
        {"max(a, b)", "max(b, a)"},
        {"max(a, a+1)", "a+1"},
        {"min(seq, 0)", "0"},
        {"max(seq, 0)", "seq"},
        {"(h%4)/4", "(h%4)/4"},
        {"h/(0-2)", "(0-h)/2"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++)
        assert_true(gopt_dim_equal(parse(cases[i][0]), parse(cases[i][1])));
    assert_false(gopt_dim_equal(parse("a"), parse("b")));
    assert_false(gopt_dim_equal(parse("h/2"), parse("(h+1)/2")));
    assert_false(gopt_dim_equal(parse("2*(h/2)"), parse("h")));
    assert_false(gopt_dim_equal(GOPT_DIM_UNKNOWN, GOPT_DIM_UNKNOWN));
    assert_true(gopt_dim_equal(gopt_dim_symbol(t, "x"), gopt_dim_symbol(t, "x")));
}

static void constants_need_no_table(void **state)
{
    (void)state;
    gopt_dim a = gopt_dim_of(-7), b = gopt_dim_of(2);
    char buf[32];
    assert_int_equal(gopt_dim_add(NULL, a, b).k, -5);
    assert_int_equal(gopt_dim_sub(NULL, a, b).k, -9);
    assert_int_equal(gopt_dim_mul(NULL, a, b).k, -14);
    assert_int_equal(gopt_dim_div(NULL, a, b).k, -4);
    assert_int_equal(gopt_dim_div(NULL, a, gopt_dim_of(-2)).k, 3);
    assert_int_equal(gopt_dim_ceil_div(NULL, a, b).k, -3);
    assert_int_equal(gopt_dim_ceil_div(NULL, a, gopt_dim_of(-2)).k, 4);
    assert_int_equal(gopt_dim_mod(NULL, a, b).k, 1);
    assert_int_equal(gopt_dim_mod(NULL, a, gopt_dim_of(-2)).k, -1);
    assert_int_equal(gopt_dim_min(NULL, a, b).k, -7);
    assert_int_equal(gopt_dim_max(NULL, a, b).k, 2);
    assert_int_equal(gopt_dim_lower(NULL, b), 2);
    assert_string_equal(gopt_dim_print(NULL, a, buf, sizeof buf), "-7");
    assert_false(gopt_dim_is_known(gopt_dim_add(NULL, a, GOPT_DIM_UNKNOWN)));
}

static void unknown_absorbs_and_overflow_is_unknown(void **state)
{
    (void)state;
    gopt_dim (*const ops[])(gopt_dims *, gopt_dim, gopt_dim) = {gopt_dim_add, gopt_dim_sub,      gopt_dim_mul,
                                                                gopt_dim_div, gopt_dim_ceil_div, gopt_dim_mod,
                                                                gopt_dim_min, gopt_dim_max};
    gopt_dim s = gopt_dim_symbol(t, "s"), big = gopt_dim_of(INT64_MAX), low = gopt_dim_of(INT64_MIN);
    for (int i = 0; i < GOPT_COUNT(ops); i++) {
        assert_false(gopt_dim_is_known(ops[i](t, GOPT_DIM_UNKNOWN, s)));
        assert_false(gopt_dim_is_known(ops[i](t, s, GOPT_DIM_UNKNOWN)));
    }
    assert_false(gopt_dim_is_known(gopt_dim_add(t, big, gopt_dim_of(1))));
    assert_false(gopt_dim_is_known(gopt_dim_mul(t, big, gopt_dim_of(2))));
    assert_false(gopt_dim_is_known(gopt_dim_sub(t, low, gopt_dim_of(1))));
    assert_false(gopt_dim_is_known(gopt_dim_div(t, low, gopt_dim_of(-1))));
    assert_int_equal(gopt_dim_mod(t, low, gopt_dim_of(-1)).k, 0);
    gopt_dim huge = gopt_dim_mul(t, s, big);
    assert_true(gopt_dim_is_known(huge));
    assert_false(gopt_dim_is_known(gopt_dim_add(t, huge, s)));
    assert_false(gopt_dim_is_known(gopt_dim_mul(t, huge, gopt_dim_of(2))));
    gopt_dim power = s;
    for (int i = 0; i < 20; i++)
        power = gopt_dim_mul(t, power, s);
    assert_false(gopt_dim_is_known(power)); /* more than the table's forms hold */
    assert_false(gopt_dim_is_known(gopt_dim_div(t, s, gopt_dim_of(0))));
    assert_false(gopt_dim_is_known(gopt_dim_mod(t, s, gopt_dim_of(0))));
}

static void bounds_are_proven(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t lower;
    } cases[] = {
        {"5", 5},
        {"seq", 0},
        {"2*seq+1", 1},
        {"seq-2", -2},
        {"3-seq", INT64_MIN},
        {"batch*seq+4", 4},
        {"(h+5)/2", 2},
        {"h%4", 0},
        {"7-h%4", 4},
        {"max(h, 3)", 3},
        {"min(h, 3)", 0},
        {"6-min(h, 3)", 3},
        {"(h-9)/4", -3},
        {"h/seq", 0},
        {"seq*(h-1)", INT64_MIN},
        {"max(h, seq) + max(h, 2)", 2},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++)
        assert_int_equal(gopt_dim_lower(t, parse(cases[i].text)), cases[i].lower);
    assert_int_equal(gopt_dim_lower(t, GOPT_DIM_UNKNOWN), INT64_MIN);
}

static void symbols_bind(void **state)
{
    (void)state;
    const char *const names[] = {"h", "seq"};
    const int64_t values[] = {9, 4};
    static const char *const cases[][2] = {
        {"(h+1)/2", "5"}, {"2*seq+h", "17"},    {"batch*seq", "4*batch"},         {"max(h, batch)", "max(batch, 9)"},
        {"h%seq", "1"},   {"max(h, seq)", "9"}, {"(h/batch)*seq", "4*(9/batch)"}, {"other", "other"},
        {"12", "12"},     {"h/(seq-4)", "?"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        char buf[64];
        gopt_dim d = gopt_dim_bind(t, parse(cases[i][0]), names, values, 2);
        assert_string_equal(gopt_dim_print(t, d, buf, sizeof buf), cases[i][1]);
    }
    assert_false(gopt_dim_is_known(gopt_dim_bind(t, GOPT_DIM_UNKNOWN, names, values, 2)));
}

static void symbols_are_listed_once(void **state)
{
    (void)state;
    const char *names[4] = {"seq"};
    int n = gopt_dim_symbols(t, parse("batch*seq + (h+batch)/2 + max(w, h)"), names, 1, 4);
    assert_int_equal(n, 4);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(names[i], names[j]);
    assert_int_equal(gopt_dim_symbols(t, parse("x+y"), names, 0, 1), 1);
    assert_int_equal(gopt_dim_symbols(t, gopt_dim_of(3), names, 0, 4), 0);
}

static void deep_nesting_ends_in_unknown(void **state)
{
    (void)state;
    gopt_dim d = gopt_dim_symbol(t, "s"), known = d;
    char buf[100], text[4000];
    const char *names[2];
    for (int i = 0; i < 100000; i++) {
        d = gopt_dim_max(t, gopt_dim_mod(t, d, gopt_dim_add(t, d, gopt_dim_symbol(t, "w"))), gopt_dim_of(2));
        known = gopt_dim_is_known(d) ? d : known;
    }
    assert_false(gopt_dim_is_known(d));
    assert_int_equal(gopt_dim_symbols(t, known, names, 0, 2),
                     2); /* every part is there twice: must not take for ever */
    assert_true(gopt_dim_is_const(gopt_dim_bind(t, known, (const char *[]){"s", "w"}, (int64_t[]){5, 3}, 2)));
    assert_int_equal(strlen(gopt_dim_print(t, known, buf, sizeof buf)), sizeof buf - 1);
    memset(text, '(', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_true(gopt_dim_is_known(parse(text))); /* too deep to be an expression: a name */
}

static uint32_t seed = 99;

static int draw(int n)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 8) % n;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* A random operation on two dims and on their values; false when it is not defined. */
static bool operate(gopt_dim *d, int64_t *v, int a, int b, int out)
{
    int op = draw(8);
    if (op >= 3 && op <= 5 && v[b] == 0)
        return false;
    int64_t q = op >= 3 && op <= 5 ? floor_div(v[a], v[b]) : 0;
    int64_t want[] = {v[a] + v[b],
                      v[a] - v[b],
                      v[a] * v[b],
                      q,
                      v[a] - q * v[b],
                      q + (q * v[b] != v[a]),
                      v[a] < v[b] ? v[a] : v[b],
                      v[a] > v[b] ? v[a] : v[b]};
    gopt_dim (*const ops[])(gopt_dims *, gopt_dim, gopt_dim) = {gopt_dim_add, gopt_dim_sub, gopt_dim_mul,
                                                                gopt_dim_div, gopt_dim_mod, gopt_dim_ceil_div,
                                                                gopt_dim_min, gopt_dim_max};
    d[out] = ops[op](t, d[a], d[b]);
    v[out] = want[op];
    return gopt_dim_is_known(d[out]) && v[out] > -100000 && v[out] < 100000;
}

/* Whatever is built of symbols has, with values bound, the value that the same operations on integers have; it prints
 * as something that reads back equal; and its lower bound is one. Divisors are sizes here, so at least 1. */
static void random_expressions_mean_what_they_compute(void **state)
{
    (void)state;
    const char *const names[] = {"a", "b", "c"};
    int checked = 0;
    for (int round = 0; round < 3000; round++) {
        int64_t values[3], v[12];
        gopt_dim d[12];
        int n = 0;
        for (; n < 3; n++) {
            values[n] = v[n] = 1 + draw(20);
            d[n] = gopt_dim_symbol(t, names[n]);
        }
        v[n] = 1 + draw(9);
        d[n] = gopt_dim_of(v[n]);
        n++;
        for (int i = 0; i < 7; i++)
            if (operate(d, v, draw(n), draw(n), n))
                n++;
        for (int i = 4; i < n; i++) {
            gopt_dim bound = gopt_dim_bind(t, d[i], names, values, 3);
            char text[512];
            if (!gopt_dim_is_known(bound))
                continue; /* a division by an inner 0 */
            assert_true(gopt_dim_is_const(bound));
            assert_int_equal(bound.k, v[i]);
            assert_true(gopt_dim_lower(t, d[i]) <= v[i]);
            if (strlen(gopt_dim_print(t, d[i], text, sizeof text)) < sizeof text - 1)
                assert_true(gopt_dim_equal(parse(text), d[i]));
            checked++;
        }
    }
    assert_true(checked > 10000);
}

static gopt_status build(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    gopt_dims *own = gopt_dims_new(&a);
    (void)ctx;
    for (int i = 0; own && i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "symbol%d", i);
        gopt_dim d = gopt_dim_add(own, gopt_dim_parse(own, name), gopt_dim_parse(own, "(2*h+1)/3"));
        assert_true(a.failed || gopt_dim_is_known(d));
    }
    bool failed = a.failed;
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
        TEST(texts_read_and_print),
        TEST(equal_polynomials_are_equal_dims),
        TEST(constants_need_no_table),
        TEST(unknown_absorbs_and_overflow_is_unknown),
        TEST(bounds_are_proven),
        TEST(symbols_bind),
        TEST(symbols_are_listed_once),
        TEST(deep_nesting_ends_in_unknown),
        TEST(random_expressions_mean_what_they_compute),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
