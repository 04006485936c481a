/* gopt Attention stands for a graph of single operators: what NaN and infinities behind masks do, and rounding. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32

/* Two queries of size 1 and two keys, the second of which is behind the first query. */
static ref_case two_by_two(const double *q, const double *k, const double *v)
{
    static const char *const names[] = {"q_num_heads", "kv_num_heads", "head_size", "v_head_size", "is_causal"};
    ref_case c = ref_begin("gopt:Attention");
    ref_input(&c, F32, DIMS(1, 2, 1), 2, q);
    ref_input(&c, F32, DIMS(1, 2, 1), 2, k);
    ref_input(&c, F32, DIMS(1, 2, 1), 2, v);
    for (int i = 0; i < GOPT_COUNT(names); i++)
        ref_int(&c, names[i], 1);
    return c;
}

/* As a graph of single operators has it: 0 times NaN is NaN, inf - inf is NaN, and what is replaced is gone. */
static void what_is_hidden_is_multiplied_all_the_same(void **state)
{
    static const double one[] = {1, 1}, bad[] = {1, NAN}, up[] = {1, INFINITY}, down[] = {-1, -1}, v[] = {2, 4};
    (void)state;
    ref_case value = two_by_two(one, one, bad), key = two_by_two(one, bad, v), gone = two_by_two(one, bad, v);
    ref_case lowest = two_by_two((double[]){INFINITY, 1}, down, v), sum = two_by_two(one, up, v);
    ref_int(&gone, "hidden_replaces", 1);
    ref_int(&lowest, "hidden_replaces", 1);
    ref_float(&lowest, "hidden", -3e38F);
    ref_int(&sum, "zero_nan", 1);
    ref_case *const cases[] = {&value, &key, &gone, &lowest, &sum};
    const double want[][2] = {{NAN, NAN}, {NAN, NAN}, {2, NAN}, {4, 3}, {0, 0}};
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        assert_ok(ref_run(cases[i], 1), &cases[i]->e);
        ref_expect(cases[i], 0, F32, DIMS(1, 2, 1), 1e-6, 2, want[i]);
        ref_end(cases[i]);
    }
}

/* 2049 lies between two numbers of float16, 2048 and 2050, and is rounded to the even one. */
static void scores_are_rounded_after_every_step(void **state)
{
    static const double q[] = {1, 1}, k[] = {2048, 2049}, v[] = {0, 1};
    (void)state;
    for (int rounds = 0; rounds < 2; rounds++) {
        ref_case c = two_by_two(q, k, v);
        ref_int(&c, "rounds", rounds);
        ref_float(&c, "scale", 1);
        assert_ok(ref_run(&c, 1), &c.e);
        double second = rounds ? 0.5 : 1 / (1 + exp(-1.0));
        ref_expect(&c, 0, F32, DIMS(1, 2, 1), 1e-6, VALUES(0, second));
        ref_end(&c);
    }
}

static void positions_replace_or_masks_do(void **state)
{
    static const double one[] = {1, 1};
    (void)state;
    ref_case c = two_by_two(one, one, one);
    ref_int(&c, "hidden_replaces", 1);
    ref_varied(&c, F32, DIMS(1, 2));
    ref_expect_error(&c, GOPT_EINPUT, "hidden_replaces");
    ref_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_is_multiplied_all_the_same),
        cmocka_unit_test(scores_are_rounded_after_every_step),
        cmocka_unit_test(positions_replace_or_masks_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
