/* Operators of vision and signals: boxes, sampling, unfolding, grids, Fourier transforms, windows, losses. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I64 GOPT_DTYPE_I64

/* ---- boxes and regions ---- */

static ref_case boxes(int centered)
{
    ref_case c = ref_begin("NonMaxSuppression");
    if (centered)
        ref_input(&c, F32, DIMS(1, 3, 4), VALUES(0.5, 0.5, 1, 1, 0.5, 0.6, 1, 1, 0.5, 5.5, 1, 1));
    else
        ref_input(&c, F32, DIMS(1, 3, 4), VALUES(0, 0, 1, 1, 1.1, 1, 0.1, 0, 5, 0, 6, 1));
    ref_input(&c, F32, DIMS(1, 2, 3), VALUES(0.8, 0.9, 0.1, 0.2, 0.1, 0.7));
    c.loose = true;
    return c;
}

static void the_best_boxes_survive(void **state)
{
    (void)state;
    for (int centered = 0; centered < 2; centered++) {
        ref_case c = boxes(centered);
        ref_constant(&c, I64, SCALAR, VALUES(2));
        ref_constant(&c, F32, SCALAR, VALUES(0.5));
        ref_constant(&c, F32, SCALAR, VALUES(0.15));
        ref_int(&c, "center_point_box", centered);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, I64, DIMS(3, 3), 0, VALUES(0, 0, 1, 0, 1, 2, 0, 1, 0));
        ref_end(&c);
    }
}

static void no_limit_means_no_box(void **state)
{
    (void)state;
    ref_case c = boxes(0);
    assert_ok(ref_run(&c, 1), &c.e);
    assert_int_equal(c.out[0].dim[0], 0);
    ref_end(&c);
}

static void regions_are_averaged(void **state)
{
    (void)state;
    ref_case c = ref_begin("RoiAlign");
    ref_input(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, 2, 3, 4));
    ref_input(&c, F32, DIMS(2, 4), VALUES(0, 0, 2, 2, 0.5, 0.5, 1.5, 1.5));
    ref_input(&c, I64, DIMS(2), VALUES(0, 0));
    ref_int(&c, "sampling_ratio", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 1, 1, 1), 1e-6, VALUES(2.5, 2.5));
    gopt_tensor_set_int(c.in[2], 1, 1);
    ref_expect_error(&c, GOPT_EINPUT, "batch_indices");
    ref_end(&c);
}

/* ---- sampling ---- */

typedef struct sampling {
    const char *mode, *padding;
    int corners;
    double at, want;
} sampling;

static void grids_sample_by_every_rule(void **state)
{
    static const sampling all[] = {
        {"nearest", "zeros", 0, -1, 0},                                         /* -0.5 goes to the even cell, 0, ... */
        {"linear", "zeros", 0, -1, 5},                                          /* ... and lies half outside */
        {"linear", "border", 0, -1, 10}, {"linear", "reflection", 0, -1.5, 15}, /* -1.5 is reflected at -0.5 to 0.5 */
        {"linear", "zeros", 1, -1, 10},  {"linear", "zeros", 1, 0, 25},
        {"linear", "border", 1, 3, 40},  {"linear", "reflection", 1, 5.0 / 3, 30},
        {"cubic", "border", 1, 0, 25},   {"nearest", "zeros", 1, 9, 0},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(all); i++) {
        ref_case c = ref_begin("GridSample");
        double want = i == 0 ? 10 : all[i].want;
        ref_input(&c, F32, DIMS(1, 1, 4), VALUES(10, 20, 30, 40));
        ref_input(&c, F32, DIMS(1, 1, 1), 1, &all[i].at);
        ref_string(&c, "mode", all[i].mode);
        ref_string(&c, "padding_mode", all[i].padding);
        ref_int(&c, "align_corners", all[i].corners);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 1, 1), 1e-6, 1, &want);
        ref_end(&c);
    }
}

static void grid_coordinates_come_last_axis_first(void **state)
{
    (void)state;
    ref_case c = ref_begin("GridSample");
    ref_input(&c, F32, DIMS(1, 2, 2, 2), VALUES(1, 2, 3, 4, 10, 20, 30, 40));
    ref_input(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, -1, NAN, 0));
    ref_int(&c, "align_corners", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 1, 2), 1e-6, VALUES(2, 0, 20, 0));
    ref_end(&c);
}

static void affine_grids_feed_grid_sample(void **state)
{
    (void)state;
    for (int corners = 0; corners < 2; corners++) {
        ref_case c = ref_begin("AffineGrid");
        ref_input(&c, F32, DIMS(1, 2, 3), VALUES(1, 0, 10, 0, 2, 20));
        ref_constant(&c, I64, DIMS(4), VALUES(1, 3, 1, 2));
        ref_int(&c, "align_corners", corners);
        assert_ok(ref_run(&c, 1), &c.e);
        double x = corners ? 1 : 0.5, y = corners ? -2 : 0;
        ref_expect(&c, 0, F32, DIMS(1, 1, 2, 2), 1e-6, VALUES(10 - x, 20 + y, 10 + x, 20 + y));
        ref_end(&c);
    }
}

static void deformed_taps_move(void **state)
{
    (void)state;
    ref_case c = ref_begin("DeformConv");
    ref_input(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, 2, 3, 4));
    ref_constant(&c, F32, DIMS(1, 1, 1, 1), VALUES(10));
    ref_input(&c, F32, DIMS(1, 2, 2, 2), VALUES(0, 0.5, 0, 9, 0, 0, 0.25, 0)); /* rows, then columns */
    ref_constant(&c, F32, DIMS(1), VALUES(1));
    ref_input(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, 1, 1, 0.5));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2, 2), 1e-6, VALUES(11, 31, 33.5, 1));
    ref_end(&c);
}

/* ---- putting back ---- */

static void unpooling_puts_maxima_back(void **state)
{
    (void)state;
    ref_case c = ref_begin("MaxUnpool"), larger = ref_begin("MaxUnpool");
    ref_input(&c, F32, DIMS(1, 1, 2), VALUES(5, 6));
    ref_input(&c, I64, DIMS(1, 1, 2), VALUES(1, 2));
    ref_ints(&c, "kernel_shape", DIMS(2));
    ref_ints(&c, "strides", DIMS(2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 4), 0, VALUES(0, 5, 6, 0));
    gopt_tensor_set_int(c.in[1], 0, 4);
    ref_expect_error(&c, GOPT_EINPUT, "index 4");
    ref_input(&larger, F32, DIMS(1, 1, 1, 1), VALUES(5));
    ref_input(&larger, I64, DIMS(1, 1, 1, 1), VALUES(3)); /* in 2 x 2 */
    ref_constant(&larger, I64, DIMS(4), VALUES(1, 1, 3, 3));
    ref_ints(&larger, "kernel_shape", DIMS(2, 2));
    assert_ok(ref_run(&larger, 1), &larger.e);
    ref_expect(&larger, 0, F32, DIMS(1, 1, 3, 3), 0, VALUES(0, 0, 0, 0, 5, 0, 0, 0, 0));
    ref_end(&c);
    ref_end(&larger);
}

static void columns_add_up_to_an_image(void **state)
{
    (void)state;
    ref_case c = ref_begin("Col2Im");
    ref_input(&c, F32, DIMS(1, 2, 2), VALUES(1, 2, 10, 20));
    ref_constant(&c, I64, DIMS(2), VALUES(1, 3));
    ref_constant(&c, I64, DIMS(2), VALUES(1, 2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 1, 3), 0, VALUES(1, 12, 20));
    ref_end(&c);
}

static void the_middle_is_cropped_or_padded(void **state)
{
    (void)state;
    ref_case c = ref_begin("CenterCropPad");
    ref_input(&c, F32, DIMS(1, 4), VALUES(1, 2, 3, 4));
    ref_constant(&c, I64, DIMS(2), VALUES(2, 1));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 1), 0, VALUES(2, 0)); /* the odd row of padding comes last */
    ref_end(&c);
}

/* ---- signals ---- */

static void transforms_of_real_signals(void **state)
{
    (void)state;
    ref_case full = ref_begin("DFT"), half = ref_begin("DFT");
    ref_input(&full, F32, DIMS(1, 3, 1), VALUES(1, 2, 3));
    assert_ok(ref_run(&full, 1), &full.e);
    double s = sqrt(3) / 2;
    ref_expect(&full, 0, F32, DIMS(1, 3, 2), 1e-6, VALUES(6, 0, -1.5, s, -1.5, -s));
    ref_input(&half, F32, DIMS(1, 2, 1), VALUES(1, 2));
    ref_constant(&half, I64, SCALAR, VALUES(4)); /* padded with zeros */
    ref_constant(&half, I64, SCALAR, VALUES(1));
    ref_int(&half, "onesided", 1);
    assert_ok(ref_run(&half, 1), &half.e);
    ref_expect(&half, 0, F32, DIMS(1, 3, 2), 1e-6, VALUES(3, 0, 1, -2, -1, 0));
    ref_end(&full);
    ref_end(&half);
}

static void transforms_go_back(void **state)
{
    (void)state;
    for (int onesided = 0; onesided < 2; onesided++)
        for (int n = 1; n < 25; n++) {
            ref_case there = ref_begin("DFT"), back = ref_begin("DFT");
            gopt_tensor *v = ref_varied(&there, GOPT_DTYPE_F64, DIMS(2, n, 1));
            double length = n;
            ref_int(&there, "onesided", onesided);
            assert_ok(ref_run(&there, 1), &there.e);
            gopt_tensor *spectrum = ref_input(&back, GOPT_DTYPE_F64, 3, there.out[0].dim, 0, NULL);
            memcpy(spectrum->data, there.out[0].data, gopt_tensor_bytes(spectrum));
            ref_constant(&back, I64, SCALAR, 1, &length);
            ref_int(&back, "onesided", onesided);
            ref_int(&back, "inverse", 1);
            assert_ok(ref_run(&back, 1), &back.e);
            for (int64_t i = 0; i < 2 * n; i++)
                assert_true(fabs(ref_at(&back, 0, onesided ? i : 2 * i) - gopt_tensor_get(v, i)) < 1e-12);
            ref_end(&there);
            ref_end(&back);
        }
}

static void frames_are_windowed_and_transformed(void **state)
{
    (void)state;
    ref_case c = ref_begin("STFT");
    ref_input(&c, F32, DIMS(1, 4, 1), VALUES(1, 2, 3, 4));
    ref_constant(&c, I64, SCALAR, VALUES(2));
    ref_constant(&c, F32, DIMS(2), VALUES(1, 10));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 2, 2), 1e-5, VALUES(21, 0, -19, 0, 43, 0, -37, 0));
    ref_end(&c);
}

static void windows_are_sums_of_cosines(void **state)
{
    static const char *const names[] = {"HannWindow", "HammingWindow", "BlackmanWindow"};
    static const double want[][4] = {{0, 0.5, 1, 0.5}, {4.0 / 46, 25.0 / 46, 1, 25.0 / 46}, {0, 0.34, 1, 0.34}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case periodic = ref_begin(names[i]), symmetric = ref_begin(names[i]);
        ref_constant(&periodic, I64, SCALAR, VALUES(4));
        assert_ok(ref_run(&periodic, 1), &periodic.e);
        ref_expect(&periodic, 0, F32, DIMS(4), 1e-6, 4, want[i]);
        ref_constant(&symmetric, I64, SCALAR, VALUES(3));
        ref_int(&symmetric, "periodic", 0);
        ref_int(&symmetric, "output_datatype", GOPT_DTYPE_F64);
        assert_ok(ref_run(&symmetric, 1), &symmetric.e);
        ref_expect(&symmetric, 0, GOPT_DTYPE_F64, DIMS(3), 1e-12, VALUES(want[i][0], 1, want[i][0]));
        ref_end(&periodic);
        ref_end(&symmetric);
    }
}

static void mel_bands_are_triangles(void **state)
{
    (void)state;
    ref_case c = ref_begin("MelWeightMatrix");
    ref_constant(&c, I64, SCALAR, VALUES(2));
    ref_constant(&c, I64, SCALAR, VALUES(16));
    ref_constant(&c, I64, SCALAR, VALUES(8192));
    ref_constant(&c, F32, SCALAR, VALUES(0));
    ref_constant(&c, F32, SCALAR, VALUES(4096));
    assert_ok(ref_run(&c, 1), &c.e);
    /* The edges lie in the bins 0, 0, 2 and 4. */
    ref_expect(&c, 0, F32, DIMS(9, 2), 1e-6, VALUES(1, 0, 0.5, 0.5, 0, 1, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    ref_end(&c);
}

/* ---- losses ---- */

static void losses_reduce_with_weights(void **state)
{
    static const char *const reductions[] = {"sum", "mean"};
    static const double want[] = {9, 9.0 / 4};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ref_case c = ref_begin("NegativeLogLikelihoodLoss");
        ref_input(&c, F32, DIMS(3, 2), VALUES(-1, -2, -3, -4, -5, -6));
        ref_input(&c, I64, DIMS(3), VALUES(1, 0, 7));
        ref_constant(&c, F32, DIMS(2), VALUES(1, 3));
        ref_int(&c, "ignore_index", 7);
        ref_string(&c, "reduction", reductions[i]);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, SCALAR, 1e-6, 1, &want[i]);
        ref_end(&c);
    }
}

static void cross_entropy_takes_scores(void **state)
{
    (void)state;
    ref_case c = ref_begin("SoftmaxCrossEntropyLoss");
    ref_input(&c, F32, DIMS(1, 2, 2), VALUES(0, 5, 0, 5));
    ref_input(&c, I64, DIMS(1, 2), VALUES(0, 1));
    ref_string(&c, "reduction", "none");
    assert_ok(ref_run(&c, 2), &c.e);
    double l = log(2);
    ref_expect(&c, 0, F32, DIMS(1, 2), 1e-6, VALUES(l, l));
    ref_expect(&c, 1, F32, DIMS(1, 2, 2), 1e-6, VALUES(-l, -l, -l, -l));
    gopt_tensor_set_int(c.in[1], 0, 2);
    ref_expect_error(&c, GOPT_EINPUT, "target 2");
    ref_end(&c);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case n = boxes(0), d = ref_begin("DFT"), g = ref_begin("GridSample");
    ref_constant(&n, I64, SCALAR, VALUES(2));
    ref_expect_oom_safe(&n, 1);
    ref_varied(&d, F32, DIMS(1, 4, 1));
    ref_expect_oom_safe(&d, 1);
    ref_varied(&g, F32, DIMS(1, 1, 2, 2));
    ref_varied(&g, F32, DIMS(1, 2, 2, 2));
    ref_expect_oom_safe(&g, 1);
    ref_end(&n);
    ref_end(&d);
    ref_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_boxes_survive),
        cmocka_unit_test(no_limit_means_no_box),
        cmocka_unit_test(regions_are_averaged),
        cmocka_unit_test(grids_sample_by_every_rule),
        cmocka_unit_test(grid_coordinates_come_last_axis_first),
        cmocka_unit_test(affine_grids_feed_grid_sample),
        cmocka_unit_test(deformed_taps_move),
        cmocka_unit_test(unpooling_puts_maxima_back),
        cmocka_unit_test(columns_add_up_to_an_image),
        cmocka_unit_test(the_middle_is_cropped_or_padded),
        cmocka_unit_test(transforms_of_real_signals),
        cmocka_unit_test(transforms_go_back),
        cmocka_unit_test(frames_are_windowed_and_transformed),
        cmocka_unit_test(windows_are_sums_of_cosines),
        cmocka_unit_test(mel_bands_are_triangles),
        cmocka_unit_test(losses_reduce_with_weights),
        cmocka_unit_test(cross_entropy_takes_scores),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
