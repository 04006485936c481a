/* reports/sections: what a report claims follows from what was measured; what does not is said to be unknown, and why.
 */
#include "support/test.h"

#include <math.h>

#include "support/pages.h"
#include "support/sample_findings.h"

static void means_have_no_percentiles_and_that_is_said(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_never_says(&p.text, "means of several have no percentiles");
    test_pages_fini(&p);
    gopt_finding_latency *l = &f->clusters[0].trials[17].latency;
    l->repeats = 178;
    l->p90 = l->p95 = l->p99 = GOPT_UNKNOWN;
    p = test_rendered(f);
    test_assert_says(&p.html, "means of several have no percentiles of requests. Tune with --objective p99");
    test_assert_says(&p.text, "   178 ");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void a_latency_says_what_it_is_and_what_its_interval_covers(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_says(&p.html, "Median latency: the baseline&#39;s median divided by the paired speedup");
    test_assert_says(&p.html, "not the plain median of the trial&#39;s own samples");
    test_assert_says(&p.html, "and neither other days nor other sessions");
    test_assert_says(&p.text, "own samples");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void threads_have_a_column(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "trial         threads    median latency, ms");
    test_assert_says(&p.text, "trial         front  threads         ");
    test_assert_says(&p.text, "17 (chosen)   yes          2  3.211");
    test_assert_says(&p.text, "1 (default)   no           1  2.054");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_have_no_percentiles_and_that_is_said),
        cmocka_unit_test(a_latency_says_what_it_is_and_what_its_interval_covers),
        cmocka_unit_test(threads_have_a_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
