/* attr: lookups with fallbacks, comparison, changed copies. */
#include "support/test.h"

#include <math.h>

#include "attr.h"

static const int64_t pads[] = {1, 2};
static const double scales[] = {0.5, NAN};
static const char *const words[] = {"a", "b"};
static float data[] = {1, 2};
static const gopt_tensor value = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {2}, .data = data};
static const gopt_attr all[] = {
    {.name = "axis", .kind = GOPT_ATTR_INT, .i = -1},
    {.name = "alpha", .kind = GOPT_ATTR_FLOAT, .f = 0.25},
    {.name = "mode", .kind = GOPT_ATTR_STRING, .s = "linear"},
    {.name = "pads", .kind = GOPT_ATTR_INTS, .n = 2, .ints = pads},
    {.name = "scales", .kind = GOPT_ATTR_FLOATS, .n = 2, .floats = scales},
    {.name = "words", .kind = GOPT_ATTR_STRINGS, .n = 2, .strings = words},
    {.name = "value", .kind = GOPT_ATTR_TENSOR, .tensor = &value},
};
static const gopt_attrs attrs = {.at = all, .n = GOPT_COUNT(all)};

static void lookups_fall_back(void **state)
{
    (void)state;
    int64_t n = -1;
    assert_int_equal(gopt_attr_int(attrs, "axis", 7), -1);
    assert_int_equal(gopt_attr_int(attrs, "none", 7), 7);
    assert_int_equal(gopt_attr_int(attrs, "alpha", 7), 7); /* of another kind */
    assert_true(gopt_attr_float(attrs, "alpha", 1) == 0.25);
    assert_true(gopt_attr_float(attrs, "none", 1) == 1);
    assert_string_equal(gopt_attr_string(attrs, "mode", "nearest"), "linear");
    assert_string_equal(gopt_attr_string(attrs, "axis", "nearest"), "nearest");
    assert_ptr_equal(gopt_attr_ints(attrs, "pads", &n), pads);
    assert_int_equal(n, 2);
    assert_null(gopt_attr_ints(attrs, "none", &n));
    assert_int_equal(n, 0);
    assert_null(gopt_attr_find((gopt_attrs){0}, "axis"));
    assert_ptr_equal(gopt_attr_find(attrs, "value")->tensor, &value);
}

static void sets_are_equal_in_any_order(void **state)
{
    (void)state;
    gopt_attr turned[GOPT_COUNT(all)];
    for (int i = 0; i < GOPT_COUNT(all); i++)
        turned[i] = all[GOPT_COUNT(all) - 1 - i];
    float same_data[] = {1, 2};
    gopt_tensor same_value = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {2}, .data = same_data};
    turned[0].tensor = &same_value;
    gopt_attrs other = {.at = turned, .n = GOPT_COUNT(all)};
    assert_true(gopt_attrs_equal(attrs, other));
    assert_true(gopt_attrs_equal((gopt_attrs){0}, (gopt_attrs){0}));
    other.n--;
    assert_false(gopt_attrs_equal(attrs, other));
    assert_false(gopt_attrs_equal(other, attrs));
}

static void any_difference_is_seen(void **state)
{
    (void)state;
    static const int64_t other_pads[] = {1, 3};
    static const double other_scales[] = {0.5, 0.5};
    static const char *const other_words[] = {"a", "c"};
    static float other_data[] = {1, 3};
    static const gopt_tensor other_value = {.dtype = GOPT_DTYPE_F32, .rank = 1, .dim = {2}, .data = other_data};
    static const gopt_tensor other_type = {.dtype = GOPT_DTYPE_I32, .rank = 1, .dim = {2}, .data = data};
    static const gopt_tensor other_shape = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {1, 2}, .data = data};
    static const gopt_attr changed[] = {
        {.name = "axis", .kind = GOPT_ATTR_INT, .i = 1},
        {.name = "axis", .kind = GOPT_ATTR_FLOAT, .f = -1},
        {.name = "alpha", .kind = GOPT_ATTR_FLOAT, .f = 0.5},
        {.name = "mode", .kind = GOPT_ATTR_STRING, .s = "cubic"},
        {.name = "pads", .kind = GOPT_ATTR_INTS, .n = 2, .ints = other_pads},
        {.name = "pads", .kind = GOPT_ATTR_INTS, .n = 1, .ints = pads},
        {.name = "scales", .kind = GOPT_ATTR_FLOATS, .n = 2, .floats = other_scales},
        {.name = "words", .kind = GOPT_ATTR_STRINGS, .n = 2, .strings = other_words},
        {.name = "value", .kind = GOPT_ATTR_TENSOR, .tensor = &other_value},
        {.name = "value", .kind = GOPT_ATTR_TENSOR, .tensor = &other_type},
        {.name = "value", .kind = GOPT_ATTR_TENSOR, .tensor = &other_shape},
    };
    for (int i = 0; i < GOPT_COUNT(changed); i++) {
        gopt_arena a = {0};
        gopt_attrs other = gopt_attrs_with(&a, attrs, changed[i]);
        assert_int_equal(other.n, attrs.n);
        assert_false(gopt_attrs_equal(attrs, other));
        assert_true(gopt_attrs_equal(other, other));
        gopt_arena_fini(&a);
    }
}

static void copies_with_and_without(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_attrs more = gopt_attrs_with(&a, attrs, (gopt_attr){.name = "group", .kind = GOPT_ATTR_INT, .i = 4});
    assert_int_equal(more.n, attrs.n + 1);
    assert_int_equal(gopt_attr_int(more, "group", 1), 4);
    gopt_attrs back = gopt_attrs_without(&a, more, "group");
    assert_true(gopt_attrs_equal(back, attrs));
    assert_int_equal(gopt_attrs_without(&a, back, "group").n, attrs.n);
    gopt_attrs only = gopt_attrs_with(&a, (gopt_attrs){0}, all[0]);
    assert_int_equal(gopt_attrs_without(&a, only, "axis").n, 0);
    assert_non_null(gopt_attrs_without(&a, only, "axis").at);
    gopt_arena_fini(&a);
}

static gopt_status change(void *ctx, gopt_err *e)
{
    gopt_arena a = {0};
    (void)ctx;
    gopt_attrs with = gopt_attrs_with(&a, attrs, all[0]), without = gopt_attrs_without(&a, attrs, "axis");
    bool failed = a.failed;
    assert_int_equal(failed, !with.at || !without.at);
    gopt_arena_fini(&a);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_every_oom(change, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups_fall_back),         cmocka_unit_test(sets_are_equal_in_any_order),
        cmocka_unit_test(any_difference_is_seen),    cmocka_unit_test(copies_with_and_without),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
