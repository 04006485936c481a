/* base/err: statuses, causes and contexts. */
#include "support/test.h"

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int s = 0; s < GOPT_STATUS_COUNT; s++)
        assert_true(strlen(gopt_status_text((gopt_status)s)) > 1);
    assert_string_equal(gopt_status_text(GOPT_OK), "ok");
    assert_string_equal(gopt_status_text(GOPT_STATUS_COUNT), "unknown status");
    assert_string_equal(gopt_status_text((gopt_status)-1), "unknown status");
}

static void context_is_added_on_the_way_up(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_status s = gopt_fail(&e, GOPT_EINPUT, "attribute %s: %d values", "pads", 3);
    s = gopt_within(&e, s, "node %s", "Conv_3");
    s = gopt_within(&e, s, "net.onnx");
    assert_int_equal(s, GOPT_EINPUT);
    assert_string_equal(e.msg, "net.onnx: node Conv_3: attribute pads: 3 values");
}

static void the_old_message_may_be_an_argument(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_fail(&e, GOPT_EIO, "cause");
    gopt_fail(&e, GOPT_EIO, "first: %s", e.msg);
    gopt_within(&e, GOPT_EIO, "again (%s)", e.msg);
    assert_string_equal(e.msg, "again (first: cause): first: cause");
}

static void long_texts_are_cut_but_never_the_cause(void **state)
{
    (void)state;
    gopt_err e = {0};
    char longer[2 * sizeof(e.msg)];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    gopt_fail(&e, GOPT_EIO, "the cause");
    gopt_within(&e, GOPT_EIO, "%s", longer);
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    assert_string_equal(e.msg + sizeof(e.msg) - 1 - strlen("...: the cause"), "...: the cause");
    gopt_fail(&e, GOPT_EIO, "%s", longer);
    gopt_within(&e, GOPT_EIO, "context");
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    assert_int_equal(e.msg[0], 'x');
    gopt_fail(&e, GOPT_EIO, "%.*s", (int)sizeof(e.msg) - 5, longer);
    gopt_within(&e, GOPT_EIO, "context");
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    assert_memory_equal(e.msg, "..: xxx", 7);
}

static void no_message_is_wanted(void **state)
{
    (void)state;
    assert_int_equal(gopt_fail(NULL, GOPT_EBUG, "%d", 1), GOPT_EBUG);
    assert_int_equal(gopt_within(NULL, GOPT_EIO, "%d", 1), GOPT_EIO);
    assert_int_equal(gopt_oom(NULL), GOPT_ENOMEM);
}

static void the_version_names_the_release(void **state)
{
    (void)state;
    int major, minor, patch;
    assert_int_equal(sscanf(gopt_version(), "%d.%d.%d (", &major, &minor, &patch), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(context_is_added_on_the_way_up),
        cmocka_unit_test(the_old_message_may_be_an_argument),
        cmocka_unit_test(long_texts_are_cut_but_never_the_cause),
        cmocka_unit_test(no_message_is_wanted),
        cmocka_unit_test(the_version_names_the_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
