/* reports/document, table, text, html, clean: blocks and cells, units and alignment, what untrusted texts become. */
#include "support/test.h"

#include <math.h>

#include "clean.h"
#include "document.h"

static char *cleaned(char *buf, const char *s)
{
    gopt_clean_line(strcpy(buf, s));
    return buf;
}

static void texts_are_made_safe(void **state)
{
    (void)state;
    char buf[64];
    assert_string_equal(cleaned(buf, "a\tb\nc\r"), "a b c ");
    assert_string_equal(cleaned(buf, "\x1b[31mred\x7f"), "?[31mred?");
    assert_string_equal(cleaned(buf, "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"),
                        "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
    assert_string_equal(cleaned(buf, "\xff\xc3(\xe2\x82"), "\?\?(\?\?"); /* no UTF-8, or the end of it missing */
    assert_string_equal(cleaned(buf, "\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
                        "\?\?\?\?\?\?\?\?\?"); /* overlong, surrogate, beyond */
    assert_string_equal(cleaned(buf, "x\xe2\x80\xae"
                                     "cod.exe"),
                        "x?cod.exe"); /* right-to-left override */
    assert_string_equal(cleaned(buf, "\xc2\x9b"
                                     "2J"),
                        "?2J"); /* C1 control sequence introducer */
    gopt_clean_utf8(strcpy(buf, "a\tb\x1b\xff"));
    assert_string_equal(buf, "a\tb\x1b?");
    assert_int_equal(gopt_clean_width("\xc3\xa9t\xc3\xa9"), 3);
}

static void texts_are_escaped_for_their_place(void **state)
{
    (void)state;
    gopt_text t = {0};
    gopt_put_html(&t, "<a href='x'>\"&");
    assert_string_equal(t.s, "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
    gopt_text_fini(&t);
    gopt_put_gnuplot(&t, "it's `date` \"q\"");
    assert_string_equal(t.s, "'it''s `date` \"q\"'");
    gopt_text_fini(&t);
    gopt_put_field(&t, "#1 \"x\"");
    assert_string_equal(t.s, "*1 'x'");
    gopt_text_fini(&t);
}

/* One column of figures as text lines under its title. */
static char *column(gopt_text *out, gopt_column_kind kind, const double *v, int n)
{
    gopt_document d = {0};
    const gopt_column columns[] = {{.title = "v", .kind = kind}};
    gopt_table *t = gopt_table_begin(&d, columns, 1);
    for (int i = 0; i < n; i++)
        gopt_table_figure(t, v[i], GOPT_TONE_PLAIN);
    gopt_table_end(t);
    gopt_text_fini(out);
    gopt_document_text(&d, out);
    gopt_arena_fini(&d.arena);
    return out->s;
}

#define COLUMN(out, kind, ...)                                                                                         \
    column(out, kind, (const double[]){__VA_ARGS__}, GOPT_COUNT(((const double[]){__VA_ARGS__})))

static void a_group_of_columns_has_one_unit(void **state)
{
    (void)state;
    gopt_document d = {0};
    gopt_text out = {0};
    const gopt_column columns[] = {{.title = "p50", .kind = GOPT_COLUMN_TIME, .group = 1},
                                   {.title = "p99", .kind = GOPT_COLUMN_TIME, .group = 1},
                                   {.title = "p100", .kind = GOPT_COLUMN_TIME, .group = 1},
                                   {.title = "total", .kind = GOPT_COLUMN_TIME}};
    gopt_table *t = gopt_table_begin(&d, columns, GOPT_COUNT(columns));
    const double row[] = {50e3, 4.5e6, NAN, 2e9};
    for (int i = 0; i < GOPT_COUNT(row); i++)
        gopt_table_figure(t, row[i], GOPT_TONE_PLAIN);
    gopt_table_end(t);
    gopt_document_text(&d, &out);
    gopt_arena_fini(&d.arena);
    assert_string_equal(out.s, "p50, us  p99, us  p100, us  total, s\n-------  -------  --------  --------\n"
                               "   50.0     4500       n/a      2.00\n");
    gopt_text_fini(&out);
}

static void a_column_has_one_unit(void **state)
{
    (void)state;
    gopt_text t = {0};
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_TIME, 4.2e6, 0.31e6, NAN), "v, ms\n-----\n4.200\n0.310\n  n/a\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_TIME, 85, 850), "v, ns\n-----\n   85\n  850\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_TIME, 30e9, 3e3), "    v, ms\n---------\n30000.000\n    0.003\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_SECONDS, 60, 90.5), "v, s\n----\n60.0\n90.5\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_BYTES, 1536, 2097152, 0),
                        " v, KiB\n-------\n   1.50\n2048.00\n   0.00\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_SHARE, 0.5, -0.0001), "v, %\n----\n50.0\n 0.0\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_COUNT, 1e6, INFINITY), "      v\n-------\n1000000\n    inf\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_NUMBER, 0.0001157, 12345678),
                        "        v\n---------\n0.0001157\n1.235e+07\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_TIME, NAN), "  v\n---\nn/a\n");
    assert_string_equal(COLUMN(&t, GOPT_COLUMN_TIME, 0), "v, ns\n-----\n    0\n");
    gopt_text_fini(&t);
}

static void intervals_line_up_and_empty_columns_go(void **state)
{
    (void)state;
    gopt_document d = {0};
    gopt_text out = {0};
    const gopt_column columns[] = {{.title = "name", .kind = GOPT_COLUMN_TEXT},
                                   {.title = "gone", .kind = GOPT_COLUMN_TIME, .optional = true},
                                   {.title = "S", .kind = GOPT_COLUMN_RATIO},
                                   {.title = "kept", .kind = GOPT_COLUMN_COUNT}};
    const double rows[][3] = {{1.5, 1.25, 10.75}, {12, NAN, NAN}, {NAN, NAN, NAN}};
    gopt_table *t = gopt_table_begin(&d, columns, 4);
    for (int i = 0; i < 3; i++) {
        gopt_table_text(t, GOPT_TONE_PLAIN, "\xc3\xa9%d", i);
        gopt_table_figure(t, NAN, GOPT_TONE_PLAIN);
        gopt_table_interval(t, rows[i][0], rows[i][1], rows[i][2], GOPT_TONE_GOOD);
        gopt_table_figure(t, NAN, GOPT_TONE_PLAIN);
    }
    gopt_table_end(t);
    gopt_document_text(&d, &out);
    assert_string_equal(out.s, "name                        S  kept\n"
                               "----  -----------------------  ----\n"
                               "\xc3\xa9"
                               "0     1.500 [ 1.250, 10.750]   n/a\n"
                               "\xc3\xa9"
                               "1    12.000                    n/a\n"
                               "\xc3\xa9"
                               "2                        n/a   n/a\n");
    gopt_text_fini(&out);
    gopt_document_html(&d, &out);
    assert_non_null(strstr(out.s, "<td class=\"n good\"> 1.500 [ 1.250, 10.750]</td>"));
    assert_null(strstr(out.s, "gone"));
    gopt_text_fini(&out);
    gopt_arena_fini(&d.arena);
}

static void a_table_without_rows_is_not_shown(void **state)
{
    (void)state;
    gopt_document d = {0};
    const gopt_column columns[] = {{.title = "name", .kind = GOPT_COLUMN_TEXT}};
    gopt_table_end(gopt_table_begin(&d, columns, 1));
    assert_int_equal(d.n_blocks, 0);
    gopt_arena_fini(&d.arena);
}

static void text_is_wrapped_but_never_cut(void **state)
{
    (void)state;
    gopt_document d = {0};
    gopt_text out = {0}, words = {0};
    for (int i = 0; i < 60; i++)
        gopt_text_add(&words, "word%d ", i);
    gopt_text_add(&words, "%0300d end", 0);
    gopt_document_add(&d, GOPT_BLOCK_TEXT, GOPT_TONE_PLAIN, "%s", words.s);
    gopt_document_text(&d, &out);
    int longest = 0, lines = 0;
    for (char *line = strtok(out.s, "\n"); line; line = strtok(NULL, "\n"), lines++)
        if (line[0] != '0')
            longest = GOPT_MAX(longest, (int)strlen(line));
    assert_in_range(longest, 100, 110);
    assert_int_equal(lines, 4 + 1 + 1);
    gopt_text_fini(&out);
    gopt_text_fini(&words);
    gopt_arena_fini(&d.arena);
}

static void a_page_has_sections_and_escapes(void **state)
{
    (void)state;
    gopt_document d = {0};
    gopt_text out = {0};
    const gopt_drawing figure = {
        .figure = "f", .stem = "f", .title = "\"<t>\"", .svg = "<?xml?><svg><g id='a'/><use xlink:href='#a'/></svg>"};
    gopt_document_add(&d, GOPT_BLOCK_TITLE, GOPT_TONE_PLAIN, "%s", "</title><script>alert(1)</script>");
    gopt_document_add(&d, GOPT_BLOCK_HEADING, GOPT_TONE_PLAIN, "One");
    gopt_document_figure(&d, &figure);
    gopt_document_figure(&d, NULL);
    gopt_document_figure(&d, &(gopt_drawing){.figure = "g", .stem = "g", .title = "not drawn"});
    gopt_document_add(&d, GOPT_BLOCK_HEADING, GOPT_TONE_PLAIN, "Two");
    gopt_document_html(&d, &out);
    assert_null(strstr(out.s, "<script"));
    assert_null(strstr(out.s, "<?xml"));
    assert_null(strstr(out.s, "not drawn"));
    assert_non_null(strstr(out.s, "aria-label=\"&quot;&lt;t&gt;&quot;\""));
    assert_non_null(strstr(out.s, "<g id='f-a'/><use xlink:href='#f-a'/></svg>"));
    assert_non_null(strstr(out.s, "<a href=\"#s2\">Two</a>"));
    assert_non_null(strstr(out.s, "<section id=\"s2\">\n<h2>Two</h2>\n</section>\n</main>"));
    gopt_text_fini(&out);
    gopt_arena_fini(&d.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_made_safe),
        cmocka_unit_test(texts_are_escaped_for_their_place),
        cmocka_unit_test(a_column_has_one_unit),
        cmocka_unit_test(a_group_of_columns_has_one_unit),
        cmocka_unit_test(intervals_line_up_and_empty_columns_go),
        cmocka_unit_test(a_table_without_rows_is_not_shown),
        cmocka_unit_test(text_is_wrapped_but_never_cut),
        cmocka_unit_test(a_page_has_sections_and_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
