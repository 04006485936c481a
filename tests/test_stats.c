/* test_stats.c: medians, intervals, tests, random orders. */
#include <math.h>
#include <string.h>

#include "stats.h"
#include "support/test.h"

static void ranks_are_those_of_the_protocol(void **state)
{
    (void)state;
    static const struct {
        int n, lo, hi;
    } rows[] = {{15, 4, 12}, {31, 10, 22}, {101, 41, 61}};
    int lo, hi;
    for (int i = 0; i < 3; i++) {
        assert_true(gopt_quantile_ranks(rows[i].n, 0.5, 0.95, &lo, &hi));
        assert_int_equal(lo, rows[i].lo);
        assert_int_equal(hi, rows[i].hi);
    }
    assert_false(gopt_quantile_ranks(5, 0.5, 0.95, &lo, &hi));
    assert_true(gopt_quantile_ranks(9, 0.5, 0.95, &lo, &hi));
    assert_true(gopt_quantile_ranks(368, 0.99, 0.95, &lo, &hi));
    assert_false(gopt_quantile_ranks(300, 0.99, 0.95, &lo, &hi));
    assert_true(
        gopt_quantile_ranks(1000000, 0.5, 0.95, &lo, &hi)); /* a long job's rounds: half a width of 1.96 sigma */
    assert_in_range(lo, 499018, 499022);
    assert_in_range(hi, 500979, 500983);
}

static void a_quantile_without_support_is_not_a_number(void **state)
{
    (void)state;
    double x[400];
    for (int i = 0; i < 400; i++)
        x[i] = 1000 + (i * 37) % 400;
    gopt_latency few = gopt_latency_of(x, 8), some = gopt_latency_of(x, 60), many = gopt_latency_of(x, 400);
    assert_true(isnan(few.median.lo) && isnan(few.p90));
    assert_true(isfinite(some.p95) && isnan(some.p99));
    assert_true(isfinite(many.p99));
    assert_true(many.median.lo <= many.median.value && many.median.value <= many.median.hi);
    assert_true(fabs(many.mean - 1199.5) < 1e-6);
    assert_true(isnan(gopt_median(x, 0)));
}

static void drift_widens_the_interval(void **state)
{
    (void)state;
    double steady[200], drifting[200];
    gopt_random r;
    gopt_random_seed(&r, 3);
    for (int i = 0; i < 200; i++) {
        double noise = gopt_random_unit(&r);
        steady[i] = 100 + noise;
        drifting[i] = 100 + i * 0.005 + noise * 0.01;
    }
    gopt_latency a = gopt_latency_of(steady, 200), b = gopt_latency_of(drifting, 200);
    assert_true(a.effective > 100);
    assert_true(b.effective < 10);
    assert_true(b.median.hi - b.median.lo > 0.3);
}

static void paired_ratios_ignore_common_drift(void **state)
{
    (void)state;
    double a[31], b[31];
    for (int i = 0; i < 31; i++) {
        double speed = i < 15 ? 1 : 1.4; /* the machine changes its speed half way */
        a[i] = 200 * speed * (1 + 0.001 * (i % 3));
        b[i] = 100 * speed;
    }
    gopt_estimate r = gopt_paired_ratio(a, b, 31);
    assert_true(fabs(r.value - 2.002) < 0.003);
    assert_true(r.lo > 1.99 && r.hi < 2.01);
    assert_int_equal(gopt_verdict_of(&r, 0.001), GOPT_VERDICT_BETTER);
    assert_int_equal(gopt_verdict_of(&r, 0.5), GOPT_VERDICT_TIE);
    gopt_estimate same = {.value = 1.004, .lo = 1.001, .hi = 1.007};
    assert_int_equal(gopt_verdict_of(&same, 0), GOPT_VERDICT_TIE);
    gopt_estimate worse = {.value = 0.9, .lo = 0.88, .hi = 0.93}, unknown = {.value = 2, .lo = NAN, .hi = NAN};
    assert_int_equal(gopt_verdict_of(&worse, 0), GOPT_VERDICT_WORSE);
    assert_int_equal(gopt_verdict_of(&unknown, 0), GOPT_VERDICT_UNKNOWN);
}

static void tests_have_their_textbook_values(void **state)
{
    (void)state;
    assert_true(fabs(gopt_sign_test(9, 9) - 1.0 / 512) < 1e-12);
    assert_true(fabs(gopt_sign_test(0, 9) - 1) < 1e-12);
    assert_true(fabs(gopt_two_sided_sign(0, 10) - 2.0 / 1024) < 1e-12);
    assert_true(fabs(gopt_alpha_spent(1, 2) - 0.030396) < 1e-5);
    gopt_estimate edge = {.value = exp(1.0), .lo = 1, .hi = exp(2.0)};
    assert_true(fabs(gopt_ratio_p(&edge) - 0.05) < 1e-3);
    const double p[] = {0.001, 0.30, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212};
    bool rejected[10];
    int scratch[10], n = 0;
    gopt_false_discovery(p, 10, 0.05, rejected, scratch);
    for (int i = 0; i < 10; i++)
        n += rejected[i];
    assert_int_equal(n, 2); /* Benjamini & Hochberg's rule on these values keeps the two smallest */
    assert_true(rejected[0] && rejected[2]);
}

static void random_orders_come_from_the_seed(void **state)
{
    (void)state;
    gopt_random a, b;
    int x[20], y[20], seen[20] = {0};
    gopt_random_seed(&a, 7);
    gopt_random_seed(&b, 7);
    for (int i = 0; i < 20; i++)
        x[i] = y[i] = i;
    gopt_random_shuffle(&a, x, 20);
    gopt_random_shuffle(&b, y, 20);
    assert_memory_equal(x, y, sizeof x);
    for (int i = 0; i < 20; i++)
        seen[x[i]]++;
    for (int i = 0; i < 20; i++)
        assert_int_equal(seen[i], 1);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double u = gopt_random_unit(&a);
        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / 10000 - 0.5) < 0.02);
}

/* Five processes, each steady but of another speed: the interval must not be that of one. */
static void intervals_cover_what_differs_between_stretches(void **state)
{
    (void)state;
    enum { EACH = 40, N = 5 * EACH };
    static const double speed[] = {1.00, 1.10, 0.95, 1.12, 0.99};
    double a[N], b[N];
    for (int i = 0; i < N; i++) {
        a[i] = 100 * (1 + 0.001 * (i % 3));
        b[i] = 50 / speed[i / EACH] * (1 + 0.001 * (i % 5));
    }
    gopt_estimate one = gopt_blocked_ratio(a, b, EACH), all = gopt_blocked_ratio(a, b, N),
                  naive = gopt_paired_ratio(a, b, N);
    assert_true(one.hi / one.lo < 1.005); /* too few for stretches: as it was */
    assert_true(all.value == naive.value);
    assert_true(all.lo <= naive.lo && all.hi >= naive.hi);
    assert_true(all.lo < 1.9 && all.hi > 2.15);
    for (int i = 0; i < N; i++)
        b[i] = 50 * (1 + 0.001 * (i % 5));
    all = gopt_blocked_ratio(a, b, N);
    assert_true(all.hi / all.lo < 1.005); /* what does not differ widens nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_what_differs_between_stretches),
        cmocka_unit_test(ranks_are_those_of_the_protocol),
        cmocka_unit_test(a_quantile_without_support_is_not_a_number),
        cmocka_unit_test(drift_widens_the_interval),
        cmocka_unit_test(paired_ratios_ignore_common_drift),
        cmocka_unit_test(tests_have_their_textbook_values),
        cmocka_unit_test(random_orders_come_from_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
