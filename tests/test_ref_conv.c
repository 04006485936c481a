/* Conv and its relatives, and pooling: geometry against a direct sum, hand-worked values, and what must be refused. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I64 GOPT_DTYPE_I64

/* A square of 1 to 9. */
#define NINE VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9)

static void conv_of_a_square(void **state)
{
    (void)state;
    ref_case c = ref_begin("Conv");
    ref_input(&c, F32, DIMS(1, 1, 3, 3), NINE);
    ref_constant(&c, F32, DIMS(1, 1, 2, 2), VALUES(1, 0, 0, -1));
    ref_input(&c, F32, DIMS(1), VALUES(10));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2, 2), 0, VALUES(6, 6, 6, 6)); /* 1 - 5 + 10 everywhere */
    ref_end(&c);
}

static void conv_pads_where_it_is_told(void **state)
{
    (void)state;
    ref_case c = ref_begin("Conv");
    ref_input(&c, F32, DIMS(1, 1, 4), VALUES(1, 2, 3, 4));
    ref_constant(&c, F32, DIMS(1, 1, 3), VALUES(1, 10, 100));
    ref_ints(&c, "pads", DIMS(2, 1));
    ref_ints(&c, "strides", DIMS(2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 3), 0, VALUES(100, 321, 43));
    ref_end(&c);
}

static void conv_of_a_volume(void **state)
{
    (void)state;
    ref_case c = ref_begin("Conv");
    ref_input(&c, F32, DIMS(1, 1, 2, 2, 2), VALUES(1, 2, 3, 4, 5, 6, 7, 8));
    ref_constant(&c, F32, DIMS(2, 1, 2, 2, 2), VALUES(1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, -1));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 1, 1, 1), 0, VALUES(36, -7));
    ref_end(&c);
}

/* ---- against a direct sum ---- */

typedef struct geometry {
    int64_t in[2], kernel[2], stride[2], dilation[2], pad[4]; /* pad: begin, begin, end, end */
    int64_t batch, channels, filters, groups;
    const char *auto_pad;
} geometry;

static const geometry geometries[] = {
    {{5, 6}, {3, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 2, 2, 3, 1, NULL},
    {{5, 6}, {3, 3}, {2, 1}, {1, 2}, {1, 2, 0, 3}, 1, 2, 2, 1, NULL},
    {{7, 4}, {2, 3}, {3, 2}, {2, 1}, {0, 1, 2, 0}, 1, 4, 6, 2, NULL},
    {{4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2, 3, 3, 3, NULL}, /* depthwise */
    {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 1, 5, 4, 1, NULL},
    {{5, 5}, {2, 4}, {2, 2}, {1, 1}, {0, 1, 1, 2}, 1, 1, 2, 1, "SAME_UPPER"},
    {{5, 5}, {2, 4}, {2, 2}, {1, 1}, {1, 2, 0, 1}, 1, 1, 2, 1, "SAME_LOWER"},
    {{6, 5}, {3, 2}, {1, 2}, {1, 1}, {0, 0, 0, 0}, 1, 1, 2, 1, "VALID"},
    {{20, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 2, 3, 1, NULL}, /* more than one block of positions */
};

/* Output (n, m, y, x) by the definition. */
static double direct(const ref_case *c, const geometry *g, int64_t n, int64_t m, int64_t y, int64_t x)
{
    int64_t per_group = g->channels / g->groups, first = m / (g->filters / g->groups) * per_group;
    double sum = c->in[2] ? gopt_tensor_get(c->in[2], m) : 0;
    for (int64_t k = 0; k < per_group * g->kernel[0] * g->kernel[1]; k++) {
        int64_t ch = k / (g->kernel[0] * g->kernel[1]), ky = k / g->kernel[1] % g->kernel[0], kx = k % g->kernel[1];
        int64_t iy = y * g->stride[0] - g->pad[0] + ky * g->dilation[0];
        int64_t ix = x * g->stride[1] - g->pad[1] + kx * g->dilation[1];
        if (iy < 0 || iy >= g->in[0] || ix < 0 || ix >= g->in[1])
            continue;
        double w = gopt_tensor_get(c->in[1], m * per_group * g->kernel[0] * g->kernel[1] + k);
        sum += w * gopt_tensor_get(c->in[0], ((n * g->channels + first + ch) * g->in[0] + iy) * g->in[1] + ix);
    }
    return sum;
}

static void set_geometry(ref_case *c, const geometry *g)
{
    ref_ints(c, "strides", 2, g->stride);
    ref_ints(c, "dilations", 2, g->dilation);
    if (g->auto_pad)
        ref_string(c, "auto_pad", g->auto_pad);
    else
        ref_ints(c, "pads", 4, g->pad);
    ref_int(c, "group", g->groups);
}

static void check_geometry(const geometry *g, gopt_dtype d, double tolerance)
{
    ref_case c = ref_begin("Conv");
    ref_varied(&c, d, DIMS(g->batch, g->channels, g->in[0], g->in[1]));
    ref_varied(&c, d, DIMS(g->filters, g->channels / g->groups, g->kernel[0], g->kernel[1]));
    ref_known(&c);
    ref_varied(&c, d, DIMS(g->filters));
    set_geometry(&c, g);
    assert_ok(ref_run(&c, 1), &c.e);
    const int64_t *o = c.out[0].dim;
    for (int a = 0; a < 2; a++) {
        int64_t span = g->in[a] + g->pad[a] + g->pad[2 + a] - (g->kernel[a] - 1) * g->dilation[a] - 1;
        assert_int_equal(o[2 + a], span / g->stride[a] + 1);
    }
    for (int64_t i = 0; i < gopt_tensor_count(&c.out[0]); i++) {
        double want = direct(&c, g, i / (o[3] * o[2] * o[1]), i / (o[3] * o[2]) % o[1], i / o[3] % o[2], i % o[3]);
        if (fabs(ref_at(&c, 0, i) - want) > tolerance * fmax(1, fabs(want)))
            fail_msg("geometry %d, element %d: %g, not %g", (int)(g - geometries), (int)i, ref_at(&c, 0, i), want);
    }
    ref_end(&c);
}

static void conv_agrees_with_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(geometries); i++) {
        check_geometry(&geometries[i], F32, 1e-6);
        check_geometry(&geometries[i], GOPT_DTYPE_F64, 1e-12);
        check_geometry(&geometries[i], GOPT_DTYPE_F16, 1e-3);
        check_geometry(&geometries[i], GOPT_DTYPE_BF16, 1e-2);
    }
}

/* ConvTranspose is the adjoint: <conv(x), y> = <x, convtranspose(y)> for every x and y. */
static void conv_transpose_is_the_adjoint(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        const geometry *g = &geometries[i];
        ref_case c = ref_begin("Conv"), t = ref_begin("ConvTranspose");
        int64_t per_group = g->channels / g->groups;
        ref_varied(&c, F32, DIMS(g->batch, g->channels, g->in[0], g->in[1]));
        gopt_tensor *w = ref_varied(&c, F32, DIMS(g->filters, per_group, g->kernel[0], g->kernel[1]));
        ref_known(&c);
        set_geometry(&c, g);
        assert_ok(ref_run(&c, 1), &c.e);
        gopt_tensor *y = ref_varied(&t, F32, 4, c.out[0].dim);
        gopt_tensor *wt = ref_varied(&t, F32, DIMS(g->filters, per_group, g->kernel[0], g->kernel[1]));
        ref_known(&t);
        memcpy(wt->data, w->data, gopt_tensor_bytes(w));
        set_geometry(&t, g);
        int64_t shape[2] = {g->in[0], g->in[1]}, extra[2];
        for (int a = 0; a < 2; a++)
            extra[a] = shape[a] - ((c.out[0].dim[2 + a] - 1) * g->stride[a] - g->pad[a] - g->pad[2 + a] +
                                   (g->kernel[a] - 1) * g->dilation[a] + 1);
        ref_ints(&t, "output_padding", 2, extra);
        assert_ok(ref_run(&t, 1), &t.e);
        assert_true(gopt_dims_equal(&t.out[0], c.in[0]));
        double left = 0, right = 0;
        for (int64_t k = 0; k < gopt_tensor_count(y); k++)
            left += ref_at(&c, 0, k) * gopt_tensor_get(y, k);
        for (int64_t k = 0; k < gopt_tensor_count(c.in[0]); k++)
            right += ref_at(&t, 0, k) * gopt_tensor_get(c.in[0], k);
        assert_true(fabs(left - right) <= 1e-4 * fmax(1, fabs(left)));
        ref_end(&c);
        ref_end(&t);
    }
}

static void conv_transpose_takes_a_shape(void **state)
{
    (void)state;
    static const char *const modes[] = {"NOTSET", "SAME_UPPER"};
    static const double first[] = {20, 12}; /* 1 is cut from the front, or from the end */
    for (int i = 0; i < 2; i++) {
        ref_case c = ref_begin("ConvTranspose");
        ref_input(&c, F32, DIMS(1, 1, 2), VALUES(1, 10));
        ref_input(&c, F32, DIMS(1, 1, 3), VALUES(1, 10, 2));
        ref_ints(&c, "strides", DIMS(2));
        ref_ints(&c, "output_shape", DIMS(4)); /* without padding: 1 10 12 100 20 */
        ref_string(&c, "auto_pad", modes[i]);
        assert_ok(ref_run(&c, 1), &c.e);
        if (i == 0)
            ref_expect(&c, 0, F32, DIMS(1, 1, 4), 0, VALUES(10, 12, 100, first[0]));
        else
            ref_expect(&c, 0, F32, DIMS(1, 1, 4), 0, VALUES(1, 10, first[1], 100));
        ref_end(&c);
    }
}

static void conv_transpose_same_multiplies_by_the_stride(void **state)
{
    (void)state;
    ref_case c = ref_begin("ConvTranspose");
    ref_input(&c, F32, DIMS(1, 1, 3, 3), NINE);
    ref_input(&c, F32, DIMS(1, 2, 3, 3), VALUES(1));
    ref_string(&c, "auto_pad", "SAME_UPPER");
    ref_ints(&c, "strides", DIMS(2, 2));
    assert_ok(ref_run(&c, 1), &c.e);
    assert_int_equal(c.out[0].dim[2], 6);
    assert_int_equal(c.out[0].dim[3], 6);
    assert_true(ref_at(&c, 0, 0) == 1 && ref_at(&c, 0, 2) == 3 && ref_at(&c, 0, 35) == 9);
    ref_end(&c);
}

static void fused_conv_adds_and_activates(void **state)
{
    (void)state;
    ref_case c = ref_begin("com.microsoft:FusedConv");
    ref_input(&c, F32, DIMS(1, 1, 3), VALUES(1, -2, 3));
    ref_constant(&c, F32, DIMS(1, 1, 1), VALUES(2));
    ref_absent(&c);
    ref_input(&c, F32, DIMS(1, 1, 3), VALUES(1, 1, -20));
    ref_string(&c, "activation", "LeakyRelu");
    ref_floats(&c, "activation_params", VALUES(0.5));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 3), 1e-7, VALUES(3, -1.5, -7));
    ref_end(&c);
}

/* ---- pooling ---- */

static void max_pool_tells_where(void **state)
{
    (void)state;
    for (int columns = 0; columns < 2; columns++) {
        ref_case c = ref_begin("MaxPool");
        ref_input(&c, F32, DIMS(1, 2, 2, 3), VALUES(1, 9, 3, 4, 5, 6));
        ref_ints(&c, "kernel_shape", DIMS(2, 2));
        ref_int(&c, "storage_order", columns);
        assert_ok(ref_run(&c, 2), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 2, 1, 2), 0, VALUES(9, 9, 9, 9));
        double at = columns ? 2 : 1;
        ref_expect(&c, 1, I64, DIMS(1, 2, 1, 2), 0, VALUES(at, at, 6 + at, 6 + at));
        ref_end(&c);
    }
}

static void max_pool_rounds_up_but_not_into_the_padding(void **state)
{
    (void)state;
    ref_case c = ref_begin("MaxPool");
    ref_input(&c, GOPT_DTYPE_I8, DIMS(1, 1, 5), VALUES(1, 2, 3, 4, 5));
    ref_ints(&c, "kernel_shape", DIMS(2));
    ref_ints(&c, "strides", DIMS(3));
    ref_ints(&c, "pads", DIMS(0, 1));
    ref_int(&c, "ceil_mode", 1); /* ceil((5 + 1 - 2) / 3) + 1 = 3 windows, but the third would start in the padding */
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, GOPT_DTYPE_I8, DIMS(1, 1, 2), 0, VALUES(2, 5));
    ref_end(&c);
}

static void max_pool_keeps_nan(void **state)
{
    (void)state;
    ref_case c = ref_begin("MaxPool");
    ref_input(&c, F32, DIMS(1, 1, 4), VALUES(1, NAN, -INFINITY, -INFINITY));
    ref_ints(&c, "kernel_shape", DIMS(2));
    ref_ints(&c, "strides", DIMS(2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2), 0, VALUES(NAN, -INFINITY));
    ref_end(&c);
}

static void average_pool_counts_padding_on_request(void **state)
{
    (void)state;
    for (int count = 0; count < 2; count++) {
        ref_case c = ref_begin("AveragePool");
        ref_input(&c, F32, DIMS(1, 1, 3), VALUES(6, 12, 18));
        ref_ints(&c, "kernel_shape", DIMS(3));
        ref_ints(&c, "strides", DIMS(2));
        ref_ints(&c, "pads", DIMS(1, 0));
        ref_int(&c, "count_include_pad", count);
        ref_int(&c, "ceil_mode", 1); /* the last window ends beyond input and padding: those cells never count */
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(count ? 6 : 9, 15));
        ref_end(&c);
    }
}

static void lp_pool_takes_the_norm(void **state)
{
    (void)state;
    ref_case c = ref_begin("LpPool");
    ref_input(&c, F32, DIMS(1, 1, 3), VALUES(3, -4, 12));
    ref_ints(&c, "kernel_shape", DIMS(2));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 1, 2), 1e-6, VALUES(5, sqrt(160)));
    ref_end(&c);
}

static void global_pools_leave_one_value(void **state)
{
    static const char *const names[] = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};
    static const double want[][2] = {{2.5, 25}, {4, 40}, {5.477225575, 54.77225575}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_input(&c, F32, DIMS(1, 2, 2, 2), VALUES(1, 2, 3, 4, 10, 20, 30, 40));
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(1, 2, 1, 1), 1e-6, VALUES(want[i][0], want[i][1]));
        ref_end(&c);
    }
}

/* ---- refusals ---- */

typedef struct refusal {
    const char *attribute;
    int n;
    int64_t v[6];
    const char *word;
} refusal;

static void bad_attributes_are_named(void **state)
{
    static const refusal refusals[] = {
        {"strides", 2, {0, 1}, "strides"},           {"strides", 1, {1}, "strides"},
        {"dilations", 2, {1, -3}, "dilations"},      {"pads", 4, {0, 0, -1, 0}, "pads"},
        {"pads", 3, {0, 0, 0}, "4 expected"},        {"pads", 4, {0, 0, (int64_t)1 << 40, 0}, "pads"},
        {"kernel_shape", 2, {0, 2}, "kernel_shape"}, {"kernel_shape", 2, {3, 2}, "kernel_shape"},
        {"dilations", 2, {9, 9}, "does not fit"},
    };
    (void)state;
    for (int i = 0; i < GOPT_COUNT(refusals); i++) {
        ref_case c = ref_begin("Conv");
        ref_varied(&c, F32, DIMS(1, 1, 4, 4));
        ref_varied(&c, F32, DIMS(1, 1, 2, 2));
        ref_ints(&c, refusals[i].attribute, refusals[i].n, refusals[i].v);
        ref_expect_error(&c, GOPT_EINPUT, refusals[i].word);
        ref_end(&c);
    }
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    static const int64_t weights[][5] = {{3, 2, 2, 2, 0}, {2, 2, 0, 2, 0}, {2, 1, 2, 2, 2}};
    static const int ranks[] = {4, 4, 5};
    static const char *const words[] = {"channels", "empty", "rank"};
    for (int i = 0; i < GOPT_COUNT(ranks); i++) {
        ref_case c = ref_begin("Conv");
        ref_varied(&c, F32, DIMS(1, 3, 4, 4));
        ref_varied(&c, F32, ranks[i], weights[i]);
        ref_expect_error(&c, GOPT_EINPUT, words[i]);
        ref_end(&c);
    }
    ref_case c = ref_begin("Conv");
    ref_varied(&c, GOPT_DTYPE_I32, DIMS(1, 3, 4, 4));
    ref_varied(&c, GOPT_DTYPE_I32, DIMS(1, 3, 2, 2));
    ref_expect_error(&c, GOPT_EINPUT, "int32");
    ref_end(&c);
}

static void a_pool_needs_a_kernel(void **state)
{
    (void)state;
    ref_case c = ref_begin("MaxPool");
    ref_varied(&c, F32, DIMS(1, 1, 4));
    ref_expect_error(&c, GOPT_EINPUT, "kernel_shape");
    ref_end(&c);
}

static int64_t late(void)
{
    return 1000;
}

static void a_deadline_stops_the_work(void **state)
{
    (void)state;
    extern int64_t (*gopt_clock_source)(void);
    int64_t (*clock)(void) = gopt_clock_source;
    ref_case c = ref_begin("Conv");
    ref_varied(&c, F32, DIMS(1, 1, 4, 4));
    ref_varied(&c, F32, DIMS(1, 1, 2, 2));
    c.deadline = 999;
    gopt_clock_source = late;
    ref_expect_error(&c, GOPT_ELIMIT, "time");
    gopt_clock_source = clock;
    ref_end(&c);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_case c = ref_begin("Conv"), p = ref_begin("MaxPool");
    ref_varied(&c, F32, DIMS(1, 2, 4, 4));
    ref_varied(&c, F32, DIMS(2, 2, 2, 2));
    ref_expect_oom_safe(&c, 1);
    ref_varied(&p, F32, DIMS(1, 2, 4, 4));
    ref_ints(&p, "kernel_shape", DIMS(2, 2));
    ref_expect_oom_safe(&p, 2);
    ref_end(&c);
    ref_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_of_a_square),
        cmocka_unit_test(conv_pads_where_it_is_told),
        cmocka_unit_test(conv_of_a_volume),
        cmocka_unit_test(conv_agrees_with_the_definition),
        cmocka_unit_test(conv_transpose_is_the_adjoint),
        cmocka_unit_test(conv_transpose_takes_a_shape),
        cmocka_unit_test(conv_transpose_same_multiplies_by_the_stride),
        cmocka_unit_test(fused_conv_adds_and_activates),
        cmocka_unit_test(max_pool_tells_where),
        cmocka_unit_test(max_pool_rounds_up_but_not_into_the_padding),
        cmocka_unit_test(max_pool_keeps_nan),
        cmocka_unit_test(average_pool_counts_padding_on_request),
        cmocka_unit_test(lp_pool_takes_the_norm),
        cmocka_unit_test(global_pools_leave_one_value),
        cmocka_unit_test(bad_attributes_are_named),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(a_pool_needs_a_kernel),
        cmocka_unit_test(a_deadline_stops_the_work),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
