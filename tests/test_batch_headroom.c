/* test_batch_headroom.c: the largest batch within a limit: exactly, with and without optimization; what has none. */
#include "batch_headroom.h"
#include "support/graphs.h"
#include "support/test.h"

static const char chain[] = "input x float32[batch,256]\n"
                            "input s float32[len]\n"
                            "n1: a float32[batch,256] = Exp(x)\n"
                            "n2: b float32[batch,256] = Neg(a)\n"
                            "n3: c float32[batch,256] = Tanh(b)\n"
                            "n4: y float32[batch,256] = Abs(c)\n"
                            "output y\n"
                            "output s\n";

static gopt_batch_headroom find(const char *text, const char *preset, size_t limit)
{
    gopt_graph *g = test_graph(text);
    gopt_batch_headroom h;
    gopt_config c;
    gopt_err e = {0};
    assert_ok(gopt_config_preset(&c, preset, &e), &e);
    assert_ok(gopt_batch_headroom_find(&h, g, &c, gopt_batch_symbol(g), NULL, limit, &e), &e);
    gopt_graph_free(g);
    return h;
}

static void the_next_one_does_not_fit(void **state)
{
    const size_t limit = 1 << 22;
    (void)state;
    gopt_batch_headroom before = find(chain, "baseline", limit), after = find(chain, "reduce-overhead", limit);
    assert_true(before.ran && after.ran);
    assert_true(before.largest > 900 && before.largest < 1024); /* four values of 1 KiB for each */
    assert_int_equal(before.above, before.largest + 1);
    assert_true(before.peak <= limit && before.peak_above > limit && before.peak_above - before.peak <= 5 * 1024);
    assert_true(after.largest > 3 * before.largest); /* one value is left */
    assert_int_equal(after.above, after.largest + 1);
    assert_true(after.peak <= limit && after.peak_above > limit);
    assert_string_equal(before.why, "");
}

static void nothing_fits_too_little(void **state)
{
    (void)state;
    gopt_batch_headroom h = find(chain, "baseline", 100);
    assert_int_equal(h.largest, 0);
    assert_int_equal(h.above, 1);
    assert_true(!h.ran && h.peak_above > 100);
}

/* A Reshape to 4 elements takes a batch of 1, one to 12 does not. */
static void what_is_not_memory_is_told(void **state)
{
    static const char one[] = "input x float32[batch,4]\n"
                              "const n int64[1] {4}\n"
                              "n1: y float32[?] = Reshape(x, n)\n"
                              "output y\n";
    gopt_batch_headroom h = find(one, "baseline", 1 << 22);
    gopt_config c;
    gopt_err e = {0};
    (void)state;
    assert_true(h.largest == 1 && h.ran && h.above == 2 && h.peak_above == 0);
    assert_non_null(strstr(h.why, "n1"));
    gopt_graph *g = test_graph("input x float32[batch,4]\n"
                               "const n int64[1] {12}\n"
                               "n1: y float32[?] = Reshape(x, n)\n"
                               "output y\n");
    gopt_config_baseline(&c);
    assert_int_equal(gopt_batch_headroom_find(&h, g, &c, "batch", NULL, 1 << 22, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "batch=1: node n1"));
    gopt_graph_free(g);
}

static void only_batches_are_batches(void **state)
{
    (void)state;
    gopt_graph *g = test_graph(chain);
    assert_string_equal(gopt_batch_symbol(g), "batch");
    gopt_graph_free(g);
    g = test_graph("input x float32[4,seq]\nn1: y float32[4,seq] = Exp(x)\noutput y\n");
    assert_null(gopt_batch_symbol(g));
    gopt_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_one_does_not_fit),
        cmocka_unit_test(nothing_fits_too_little),
        cmocka_unit_test(what_is_not_memory_is_told),
        cmocka_unit_test(only_batches_are_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
