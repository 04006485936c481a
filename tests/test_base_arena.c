/* base/arena: allocation failing on demand, objects of an arena, its growth and its end. */
#include "support/test.h"

#include "base/arena.h"

static void allocations_fail_on_demand(void **state)
{
    (void)state;
    gopt_alloc_fail_at = 1;
    void *first = gopt_malloc(8), *second = gopt_malloc(8), *third = gopt_malloc(8);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    gopt_free(first);
    gopt_free(third);
    gopt_alloc_fail_at = 0;
    assert_null(gopt_calloc(2, 3));
    gopt_alloc_fail_at = 0;
    assert_null(gopt_aligned(64, 3));
    char *kept = gopt_malloc(4);
    memcpy(kept, "abc", 4);
    gopt_alloc_fail_at = 0;
    assert_null(gopt_realloc(kept, 400));
    assert_string_equal(kept, "abc");
    gopt_free(kept);
}

static void no_bytes_is_a_valid_pointer(void **state)
{
    (void)state;
    void *p[] = {gopt_malloc(0), gopt_calloc(0, 8), gopt_realloc(NULL, 0), gopt_aligned(64, 0)};
    for (int i = 0; i < GOPT_COUNT(p); i++) {
        assert_non_null(p[i]);
        gopt_free(p[i]);
    }
}

static void objects_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 3, 16, 63, 64, 65, 1000, 4096, 5000, 1 << 20, 3 << 20};
    gopt_arena a = {0};
    unsigned char *taken[5 * GOPT_COUNT(sizes)];
    for (int i = 0; i < GOPT_COUNT(taken); i++) {
        size_t n = sizes[i % GOPT_COUNT(sizes)];
        taken[i] = gopt_arena_take(&a, 1, n);
        assert_int_equal((uintptr_t)taken[i] % (n >= 64 ? 64 : 16), 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(taken[i][k], 0);
        memset(taken[i], i + 1, n);
    }
    for (int i = 0; i < GOPT_COUNT(taken); i++)
        for (size_t k = 0; k < sizes[i % GOPT_COUNT(sizes)]; k++)
            assert_int_equal(taken[i][k], i + 1);
    assert_true(gopt_arena_bytes(&a) >= (size_t)5 * (4 << 20));
    gopt_arena_fini(&a);
    assert_int_equal(gopt_arena_bytes(&a), 0);
    assert_non_null(GOPT_NEW(&a, int, 0));
    gopt_arena_fini(&a);
}

static void small_objects_share_blocks_also_after_a_large_one(void **state)
{
    (void)state;
    gopt_arena a = {0};
    gopt_arena_take(&a, 1, 16);
    size_t before = gopt_arena_bytes(&a);
    gopt_arena_take(&a, 1, 1 << 20);
    size_t with_large = gopt_arena_bytes(&a);
    for (int i = 0; i < 30; i++)
        gopt_arena_take(&a, 1, 16);
    assert_true(with_large > before + (1 << 20));
    assert_int_equal(gopt_arena_bytes(&a), with_large);
    gopt_arena_fini(&a);
}

static void failure_is_sticky(void **state)
{
    (void)state;
    gopt_arena a = {0};
    char *kept = gopt_arena_str(&a, "kept");
    gopt_alloc_fail_at = 0;
    assert_null(gopt_arena_take(&a, 1, 1 << 20));
    assert_true(a.failed);
    assert_null(gopt_arena_take(&a, 1, 1));
    assert_null(gopt_arena_printf(&a, "%d", 1));
    assert_string_equal(kept, "kept");
    gopt_arena_fini(&a);
    assert_false(a.failed);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    static const size_t odd[][2] = {{SIZE_MAX, 2}, {SIZE_MAX / 2, 3}, {SIZE_MAX, 1}, {1, SIZE_MAX - 8}};
    for (int i = 0; i < GOPT_COUNT(odd); i++) {
        gopt_arena a = {0};
        assert_null(gopt_arena_take(&a, odd[i][0], odd[i][1]));
        assert_true(a.failed);
        gopt_arena_fini(&a);
    }
    gopt_arena a = {0};
    size_t cap = 0;
    assert_null(gopt_arena_grow(&a, NULL, 0, &cap, SIZE_MAX / 2, 8));
    assert_int_equal(cap, 0);
    assert_true(a.failed);
    gopt_arena_fini(&a);
}

static void arrays_grow_and_keep_their_elements(void **state)
{
    (void)state;
    gopt_arena a = {0};
    int *v = NULL;
    size_t cap = 0, moves = 0;
    for (size_t n = 0; n < 1000; n++) {
        int *grown = gopt_arena_grow(&a, v, n, &cap, n + 1, sizeof(*v));
        moves += grown != v;
        v = grown;
        v[n] = (int)n;
    }
    for (int n = 0; n < 1000; n++)
        assert_int_equal(v[n], n);
    assert_true(cap >= 1000);
    assert_true(moves < 12);
    assert_ptr_equal(gopt_arena_grow(&a, v, 1000, &cap, 3, sizeof(*v)), v);
    gopt_arena_fini(&a);
}

static void strings_and_copies(void **state)
{
    (void)state;
    gopt_arena a = {0};
    static const int numbers[] = {3, 1, 2};
    assert_string_equal(gopt_arena_str(&a, "all"), "all");
    assert_string_equal(gopt_arena_strn(&a, "abcdef", 3), "abc");
    assert_string_equal(gopt_arena_strn(&a, NULL, 0), "");
    assert_string_equal(gopt_arena_printf(&a, "%s=%d", "x", 7), "x=7");
    assert_memory_equal(gopt_arena_copy(&a, numbers, 3, sizeof(int)), numbers, sizeof(numbers));
    char *wide = gopt_arena_printf(&a, "%9999d", 1);
    assert_int_equal(strlen(wide), 9999);
    gopt_arena_fini(&a);
}

static gopt_status fill(void *ctx, gopt_err *e)
{
    gopt_arena *a = ctx;
    size_t cap = 0;
    int *v = gopt_arena_grow(a, NULL, 0, &cap, 4, sizeof(int));
    gopt_arena_grow(a, v, 4, &cap, 4000, sizeof(int));
    gopt_arena_printf(a, "%5000d", 1);
    bool failed = a->failed;
    gopt_arena_fini(a);
    return failed ? gopt_oom(e) : GOPT_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    gopt_arena a = {0};
    assert_true(test_every_oom(fill, &a) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_fail_on_demand),
        cmocka_unit_test(no_bytes_is_a_valid_pointer),
        cmocka_unit_test(objects_are_zeroed_aligned_and_apart),
        cmocka_unit_test(small_objects_share_blocks_also_after_a_large_one),
        cmocka_unit_test(failure_is_sticky),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(arrays_grow_and_keep_their_elements),
        cmocka_unit_test(strings_and_copies),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
