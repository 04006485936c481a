/* What may be printed and what may not. */
#include "support/test.h"

#include "base/utf8.h"

static void lengths_of_characters(void **state)
{
    static const struct {
        const char *s;
        size_t n;
    } cases[] = {{"", 0},
                 {"a", 1},
                 {" ", 1},
                 {"\x1F", 0},
                 {"\x7F", 0},
                 {"\x80", 0},
                 {"\xC2\x9F", 0}, /* a control character of two bytes */
                 {"\xC2\xA0", 2},
                 {"\xC1\xBF", 0}, /* longer than need be */
                 {"\xC3", 0},     /* cut short */
                 {"\xE0\x9F\xBF", 0},
                 {"\xE0\xA0\x80", 3},
                 {"\xE2\x80\xA9", 0}, /* paragraph separator */
                 {"\xED\xA0\x80", 0}, /* surrogate */
                 {"\xEF\xBF\xBD", 3},
                 {"\xEF\xBF\xBF", 0},
                 {"\xF0\x90\x80\x80", 4},
                 {"\xF0\x8F\xBF\xBF", 0},
                 {"\xF4\x8F\xBF\xBF", 4},
                 {"\xF4\x90\x80\x80", 0}, /* beyond Unicode */
                 {"\xF8\x88\x80\x80\x80", 0}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(cases); i++)
        if (gopt_utf8_length(cases[i].s) != cases[i].n)
            fail_msg("case %d: %zu, %zu expected", i, gopt_utf8_length(cases[i].s), cases[i].n);
}

static void cleaning_keeps_what_is_sound(void **state)
{
    char text[] = "caf\xC3\xA9\n\xFF\xE2\x82\xAC\x1B[31m \xF0\x9F\x98";
    (void)state;
    assert_string_equal(gopt_utf8_clean(text), "caf\xC3\xA9??\xE2\x82\xAC?[31m ???");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_characters),
        cmocka_unit_test(cleaning_keeps_what_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
