/* Resize: every coordinate rule and mode on hand-worked lines, sizes and scales, regions of interest, refusals. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I64 GOPT_DTYPE_I64

/* A line of n values, resized by its scale. */
static ref_case line(const char *mode, const char *coord, int n, const double *v, double scale)
{
    ref_case c = ref_begin("Resize");
    int64_t size = n;
    ref_input(&c, F32, 1, &size, n, v);
    ref_absent(&c);
    ref_constant(&c, F32, DIMS(1), 1, &scale);
    ref_string(&c, "mode", mode);
    ref_string(&c, "coordinate_transformation_mode", coord);
    return c;
}

typedef struct rule {
    const char *coord;
    double want[4];
} rule;

static void linear_doubles_by_every_rule(void **state)
{
    static const rule rules[] = {
        {"half_pixel", {0, 2.5, 7.5, 10}},
        {"pytorch_half_pixel", {0, 2.5, 7.5, 10}},
        {"half_pixel_symmetric", {0, 2.5, 7.5, 10}},
        {"align_corners", {0, 10.0 / 3, 20.0 / 3, 10}},
        {"asymmetric", {0, 5, 10, 10}},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(rules); i++) {
        ref_case c = line("linear", rules[i].coord, VALUES(0, 10), 2);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(4), 1e-6, 4, rules[i].want);
        ref_end(&c);
    }
}

static void rules_differ_where_the_size_is_rounded(void **state)
{
    (void)state;
    /* 4 cells by 0.6 make 2.4, so 2: the symmetric rule keeps the centre, the others start at the left. */
    ref_case plain = line("linear", "half_pixel", VALUES(0, 1, 2, 3), 0.6);
    ref_case symmetric = line("linear", "half_pixel_symmetric", VALUES(0, 1, 2, 3), 0.6);
    plain.loose = symmetric.loose = true; /* symbols cannot follow a scale of 0.6 */
    assert_ok(ref_run(&plain, 1), &plain.e);
    ref_expect(&plain, 0, F32, DIMS(2), 1e-6, VALUES(1.0 / 3, 2));
    assert_ok(ref_run(&symmetric, 1), &symmetric.e);
    ref_expect(&symmetric, 0, F32, DIMS(2), 1e-6, VALUES(2.0 / 3, 7.0 / 3));
    ref_end(&plain);
    ref_end(&symmetric);
}

static void one_cell_has_its_own_rule(void **state)
{
    (void)state;
    ref_case c = line("linear", "pytorch_half_pixel", VALUES(5, 6, 7), 0.34);
    c.loose = true;
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1), 0, VALUES(5));
    ref_end(&c);
}

static void nearest_rounds_as_told(void **state)
{
    static const char *const modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const double want[][4] = {{1, 1, 2, 2}, {1, 2, 2, 2}, {1, 1, 2, 2}, {1, 2, 2, 2}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(modes); i++) { /* places 0, 0.5, 1, 1.5 */
        ref_case c = line("nearest", "asymmetric", VALUES(1, 2), 2);
        ref_string(&c, "nearest_mode", modes[i]);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(4), 0, 4, want[i]);
        ref_end(&c);
    }
}

static void nearest_copies_integers_exactly(void **state)
{
    (void)state;
    ref_case c = ref_begin("Resize");
    gopt_tensor *t = ref_input(&c, I64, DIMS(1, 2), 0, NULL);
    gopt_tensor_set_int(t, 0, ((int64_t)1 << 60) + 1);
    ref_absent(&c);
    ref_absent(&c);
    ref_constant(&c, I64, DIMS(2), VALUES(2, 2));
    ref_string(&c, "coordinate_transformation_mode", "asymmetric");
    ref_string(&c, "nearest_mode", "floor");
    assert_ok(ref_run(&c, 1), &c.e);
    assert_int_equal(gopt_tensor_get_int(&c.out[0], 2), ((int64_t)1 << 60) + 1);
    ref_end(&c);
}

static void cubic_takes_four_neighbours(void **state)
{
    (void)state;
    ref_case c = line("cubic", "asymmetric", VALUES(0, 0, 16, 0, 0, 0), 2);
    ref_float(&c, "cubic_coeff_a", -0.5); /* half way: -1/16, 9/16, 9/16, -1/16 */
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(12), 1e-6, VALUES(0, -1, 0, 9, 16, 9, 0, -1, 0, 0, 0, 0));
    ref_end(&c);
}

static void outside_cells_repeat_the_edge_or_are_left_out(void **state)
{
    (void)state;
    for (int exclude = 0; exclude < 2; exclude++) {
        ref_case c = line("cubic", "asymmetric", VALUES(16, 32), 2);
        ref_float(&c, "cubic_coeff_a", -0.5);
        ref_int(&c, "exclude_outside", exclude);
        assert_ok(ref_run(&c, 1), &c.e);
        /* At 1.5 lie the cells 0, 1 and, outside, 2, 3. */
        double last = exclude ? (-16 + 9 * 32) / 8.0 : (-16 + 17 * 32) / 16.0;
        ref_expect(&c, 0, F32, DIMS(4), 1e-6, VALUES(16, 24, 32, last));
        ref_end(&c);
    }
}

static void antialiasing_widens_the_filter(void **state)
{
    (void)state;
    ref_case c = line("linear", "half_pixel", VALUES(0, 0, 8, 0), 0.5);
    ref_int(&c, "antialias", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    /* Places 0.5 and 2.5; weights 1/8 3/8 3/8 1/8. */
    ref_expect(&c, 0, F32, DIMS(2), 1e-6, VALUES(1, 3));
    ref_end(&c);
}

static void integers_are_rounded_and_saturate(void **state)
{
    (void)state;
    ref_case c = ref_begin("Resize");
    ref_input(&c, GOPT_DTYPE_U8, DIMS(4), VALUES(0, 0, 255, 255));
    ref_absent(&c);
    ref_constant(&c, F32, DIMS(1), VALUES(2));
    ref_string(&c, "mode", "cubic");
    ref_string(&c, "coordinate_transformation_mode", "asymmetric");
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, GOPT_DTYPE_U8, DIMS(8), 0, VALUES(0, 0, 0, 128, 255, 255, 255, 255));
    ref_end(&c);
}

static void a_region_is_cropped_and_extrapolated(void **state)
{
    (void)state;
    ref_case c = ref_begin("Resize");
    ref_input(&c, F32, DIMS(1, 3), VALUES(0, 10, 20));
    ref_constant(&c, F32, DIMS(2), VALUES(0.5, 1.5)); /* of the last axis */
    ref_absent(&c);
    ref_constant(&c, I64, DIMS(1), VALUES(3));
    ref_ints(&c, "axes", DIMS(-1));
    ref_string(&c, "mode", "linear");
    ref_string(&c, "coordinate_transformation_mode", "tf_crop_and_resize");
    ref_float(&c, "extrapolation_value", -1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 3), 1e-6, VALUES(10, 20, -1));
    ref_end(&c);
}

static void an_image_is_resized_axis_by_axis(void **state)
{
    (void)state;
    ref_case c = ref_begin("Resize");
    ref_input(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, 2, 3, 4));
    ref_constant(&c, F32, DIMS(0), 0, NULL); /* the empty roi of older models */
    ref_constant(&c, F32, DIMS(0), 0, NULL);
    ref_constant(&c, I64, DIMS(4), VALUES(1, 1, 3, 3));
    ref_string(&c, "mode", "linear");
    ref_string(&c, "coordinate_transformation_mode", "align_corners");
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 3, 3), 1e-6, VALUES(1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4));
    ref_end(&c);
}

static void the_aspect_ratio_may_be_kept(void **state)
{
    static const char *const policies[] = {"not_larger", "not_smaller"};
    static const int64_t want[][2] = {{4, 5}, {8, 10}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ref_case c = ref_begin("Resize");
        ref_varied(&c, F32, DIMS(4, 5));
        ref_known(&c);
        ref_absent(&c);
        ref_absent(&c);
        ref_constant(&c, I64, DIMS(2), VALUES(8, 5));
        ref_string(&c, "keep_aspect_ratio_policy", policies[i]);
        assert_ok(ref_run(&c, 1), &c.e);
        assert_int_equal(c.out[0].dim[0], want[i][0]);
        assert_int_equal(c.out[0].dim[1], want[i][1]);
        ref_end(&c);
    }
}

static void sizes_may_be_symbols(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_dims *dims = gopt_dims_new(&a);
    gopt_dim sizes[] = {gopt_dim_symbol(dims, "h"), gopt_dim_of(7)};
    gopt_fact in[4] = {{.dtype = F32, .rank = 2, .dim = {gopt_dim_of(2), gopt_dim_symbol(dims, "w")}}};
    gopt_fact out = {.rank = -1};
    in[3] = (gopt_fact){.dtype = I64, .rank = 1, .dim = {gopt_dim_of(2)}, .content = sizes};
    const gopt_op *op = gopt_op_find("", "Resize");
    gopt_infer x = {.op = op, .dims = dims, .arena = &a, .n_in = 4, .n_out = 1, .in = in, .out = &out};
    assert_ok(op->infer(&x, &e), &e);
    assert_true(gopt_dim_equal(out.dim[0], sizes[0]) && gopt_dim_equal(out.dim[1], sizes[1]));
    gopt_arena_fini(&a);
}

/* ---- refusals ---- */

static void wrong_scales_and_sizes(void **state)
{
    static const double scales[] = {0, -1, INFINITY, NAN};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(scales); i++) {
        ref_case c = line("nearest", "half_pixel", VALUES(1, 2), scales[i]);
        ref_expect_error(&c, GOPT_EINPUT, "scales");
        ref_end(&c);
    }
    ref_case none = ref_begin("Resize"), both = line("nearest", "half_pixel", VALUES(1), 1);
    ref_case negative = ref_begin("Resize"), few = ref_begin("Resize"),
             huge = line("nearest", "asymmetric", VALUES(1), 1e30);
    ref_varied(&none, F32, DIMS(2));
    ref_expect_error(&none, GOPT_EINPUT, "neither");
    ref_constant(&both, I64, DIMS(1), VALUES(1));
    ref_expect_error(&both, GOPT_EINPUT, "both");
    ref_varied(&negative, F32, DIMS(2));
    ref_absent(&negative);
    ref_absent(&negative);
    ref_constant(&negative, I64, DIMS(1), VALUES(-1));
    ref_expect_error(&negative, GOPT_EINPUT, "negative");
    ref_varied(&few, F32, DIMS(2, 2));
    ref_absent(&few);
    ref_constant(&few, F32, DIMS(1), VALUES(1));
    ref_expect_error(&few, GOPT_EINPUT, "scales");
    ref_expect_error(&huge, GOPT_EINPUT, "large");
    ref_end(&none);
    ref_end(&both);
    ref_end(&negative);
    ref_end(&few);
    ref_end(&huge);
}

static void unknown_words(void **state)
{
    static const char *const names[] = {"mode", "coordinate_transformation_mode", "nearest_mode"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin("Resize");
        ref_varied(&c, F32, DIMS(2));
        ref_absent(&c);
        ref_constant(&c, F32, DIMS(1), VALUES(1));
        ref_string(&c, names[i], "loud");
        ref_expect_error(&c, GOPT_EINPUT, names[i]);
        ref_end(&c);
    }
    ref_case c = line("linear", "tf_crop_and_resize", VALUES(1, 2), 1);
    ref_expect_error(&c, GOPT_EINPUT, "roi");
    ref_end(&c);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case c = line("linear", "half_pixel", VALUES(1, 2, 3), 2);
    ref_expect_oom_safe(&c, 1);
    ref_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_doubles_by_every_rule),
        cmocka_unit_test(rules_differ_where_the_size_is_rounded),
        cmocka_unit_test(one_cell_has_its_own_rule),
        cmocka_unit_test(nearest_rounds_as_told),
        cmocka_unit_test(nearest_copies_integers_exactly),
        cmocka_unit_test(cubic_takes_four_neighbours),
        cmocka_unit_test(outside_cells_repeat_the_edge_or_are_left_out),
        cmocka_unit_test(antialiasing_widens_the_filter),
        cmocka_unit_test(integers_are_rounded_and_saturate),
        cmocka_unit_test(a_region_is_cropped_and_extrapolated),
        cmocka_unit_test(an_image_is_resized_axis_by_axis),
        cmocka_unit_test(the_aspect_ratio_may_be_kept),
        cmocka_unit_test(sizes_may_be_symbols),
        cmocka_unit_test(wrong_scales_and_sizes),
        cmocka_unit_test(unknown_words),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
