/* test_recompute.c: whole compilations with recomputation: less memory, the same outputs; nothing where no limit is. */

#include "support/compiled.h"
#include "support/random_graph.h"
#include "support/test.h"

enum { GRAPHS = 400 };

/* A mask that both layers read through views of it. */
static const char masked[] = "input x float32[4]\n"
                             "const zero int64[1] {0}\n"
                             "const mid int64[2] {64,4}\n"
                             "const big int64[2] {256,4}\n"
                             "const flat int64[1] {256}\n"
                             "n1: m float32[64,4] = Expand(x, mid)\n"
                             "n2: r float32[256] = Reshape(m, flat)\n"
                             "n3: a float32[1] = ReduceSum(r, zero)\n"
                             "n4: b float32[256,4] = Expand(x, big)\n"
                             "n5: c float32[1,4] = ReduceSum(b, zero)\n"
                             "n6: d float32[1] = ReduceMax(r, zero)\n"
                             "n7: e float32[1,4] = ReduceMin(m, zero)\n"
                             "n8: y float32[1,4] = Sum(a, c, d, e)\n"
                             "output y\n";

static size_t arena_with(const char *text, const char *limit, const char *dir)
{
    gopt_compile_log log;
    gopt_config c = test_config("pass.recompute=on", limit, "recompute.max_extra_percent=128", "pass.alias_views=on",
                                "pass.reuse_memory=on", NULL);
    gopt_plan *p = test_compile(text, &c, dir, &log);
    size_t bytes = log.arena_bound;
    test_plan_matches(p, text, limit);
    gopt_compile_log_fini(&log);
    gopt_plan_free(p);
    return bytes;
}

static void views_are_made_again_with_what_they_show(void **state)
{
    size_t without = arena_with(masked, "recompute.max_arena_kib=none", *state);
    assert_true(arena_with(masked, "recompute.max_arena_kib=least", *state) + 1024 <= without);
    assert_int_equal(arena_with(masked, "recompute.max_arena_kib=8", *state), without); /* it is below that */
}

static void no_graph_needs_more(void **state)
{
    int lower = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        gopt_text text = {0};
        random_graph_write(seed, &text);
        size_t without = arena_with(gopt_text_str(&text), "recompute.max_arena_kib=none", *state);
        size_t with = arena_with(gopt_text_str(&text), "recompute.max_arena_kib=least", *state);
        if (with > without)
            fail_msg("seed %llu: %zu bytes instead of %zu", (unsigned long long)seed, with, without);
        lower += with < without;
        gopt_text_fini(&text);
    }
    print_message("%d of %d lower\n", lower, GRAPHS);
    assert_true(lower > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(views_are_made_again_with_what_they_show, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(no_graph_needs_more, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
