/* Reductions, Softmax and its like, ArgMax, TopK, CumProd: hand-worked values, odd axes, empty and non-finite input. */
#include "support/ref_case.h"

#include <math.h>

#define F32 GOPT_DTYPE_F32
#define I64 GOPT_DTYPE_I64
#define I32 GOPT_DTYPE_I32

typedef struct leaf {
    const char *name;
    double rows[2], all; /* of {{1, -2, 3}, {4, 5, 6}} */
} leaf;

static const leaf leaves[] = {
    {"ReduceSum", {2, 15}, 17},
    {"ReduceMean", {2.0 / 3, 5}, 17.0 / 6},
    {"ReduceMax", {3, 6}, 6},
    {"ReduceMin", {-2, 4}, -2},
    {"ReduceProd", {-6, 120}, -720},
    {"ReduceL1", {6, 15}, 21},
    {"ReduceL2", {3.74165739, 8.77496439}, 9.53939201},
    {"ReduceSumSquare", {14, 77}, 91},
    {"ReduceLogSum", {0.69314718, 2.70805020}, 2.83321334},
    {"ReduceLogSumExp", {3.13284492, 6.40760596}, 6.44473410},
};

static void every_reduction_over_rows_and_all(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(leaves); i++) {
        const leaf *l = &leaves[i];
        ref_case rows = ref_begin(l->name), all = ref_begin(l->name);
        ref_input(&rows, F32, DIMS(2, 3), VALUES(1, -2, 3, 4, 5, 6));
        ref_constant(&rows, I64, DIMS(1), VALUES(-1));
        ref_int(&rows, "keepdims", 0);
        assert_ok(ref_run(&rows, 1), &rows.e);
        ref_expect(&rows, 0, F32, DIMS(2), 1e-6, 2, l->rows);
        ref_input(&all, F32, DIMS(2, 3), VALUES(1, -2, 3, 4, 5, 6));
        assert_ok(ref_run(&all, 1), &all.e);
        ref_expect(&all, 0, F32, DIMS(1, 1), 1e-6, 1, &l->all);
        ref_end(&rows);
        ref_end(&all);
    }
}

static void axes_need_not_be_neighbours(void **state)
{
    (void)state;
    ref_case c = ref_begin("ReduceSum");
    ref_input(&c, I32, DIMS(2, 2, 2), VALUES(1, 2, 3, 4, 50, 60, 70, 80));
    ref_constant(&c, I64, DIMS(2), VALUES(2, 0));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, I32, DIMS(1, 2, 1), 0, VALUES(113, 157));
    ref_end(&c);
}

static void no_axes_may_mean_none(void **state)
{
    (void)state;
    ref_case c = ref_begin("ReduceSumSquare");
    ref_input(&c, F32, DIMS(2), VALUES(3, -4));
    ref_constant(&c, I64, DIMS(0), 0, NULL);
    ref_int(&c, "noop_with_empty_axes", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2), 0, VALUES(9, 16)); /* the step is still made */
    ref_end(&c);
}

static void a_scalar_reduces_to_itself(void **state)
{
    (void)state;
    ref_case c = ref_begin("ReduceMax");
    ref_input(&c, F32, SCALAR, VALUES(7));
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, SCALAR, 0, VALUES(7));
    ref_end(&c);
}

static void nothing_reduces_to_the_neutral_element(void **state)
{
    static const char *const names[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceLogSumExp"};
    static const double floats[] = {0, 1, -INFINITY, INFINITY, -INFINITY};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_input(&c, F32, DIMS(2, 0), 0, NULL);
        ref_constant(&c, I64, DIMS(1), VALUES(1));
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(2, 1), 0, VALUES(floats[i], floats[i]));
        ref_end(&c);
    }
    ref_case c = ref_begin("ReduceMax");
    ref_input(&c, GOPT_DTYPE_I8, DIMS(0), 0, NULL);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, GOPT_DTYPE_I8, DIMS(1), 0, VALUES(-128));
    ref_end(&c);
}

static void extremes_keep_nan_and_compare_all_types(void **state)
{
    (void)state;
    ref_case n = ref_begin("ReduceMin"), u = ref_begin("ReduceMax"), b = ref_begin("ReduceMin");
    ref_input(&n, F32, DIMS(3), VALUES(1, NAN, -1));
    assert_ok(ref_run(&n, 1), &n.e);
    ref_expect(&n, 0, F32, DIMS(1), 0, VALUES(NAN));
    gopt_tensor *t = ref_input(&u, GOPT_DTYPE_U64, DIMS(2), VALUES(5));
    gopt_tensor_set_int(t, 0, -1); /* 2^64 - 1 */
    assert_ok(ref_run(&u, 1), &u.e);
    assert_int_equal(gopt_tensor_get_int(&u.out[0], 0), -1);
    ref_input(&b, GOPT_DTYPE_BOOL, DIMS(2), VALUES(1, 0));
    assert_ok(ref_run(&b, 1), &b.e);
    ref_expect(&b, 0, GOPT_DTYPE_BOOL, DIMS(1), 0, VALUES(0));
    ref_end(&n);
    ref_end(&u);
    ref_end(&b);
}

static void log_sum_exp_does_not_overflow(void **state)
{
    (void)state;
    ref_case c = ref_begin("ReduceLogSumExp");
    ref_input(&c, GOPT_DTYPE_F64, DIMS(3, 2), VALUES(1000, 1000, -1000, -1000, INFINITY, 0));
    ref_constant(&c, I64, DIMS(1), VALUES(1));
    ref_int(&c, "keepdims", 0);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, GOPT_DTYPE_F64, DIMS(3), 1e-12, VALUES(1000 + log(2), log(2) - 1000, INFINITY));
    ref_end(&c);
}

/* The size of a flattened shape: what exporters write with Shape and ReduceProd. */
static void inference_follows_products_of_dimensions(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_dims *dims = gopt_dims_new(&a);
    gopt_dim shape[] = {gopt_dim_symbol(dims, "batch"), gopt_dim_of(3)};
    gopt_fact in = {.dtype = I64, .rank = 1, .dim = {gopt_dim_of(2)}, .content = shape}, out = {.rank = -1};
    const gopt_op *op = gopt_op_find("", "ReduceProd");
    gopt_infer x = {.op = op, .dims = dims, .arena = &a, .n_in = 1, .n_out = 1, .in = &in, .out = &out};
    assert_ok(op->infer(&x, &e), &e);
    assert_non_null(out.content);
    assert_true(gopt_dim_equal(out.content[0], gopt_dim_mul(dims, shape[0], shape[1])));
    gopt_arena_fini(&a);
}

/* ---- along an axis ---- */

static void softmax_and_its_like(void **state)
{
    double e1 = exp(1), s = 1 + e1;
    static const char *const names[] = {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"};
    const double want[][4] = {{1 / s, 0.5, e1 / s, 0.5},
                              {-log(s), log(0.5), 1 - log(s), log(0.5)},
                              {0, 1, 1, 0},
                              {0, sqrt(0.5), 1, sqrt(0.5)}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_input(&c, F32, DIMS(2, 2), VALUES(0, 5, 1, 5));
        ref_int(&c, "axis", 0);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, F32, DIMS(2, 2), 1e-6, 4, want[i]);
        ref_end(&c);
    }
}

static void old_softmax_takes_the_axes_together(void **state)
{
    (void)state;
    ref_case c = ref_begin("Softmax");
    ref_input(&c, F32, DIMS(1, 2, 2), VALUES(100, 100, 100, 100));
    ref_int(&c, "axis", 1);
    ref_int(&c, "coerce_2d", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(1, 2, 2), 1e-7, VALUES(0.25, 0.25, 0.25, 0.25));
    ref_end(&c);
}

static void softmax_of_nothing_and_of_infinities(void **state)
{
    (void)state;
    ref_case empty = ref_begin("Softmax"), inf = ref_begin("Softmax");
    ref_input(&empty, F32, DIMS(2, 0, 4), 0, NULL);
    ref_int(&empty, "axis", 1);
    assert_ok(ref_run(&empty, 1), &empty.e);
    ref_input(&inf, F32, DIMS(2, 2), VALUES(-INFINITY, 0, -INFINITY, -INFINITY));
    assert_ok(ref_run(&inf, 1), &inf.e);
    ref_expect(&inf, 0, F32, DIMS(2, 2), 0, VALUES(0, 1, NAN, NAN));
    ref_end(&empty);
    ref_end(&inf);
}

static void a_zero_vector_stays_zero(void **state)
{
    (void)state;
    ref_case c = ref_begin("LpNormalization");
    ref_input(&c, F32, DIMS(2, 2), VALUES(0, 0, -3, 1));
    ref_int(&c, "p", 1);
    assert_ok(ref_run(&c, 1), &c.e);
    ref_expect(&c, 0, F32, DIMS(2, 2), 1e-7, VALUES(0, 0, -0.75, 0.25));
    ref_end(&c);
}

static void arg_max_breaks_ties_as_told(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        ref_case max = ref_begin("ArgMax"), min = ref_begin("ArgMin");
        ref_input(&max, F32, DIMS(2, 3), VALUES(2, 7, 7, -0.0, 0, -1));
        ref_int(&max, "axis", 1);
        ref_int(&max, "select_last_index", last);
        assert_ok(ref_run(&max, 1), &max.e);
        ref_expect(&max, 0, I64, DIMS(2, 1), 0, VALUES(1 + last, last));
        ref_input(&min, I32, DIMS(2, 2), VALUES(3, 1, 3, 2));
        ref_int(&min, "keepdims", 0);
        ref_int(&min, "select_last_index", last);
        assert_ok(ref_run(&min, 1), &min.e);
        ref_expect(&min, 0, I64, DIMS(2), 0, VALUES(last, 0));
        ref_end(&max);
        ref_end(&min);
    }
}

static void top_k_orders_by_value_then_index(void **state)
{
    (void)state;
    for (int largest = 0; largest < 2; largest++) {
        ref_case c = ref_begin("TopK");
        ref_input(&c, F32, DIMS(4, 1), VALUES(3, 1, 3, 2));
        ref_constant(&c, I64, DIMS(1), VALUES(3));
        ref_int(&c, "axis", 0);
        ref_int(&c, "largest", largest);
        assert_ok(ref_run(&c, 2), &c.e);
        if (largest) {
            ref_expect(&c, 0, F32, DIMS(3, 1), 0, VALUES(3, 3, 2));
            ref_expect(&c, 1, I64, DIMS(3, 1), 0, VALUES(0, 2, 3));
        } else {
            ref_expect(&c, 0, F32, DIMS(3, 1), 0, VALUES(1, 2, 3));
            ref_expect(&c, 1, I64, DIMS(3, 1), 0, VALUES(1, 3, 0));
        }
        ref_end(&c);
    }
}

static void top_k_makes_only_what_is_wanted(void **state)
{
    (void)state;
    ref_case c = ref_begin("TopK");
    ref_input(&c, F32, DIMS(3), VALUES(NAN, 1, 2));
    ref_constant(&c, I64, DIMS(1), VALUES(2));
    ref_outputs(&c, 2);
    c.out_at[0] = NULL;
    assert_ok(ref_run_wanted(&c), &c.e);
    ref_expect(&c, 1, I64, DIMS(2), 0, VALUES(0, 2)); /* NaN is above everything */
    ref_end(&c);
}

static void cumulative_products(void **state)
{
    static const double want[][3] = {{1, 2, 6}, {1, 1, 2}, {6, 6, 3}, {6, 3, 1}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        ref_case c = ref_begin("CumProd");
        ref_input(&c, i < 2 ? F32 : I64, DIMS(3), VALUES(1, 2, 3));
        ref_constant(&c, I32, SCALAR, VALUES(0));
        ref_int(&c, "exclusive", i & 1);
        ref_int(&c, "reverse", i >> 1);
        assert_ok(ref_run(&c, 1), &c.e);
        ref_expect(&c, 0, i < 2 ? F32 : I64, DIMS(3), 0, 3, want[i]);
        ref_end(&c);
    }
}

/* ---- refusals ---- */

static void axes_out_of_range(void **state)
{
    static const char *const names[] = {"Softmax", "ArgMax", "TopK", "LpNormalization"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_varied(&c, F32, DIMS(2, 2));
        if (i == 2)
            ref_constant(&c, I64, DIMS(1), VALUES(1));
        ref_int(&c, "axis", 2);
        ref_expect_error(&c, GOPT_EINPUT, "axis 2");
        ref_end(&c);
    }
    ref_case c = ref_begin("ReduceSum");
    ref_varied(&c, F32, DIMS(2, 2));
    ref_constant(&c, I64, DIMS(2), VALUES(0, -3));
    ref_expect_error(&c, GOPT_EINPUT, "axis -3");
    ref_end(&c);
}

static void other_refusals(void **state)
{
    (void)state;
    ref_case k = ref_begin("TopK"), a = ref_begin("ArgMin"), t = ref_begin("ReduceMean");
    ref_varied(&k, F32, DIMS(2, 2));
    ref_constant(&k, I64, DIMS(1), VALUES(3));
    ref_expect_error(&k, GOPT_EINPUT, "K");
    ref_varied(&a, F32, DIMS(0, 2));
    ref_expect_error(&a, GOPT_EINPUT, "empty");
    ref_varied(&t, GOPT_DTYPE_BOOL, DIMS(2));
    ref_expect_error(&t, GOPT_EINPUT, "bool");
    ref_end(&k);
    ref_end(&a);
    ref_end(&t);
}

static void every_allocation_may_fail(void **state)
{
    static const char *const names[] = {"ReduceLogSumExp", "ReduceMax", "Softmax", "ArgMax"};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(names); i++) {
        ref_case c = ref_begin(names[i]);
        ref_varied(&c, i == 1 ? GOPT_DTYPE_F16 : F32, DIMS(2, 3));
        ref_expect_oom_safe(&c, 1);
        ref_end(&c);
    }
    ref_case c = ref_begin("TopK");
    ref_varied(&c, F32, DIMS(2, 3));
    ref_constant(&c, I64, DIMS(1), VALUES(1));
    ref_expect_oom_safe(&c, 2);
    ref_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reduction_over_rows_and_all),
        cmocka_unit_test(axes_need_not_be_neighbours),
        cmocka_unit_test(no_axes_may_mean_none),
        cmocka_unit_test(a_scalar_reduces_to_itself),
        cmocka_unit_test(nothing_reduces_to_the_neutral_element),
        cmocka_unit_test(extremes_keep_nan_and_compare_all_types),
        cmocka_unit_test(log_sum_exp_does_not_overflow),
        cmocka_unit_test(inference_follows_products_of_dimensions),
        cmocka_unit_test(softmax_and_its_like),
        cmocka_unit_test(old_softmax_takes_the_axes_together),
        cmocka_unit_test(softmax_of_nothing_and_of_infinities),
        cmocka_unit_test(a_zero_vector_stays_zero),
        cmocka_unit_test(arg_max_breaks_ties_as_told),
        cmocka_unit_test(top_k_orders_by_value_then_index),
        cmocka_unit_test(top_k_makes_only_what_is_wanted),
        cmocka_unit_test(cumulative_products),
        cmocka_unit_test(axes_out_of_range),
        cmocka_unit_test(other_refusals),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
