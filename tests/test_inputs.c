/* test_inputs.c: inputs that a model can take: indices within their tables, masks, sizes proposed for symbols. */
#include "inputs.h"

#include <math.h>

#include "stats.h"
#include "support/graphs.h"
#include "support/test.h"

enum { SEEDS = 5 };

/* The largest value of the first input over several seeds, never below 0. */
static int64_t largest(const char *text)
{
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_graph *g = test_graph(text);
    int64_t most = -1;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const gopt_tensor *const *in;
        assert_ok(gopt_inputs_make(&in, g, GOPT_INPUT_RANDOM, seed, &a, &e), &e);
        for (int64_t i = 0; i < gopt_tensor_count(in[0]); i++) {
            int64_t v = gopt_tensor_get_int(in[0], i);
            assert_true(v >= 0);
            most = GOPT_MAX(most, v);
        }
    }
    gopt_graph_free(g);
    gopt_arena_fini(&a);
    return most;
}

/* 100 draws, 5 times: the largest is the last valid one with near certainty where there are few. */
static const struct {
    const char *text;
    int64_t most;
} bounded[] = {
    {"input ids int64[100]\nconst t float32[7,4] random(1)\nn: y float32[100,4] = Gather(t, ids)\noutput y\n", 6},
    {"input ids int64[100]\nconst t float32[7,4] random(1)\n"
     "n: y float32[7,100] = Gather(t, ids) {axis=1}\noutput y\n",
     3},
    {"input ids int64[100]\nconst t float32[7,4] random(1)\n"
     "n: y float32[7,100] = Gather(t, ids) {axis=-1}\noutput y\n",
     3},
    {"input ids int32[100]\nconst t float32[7,4] random(1)\nconst s int64[2] {10,10}\n"
     "a: i int64[100] = Cast(ids) {to=7}\nb: r int64[10,10] = Reshape(i, s)\n"
     "c: y float32[10,10,4] = Gather(t, r)\noutput y\n",
     6},
    {"input ids int64[100]\nconst t float32[7,4] random(1)\nconst u float32[5,4] random(2)\n"
     "n: y float32[100,4] = Gather(t, ids)\nm: z float32[100,4] = Gather(u, ids)\noutput y\noutput z\n",
     4},
    {"input ids int64[100,1]\nconst t float32[7,4] random(1)\nn: y float32[100,4] = GatherND(t, ids)\noutput y\n", 6},
    {"input ids int64[100,2]\nconst t float32[7,4] random(1)\nn: y float32[100] = GatherND(t, ids)\noutput y\n", 3},
    {"input ids int64[7,100,1]\nconst t float32[7,4] random(1)\n"
     "n: y float32[7,100] = GatherND(t, ids) {batch_dims=1}\noutput y\n",
     3},
    {"input ids int64[50,4]\nconst t float32[7,4] random(1)\n"
     "n: y float32[50,4] = GatherElements(t, ids) {axis=0}\noutput y\n",
     6},
    {"input ids int64[7,4]\nconst t float32[9,4] random(1)\nconst u float32[7,4] random(2)\n"
     "n: y float32[9,4] = ScatterElements(t, ids, u) {axis=1}\noutput y\n",
     3},
    {"input ids int64[100]\nconst d int64[] {5}\nconst v float32[2] {0,1}\n"
     "n: y float32[100,5] = OneHot(ids, d, v)\noutput y\n",
     4},
    {"input ids int64[100,1]\nconst r int64[6] {0,1,2,3,4,5}\nn: y bool[100,6] = Equal(ids, r)\noutput y\n", 5},
    {"input mask int64[100]\nn: y float32[100] = Cast(mask) {to=1}\noutput y\n", 1},
    {"input mask bool[100]\nn: y bool[100] = Not(mask)\noutput y\n", 1},
};

static void integers_stay_within_what_they_index(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(bounded); i++)
        if (largest(bounded[i].text) != bounded[i].most)
            fail_msg("row %d: %d, %d expected", i, (int)largest(bounded[i].text), (int)bounded[i].most);
}

static void bytes_use_their_range(void **state)
{
    (void)state;
    int64_t most = largest("input x uint8[1000]\nn: y float32[1000] = Cast(x) {to=1}\noutput y\n");
    assert_in_range(most, 240, 255);
    most = largest("input x int8[1000]\nn: y float32[1000] = Cast(x) {to=1}\noutput y\n");
    assert_in_range(most, 120, 127);
}

/* A token that ends a sentence must be there: the input is compared with one number and indexes nothing. */
static void what_is_compared_is_met(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    const gopt_tensor *const *in;
    gopt_graph *g = test_graph("input ids int64[10]\nconst eos int64[] {102}\n"
                               "n: y bool[10] = Equal(eos, ids)\noutput y\n");
    assert_ok(gopt_inputs_make(&in, g, GOPT_INPUT_RANDOM, 1, &a, &e), &e);
    assert_int_equal(gopt_tensor_get_int(in[0], 3), 102);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

/* Lengths of sequences are those of all keys, in every case: three of the past and one that is new. */
#define GROUPED                                                                                                        \
    "n: y float32[2,1,8] = com.microsoft::GroupQueryAttention(q, _, _, p, p, l, t) {num_heads=2, kv_num_heads=1}\n"    \
    "output y\n"
#define GROUPED_INPUTS "input q float32[2,1,16]\ninput p float32[2,1,3,4]\nconst t int32[1] {4}\n"

static void all_keys_are_counted(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {{"input l int32[2]\n" GROUPED_INPUTS GROUPED, 3},
                {"input t int32[1]\ninput l int32[2]\ninput q float32[2,1,16]\ninput p float32[2,1,3,4]\n" GROUPED, 4},
                {"input m int64[2]\n" GROUPED_INPUTS "const one int64[] {1}\na: s int64[2] = Sub(m, one)\n"
                 "b: l int32[2] = Cast(s) {to=6}\n" GROUPED,
                 4},
                {"input m int64[2,4]\n" GROUPED_INPUTS "const one int64[] {1}\nconst axis int64[1] {1}\n"
                 "r: c int64[2] = ReduceSum(m, axis) {keepdims=0}\na: s int64[2] = Sub(c, one)\n"
                 "b: l int32[2] = Cast(s) {to=6}\n" GROUPED,
                 1}};
    (void)state;
    for (int i = 0; i < 2 * GOPT_COUNT(rows); i++) {
        gopt_err e = {0};
        gopt_arena a = {0};
        const gopt_tensor *const *in;
        gopt_graph *g = test_graph(rows[i / 2].text);
        assert_ok(gopt_inputs_make(&in, g, i % 2 ? GOPT_INPUT_ZEROS : GOPT_INPUT_RANDOM, 1, &a, &e), &e);
        for (int64_t k = 0; k < gopt_tensor_count(in[0]); k++)
            assert_int_equal(gopt_tensor_get_int(in[0], k), rows[i / 2].want);
        gopt_graph_free(g);
        gopt_arena_fini(&a);
    }
}

static double spread(const gopt_tensor *t)
{
    double sum = 0;
    int64_t n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        sum += gopt_tensor_get(t, i) * gopt_tensor_get(t, i);
    return sqrt(sum / (double)n);
}

static void the_cases_differ_as_they_say(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    gopt_graph *g = test_graph("input x float32[50,50]\ninput h float16[8]\n"
                               "n: y float32[50,50] = Relu(x)\noutput y\n");
    const gopt_tensor *const *random, *const *zeros, *const *large, *const *again, *const *other;
    assert_ok(gopt_inputs_make(&random, g, GOPT_INPUT_RANDOM, 1, &a, &e), &e);
    assert_ok(gopt_inputs_make(&again, g, GOPT_INPUT_RANDOM, 1, &a, &e), &e);
    assert_ok(gopt_inputs_make(&other, g, GOPT_INPUT_RANDOM, 2, &a, &e), &e);
    assert_ok(gopt_inputs_make(&zeros, g, GOPT_INPUT_ZEROS, 1, &a, &e), &e);
    assert_ok(gopt_inputs_make(&large, g, GOPT_INPUT_LARGE, 1, &a, &e), &e);
    assert_true(fabs(spread(random[0]) - 1) < 0.1);
    assert_true(spread(zeros[0]) == 0 && spread(zeros[1]) == 0);
    assert_true(fabs(spread(large[0]) - 16) < 1.6);
    assert_memory_equal(random[0]->data, again[0]->data, gopt_tensor_bytes(random[0]));
    assert_memory_not_equal(random[0]->data, other[0]->data, gopt_tensor_bytes(random[0]));
    assert_int_equal(random[1]->dtype, GOPT_DTYPE_F16);
    for (gopt_input_case c = GOPT_INPUT_RANDOM; c < GOPT_INPUT_CASES; c++)
        assert_true(strlen(gopt_input_case_name(c)) > 2);
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static int count_kind(const gopt_tensor *t, int kind)
{
    int n = 0;
    for (int64_t i = 0; i < gopt_tensor_count(t); i++)
        n += (t->dtype == GOPT_DTYPE_F32 ? fpclassify((float)gopt_tensor_get(t, i))
                                         : fpclassify(gopt_tensor_get(t, i))) == kind;
    return n;
}

static void special_values_are_among_the_others(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    const gopt_tensor *const *in;
    gopt_graph *g = test_graph("input x float32[40,50]\ninput s float64[1]\ninput i int64[4]\n"
                               "n: y float32[40,50] = Relu(x)\noutput y\n");
    assert_ok(gopt_inputs_make(&in, g, GOPT_INPUT_TINY, 1, &a, &e), &e);
    assert_true(count_kind(in[0], FP_SUBNORMAL) > 1900 && count_kind(in[0], FP_NORMAL) == 0);
    assert_int_equal(count_kind(in[1], FP_SUBNORMAL), 1);
    assert_ok(gopt_inputs_make(&in, g, GOPT_INPUT_NAN, 1, &a, &e), &e);
    assert_true(count_kind(in[0], FP_NAN) > 15 && count_kind(in[0], FP_NORMAL) > 1900);
    assert_int_equal(count_kind(in[1], FP_NAN), 1);
    assert_ok(gopt_inputs_make(&in, g, GOPT_INPUT_INF, 1, &a, &e), &e);
    assert_true(count_kind(in[0], FP_INFINITE) > 15 && count_kind(in[0], FP_NORMAL) > 1900);
    assert_true(gopt_input_case_fits(GOPT_INPUT_NAN, g));
    gopt_graph_free(g);
    g = test_graph("input i int64[4]\nn: y int64[4] = Neg(i)\noutput y\n");
    assert_true(gopt_input_case_fits(GOPT_INPUT_ZEROS, g) && !gopt_input_case_fits(GOPT_INPUT_NAN, g));
    gopt_graph_free(g);
    g = test_graph("input x float32[4]\nn: y int32[4] = Cast(x) {to=6}\noutput y\n");
    assert_true(gopt_input_case_fits(GOPT_INPUT_TINY, g) && !gopt_input_case_fits(GOPT_INPUT_NAN, g));
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static void what_cannot_be_made_up_is_said(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_arena a = {0};
    const gopt_tensor *const *in;
    gopt_graph *g = test_graph("input text string[2]\noutput text\n");
    assert_int_equal(gopt_inputs_make(&in, g, GOPT_INPUT_RANDOM, 1, &a, &e), GOPT_EUNSUP);
    assert_non_null(strstr(e.msg, "input \"text\""));
    gopt_graph_free(g);
    g = test_graph("input x float32[batch,2]\noutput x\n");
    assert_int_equal(gopt_inputs_make(&in, g, GOPT_INPUT_RANDOM, 1, &a, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "input \"x\""));
    gopt_graph_free(g);
    gopt_arena_fini(&a);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    const gopt_tensor *const *in;
    gopt_status s = gopt_inputs_make(&in, ctx, GOPT_INPUT_RANDOM, 1, &a, e);
    gopt_arena_fini(&a);
    return s;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    gopt_graph *g = test_graph("input x float32[500]\ninput y float32[500]\noutput x\noutput y\n");
    assert_true(test_every_oom(make, g) > 0);
    gopt_graph_free(g);
}

/* ---- shapes ---- */

static int64_t proposed(const char *text, const char *symbol, int64_t length)
{
    const char *names[8];
    int64_t values[8], found = -1;
    gopt_graph *g = test_graph(text);
    int n = gopt_inputs_shape(g, names, values, 8, length);
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], symbol))
            found = values[i];
    gopt_graph_free(g);
    return found;
}

static void symbols_get_sensible_sizes(void **state)
{
    (void)state;
    const char bert[] = "input ids int64[batch_size,sequence_length]\ninput mask int64[batch_size,sequence_length]\n"
                        "output ids\noutput mask\n";
    const char image[] = "input x float32[N,3,H,W]\noutput x\n";
    const char planes[] = "input x float32[N,64,H,W]\noutput x\n";
    const char list[] = "input x float32[n]\noutput x\n";
    const char past[] = "input k float32[Batch,8,past_len,64]\ninput s float32[seq,4]\noutput k\noutput s\n";
    assert_int_equal(proposed(bert, "batch_size", 32), 1);
    assert_int_equal(proposed(bert, "sequence_length", 32), 32);
    assert_int_equal(proposed(bert, "sequence_length", 512), 512);
    assert_int_equal(proposed(image, "N", 32), 1);
    assert_int_equal(proposed(image, "H", 32), 224);
    assert_int_equal(proposed(image, "W", 32), 224);
    assert_int_equal(proposed(planes, "H", 32), 32);
    assert_int_equal(proposed(list, "n", 32), 32);
    assert_int_equal(proposed(past, "Batch", 32), 1);
    assert_int_equal(proposed(past, "past_len", 32), 32);
    assert_int_equal(proposed(past, "seq", 32), 32);
    const char total[] =
        "input m float32[b,total_seq_len]\ninput p float32[b,past_seq_len]\ninput x float32[b,seq_len]\n"
        "output m\noutput p\noutput x\n";
    assert_int_equal(proposed(total, "total_seq_len", 32), 64);
    assert_int_equal(proposed(total, "past_seq_len", 32), 32);
    assert_int_equal(proposed("input x float32[2,3]\noutput x\n", "N", 32), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_stay_within_what_they_index),
        cmocka_unit_test(bytes_use_their_range),
        cmocka_unit_test(what_is_compared_is_met),
        cmocka_unit_test(all_keys_are_counted),
        cmocka_unit_test(the_cases_differ_as_they_say),
        cmocka_unit_test(special_values_are_among_the_others),
        cmocka_unit_test(what_cannot_be_made_up_is_said),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(symbols_get_sensible_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
