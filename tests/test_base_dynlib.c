/* base/dynlib: objects from files and from memory, several at a time. */
#include "support/test.h"

#include "base/dynlib.h"
#include "base/file.h"
#include "base/process.h"

/* Compiles `int answer(void)` that returns value; the path of the shared object is left in object. */
static void compile(const char *dir, int value, char object[4096])
{
    char source[4096], text[128];
    gopt_err e = {0};
    gopt_process_result r;
    snprintf(text, sizeof(text), "int answer(void);\nint answer(void) { return %d; }\n", value);
    assert_ok(gopt_file_write_text(test_path(source, dir, "answer.c"), text, &e), &e);
    snprintf(text, sizeof(text), "answer%d.so", value);
    test_path(object, dir, text);
    const char *argv[] = {"cc", "-shared", "-fPIC", "-o", object, source, NULL};
    assert_ok(gopt_process_run(&r, argv, INT64_MAX, &e), &e);
    if (r.exit_code != 0)
        fail_msg("cc: %s", gopt_text_str(&r.output));
    gopt_text_fini(&r.output);
}

static int ask(gopt_dynlib *d)
{
    int (*answer)(void);
    *(void **)&answer = gopt_dynlib_find(d, "answer");
    assert_non_null(answer);
    return answer();
}

static void an_object_is_opened_from_a_file(void **state)
{
    char object[4096];
    gopt_err e = {0};
    gopt_dynlib *d;
    compile(*state, 7, object);
    assert_ok(gopt_dynlib_open(&d, object, &e), &e);
    assert_int_equal(ask(d), 7);
    assert_null(gopt_dynlib_find(d, "gopt_no_such_symbol"));
    gopt_dynlib_close(d);
    gopt_dynlib_close(NULL);
}

static gopt_dynlib *from_memory(const char *object)
{
    gopt_err e = {0};
    gopt_mapping m;
    gopt_dynlib *d;
    assert_ok(gopt_file_map(&m, object, &e), &e);
    assert_ok(gopt_dynlib_memory(&d, m.data, m.bytes, &e), &e);
    gopt_file_unmap(&m);
    return d;
}

static void objects_from_memory_are_kept_apart(void **state)
{
    char one[4096], two[4096];
    compile(*state, 1, one);
    compile(*state, 2, two);
    gopt_dynlib *a = from_memory(one), *b = from_memory(two);
    assert_int_equal(ask(a), 1);
    assert_int_equal(ask(b), 2);
    gopt_dynlib_close(a);
    a = from_memory(two);
    gopt_dynlib_close(b);
    b = from_memory(one);
    assert_int_equal(ask(a), 2);
    assert_int_equal(ask(b), 1);
    gopt_dynlib_close(a);
    gopt_dynlib_close(b);
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_dynlib *d;
    assert_int_equal(gopt_dynlib_open(&d, "libgopt-no-such.so", &e), GOPT_ENODEV);
    assert_null(d);
    assert_non_null(strstr(e.msg, "libgopt-no-such.so"));
    assert_int_equal(gopt_dynlib_memory(&d, "no elf", 6, &e), GOPT_EINPUT);
    assert_null(d);
    assert_int_equal(gopt_dynlib_memory(&d, "", 0, &e), GOPT_EINPUT);
}

static void an_object_that_was_cut_short_is_refused(void **state)
{
    char object[4096];
    gopt_err e = {0};
    gopt_mapping m;
    gopt_dynlib *d;
    compile(*state, 3, object);
    assert_ok(gopt_file_map(&m, object, &e), &e);
    for (size_t n = 0; n < 12288 && n < m.bytes / 2; n += 37) {
        assert_int_equal(gopt_dynlib_memory(&d, m.data, n, &e), GOPT_EINPUT);
        assert_null(d);
        assert_non_null(strstr(e.msg, "no whole shared object"));
    }
    gopt_file_unmap(&m);
}

static gopt_status load(void *ctx, gopt_err *e)
{
    gopt_dynlib *d;
    const gopt_mapping *m = ctx;
    gopt_status s = gopt_dynlib_memory(&d, m->data, m->bytes, e);
    if (s)
        assert_null(d);
    gopt_dynlib_close(d);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    char object[4096];
    gopt_err e = {0};
    gopt_mapping m;
    compile(*state, 3, object);
    assert_ok(gopt_file_map(&m, object, &e), &e);
    assert_int_equal(test_every_oom(load, &m), 1);
    gopt_file_unmap(&m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_dir_setup, test_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_opened_from_a_file), TEST(objects_from_memory_are_kept_apart),
        TEST(what_is_no_object_is_refused),    TEST(an_object_that_was_cut_short_is_refused),
        TEST(every_allocation_may_fail),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
