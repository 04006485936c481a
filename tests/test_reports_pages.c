/* reports/sections, report: what a reader gets, whatever is known and whatever things are called. */
#include "support/test.h"

#include <limits.h>
#include <math.h>

#include "base/file.h"
#include "report.h"
#include "support/pages.h"
#include "support/sample_findings.h"

static void the_answer_comes_first(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    const char *lead =
        strstr(p.text.s, "Deploy trial 17: 3.211 [3.186, 3.237] times as fast as the baseline and 1.563 "
                         "[1.552, 1.574] times as fast as\nthe default; peak memory 12.8 MiB, 26.8 % below");
    assert_non_null(lead);
    assert_true(lead - p.text.s < 100);
    test_assert_says(&p.text, "earned back after 635\nrequests (25.4 s of the given traffic).");
    test_assert_says(&p.text, "Verdict: improvement, compared with last/manifest.yaml.");
    test_assert_says(&p.text, "Trust: the machine was quiet (3 of 141 rounds disturbed; other processes took 1.2 %");
    test_assert_says(&p.text,
                     "Differs from the default by: without layout_nhwc; engine.threads 2, plan.order by_size.");
    test_assert_says(&p.text,
                     "fuse_conv_act         71.0  1.680      1.403  1.395 [1.384, 1.406]    3.448  as predicted");
    test_assert_says(&p.text, "fuse_chain      layout_nhwc    0.938 [0.920, 0.957]  conflict");
    test_assert_says(&p.text, "Conflict of fuse_chain and layout_nhwc");
    test_assert_says(&p.text, "fuse_conv_act  1.500 [1.482, 1.518]  helps");
    test_assert_says(&p.text, "layout_nhwc    0.970 [0.958, 0.982]  in the way");
    test_assert_says(&p.text, "0 to 299 requests");
    test_assert_says(&p.text, "from 300 requests on");
    test_assert_says(&p.text, "averaged over 20 of 24 orders");
    test_assert_says(&p.text, "Pass fold_pads was found at fault by halving the pipeline (trial 21: output 'scores'");
    test_assert_says(&p.text, "gopt verify --pipeline fold_pads 'model.onnx'");
    test_assert_says(&p.text,
                     "pruned              2  predicted 3.1 times slower than the best                     23, 24");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void a_kept_default_and_a_noisy_machine_are_said(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    f->clusters[0].chosen_trial = 1;
    f->noise = (gopt_finding_noise){.floor = 0.031,
                                    .unquiet = true,
                                    .rounds_flagged = 60,
                                    .rounds = 141,
                                    .others = 0.43,
                                    .steal = 0.002,
                                    .waited = 0.21,
                                    .spread = 0.14};
    f->verdict = (gopt_finding_decision){.result = "regression"};
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "Keep the default (trial 1): 2.054 [2.038, 2.071] times as fast as the baseline;");
    test_assert_says(&p.text, "Trust it little: it was measured on a disturbed machine;");
    test_assert_says(&p.text, "Verdict: regression; measured on a disturbed machine: rerun when it is quiet.");
    test_assert_says(&p.text,
                     "Trust: LITTLE, measured on a disturbed machine: rerun when it is quiet (60 of 141 rounds");
    test_assert_says(&p.text, "processes took 43.0 % of the processors' time; what was measured waited for a");
    test_assert_says(&p.text, "the hypervisor took 0.2 %; the baseline's own time spread by 14 %");
    test_assert_says(&p.text, "differences up to 6.2 % count as ties");
    test_assert_says(
        &p.html, "<p class=\"bad\">Verdict: regression; measured on a disturbed machine: rerun when it is quiet.</p>");
    test_assert_says(&p.text, "1 (chosen = default)");
    test_assert_never_says(&p.text, "Differs from the default by:");
    test_pages_fini(&p);
    f->clusters[0].chosen_trial = 0;
    p = test_rendered(f);
    test_assert_says(&p.text, "Deploy without optimization (trial 0)");
    test_assert_says(&p.text, "which running does not earn back");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void a_gain_above_the_ceiling_is_explained(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_single single[2] = {f->clusters[0].single[1], f->clusters[0].single[1]};
    for (int i = 0; i < 2; i++)
        single[i].amdahl_ceiling = 1.2;
    single[0].amdahl_predicted = 1.1;
    single[1].amdahl_predicted = NAN; /* without a trace of its own */
    single[1].bottleneck = NULL;
    single[1].pass = "fuse_chain";
    f->clusters[0].single = single;
    f->clusters[0].n_single = 2;
    test_pages p = test_rendered(f);
    const char *first = strstr(p.html.s, "<td class=\"bad\">above the ceiling</td>");
    assert_true(first && strstr(first + 1, "<td class=\"bad\">above the ceiling</td>"));
    test_assert_says(&p.html,
                     "fuse_conv_act: measured 1.395 [1.384, 1.406], above the ceiling 1.200 that the operators it "
                     "touched allow");
    test_assert_says(&p.html, "in another run; in the traces MaxPool takes 42 % of what is left.");
    test_assert_says(&p.html, "fuse_chain: measured 1.395 [1.384, 1.406], above the ceiling 1.200");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

/* A pass that leaves nothing of the operators it touches is predicted to reach the ceiling. */
static void what_is_removed_is_said(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_single single = f->clusters[0].single[1];
    single.removed = true;
    single.operator_speedup = NAN;
    f->clusters[0].single = &single;
    f->clusters[0].n_single = 1;
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "  removed  ");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void a_tie_against_its_interval_says_why(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_single single[3] = {f->clusters[0].single[0], f->clusters[0].single[1], f->clusters[0].single[2]};
    single[0].speedup = (gopt_finding_ratio){0.917, 0.762, 0.960, GOPT_FINDING_TIE};
    single[1].speedup = (gopt_finding_ratio){1.006, 1.002, 1.010, GOPT_FINDING_TIE};
    single[2].speedup = (gopt_finding_ratio){1.020, 0.990, 1.050, GOPT_FINDING_TIE};
    f->clusters[0].single = single;
    f->clusters[0].n_single = 3;
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "0.917 [0.762, 0.960]  tie (FDR) ");
    test_assert_says(&p.text, "1.006 [1.002, 1.010]  tie (noise) ");
    test_assert_says(&p.text, "1.020 [0.990, 1.050]  tie  ");
    test_assert_says(&p.html, "false discovery rate of 5 % over all rows (Benjamini-Hochberg)");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void what_runs_in_bodies_is_explained(void **state)
{
    (void)state;
    static const gopt_finding_hotspot spots[] = {{.name = "If",
                                                  .kernel = "bodies: 29 native, 28 reference",
                                                  .calls = 1,
                                                  .ns = 5,
                                                  .share = 1,
                                                  .has_bodies = true}};
    static const gopt_finding_profile profiles[] = {{0, spots, 1, 1}};
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_never_says(&p.html, "run the steps of their bodies");
    test_assert_never_says(&p.html, "the bodies of If, Loop and Scan is not in f");
    test_pages_fini(&p);
    f->clusters[0].profiles = profiles;
    f->clusters[0].n_profiles = 1;
    p = test_rendered(f);
    test_assert_says(&p.text, "If        bodies: 29 native, 28 reference");
    test_assert_says(&p.html, "run the steps of their bodies");
    test_assert_says(&p.html, "the bodies of If, Loop and Scan is not in f");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void what_is_one_plan_is_told_once(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    gopt_finding_left_out left = c->left_out[0];
    left.slowdown = (gopt_finding_ratio){1, 1, 1, GOPT_FINDING_TIE};
    left.trial = c->default_trial;
    c->left_out = &left;
    c->n_left_out = 1;
    for (int i = 0, n = 0; i < c->n_trials; i++)
        if (!strcmp(c->trials[i].status, "pruned"))
            c->trials[i].why = n++ ? "same plan as trial 2" : "same plan as trial 1";
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "  same plan ");
    test_assert_says(&p.text, "  without effect ");
    test_assert_says(&p.text, "  same plan as an earlier trial ");
    test_assert_never_says(&p.text, "same plan as trial");
    test_assert_never_says(&p.text, "1.000 [1.000, 1.000]");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void traffic_that_was_not_given_has_no_part(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "Traffic and clusters");
    test_pages_fini(&p);
    f->traffic.source = NULL;
    p = test_rendered(f);
    test_assert_never_says(&p.text, "Traffic and clusters");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

/* Cuts from each `from` to the `to` after it. */
static void cut(char *s, const char *from, const char *to)
{
    for (char *at; (at = strstr(s, from));) {
        char *end = strstr(at, to);
        assert_non_null(end);
        memmove(at, end + strlen(to), strlen(end + strlen(to)) + 1);
    }
}

static void unescape(char *s)
{
    static const char *const entity[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
    for (int i = 0; i < GOPT_COUNT(entity); i++)
        for (char *at; (at = strstr(s, entity[i][0]));) {
            *at = entity[i][1][0];
            memmove(at + 1, at + strlen(entity[i][0]), strlen(at + strlen(entity[i][0])) + 1);
        }
}

/* Leaves the words of the page: tags become spaces. */
static void strip_tags(char *html)
{
    cut(html, "<head>", "</head>");
    cut(html, "<nav>", "</nav>");
    bool tag = false;
    for (char *c = html; *c; c++) {
        tag |= *c == '<';
        bool end = tag && *c == '>';
        *c = tag ? ' ' : *c;
        tag &= !end;
    }
    unescape(html);
}

/* Takes out what only draws lines. */
static void strip_rules(char *text)
{
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strspn(line, "-= ") == strcspn(line, "\n"))
            memset(line, ' ', strcspn(line, "\n"));
}

static void text_and_html_say_the_same(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    test_pages p = test_rendered(f);
    strip_tags(p.html.s);
    strip_rules(p.text.s);
    char *in_html, *in_text, *a = strtok_r(p.html.s, " \n", &in_html), *b = strtok_r(p.text.s, " \n", &in_text);
    int words = 0;
    for (; a && b; words++) {
        assert_string_equal(a, b);
        a = strtok_r(NULL, " \n", &in_html);
        b = strtok_r(NULL, " \n", &in_text);
    }
    assert_null(a);
    assert_null(b);
    assert_true(words > 800);
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void unknown_figures_are_not_available(void **state)
{
    (void)state;
    gopt_findings *f;
    gopt_err e = {0};
    assert_ok(gopt_findings_new(&f, &e), &e);
    for (int clusters = 0; clusters < 3; clusters++) {
        f->clusters = gopt_findings_take_clusters(f, clusters);
        f->n_clusters = clusters;
        for (int i = 0; i < clusters; i++) {
            f->clusters[i].trials = gopt_findings_take_trials(f, 3);
            f->clusters[i].n_trials = 3;
            f->clusters[i].baseline_trial = 0;
            f->clusters[i].default_trial = 1;
            f->clusters[i].chosen_trial = clusters == 2 ? 2 : -1;
            for (int k = 0; k < 2 * i; k++)
                f->clusters[i].trials[k].status = "ok";
        }
        test_pages p = test_rendered(f);
        static const char *const never[] = {"nan", "(null)", "9223372036854775808", " -1"};
        for (int i = 0; i < GOPT_COUNT(never); i++) {
            test_assert_never_says(&p.text, never[i]);
            test_assert_never_says(&p.html, never[i]);
        }
        if (clusters == 1)
            test_assert_says(&p.text, "Nothing was chosen.");
        if (clusters == 2)
            test_assert_says(&p.text, "Cluster n/a: Deploy trial 2.");
        test_pages_fini(&p);
    }
    gopt_findings_free(f);
}

#define EVIL "</td><script>alert('1')</script>\x1b[2J\xff\xe2\x80\xae\"&"

static void hostile_names_stay_text(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    static const gopt_finding_operator operators[] = {{EVIL, 1}};
    static const gopt_finding_size sizes[] = {{EVIL, 1}};
    static const gopt_finding_shape shapes[] = {{sizes, 1}};
    static const gopt_finding_hotspot spots[] = {{.name = EVIL, .kernel = EVIL, .calls = 1, .ns = 5, .share = 1}};
    static const gopt_finding_profile profiles[] = {{0, spots, 1, 1}};
    static const char *const lines[] = {EVIL};
    static const gopt_finding_command commands[] = {{EVIL, "gopt run " EVIL}};
    f->model.path = EVIL;
    f->model.operators = operators;
    f->model.n_operators = 1;
    f->device.name = EVIL;
    f->clusters[0].shapes = shapes;
    f->clusters[0].reason = EVIL;
    f->clusters[0].profiles = profiles;
    f->clusters[0].n_profiles = 1;
    f->clusters[0].trials[20].why = EVIL;
    f->health = f->notes = f->verdict.details = lines;
    f->commands = commands;
    f->n_commands = 1;
    test_pages p = test_rendered(f);
    test_assert_never_says(&p.html, "<script");
    test_assert_never_says(&p.html, "</td>&");
    test_assert_says(&p.html, "<td class=\"prose \">&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;?[2J?"
                              "?&quot;&amp;</td>");
    test_assert_says(&p.html, "<title>script&gt;?[2J?"); /* after the last slash of the path */
    const gopt_text *both[] = {&p.text, &p.html};
    for (int i = 0; i < 2; i++) {
        test_assert_never_says(both[i], "\x1b");
        test_assert_never_says(both[i], "\xff");
        test_assert_never_says(both[i], "\xe2\x80\xae");
    }
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void clusters_have_parts_of_their_own(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *two = gopt_findings_take_clusters(f, 2);
    two[0] = two[1] = f->clusters[0];
    two[0].weight = 0.8;
    two[1].weight = 0.2;
    two[1].id = "long";
    two[1].chosen_trial = 1;
    f->clusters = two;
    f->n_clusters = 2;
    test_pages p = test_rendered(f);
    test_assert_says(&p.text, "Cluster 0 (80.0 % of the traffic): Deploy trial 17: ");
    test_assert_says(&p.text, "Cluster long (20.0 % of the traffic): Keep the default (trial 1): ");
    test_assert_says(&p.html, "<h2>Cluster long</h2>\n<h3>The choice</h3>");
    test_pages_fini(&p);
    gopt_findings_free(f);
}

static void every_file_is_written_and_linked(void **state)
{
    gopt_findings *f = test_findings();
    gopt_err e = {0};
    char out[PATH_MAX], path[PATH_MAX];
    static const char *const files[] = {"findings.json", "report.txt", "report.html", "plots/cost_benefit.gp",
                                        "plots/cost_benefit.tsv"};
    test_path(out, *state, "new/out");
    assert_ok(gopt_report_write(f, out, &e), &e);
    for (int i = 0; i < GOPT_COUNT(files); i++)
        assert_true(gopt_file_exists(test_path(path, out, files[i])));
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, test_path(path, out, "report.html"), &e), &e);
    char *html = strndup((const char *)m.data, m.bytes), *rest = html;
    gopt_file_unmap(&m);
    int links = 0;
    for (char *at; (at = strstr(rest, "href=\"")); links++) {
        rest = strchr(at += strlen("href=\""), '"');
        assert_non_null(rest);
        *rest++ = '\0';
        if (*at != '#' && !gopt_file_exists(test_path(path, out, at)))
            fail_msg("link to %s", at);
    }
    assert_true(links > 15);
    free(html);
    gopt_findings_free(f);
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
    gopt_findings *f = test_findings();
    gopt_err e = {0};
    char path[PATH_MAX];
    assert_ok(gopt_file_write_text(test_path(path, *state, "file"), "", &e), &e);
    assert_int_equal(gopt_report_write(f, test_path(path, *state, "file/out"), &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, "/file"));
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(gopt_report_write(f, path, &e), GOPT_EIO);
    gopt_findings_free(f);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    test_pages p;
    gopt_status s = test_render(&p, ctx, e);
    test_pages_fini(&p);
    return s;
}

static void survives_every_allocation_failure(void **state)
{
    (void)state;
    gopt_findings *f = test_findings();
    assert_true(test_every_oom(make, f) > 250);
    gopt_findings_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_comes_first),
        cmocka_unit_test(a_kept_default_and_a_noisy_machine_are_said),
        cmocka_unit_test(a_gain_above_the_ceiling_is_explained),
        cmocka_unit_test(what_is_removed_is_said),
        cmocka_unit_test(a_tie_against_its_interval_says_why),
        cmocka_unit_test(what_runs_in_bodies_is_explained),
        cmocka_unit_test(what_is_one_plan_is_told_once),
        cmocka_unit_test(traffic_that_was_not_given_has_no_part),
        cmocka_unit_test(text_and_html_say_the_same),
        cmocka_unit_test(unknown_figures_are_not_available),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(clusters_have_parts_of_their_own),
        cmocka_unit_test_setup_teardown(every_file_is_written_and_linked, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(a_place_that_cannot_be_written_is_named, test_dir_setup, test_dir_teardown),
        cmocka_unit_test(survives_every_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
