/* knob: enumeration, validity, text both ways for every kind. */
#include "support/test.h"

#include "knob.h"

static const char *const orders[] = {"by_size", "first_fit", NULL};
static const gopt_knob knobs[] = {
    {.name = "flag", .kind = GOPT_KNOB_BOOL, .hi = 1, .init = 1, .doc = "a switch"},
    {.name = "line", .kind = GOPT_KNOB_LINEAR, .lo = 2, .hi = 21, .init = 5, .step = 3, .doc = "2, 5 ... 20"},
    {.name = "count", .kind = GOPT_KNOB_LINEAR, .lo = 1, .hi = 4, .init = 1, .doc = "step left out"},
    {.name = "tile", .kind = GOPT_KNOB_POW2, .lo = 8, .hi = 100, .init = 16, .doc = "8, 16, 32, 64"},
    {.name = "order", .kind = GOPT_KNOB_CHOICE, .choices = orders, .doc = "how to place"},
    {0},
};

static void every_value_is_valid_and_parses_back(void **state)
{
    (void)state;
    static const int64_t counts[] = {2, 7, 4, 4, 2};
    for (int k = 0; knobs[k].name; k++) {
        assert_int_equal(gopt_knob_count(&knobs[k]), counts[k]);
        assert_true(gopt_knob_valid(&knobs[k], knobs[k].init));
        for (int64_t i = 0; i < counts[k]; i++) {
            gopt_text t = {0};
            gopt_err e = {0};
            int64_t v = gopt_knob_value(&knobs[k], i), back = -99;
            assert_true(gopt_knob_valid(&knobs[k], v));
            gopt_knob_print(&knobs[k], v, &t);
            assert_ok(gopt_knob_parse(&knobs[k], gopt_text_str(&t), &back, &e), &e);
            assert_int_equal(back, v);
            gopt_text_fini(&t);
        }
    }
    assert_int_equal(gopt_knob_value(&knobs[1], 6), 20);
    assert_int_equal(gopt_knob_value(&knobs[3], 3), 64);
}

static void what_lies_between_or_outside_is_not_valid(void **state)
{
    (void)state;
    static const struct {
        int knob;
        int64_t v;
    } wrong[] = {{0, 2}, {0, -1}, {1, 3}, {1, 1}, {1, 23}, {1, 21}, {3, 0}, {3, 4}, {3, 12}, {3, 128}, {4, 2}, {4, -1}};
    for (int i = 0; i < GOPT_COUNT(wrong); i++)
        assert_false(gopt_knob_valid(&knobs[wrong[i].knob], wrong[i].v));
}

static void words_of_all_spellings(void **state)
{
    (void)state;
    static const struct {
        int knob;
        const char *text;
        int64_t v;
    } cases[] = {{0, "on", 1},  {0, "false", 0}, {0, "true", 1},     {0, "0", 0},
                 {0, "off", 0}, {3, "32", 32},   {4, "first_fit", 1}};
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        gopt_err e = {0};
        int64_t v = -1;
        assert_ok(gopt_knob_parse(&knobs[cases[i].knob], cases[i].text, &v, &e), &e);
        assert_int_equal(v, cases[i].v);
    }
}

static void a_wrong_text_names_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        int knob;
        const char *text, *message;
    } cases[] = {
        {0, "yes", "flag: \"yes\" is none of on or off"},
        {1, "3", "line: \"3\" is none of 2, 5 ... 20"},
        {3, "48", "tile: \"48\" is none of 8, 16, 32, 64"},
        {3, "16k", "tile: \"16k\" is none of 8, 16, 32, 64"},
        {3, "99999999999999999999", "tile: \"99999999999999999999\" is none of 8, 16, 32, 64"},
        {4, "0", "order: \"0\" is none of by_size, first_fit"},
        {4, "", "order: \"\" is none of by_size, first_fit"},
    };
    for (int i = 0; i < GOPT_COUNT(cases); i++) {
        gopt_err e = {0};
        int64_t v = -7;
        assert_int_equal(gopt_knob_parse(&knobs[cases[i].knob], cases[i].text, &v, &e), GOPT_EUSAGE);
        assert_string_equal(e.msg, cases[i].message);
        assert_int_equal(v, -7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_valid_and_parses_back),
        cmocka_unit_test(what_lies_between_or_outside_is_not_valid),
        cmocka_unit_test(words_of_all_spellings),
        cmocka_unit_test(a_wrong_text_names_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
