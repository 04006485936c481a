/* base/hash: the streaming hash equals the whole one, and texts are kept apart. */
#include "support/test.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"

static void known_values(void **state)
{
    (void)state;
    char hex[33];
    /* XXH3's own: `printf '' | xxh128sum`, `printf abc | xxh128sum` */
    assert_string_equal(gopt_hash_hex(hex, gopt_hash_bytes("", 0)), "99aa06d3014798d86001c324468d497f");
    assert_string_equal(gopt_hash_hex(hex, gopt_hash_bytes("abc", 3)), "06b05ab6733a618578af5f94892f3950");
}

static void streaming_equals_the_whole(void **state)
{
    (void)state;
    unsigned char data[5000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 31 + i / 7);
    for (size_t step = 1; step < sizeof(data); step = step * 3 + 1) {
        gopt_hasher *h = gopt_hasher_new();
        for (size_t at = 0; at < sizeof(data); at += step)
            gopt_hasher_add(h, data + at, GOPT_MIN(step, sizeof(data) - at));
        gopt_hash streamed = gopt_hasher_free(h), whole = gopt_hash_bytes(data, sizeof(data));
        assert_int_equal(streamed.hi, whole.hi);
        assert_int_equal(streamed.lo, whole.lo);
    }
}

static gopt_hash of_two(const char *a, const char *b)
{
    gopt_hasher *h = gopt_hasher_new();
    gopt_hasher_str(h, a);
    gopt_hasher_str(h, b);
    return gopt_hasher_free(h);
}

static void texts_are_kept_apart(void **state)
{
    (void)state;
    assert_int_not_equal(of_two("a", "bc").lo, of_two("ab", "c").lo);
    assert_int_equal(of_two("a", "bc").lo, of_two("a", "bc").lo);
}

static void no_memory_no_hasher(void **state)
{
    (void)state;
    gopt_alloc_fail_at = 0;
    assert_null(gopt_hasher_new());
}

static int64_t a_quarter_past(void)
{
    return 900 * GOPT_NS_PER_S;
}

static void clocks_run_forward_and_can_be_replaced(void **state)
{
    (void)state;
    int64_t before = gopt_now(), cpu = gopt_cpu_now();
    for (volatile int i = 0; i < 1000000; i = i + 1)
        ;
    assert_true(gopt_now() > before);
    assert_true(gopt_cpu_now() > cpu);
    gopt_clock_source = a_quarter_past;
    assert_int_equal(gopt_now(), 900 * GOPT_NS_PER_S);
    gopt_clock_source = gopt_clock_monotonic;
    assert_true(gopt_now() > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(streaming_equals_the_whole),
        cmocka_unit_test(texts_are_kept_apart),
        cmocka_unit_test(no_memory_no_hasher),
        cmocka_unit_test(clocks_run_forward_and_can_be_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
