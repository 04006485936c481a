/* Normalizations: hand-worked values, all outputs, and what must be refused. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I32 GOPT_DTYPE_I32

static void batch_normalization_for_inference(void **state)
{
    (void)state;
    ref_case c = ref_begin("BatchNormalization");
    ref_input(&c, F32, DIMS(1, 2, 2), VALUES(1, 3, 10, 30));
    ref_constant(&c, F32, DIMS(2), VALUES(2, 1));
    ref_constant(&c, F32, DIMS(2), VALUES(0, 100));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 10));
    ref_constant(&c, F32, DIMS(2), VALUES(4, 100));
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 2), 1e-6, VALUES(0, 2, 100, 102));
    ref_end(&c);
}

static void batch_normalization_in_training(void **state)
{
    (void)state;
    ref_case c = ref_begin("BatchNormalization");
    ref_input(&c, F32, DIMS(2, 1, 2), VALUES(1, 3, 5, 7)); /* mean 4, variance 5 */
    ref_constant(&c, F32, DIMS(1), VALUES(1));
    ref_constant(&c, F32, DIMS(1), VALUES(0));
    ref_constant(&c, F32, DIMS(1), VALUES(8));
    ref_constant(&c, F32, DIMS(1), VALUES(1));
    ref_int(&c, "training_mode", 1);
    ref_float(&c, "momentum", 0.75);
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 3), &c.e);
    double s = sqrt(5);
    ref_expect(&c, 0, F32, DIMS(2, 1, 2), 1e-6, VALUES(-3 / s, -1 / s, 1 / s, 3 / s));
    ref_expect(&c, 1, F32, DIMS(1), 1e-6, VALUES(7));
    ref_expect(&c, 2, F32, DIMS(1), 1e-6, VALUES(2));
    ref_end(&c);
}

static void layer_normalization_has_three_outputs(void **state)
{
    (void)state;
    ref_case c = ref_begin("LayerNormalization");
    ref_input(&c, GOPT_DTYPE_F16, DIMS(2, 2, 1), VALUES(1, 3, -10, 10));
    ref_constant(&c, GOPT_DTYPE_F16, DIMS(2, 1), VALUES(1, 2));
    ref_constant(&c, GOPT_DTYPE_F16, DIMS(1), VALUES(5));
    ref_int(&c, "axis", 1);
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 0, GOPT_DTYPE_F16, DIMS(2, 2, 1), 1e-3, VALUES(4, 7, 4, 7));
    ref_expect(&c, 1, F32, DIMS(2, 1, 1), 1e-6, VALUES(2, 0));
    ref_expect(&c, 2, F32, DIMS(2, 1, 1), 1e-6, VALUES(1, 0.1));
    ref_end(&c);
}

/* As the operator was before ONNX had it. */
static void the_result_has_the_type_of_the_scale(void **state)
{
    (void)state;
    ref_case c = ref_begin("LayerNormalization");
    ref_input(&c, GOPT_DTYPE_F16, DIMS(1, 2), VALUES(1, 3));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 0.1));
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2), 1e-6, VALUES(-1, 0.1));
    ref_end(&c);
}

static void layer_normalization_broadcasts_its_scale(void **state)
{
    (void)state;
    ref_case c = ref_begin("LayerNormalization");
    ref_input(&c, F32, DIMS(2, 2), VALUES(1, 3, 1, 3));
    ref_constant(&c, F32, DIMS(2, 1), VALUES(1, 10));
    ref_float(&c, "epsilon", 0);
    ref_outputs(&c, 3);
    c.out_at[1] = NULL;
    c.out_at[2] = NULL;
    assert_ok(ref_run_wanted(&c), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 2), 1e-6, VALUES(-1, 1, -10, 10));
    ref_end(&c);
}

static void rms_normalizations_agree(void **state)
{
    static const char *const names[] = {"RMSNormalization", "SimplifiedLayerNormalization"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_input(&c, F32, DIMS(2, 2), VALUES(3, 4, -6, 8)); /* root mean squares: sqrt(12.5), sqrt(50) */
        ref_constant(&c, F32, DIMS(2), VALUES(1, 2));
        ref_float(&c, "epsilon", 0);
        assert_ok(ref_run(&c, i + 1), &c.e);
        double a = 1 / sqrt(12.5), b = 1 / sqrt(50);
        ref_expect(&c, 0, F32, DIMS(2, 2), 1e-6, VALUES(3 * a, 8 * a, -6 * b, 16 * b));
        if (i == 1)
            ref_expect(&c, 1, F32, DIMS(2, 1), 1e-6, VALUES(a, b));
        ref_end(&c);
    }
}

static void instances_and_groups(void **state)
{
    (void)state;
    ref_case one = ref_begin("InstanceNormalization"), two = ref_begin("GroupNormalization");
    ref_input(&one, F32, DIMS(1, 2, 2), VALUES(1, 3, 0, 20));
    ref_constant(&one, F32, DIMS(2), VALUES(1, 5));
    ref_constant(&one, F32, DIMS(2), VALUES(0, 7));
    ref_float(&one, "epsilon", 0);
    assert_ok(ref_run(&one, 1), &one.e);
    ref_expect(&one, 0, F32, DIMS(1, 2, 2), 1e-6, VALUES(-1, 1, 2, 12));
    ref_input(&two, F32, DIMS(1, 4, 1), VALUES(1, 3, 0, 20));
    ref_constant(&two, F32, DIMS(4), VALUES(1, 2, 3, 4));
    ref_constant(&two, F32, DIMS(4), VALUES(0));
    ref_int(&two, "num_groups", 2);
    ref_float(&two, "epsilon", 0);
    assert_ok(ref_run(&two, 1), &two.e);
    ref_expect(&two, 0, F32, DIMS(1, 4, 1), 1e-6, VALUES(-1, 2, -3, 4));
    ref_end(&one);
    ref_end(&two);
}

static void lrn_looks_at_neighbours(void **state)
{
    (void)state;
    ref_case c = ref_begin("LRN");
    ref_input(&c, F32, DIMS(1, 3, 1), VALUES(1, 2, 3));
    ref_int(&c, "size", 2); /* itself and the next channel */
    ref_float(&c, "alpha", 2);
    ref_float(&c, "beta", 1);
    ref_float(&c, "bias", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 3, 1), 1e-6, VALUES(1.0 / 6, 2.0 / 14, 3.0 / 10));
    ref_end(&c);
}

static void mean_and_variance_over_chosen_axes(void **state)
{
    (void)state;
    ref_case c = ref_begin("MeanVarianceNormalization");
    ref_input(&c, F32, DIMS(2, 2), VALUES(1, 10, 3, 30));
    ref_ints(&c, "axes", DIMS(-2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 2), 1e-6, VALUES(-1, -1, 1, 1));
    ref_end(&c);
}

static void skip_layer_normalization_returns_the_sum(void **state)
{
    (void)state;
    ref_case c = ref_begin("com.microsoft:SkipLayerNormalization");
    ref_input(&c, F32, DIMS(2, 1, 2), VALUES(0, 1, 2, 3));
    ref_constant(&c, F32, DIMS(1, 2), VALUES(1, 3)); /* for both batches */
    ref_constant(&c, F32, DIMS(2), VALUES(1, 2));
    ref_constant(&c, F32, DIMS(2), VALUES(0, 1));
    ref_constant(&c, F32, DIMS(2), VALUES(10, 9));
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 4), &c.e);
    ref_expect(&c, 3, F32, DIMS(2, 1, 2), 0, VALUES(11, 13, 13, 15));
    ref_expect(&c, 0, F32, DIMS(2, 1, 2), 1e-6, VALUES(-1, 3, -1, 3));
    ref_expect(&c, 1, F32, DIMS(2, 1, 1), 1e-6, VALUES(12, 14));
    ref_expect(&c, 2, F32, DIMS(2, 1, 1), 1e-6, VALUES(1, 1));
    ref_end(&c);
}

static void skip_simplified_has_no_beta(void **state)
{
    (void)state;
    ref_case c = ref_begin("com.microsoft:SkipSimplifiedLayerNormalization");
    ref_input(&c, F32, DIMS(1, 2), VALUES(1, 1));
    ref_input(&c, F32, DIMS(1, 2), VALUES(1, 2));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 1));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 1));
    ref_float(&c, "epsilon", 0);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2), 1e-6, VALUES(3 / sqrt(12.5), 4 / sqrt(12.5)));
    ref_end(&c);
}

static void embeddings(ref_case *c)
{
    ref_input(c, I32, DIMS(1, 2), VALUES(1, 0));
    ref_input(c, I32, DIMS(1, 2), VALUES(0, 1));
    ref_constant(c, F32, DIMS(2, 2), VALUES(1, 2, 3, 4));
    ref_constant(c, F32, DIMS(2, 2), VALUES(10, 20, 30, 40));
    ref_constant(c, F32, DIMS(2, 2), VALUES(100, 200, 300, 400));
    ref_constant(c, F32, DIMS(2), VALUES(1, 1));
    ref_constant(c, F32, DIMS(2), VALUES(0, 5));
    ref_input(c, I32, DIMS(1, 2), VALUES(1, 0));
}

static void embeddings_are_added_and_normalized(void **state)
{
    (void)state;
    ref_case c = ref_begin("com.microsoft:EmbedLayerNormalization");
    embeddings(&c);
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 2, F32, DIMS(1, 2, 2), 0, VALUES(113, 224, 331, 442));
    ref_expect(&c, 0, F32, DIMS(1, 2, 2), 1e-5, VALUES(-1, 6, -1, 6));
    ref_expect(&c, 1, I32, DIMS(1), 0, VALUES(1));
    gopt_tensor_set_int(c.in[0], 0, -1);
    gopt_tensor_set_int(c.in[0], 1, -2);
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 2, F32, DIMS(1, 2, 2), 0, VALUES(113, 224, 331, 442));
    gopt_tensor_set_int(c.in[0], 1, -3);
    ref_expect_error(&c, GOPT_EINPUT, "id -1");
    gopt_tensor_set_int(c.in[0], 1, 2);
    ref_expect_error(&c, GOPT_EINPUT, "id 2");
    ref_end(&c);
}

/* ---- refusals ---- */

static void wrong_parameters(void **state)
{
    (void)state;
    ref_case g = ref_begin("GroupNormalization"), b = ref_begin("BatchNormalization"), l = ref_begin("LRN");
    ref_case n = ref_begin("LayerNormalization");
    ref_varied(&g, F32, DIMS(1, 4, 2));
    ref_varied(&g, F32, DIMS(4));
    ref_varied(&g, F32, DIMS(4));
    ref_int(&g, "num_groups", 3);
    ref_expect_error(&g, GOPT_EINPUT, "3 groups");
    ref_varied(&b, F32, DIMS(1, 4, 2));
    for (int i = 0; i < 4; i++)
        ref_varied(&b, F32, DIMS(i == 2 ? 3 : 4));
    ref_expect_error(&b, GOPT_EINPUT, "input_mean");
    ref_varied(&l, F32, DIMS(1, 4, 2));
    ref_expect_error(&l, GOPT_EINPUT, "size");
    ref_varied(&n, F32, DIMS(2, 4));
    ref_varied(&n, F32, DIMS(3));
    ref_expect_error(&n, GOPT_EINPUT, "Scale");
    ref_end(&g);
    ref_end(&b);
    ref_end(&l);
    ref_end(&n);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case n = ref_begin("LayerNormalization"), e = ref_begin("com.microsoft:EmbedLayerNormalization");
    ref_varied(&n, F32, DIMS(2, 4));
    ref_varied(&n, F32, DIMS(4));
    ref_expect_oom_safe(&n, 3);
    embeddings(&e);
    ref_expect_oom_safe(&e, 3);
    ref_end(&n);
    ref_end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_normalization_for_inference),
        cmocka_unit_test(batch_normalization_in_training),
        cmocka_unit_test(layer_normalization_has_three_outputs),
        cmocka_unit_test(the_result_has_the_type_of_the_scale),
        cmocka_unit_test(layer_normalization_broadcasts_its_scale),
        cmocka_unit_test(rms_normalizations_agree),
        cmocka_unit_test(instances_and_groups),
        cmocka_unit_test(lrn_looks_at_neighbours),
        cmocka_unit_test(mean_and_variance_over_chosen_axes),
        cmocka_unit_test(skip_layer_normalization_returns_the_sum),
        cmocka_unit_test(skip_simplified_has_no_beta),
        cmocka_unit_test(embeddings_are_added_and_normalized),
        cmocka_unit_test(wrong_parameters),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
