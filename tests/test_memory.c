/* test_memory.c: arena planners: no two buffers that live together overlap, and reuse pays. */
#include "memory.h"
#include "stats.h"
#include "support/test.h"

static void assert_sound(const gopt_interval *at, int n, size_t arena)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(at[i].offset % GOPT_ARENA_ALIGN, 0);
        assert_true(at[i].offset + at[i].bytes <= arena);
        for (int k = 0; k < i; k++) {
            bool together = at[i].first <= at[k].last && at[k].first <= at[i].last;
            bool apart = at[i].offset + at[i].bytes <= at[k].offset || at[k].offset + at[k].bytes <= at[i].offset;
            assert_true(!together || apart);
        }
    }
}

static void a_chain_needs_two_buffers(void **state)
{
    (void)state;
    for (gopt_planner p = GOPT_PLANNER_BY_SIZE; p <= GOPT_PLANNER_BY_AREA; p++) {
        gopt_interval at[10];
        size_t arena;
        for (int i = 0; i < 10; i++)
            at[i] = (gopt_interval){.bytes = 1024, .first = i, .last = i + 1};
        assert_int_equal(gopt_memory_plan(at, 10, p, &arena, NULL), GOPT_OK);
        assert_sound(at, 10, arena);
        assert_int_equal(arena, 2048);
        assert_int_equal(gopt_memory_bound(at, 10), 2048);
    }
}

/* The lowest holes leave a gap that only another order avoids. */
static void the_best_of_all_is_never_worse(void **state)
{
    (void)state;
    gopt_random r;
    gopt_random_seed(&r, 5);
    double excess = 0;
    for (int round = 0; round < 200; round++) {
        gopt_interval at[40];
        size_t best, other;
        for (int i = 0; i < 40; i++) {
            int first = gopt_random_below(&r, 40);
            at[i] = (gopt_interval){.bytes = 64 * (size_t)(1 + gopt_random_below(&r, 50)),
                                    .first = first,
                                    .last = first + gopt_random_below(&r, 6)};
        }
        for (gopt_planner p = GOPT_PLANNER_BY_SIZE; p <= GOPT_PLANNER_BY_AREA; p++) {
            assert_int_equal(gopt_memory_plan(at, 40, p, &other, NULL), GOPT_OK);
            assert_int_equal(gopt_memory_plan(at, 40, GOPT_PLANNER_BEST, &best, NULL), GOPT_OK);
            assert_sound(at, 40, best);
            assert_true(best <= other);
        }
        excess += (double)best / (double)gopt_memory_bound(at, 40) - 1;
    }
    assert_true(excess / 200 < 0.02);
}

static void no_reuse_keeps_all_apart(void **state)
{
    (void)state;
    gopt_interval at[3] = {{.bytes = 100}, {.bytes = 1, .first = 5, .last = 6}, {.bytes = 64, .first = 9, .last = 9}};
    size_t arena;
    assert_int_equal(gopt_memory_plan(at, 3, GOPT_PLANNER_NONE, &arena, NULL), GOPT_OK);
    assert_int_equal(arena, 128 + 64 + 64);
    assert_int_equal(at[1].offset, 128);
}

static void random_lifetimes_never_overlap(void **state)
{
    (void)state;
    gopt_random r;
    gopt_random_seed(&r, 11);
    for (int round = 0; round < 200; round++) {
        gopt_interval at[60];
        int n = gopt_random_below(&r, 60);
        for (int i = 0; i < n; i++) {
            int first = gopt_random_below(&r, 50);
            at[i] = (gopt_interval){.bytes = (size_t)gopt_random_below(&r, 5000),
                                    .first = first,
                                    .last = first + gopt_random_below(&r, 10)};
        }
        for (gopt_planner p = GOPT_PLANNER_NONE; p <= GOPT_PLANNER_BY_AREA; p++) {
            size_t arena;
            assert_int_equal(gopt_memory_plan(at, n, p, &arena, NULL), GOPT_OK);
            assert_sound(at, n, arena);
            assert_true(arena >= gopt_memory_bound(at, n));
        }
    }
}

static void lack_of_memory_is_said(void **state)
{
    (void)state;
    gopt_interval at[2] = {{.bytes = 8}, {.bytes = 8}};
    size_t arena;
    gopt_err e = {0};
    for (int k = 0; k < 2; k++) {
        gopt_alloc_fail_at = k;
        assert_int_equal(gopt_memory_plan(at, 2, GOPT_PLANNER_BEST, &arena, &e), GOPT_ENOMEM);
        gopt_alloc_fail_at = -1;
        assert_true(e.msg[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_needs_two_buffers), cmocka_unit_test(the_best_of_all_is_never_worse),
        cmocka_unit_test(no_reuse_keeps_all_apart),  cmocka_unit_test(random_lifetimes_never_overlap),
        cmocka_unit_test(lack_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
