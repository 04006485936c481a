/* reports/sections: what a report claims follows from what was measured; what does not is said to be unknown, and why.
 */
#include "support/test.h"

#include <math.h>

#include "support/pages.h"
#include "support/sample_findings.h"

/* The cells of a row, whatever the width of their columns. */
static void assert_row(const test_pages *p, const char *cells)
{
    gopt_text t = {0};
    for (const char *c = p->text.s; *c; c++)
        if (*c != ' ' || c[1] != ' ')
            gopt_text_add(&t, "%c", *c);
    test_assert_says(&t, cells);
    gopt_text_fini(&t);
}

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
    assert_row(&p, "trial threads median latency, ms");
    assert_row(&p, "trial front threads speedup");
    assert_row(&p, "17 (chosen) yes 2 3.211");
    assert_row(&p, "1 (default) no 1 2.054");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

/* Less time elsewhere does not make a pass slower than predicted, nor more time faster. */
static void an_explanation_points_the_right_way(void **state)
{
    (void)state;
    static const struct {
        double measured, rest_change;
        bool explains;
    } rows[] = {{0.839, 0.33, true}, {0.839, -0.33, false}, {1.2, -0.33, true}, {1.2, 0.33, false}, {0.839, 0, true}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        double s = rows[i].measured;
        gopt_findings *f = test_findings();
        gopt_finding_single single = f->clusters[0].single[1];
        single.speedup = (gopt_finding_ratio){s, s * 0.99, s * 1.01, GOPT_FINDING_WORSE};
        single.amdahl_predicted = 1.008;
        single.bottleneck = "the operators that it left alone took other times than before";
        single.rest_change = rows[i].rest_change;
        f->clusters[0].single = &single;
        f->clusters[0].n_single = 1;
        test_pages p = test_rendered(f);
        if (rows[i].explains) {
            test_assert_says(&p.html, "measured: the operators that it left alone");
            test_assert_never_says(&p.html, "the traces do not explain it");
        } else {
            test_assert_says(&p.html,
                             "measured; the traces do not explain it: in them the operators that it left alone");
            test_assert_says(&p.html, rows[i].rest_change < 0
                                          ? "another speed in each: at the speed that these operators "
                                            "show, 1.086 is predicted."
                                          : "show, 1.645 is predicted.");
        }
        test_pages_fini(&p);
        single.amdahl_ceiling = 0.5;
        p = test_rendered(f);
        test_assert_says(&p.html, s > 1.008 && !rows[i].explains
                                      ? "; the traces do not explain it: in them the operators"
                                  : !rows[i].explains ? "the traces do not explain it"
                                                      : "; in the traces the operators");
        test_pages_fini(&p);
        gopt_findings_free(f);
    }
}

/* As with verdicts: a difference within the noise is none. */
static void agreement_allows_for_the_noise(void **state)
{
    (void)state;
    static const struct {
        double value, lo, hi, predicted, ceiling, floor;
        const char *agreement;
    } rows[] = {{0.99, 0.98, 1.003, 1.007, 1.02, 0.0405, "as predicted"},
                {0.90, 0.88, 0.92, 1.007, 1.02, 0.0405, "less than predicted"},
                {0.99, 0.98, 1.003, 1.007, 1.02, 0.001, "less than predicted"},
                {1.06, 1.05, 1.07, 1.01, 1.02, 0.0405, "as predicted"},
                {1.06, 1.05, 1.07, 1.01, 1.2, 0.001, "more than predicted"},
                {1.06, 1.05, 1.07, 1.01, 1.02, 0.001, "above the ceiling"},
                {1.06, 1.05, 1.07, NAN, 1.2, 0.001, "n/a"}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_findings *f = test_findings();
        gopt_finding_single single = f->clusters[0].single[1];
        gopt_text cell = {0};
        single.speedup = (gopt_finding_ratio){rows[i].value, rows[i].lo, rows[i].hi, GOPT_FINDING_TIE};
        single.amdahl_predicted = rows[i].predicted;
        single.amdahl_ceiling = rows[i].ceiling;
        f->noise.floor = rows[i].floor;
        f->clusters[0].single = &single;
        f->clusters[0].n_single = 1;
        test_pages p = test_rendered(f);
        gopt_text_add(&cell, "%.3f %s", rows[i].ceiling, rows[i].agreement);
        assert_row(&p, gopt_text_str(&cell));
        if (!strcmp(rows[i].agreement, "as predicted"))
            test_assert_never_says(&p.text, " measured: ");
        test_assert_says(&p.html, rows[i].floor > 0.01 ? "no more than the 8.1 % that count as a tie"
                                                       : "no more than the 1.0 % that count as a tie");
        gopt_text_fini(&cell);
        test_pages_fini(&p);
        gopt_findings_free(f);
    }
}

/* Clock reads do not make a run faster. */
static void what_a_trace_took_is_explained(void **state)
{
    (void)state;
    static const struct {
        double inflation;
        const char *says;
    } rows[] = {{0.82, "although clock reads only add time: it was timed at another moment"},
                {0.995, "which is no more than noise"},
                {1.3, "in which many short operators have too much"}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_findings *f = test_findings();
        gopt_finding_profile profile = f->clusters[0].profiles[0];
        profile.inflation = rows[i].inflation;
        f->clusters[0].profiles = &profile;
        f->clusters[0].n_profiles = 1;
        test_pages p = test_rendered(f);
        for (int k = 0; k < GOPT_COUNT(rows); k++)
            (k == i ? test_assert_says : test_assert_never_says)(&p.html, rows[k].says);
        test_pages_fini(&p);
        gopt_findings_free(f);
    }
}

/* Figures of the baseline against itself are none of the pass. */
static void a_plan_like_the_baseline_has_no_figures(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    gopt_finding_single single = c->single[0];
    single.trial = c->baseline_trial;
    single.share = NAN;
    single.speedup = (gopt_finding_ratio){1, 1, 1.0613, GOPT_FINDING_TIE};
    c->single = &single;
    c->n_single = 1;
    test_pages p = test_rendered(f);
    assert_row(&p, "fold_constants same plan without effect 1.004 [");
    test_assert_never_says(&p.text, "1.061]");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void what_was_not_left_out_says_why(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    gopt_finding_single single[4] = {c->single[0], c->single[1], c->single[2], c->single[3]};
    gopt_finding_step step[2] = {{.pass = single[0].pass, .idle = true}, {.pass = single[1].pass}};
    gopt_finding_left_out left = c->left_out[3];
    left.pass = single[3].pass;
    left.trial = c->default_trial;
    c->single = single;
    c->n_single = 4;
    c->steps = step;
    c->n_steps = 2;
    c->left_out = &left;
    c->n_left_out = 1;
    test_pages p = test_rendered(f);
    assert_row(&p, "better nothing to do n/a 1.1 ");
    assert_row(&p, "better not timed n/a 11.2 ");
    assert_row(&p, "better not in default n/a 15.1 ");
    assert_row(&p, "worse same plan without effect -4.5 ");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void measures_that_disagree_are_disputed(void **state)
{
    (void)state;
    static const struct {
        double slowdown;
        gopt_finding_verdict verdict;
        bool disputed;
    } rows[] = {
        {1.042, GOPT_FINDING_WORSE, true}, {1.042, GOPT_FINDING_TIE, false}, {0.96, GOPT_FINDING_BETTER, false}};
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_findings *f = test_findings();
        gopt_finding_left_out left = f->clusters[0].left_out[3];
        double s = rows[i].slowdown;
        left.slowdown = (gopt_finding_ratio){s, s * 0.99, s * 1.01, rows[i].verdict};
        f->clusters[0].left_out = &left;
        f->clusters[0].n_left_out = 1;
        test_pages p = test_rendered(f);
        test_assert_says(&p.text, rows[i].disputed ? "layout_nhwc    0.970 [0.958, 0.982]  disputed"
                                                   : "layout_nhwc    0.970 [0.958, 0.982]  in the way");
        test_assert_says(&p.text, "fuse_conv_act  1.500 [1.482, 1.518]  helps");
        test_assert_says(&p.html, "beyond the noise (1.0 %) helps when it is above 1");
        test_pages_fini(&p);
        gopt_findings_free(f);
    }
}

static void little_trust_names_its_limits(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    f->noise.unquiet = true;
    f->noise.rounds_flagged = 107;
    f->noise.rounds = 1516;
    f->noise.others = 0.13;
    f->noise.waited = 1.069;
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "Why little: processors' time of other processes 13.0 %, the limit being 10 %.");
    test_assert_says(&p.html, "waited for a processor for 106.9 % of the time, summed over its threads");
    test_assert_says(&p.html,
                     "Trust is little beyond 20 % disturbed rounds, 10 % of the processors&#39; time for other");
    test_pages_fini(&p);
    f->noise.rounds_flagged = 607;
    f->noise.steal = 0.021;
    p = test_rendered(f);
    test_assert_says(&p.html, "Why little: disturbed rounds 40.0 %, the limit being 20 %; processors");
    test_assert_says(&p.html, "time of the hypervisor 2.1 %, the limit being 1 %.");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void words_are_explained_where_they_come_first(void **state)
{
    (void)state;
    static const char *const words[] = {"Round: ", "Race: ", "Final: ", "Heat: "};
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    const char *choice = strstr(p.text.s, "The choice\n");
    for (int i = 0; i < GOPT_COUNT(words); i++) {
        const char *at = strstr(p.text.s, words[i]);
        assert_true(at && at < choice);
    }
    test_assert_says(&p.html, "not of other days or sessions");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void runs_are_counted(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_never_says(&p.text, " runs, stopped");
    test_pages_fini(&p);
    const gopt_finding_fact more[] = {gopt_finding_fact_number("runs", 2)};
    f->settings.more = more;
    f->settings.n_more = 1;
    p = test_rendered(f);
    test_assert_says(&p.text, "Course: 59.4 s of 60.0 s in 2 runs, stopped: budget;");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void a_choice_without_a_trace_is_said(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_never_says(&p.text, "was not traced");
    test_assert_says(&p.html, "times and shares are those of the traced run");
    test_pages_fini(&p);
    f->clusters[0].n_profiles = 1;
    p = test_rendered(f);
    test_assert_says(&p.text, "Trial 17 (chosen) was not traced.");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void who_takes_over_is_told_apart(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_says(&p.html, "neighbours may be within the noise of each other");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_have_no_percentiles_and_that_is_said),
        cmocka_unit_test(a_latency_says_what_it_is_and_what_its_interval_covers),
        cmocka_unit_test(threads_have_a_column),
        cmocka_unit_test(an_explanation_points_the_right_way),
        cmocka_unit_test(agreement_allows_for_the_noise),
        cmocka_unit_test(what_a_trace_took_is_explained),
        cmocka_unit_test(a_plan_like_the_baseline_has_no_figures),
        cmocka_unit_test(what_was_not_left_out_says_why),
        cmocka_unit_test(measures_that_disagree_are_disputed),
        cmocka_unit_test(little_trust_names_its_limits),
        cmocka_unit_test(words_are_explained_where_they_come_first),
        cmocka_unit_test(runs_are_counted),
        cmocka_unit_test(a_choice_without_a_trace_is_said),
        cmocka_unit_test(who_takes_over_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
