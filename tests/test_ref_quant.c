/* Quantization: rounding, saturation, scales for all, for an axis and for blocks, and integer products. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define U8 GOPT_DTYPE_U8
#define I8 GOPT_DTYPE_I8
#define I32 GOPT_DTYPE_I32

static void ties_go_to_even_and_ends_saturate(void **state)
{
    (void)state;
    ref_case c = ref_begin("QuantizeLinear");
    ref_input(&c, F32, DIMS(8), VALUES(1, 3, 5, -1, 1000, -1000, INFINITY, NAN));
    ref_constant(&c, F32, SCALAR, VALUES(2));
    ref_constant(&c, U8, SCALAR, VALUES(10));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, U8, DIMS(8), 0, VALUES(10, 12, 12, 10, 255, 0, 255, 0));
    ref_end(&c);
}

typedef struct target {
    gopt_dtype d;
    double low, high;
} target;

static void every_type_has_its_range(void **state)
{
    static const target targets[] = {
        {U8, 0, 255},
        {I8, -128, 127},
        {GOPT_DTYPE_U16, 0, 65535},
        {GOPT_DTYPE_I16, -32768, 32767},
        {GOPT_DTYPE_U4, 0, 15},
        {GOPT_DTYPE_I4, -8, 7},
        {GOPT_DTYPE_U2, 0, 3},
        {GOPT_DTYPE_I2, -2, 1},
        {GOPT_DTYPE_F8E4M3FN, -448, 448},
        {GOPT_DTYPE_F8E5M2, -57344, 57344},
        {GOPT_DTYPE_F4E2M1, -6, 6},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(targets); i++) {
        ref_case c = ref_begin("QuantizeLinear");
        ref_input(&c, F32, DIMS(3), VALUES(-1e6, 1, 1e6));
        ref_constant(&c, F32, SCALAR, VALUES(1));
        ref_int(&c, "output_dtype", targets[i].d);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, targets[i].d, DIMS(3), 0, VALUES(targets[i].low, 1, targets[i].high));
        ref_end(&c);
    }
}

static void floats_need_not_saturate(void **state)
{
    static const gopt_dtype types[] = {GOPT_DTYPE_F8E4M3FN, GOPT_DTYPE_F8E4M3FNUZ, GOPT_DTYPE_F8E5M2,
                                       GOPT_DTYPE_F8E5M2FNUZ};
    static const double beyond[] = {NAN, NAN, INFINITY, NAN}, largest[] = {448, 240, 57344, 57344};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(types); i++) {
        ref_case c = ref_begin("QuantizeLinear");
        ref_input(&c, F32, DIMS(2), VALUES(1e6, largest[i]));
        ref_constant(&c, F32, SCALAR, VALUES(1));
        ref_constant(&c, types[i], SCALAR, VALUES(0));
        ref_int(&c, "saturate", 0);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, types[i], DIMS(2), 0, VALUES(beyond[i], largest[i]));
        ref_end(&c);
    }
}

/* 0.15 / 0.1 and 0.45 / 0.1 lie at ties or beside them, depending on the precision. */
static void division_has_the_scale_s_precision(void **state)
{
    (void)state;
    ref_case c = ref_begin("QuantizeLinear");
    ref_input(&c, F32, DIMS(2), VALUES(0.15f, 0.45f));
    ref_constant(&c, F32, SCALAR, VALUES(0.1f));
    assert_ok(ref_run(&c, 1), &c.e);
    for (int i = 0; i < 2; i++)
        assert_true(ref_at(&c, 0, i) == (double)rintf((float)gopt_tensor_get(c.in[0], i) / 0.1f));
    ref_end(&c);
}

static void scales_go_with_an_axis_or_with_blocks(void **state)
{
    (void)state;
    ref_case axis = ref_begin("QuantizeLinear"), block = ref_begin("DequantizeLinear");
    ref_input(&axis, F32, DIMS(2, 2), VALUES(10, 20, 30, 40));
    ref_constant(&axis, F32, DIMS(2), VALUES(1, 10));
    ref_constant(&axis, I8, DIMS(2), VALUES(0, -1));
    ref_int(&axis, "axis", -2);
    assert_ok(ref_run(&axis, 1), &axis.e);
    ref_expect(&axis, 0, I8, DIMS(2, 2), 0, VALUES(10, 20, 2, 3));
    ref_input(&block, GOPT_DTYPE_I4, DIMS(3, 2), VALUES(1, 2, 3, 4, 5, 6));
    ref_constant(&block, F32, DIMS(2, 2), VALUES(1, 10, 100, 1000));
    ref_constant(&block, GOPT_DTYPE_I4, DIMS(2, 2), VALUES(1, 0, 0, -1));
    ref_int(&block, "axis", 0);
    ref_int(&block, "block_size", 2);
    assert_ok(ref_run(&block, 1), &block.e);
    ref_expect(&block, 0, F32, DIMS(3, 2), 0, VALUES(0, 20, 2, 40, 500, 7000));
    ref_end(&axis);
    ref_end(&block);
}

static void dequantization_takes_the_scale_s_type(void **state)
{
    static const char *const names[] = {"DequantizeLinear", "com.microsoft:DequantizeLinear"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_input(&c, U8, DIMS(3), VALUES(0, 128, 255));
        ref_constant(&c, GOPT_DTYPE_F16, SCALAR, VALUES(0.5));
        ref_constant(&c, U8, SCALAR, VALUES(128));
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, GOPT_DTYPE_F16, DIMS(3), 0, VALUES(-64, 0, 63.5));
        ref_end(&c);
    }
}

static void dynamic_quantization_finds_its_scale(void **state)
{
    (void)state;
    ref_case c = ref_begin("DynamicQuantizeLinear"), zero = ref_begin("DynamicQuantizeLinear");
    ref_input(&c, F32, DIMS(3), VALUES(-1, 0, 1.55));
    assert_ok(ref_run(&c, 3), &c.e);
    ref_expect(&c, 1, F32, SCALAR, 1e-6, VALUES(0.01));
    ref_expect(&c, 2, U8, SCALAR, 0, VALUES(100));
    ref_expect(&c, 0, U8, DIMS(3), 0, VALUES(0, 100, 255));
    ref_input(&zero, F32, DIMS(2), VALUES(0));
    assert_ok(ref_run(&zero, 3), &zero.e);
    ref_expect(&zero, 0, U8, DIMS(2), 0, VALUES(0, 0));
    ref_end(&c);
    ref_end(&zero);
}

/* ---- products ---- */

static void integer_products_count_from_zero_points(void **state)
{
    (void)state;
    ref_case c = ref_begin("MatMulInteger");
    ref_input(&c, U8, DIMS(2, 2), VALUES(11, 12, 13, 14));
    ref_input(&c, I8, DIMS(2, 2), VALUES(1, 2, 3, 4));
    ref_constant(&c, U8, DIMS(2), VALUES(10, 12)); /* for each row */
    ref_constant(&c, I8, DIMS(2), VALUES(0, 1));   /* for each column */
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, I32, DIMS(2, 2), 0, VALUES(7, 7, 7, 7));
    ref_end(&c);
}

static void convolution_pads_with_the_zero_point(void **state)
{
    (void)state;
    ref_case c = ref_begin("ConvInteger");
    ref_input(&c, U8, DIMS(1, 1, 2), VALUES(130, 140));
    ref_constant(&c, U8, DIMS(2, 1, 3), VALUES(2, 3, 4, 3, 4, 5));
    ref_constant(&c, U8, SCALAR, VALUES(128));
    ref_constant(&c, U8, DIMS(2), VALUES(1, 2));
    ref_ints(&c, "pads", DIMS(1, 1));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, I32, DIMS(1, 2, 2), 0, VALUES(40, 26, 40, 26));
    ref_end(&c);
}

static void quantized_convolution_rescales_each_filter(void **state)
{
    (void)state;
    ref_case c = ref_begin("QLinearConv");
    ref_input(&c, U8, DIMS(1, 1, 1), VALUES(20));
    ref_constant(&c, F32, SCALAR, VALUES(0.5));
    ref_constant(&c, U8, SCALAR, VALUES(10));
    ref_constant(&c, I8, DIMS(2, 1, 1), VALUES(3, -3));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 2));
    ref_constant(&c, I8, DIMS(2), VALUES(0, 0));
    ref_constant(&c, F32, SCALAR, VALUES(0.25));
    ref_constant(&c, U8, SCALAR, VALUES(100));
    ref_constant(&c, I32, DIMS(2), VALUES(5, 0));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, U8, DIMS(1, 2, 1), 0, VALUES(170, 0)); /* 35 * 2 + 100; -30 * 4 + 100 saturates */
    ref_end(&c);
}

static void quantized_product_rescales(void **state)
{
    (void)state;
    ref_case c = ref_begin("QLinearMatMul");
    ref_input(&c, U8, DIMS(1, 2), VALUES(3, 5));
    ref_constant(&c, F32, SCALAR, VALUES(0.5));
    ref_constant(&c, U8, SCALAR, VALUES(1));
    ref_input(&c, I8, DIMS(2, 2), VALUES(1, -1, 2, 2));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 0.5));
    ref_constant(&c, I8, DIMS(2), VALUES(0, 0));
    ref_constant(&c, F32, SCALAR, VALUES(1));
    ref_constant(&c, I8, SCALAR, VALUES(-3));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, I8, DIMS(1, 2), 0, VALUES(2, -1)); /* 10 / 2 - 3; 6 / 4 = 1.5 goes to 2 */
    ref_end(&c);
}

/* ---- refusals ---- */

static void scales_that_do_not_fit(void **state)
{
    (void)state;
    ref_case axis = ref_begin("QuantizeLinear"), block = ref_begin("DequantizeLinear"),
             type = ref_begin("QuantizeLinear");
    ref_case zero = ref_begin("MatMulInteger");
    ref_varied(&axis, F32, DIMS(2, 3));
    ref_constant(&axis, F32, DIMS(2), VALUES(1));
    ref_expect_error(&axis, GOPT_EINPUT, "scale");
    ref_varied(&block, U8, DIMS(4, 4));
    ref_constant(&block, F32, DIMS(4, 3), VALUES(1));
    ref_int(&block, "block_size", 2);
    ref_expect_error(&block, GOPT_EINPUT, "scale");
    ref_varied(&type, F32, DIMS(2));
    ref_constant(&type, F32, SCALAR, VALUES(1));
    ref_int(&type, "output_dtype", GOPT_DTYPE_F64);
    ref_expect_error(&type, GOPT_EINPUT, "float64");
    ref_varied(&zero, U8, DIMS(2, 3));
    ref_varied(&zero, U8, DIMS(3, 2));
    ref_varied(&zero, U8, DIMS(3));
    ref_expect_error(&zero, GOPT_EINPUT, "a_zero_point");
    ref_end(&axis);
    ref_end(&block);
    ref_end(&type);
    ref_end(&zero);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case q = ref_begin("QuantizeLinear"), m = ref_begin("MatMulInteger");
    ref_varied(&q, F32, DIMS(2, 2));
    ref_constant(&q, F32, DIMS(2), VALUES(1, 2));
    ref_expect_oom_safe(&q, 1);
    ref_varied(&m, U8, DIMS(2, 2));
    ref_varied(&m, U8, DIMS(2, 2));
    ref_constant(&m, U8, SCALAR, VALUES(1));
    ref_expect_oom_safe(&m, 1);
    ref_end(&q);
    ref_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_go_to_even_and_ends_saturate),
        cmocka_unit_test(every_type_has_its_range),
        cmocka_unit_test(floats_need_not_saturate),
        cmocka_unit_test(division_has_the_scale_s_precision),
        cmocka_unit_test(scales_go_with_an_axis_or_with_blocks),
        cmocka_unit_test(dequantization_takes_the_scale_s_type),
        cmocka_unit_test(dynamic_quantization_finds_its_scale),
        cmocka_unit_test(integer_products_count_from_zero_points),
        cmocka_unit_test(convolution_pads_with_the_zero_point),
        cmocka_unit_test(quantized_convolution_rescales_each_filter),
        cmocka_unit_test(quantized_product_rescales),
        cmocka_unit_test(scales_that_do_not_fit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
