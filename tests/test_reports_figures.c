/* reports/figure, figures: scripts, data and pictures; with gnuplot, without it, and with one that fails. */
#include "support/test.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/process.h"
#include "section.h"
#include "support/sample_findings.h"

static bool have_gnuplot(void)
{
    char path[PATH_MAX];
    if (gopt_process_find("gnuplot", path, sizeof(path)))
        return true;
    print_message("skipped 1: no gnuplot\n");
    skip();
    return false;
}

static char *content(const char *dir, const char *stem, const char *extension)
{
    char path[PATH_MAX];
    gopt_mapping m;
    gopt_err e = {0};
    snprintf(path, sizeof(path), "%s/%s.%s", dir, stem, extension);
    assert_ok(gopt_file_map(&m, path, &e), &e);
    char *s = strndup((const char *)m.data, m.bytes);
    gopt_file_unmap(&m);
    return s;
}

static void assert_content(const char *dir, const char *stem, const char *extension, const char *what)
{
    char *s = content(dir, stem, extension);
    if (!strstr(s, what))
        fail_msg("%s.%s has no %s:\n%s", stem, extension, what, s);
    free(s);
}

static bool exists(const char *dir, const char *file)
{
    char path[PATH_MAX];
    return gopt_file_exists(test_path(path, dir, file));
}

static gopt_gallery drawn(const gopt_findings *f, const char *dir)
{
    gopt_gallery g;
    gopt_err e = {0};
    assert_ok(gopt_gallery_draw(&g, f, dir, &e), &e);
    return g;
}

/* With `path` alone to find programs in. */
static gopt_gallery drawn_on(const char *path, const gopt_findings *f, const char *dir)
{
    char *before = strdup(getenv("PATH"));
    setenv("PATH", path, true);
    gopt_gallery g = drawn(f, dir);
    setenv("PATH", before, true);
    free(before);
    return g;
}

/* Leaves the figures memory and compile_stages. */
static gopt_findings *small_findings(void)
{
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    c->n_single = c->n_pairs = c->n_anytime = c->n_requests = 0;
    c->chosen_trial = c->default_trial = 0;
    c->n_trials = 1;
    return f;
}

static void every_figure_is_drawn(void **state)
{
    if (!have_gnuplot())
        return;
    gopt_findings *f = test_findings();
    gopt_gallery g = drawn(f, *state);
    assert_null(g.problem);
    for (int i = 0; gopt_figures[i]; i++) {
        const gopt_drawing *d = gopt_gallery_find(&g, gopt_figures[i]->name, 0);
        char name[64];
        if (!d || !d->svg)
            fail_msg("%s was not drawn", gopt_figures[i]->name);
        snprintf(name, sizeof(name), "data = folder.'%s.tsv'", d->stem);
        assert_content(*state, d->stem, "gp", name);
        assert_content(*state, d->stem, "svg", d->title);
        assert_true(strlen(d->svg) > 4000);
    }
    assert_null(gopt_gallery_find(&g, "memory", 1));
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void a_reader_draws_them_again(void **state)
{
    if (!have_gnuplot())
        return;
    gopt_findings *f = test_findings();
    gopt_gallery g = drawn(f, *state);
    gopt_process_result r;
    gopt_err e = {0};
    const char *argv[] = {
        "sh",
        "-c",
        "export LC_ALL=C.UTF-8; cd \"$1\" && rm ./*.svg && for s in ./*.gp; do gnuplot $s || exit; done && "
        "rm ./*.svg && cd / && for s in \"$1\"/*.gp; do gnuplot \"$s\" || exit; done",
        "sh",
        *state,
        NULL};
    assert_ok(gopt_process_run(&r, argv, INT64_C(20000000000), &e), &e);
    if (r.exit_code != 0 || r.output.n > 0)
        fail_msg("gnuplot: %s", gopt_text_str(&r.output));
    for (int i = 0; i < g.n_drawings; i++) {
        char *again = content(*state, g.drawings[i].stem, "svg");
        assert_string_equal(again, g.drawings[i].svg);
        free(again);
    }
    gopt_text_fini(&r.output);
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void titles_give_the_answer(void **state)
{
    (void)state;
    static const char *const titles[][2] = {
        {"cost_benefit", "The choice, trial 17, runs 3.21 times as fast as the baseline for 1.84 s of compiling"},
        {"pass_effects", "Alone, fuse_conv_act helps most: 1.40 times as fast as the baseline"},
        {"synergy", "Of 4 pairs, 2 gain and 1 lose by being together"},
        {"memory", "The choice peaks at 12.8 MiB, 26.8 % less than the baseline"},
        {"compile_stages", "Compiling the choice takes 1.84 s, 60 % of it code_compilation"},
        {"wall_time", "From 8647 requests on, trial 17 costs least"},
        {"anytime", "After 47.2 s of 59.4 s nothing more than 2 % better was found"}};
    gopt_findings *f = test_findings();
    for (int i = 0; i < GOPT_COUNT(titles); i++)
        for (int k = 0; gopt_figures[k]; k++)
            if (!strcmp(gopt_figures[k]->name, titles[i][0])) {
                gopt_text t = {0};
                gopt_figures[k]->write_title(&t, f, &f->clusters[0]);
                assert_string_equal(t.s, titles[i][1]);
                gopt_text_fini(&t);
            }
    gopt_findings_free(f);
}

static void data_hold_the_findings(void **state)
{
    gopt_findings *f = test_findings();
    gopt_gallery g = drawn_on(*state, f, *state);
    assert_content(*state, "cost_benefit", "tsv", "1.84\t3.21112805\t3.18564291\t3.23681707\t12.7871094\t17\n");
    assert_content(*state, "synergy", "tsv", "0\t0\t0.0794963\t1.083\tfuse_chain\tfuse_conv_act\n");
    assert_content(*state, "synergy", "tsv",
                   "\t0\t0.997\tfuse_conv_act\tfold_constants\n"); /* no evidence, no colour */
    assert_content(*state, "anytime", "tsv", "47.2\t1.312\t17\n59.4\t1.312\t17\n");
    assert_content(*state, "memory", "tsv", "chosen: 17\t12.8 MiB\n");
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void put_file(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX];
    gopt_err e = {0};
    assert_ok(gopt_file_write_text(test_path(path, dir, file), text, &e), &e);
}

static void what_is_not_there_is_not_drawn(void **state)
{
    static const char *const stale[] = {"synergy.gp", "synergy.tsv",  "synergy.svg",
                                        "memory.svg", "memory_2.svg", "wall_time.svg.part"};
    gopt_findings *f = small_findings();
    for (int i = 0; i < GOPT_COUNT(stale); i++)
        put_file(*state, stale[i], "of an earlier report");
    put_file(*state, "mine.svg", "of somebody else");
    gopt_gallery g = drawn_on(*state, f, *state);
    assert_int_equal(g.n_drawings, 2);
    assert_null(gopt_gallery_find(&g, "synergy", 0));
    for (int i = 0; i < GOPT_COUNT(stale); i++)
        assert_false(exists(*state, stale[i]));
    assert_true(exists(*state, "memory.gp"));
    assert_true(exists(*state, "mine.svg"));
    gopt_arena_fini(&g.arena);
    f->clusters[0].n_trials = 0;
    g = drawn_on(*state, f, *state);
    assert_int_equal(g.n_drawings, 0);
    assert_false(exists(*state, "memory.gp"));
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void every_cluster_has_its_own(void **state)
{
    gopt_findings *f = small_findings();
    gopt_finding_cluster *two = gopt_findings_take_clusters(f, 2);
    two[0] = two[1] = f->clusters[0];
    f->clusters = two;
    f->n_clusters = 2;
    gopt_gallery g = drawn(f, *state);
    assert_true(!g.problem || strstr(g.problem, "not installed"));
    assert_string_equal(gopt_gallery_find(&g, "memory", 0)->stem, "memory_1");
    assert_string_equal(gopt_gallery_find(&g, "memory", 1)->stem, "memory_2");
    assert_true(exists(*state, "memory_1.gp") && exists(*state, "memory_2.gp"));
    assert_content(*state, "memory_2", "gp", "'memory_2.tsv'");
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void figures_of_one_kind_are_drawn(void **state)
{
    if (!have_gnuplot())
        return;
    gopt_findings *f = test_findings();
    gopt_finding_cluster *c = &f->clusters[0];
    for (int i = 1; i < c->n_trials; i++) { /* all the same: no axis has a range of its own */
        int id = c->trials[i].id;
        c->trials[i] = c->trials[0];
        c->trials[i].id = id;
        c->trials[i].speedup = (gopt_finding_ratio){1, 1, 1, GOPT_FINDING_TIE};
    }
    f->traffic.hit_rate = 1;
    gopt_gallery g = drawn(f, *state);
    if (g.problem)
        fail_msg("%s", g.problem);
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

#define EVIL "'; system('touch pwned'); `touch pwned` \"<b>\"\t#&\xff\n"

static void names_run_nothing(void **state)
{
    if (!have_gnuplot())
        return;
    gopt_findings *f = test_findings();
    gopt_finding_single single[2] = {f->clusters[0].single[1], f->clusters[0].single[2]};
    gopt_finding_pair pair = f->clusters[0].pairs[0];
    gopt_finding_stage stage = {EVIL, 1000000};
    single[0].pass = pair.first = EVIL;
    pair.second = "@x $y {/Bold z} \\";
    f->clusters[0].single = single;
    f->clusters[0].n_single = 2;
    f->clusters[0].pairs = &pair;
    f->clusters[0].n_pairs = 1;
    f->clusters[0].trials[17].compile.stages = &stage;
    f->clusters[0].trials[17].compile.n_stages = 1;
    gopt_gallery g = drawn(f, *state);
    if (g.problem)
        fail_msg("%s", g.problem);
    assert_false(exists(*state, "pwned"));
    assert_content(*state, "pass_effects", "svg", "Alone, '; system(");
    for (int i = 0; i < g.n_drawings; i++) {
        assert_null(strstr(g.drawings[i].svg, "<b>"));
        assert_null(strchr(g.drawings[i].svg, '\xff'));
    }
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void without_gnuplot_all_else_is_there(void **state)
{
    gopt_findings *f = test_findings();
    gopt_gallery g = drawn_on(*state, f, *state);
    assert_non_null(strstr(g.problem, "gnuplot is not installed"));
    assert_null(gopt_gallery_find(&g, "memory", 0)->svg);
    assert_true(exists(*state, "memory.gp"));
    assert_false(exists(*state, "memory.svg"));
    gopt_document d = {0};
    gopt_text text = {0}, html = {0};
    gopt_err e = {0};
    assert_ok(gopt_report_compose(&d, f, &g, *state, &e), &e);
    gopt_document_text(&d, &text);
    gopt_document_html(&d, &html);
    assert_non_null(strstr(text.s, "gnuplot is not installed"));
    assert_null(strstr(text.s, "Figure: "));
    assert_null(strstr(html.s, "<figure"));
    gopt_text_fini(&text);
    gopt_text_fini(&html);
    gopt_arena_fini(&d.arena);
    gopt_arena_fini(&g.arena);
    gopt_findings_free(f);
}

static void a_gnuplot_that_fails_is_quoted(void **state)
{
    static const char *const program[][2] = {
        {"#!/bin/sh\necho 'no such terminal' >&2\nexit 3\n", "memory was not drawn: no such terminal "},
        {"#!/bin/sh\nkill -9 $$\n", "memory was not drawn: gnuplot failed"},
        {"#!/bin/sh\nexit 0\n", "memory was not drawn: gnuplot failed"},
        {"#!/bin/sh\necho '<svg>' >memory.svg.part\n", "memory was not drawn: gnuplot wrote no picture"},
        {"not a program", "memory was not drawn: "}};
    gopt_findings *f = small_findings();
    char path[PATH_MAX];
    for (int i = 0; i < GOPT_COUNT(program); i++) {
        put_file(*state, "gnuplot", program[i][0]);
        assert_int_equal(chmod(test_path(path, *state, "gnuplot"), 0755), 0);
        gopt_gallery g = drawn_on(*state, f, *state);
        if (!g.problem || strncmp(g.problem, program[i][1], strlen(program[i][1])) != 0)
            fail_msg("%d: %s", i, g.problem ? g.problem : "no problem");
        assert_false(exists(*state, "memory.svg"));
        assert_false(exists(*state, "memory.svg.part"));
        gopt_arena_fini(&g.arena);
    }
    gopt_findings_free(f);
}

typedef struct drawing_job {
    const gopt_findings *f;
    const char *dir;
} drawing_job;

static gopt_status make(void *ctx, gopt_err *e)
{
    const drawing_job *job = ctx;
    gopt_gallery g;
    gopt_status s = gopt_gallery_draw(&g, job->f, job->dir, e);
    gopt_arena_fini(&g.arena);
    return s;
}

static void survives_every_allocation_failure(void **state)
{
    gopt_findings *f = small_findings();
    assert_true(test_every_oom(make, &(drawing_job){f, *state}) > 20);
    gopt_findings_free(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)
    const struct CMUnitTest tests[] = {
        T(every_figure_is_drawn),
        T(a_reader_draws_them_again),
        cmocka_unit_test(titles_give_the_answer),
        T(data_hold_the_findings),
        T(what_is_not_there_is_not_drawn),
        T(every_cluster_has_its_own),
        T(figures_of_one_kind_are_drawn),
        T(names_run_nothing),
        T(without_gnuplot_all_else_is_there),
        T(a_gnuplot_that_fails_is_quoted),
        T(survives_every_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
