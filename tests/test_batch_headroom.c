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

/* The kernel spans 100, so 128 is the first length that it takes; the state m must be n, which no graph says. */
static const char recurrent[] = "input x float32[n,1,len]\n"
                                "input h float32[2,m,4]\n"
                                "const w float32[4,1,100] random(1)\n"
                                "const axis int64[1] {2}\n"
                                "n1: c float32[?,4,?] = Conv(x, w)\n"
                                "n2: r float32[?,4,1] = ReduceMax(c, axis)\n"
                                "n3: t float32[1,?,4] = Transpose(r) {perm=[2,0,1]}\n"
                                "n4: y float32[3,?,4] = Concat(t, h) {axis=0}\n"
                                "output y\n";

/* The same, but how many rows and columns there are follows from contents: only a run knows what fits. */
static const char late[] = "input x float32[n,1,len]\n"
                           "input rows float32[n]\n"
                           "input columns float32[len]\n"
                           "input h float32[2,m,4]\n"
                           "const w float32[4,1,100] random(1)\n"
                           "const axis int64[1] {2}\n"
                           "const first int64[1] {0}\n"
                           "n0: positive float32[n] = Exp(rows)\n"
                           "n1: i int64[1,?] = NonZero(positive)\n"
                           "n2: j int64[1,?] = NonZero(columns)\n"
                           "n3: k int64[?] = Squeeze(i, first)\n"
                           "n4: l int64[?] = Squeeze(j, first)\n"
                           "n5: a float32[?,1,?] = Gather(x, k) {axis=0}\n"
                           "n6: b float32[?,1,?] = Gather(a, l) {axis=2}\n"
                           "n7: c float32[?,4,?] = Conv(b, w)\n"
                           "n8: r float32[?,4,1] = ReduceMax(c, axis)\n"
                           "n9: t float32[1,?,4] = Transpose(r) {perm=[2,0,1]}\n"
                           "n10: y float32[3,?,4] = Concat(t, h) {axis=0}\n"
                           "output y\n";

static gopt_batch_sizes find_sizes(const char *text)
{
    gopt_graph *g = test_graph(text);
    gopt_batch_sizes z;
    gopt_err e = {0};
    assert_ok(gopt_batch_sizes_find(&z, g, gopt_batch_symbol(g), NULL, &e), &e);
    gopt_graph_free(g);
    return z;
}

static gopt_batch_headroom find(const char *text, const char *preset, size_t limit)
{
    gopt_graph *g = test_graph(text);
    gopt_batch_sizes z = find_sizes(text);
    gopt_batch_headroom h;
    gopt_config c;
    gopt_err e = {0};
    assert_ok(gopt_config_preset(&c, preset, &e), &e);
    assert_ok(gopt_batch_headroom_find(&h, g, &c, &z, limit, &e), &e);
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
    gopt_batch_sizes z;
    gopt_err e = {0};
    (void)state;
    assert_true(h.largest == 1 && h.ran && h.above == 2 && h.peak_above == 0);
    assert_non_null(strstr(h.why, "2 does not run: node n1"));
    gopt_graph *g = test_graph("input x float32[batch,4]\n"
                               "const n int64[1] {12}\n"
                               "n1: y float32[?] = Reshape(x, n)\n"
                               "output y\n");
    assert_int_equal(gopt_batch_sizes_find(&z, g, "batch", NULL, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "batch=1: node n1"));
    gopt_graph_free(g);
}

static void the_other_sizes_fit_the_model(void **state)
{
    (void)state;
    gopt_batch_sizes z = find_sizes(recurrent);
    gopt_batch_headroom h = find(recurrent, "baseline", 1 << 22);
    assert_true(h.ran && h.largest > 100 && h.above == h.largest + 1);
    assert_string_equal(z.others, "len=128, m=n");
    assert_string_equal(z.shape, "n=1,len=128,m=1");
    assert_string_equal(find_sizes(chain).others, "len=32");
    z = find_sizes(
        "input x float32[batch,4]\ninput h float32[2,rows,4]\nn1: y float32[2,rows,4] = Exp(h)\noutput x\noutput y\n");
    assert_string_equal(z.others, "rows=1"); /* it may be another */
}

/* Nothing that the limit keeps from running is taken for what the model takes. */
static void the_limit_does_not_say_what_the_model_takes(void **state)
{
    (void)state;
    static const size_t limits[] = {100, 1 << 17, 1 << 20};
    static const char *const presets[] = {"baseline", "reduce-overhead"};
    assert_string_equal(find_sizes(late).others, "len=128, m=n");
    for (int i = 0; i < GOPT_COUNT(limits); i++)
        for (int k = 0; k < GOPT_COUNT(presets); k++) {
            gopt_batch_headroom h = find(late, presets[k], limits[i]);
            assert_true(i ? h.ran && h.largest > 1 && h.peak <= limits[i] : !h.largest);
            assert_int_equal(h.above, h.largest + 1);
            assert_true(h.peak_above > limits[i] || (i && !h.peak_above)); /* fragments count for no peak */
            assert_string_equal(h.why, "");
        }
}

/* A run that the limit ends, far above it, is one more that does not fit. */
static void out_of_memory_is_no_fault_of_a_node(void **state)
{
    (void)state;
    static const char large[] = "input x float32[batch,262144]\n"
                                "input n float32[batch]\n"
                                "const first int64[1] {0}\n"
                                "n0: positive float32[batch] = Exp(n)\n"
                                "n1: i int64[1,?] = NonZero(positive)\n"
                                "n2: k int64[?] = Squeeze(i, first)\n"
                                "n3: a float32[?,262144] = Gather(x, k) {axis=0}\n"
                                "n4: y float32[?,262144] = Exp(a)\n"
                                "output y\n";
    const size_t limit = 9 << 20; /* of 2 MiB each */
    gopt_batch_headroom h = find(large, "baseline", limit);
    assert_true(h.ran && h.largest == 4 && h.above == 5);
    assert_string_equal(h.why, "");
    assert_true(h.peak_above > limit);
}

static void what_no_size_fits_is_to_be_chosen(void **state)
{
    (void)state;
    gopt_graph *g = test_graph("input x float32[batch,1,len]\nconst w float32[4,1,5000] random(1)\n"
                               "n1: y float32[?,4,?] = Conv(x, w)\noutput y\n");
    gopt_batch_sizes z;
    gopt_shapes given = {.name = {"len"}, .size = {6000}, .n = 1};
    gopt_err e = {0};
    assert_int_equal(gopt_batch_sizes_find(&z, g, "batch", NULL, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "batch=1: node n1"));
    assert_non_null(strstr(e.msg, "no size tried for len fits: choose with --shape"));
    assert_ok(gopt_batch_sizes_find(&z, g, "batch", &given, &e), &e);
    assert_string_equal(z.others, "");
    assert_string_equal(z.shape, "batch=1,len=6000");
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
        cmocka_unit_test(the_other_sizes_fit_the_model),
        cmocka_unit_test(the_limit_does_not_say_what_the_model_takes),
        cmocka_unit_test(out_of_memory_is_no_fault_of_a_node),
        cmocka_unit_test(what_no_size_fits_is_to_be_chosen),
        cmocka_unit_test(only_batches_are_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
