/* base/text: building strings, figures for people, the nearest word. */
#include "support/test.h"

#include <math.h>

#include "base/arena.h"
#include "base/text.h"

static void text_is_built_piece_by_piece(void **state)
{
    (void)state;
    gopt_text t = {0};
    assert_string_equal(gopt_text_str(&t), "");
    gopt_text_put(&t, "100 %d");
    gopt_text_add(&t, " %d", 7);
    gopt_text_putn(&t, "abcdef", 2);
    gopt_text_putn(&t, "", 0);
    assert_string_equal(gopt_text_str(&t), "100 %d 7ab");
    assert_int_equal(t.n, strlen(t.s));
    for (int i = 0; i < 1000; i++)
        gopt_text_add(&t, "%d,", i);
    assert_int_equal(t.n, strlen(t.s));
    assert_string_equal(t.s + t.n - 8, "998,999,");
    assert_false(t.failed);
    gopt_text_fini(&t);
    assert_null(t.s);
}

static void failure_is_sticky_and_keeps_what_was_there(void **state)
{
    (void)state;
    gopt_text t = {0};
    gopt_text_put(&t, "kept");
    gopt_alloc_fail_at = 0;
    gopt_text_add(&t, "%1000d", 1);
    assert_true(t.failed);
    gopt_text_put(&t, "x");
    assert_string_equal(gopt_text_str(&t), "kept");
    gopt_text_fini(&t);
    assert_false(t.failed);
}

static gopt_status build(void *ctx, gopt_err *e)
{
    (void)ctx;
    gopt_text t = {0};
    gopt_text_put(&t, "a");
    gopt_text_add(&t, "%100d", 1);
    gopt_text_add(&t, "%10000d", 1);
    bool failed = t.failed;
    gopt_text_fini(&t);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_every_oom(build, NULL), 3);
}

static void durations_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } rows[] = {{0, "0 ns"},          {5, "5 ns"},         {999, "999 ns"},      {999.7, "1.00 us"}, {1230, "1.23 us"},
                {45600, "45.6 us"},   {999499, "999 us"},  {999600, "1.00 ms"},  {1.5e9, "1.50 s"},  {119e9, "119 s"},
                {600e9, "10.0 min"},  {7200e9, "2.00 h"},  {-1.5e6, "-1.50 ms"}, {NAN, "n/a"},       {INFINITY, "inf"},
                {9.996e3, "10.0 us"}, {99.96e3, "100 us"}, {-INFINITY, "-inf"}};
    char buf[32];
    for (int i = 0; i < GOPT_COUNT(rows); i++)
        assert_string_equal(gopt_text_ns(buf, rows[i].ns), rows[i].text);
    assert_true(strlen(gopt_text_ns(buf, 1e308)) < 32);
}

static void sizes_have_three_digits(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(gopt_text_bytes(buf, 0), "0 B");
    assert_string_equal(gopt_text_bytes(buf, 1023), "1023 B");
    assert_string_equal(gopt_text_bytes(buf, 1024), "1.00 KiB");
    assert_string_equal(gopt_text_bytes(buf, 12.3 * 1048576), "12.3 MiB");
    assert_string_equal(gopt_text_bytes(buf, 1023.9 * 1048576), "1.00 GiB");
    assert_string_equal(gopt_text_bytes(buf, 2048.0 * 1099511627776.0), "2048 TiB");
}

static void the_nearest_word_is_found(void **state)
{
    (void)state;
    static const char *const words[] = {"fold_const", "fuse_gemm", "layout", "a", ""};
    static const struct {
        const char *word, *found;
    } rows[] = {{"fold_cnst", "fold_const"},
                {"fuse_gmem", "fuse_gemm"},
                {"LAYOUT", "layout"},
                {"layuot", "layout"},
                {"precision", NULL},
                {"lay", NULL},
                {"b", "a"}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        const char *found = gopt_text_nearest(rows[i].word, words, GOPT_COUNT(words));
        if (!rows[i].found)
            assert_null(found);
        else
            assert_string_equal(found, rows[i].found);
    }
    char longer[200];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_null(gopt_text_nearest(longer, words, GOPT_COUNT(words)));
    assert_null(gopt_text_nearest("word", words, 0));
}

static void words_are_quoted_where_a_shell_needs_it(void **state)
{
    static const char *const rows[][2] = {
        {"a/b-c_1.onnx", "a/b-c_1.onnx"},           {"batch=1,seq=2", "batch=1,seq=2"}, {"", "''"},
        {"my models/n.onnx", "'my models/n.onnx'"}, {"$(x)`y`", "'$(x)`y`'"},           {"it's", "'it'\"'\"'s'"}};
    (void)state;
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_text t = {0};
        gopt_text_put_word(&t, rows[i][0]);
        assert_string_equal(gopt_text_str(&t), rows[i][1]);
        gopt_text_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_built_piece_by_piece),
        cmocka_unit_test(failure_is_sticky_and_keeps_what_was_there),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(sizes_have_three_digits),
        cmocka_unit_test(the_nearest_word_is_found),
        cmocka_unit_test(words_are_quoted_where_a_shell_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
