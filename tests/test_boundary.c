/* test_boundary.c: a whole job whose default is right at the shape that is tuned and wrong at another one. */
#define GOPT_PASSES_DEF "boundary_passes.def"
#include "pass.c"

#include "base/clock.h"
#include "base/file.h"
#include "decide.h"
#include "job.h"
#include "support/graphs.h"
#include "support/test.h"
#include "tune.h"

/* Takes a batch of one for something else. */
static gopt_status spoil_one(gopt_graph *g, gopt_pass_run *r, gopt_err *e)
{
    (void)e;
    for (int i = 0; i < g->n_nodes; i++) {
        gopt_node *n = g->nodes[i];
        if (n->dead || n->post.result >= 0 || strcmp(n->op->name, "Tanh") || n->out[0]->fact.dim[0].k != 1)
            continue;
        if (gopt_node_replace(n, gopt_op_find("", "Softplus"), (gopt_attrs){0}, n->in, 1, &n, 1))
            r->changed++;
    }
    return GOPT_OK;
}

const gopt_pass gopt_pass_planted_narrow = {
    .name = "planted_narrow", .doc = "planted", .revision = 1, .run = spoil_one};

static const char model_text[] = "input x float32[n,16]\n"
                                 "act: a float32[n,16] = Tanh(x)\n"
                                 "last: y float32[n,16] = Neg(a)\n"
                                 "output y\n";

/* A short job: trial 0 is the baseline, trial 1 has the planted pass alone. */
static void run_job(gopt_tune_options *t, const char *dir, char *model, char *out)
{
    static char preset[4096], cache[4096];
    char text[4096] = "engine.threads: 1\n";
    gopt_err e = {0};
    gopt_graph *g = test_graph(model_text);
    assert_ok(gopt_model_export(g, test_path(model, dir, "m.onnx"), &e), &e);
    gopt_graph_free(g);
    for (int i = 0; gopt_passes[i]; i++)
        if (strcmp(gopt_passes[i]->name, "planted_narrow") != 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "pass.%s: off\n", gopt_passes[i]->name);
    assert_ok(gopt_file_write_text(test_path(preset, dir, "p.yaml"), text, &e), &e);
    setenv("GOPT_CACHE_DIR", test_path(cache, dir, "cache"), 1);
    *t = (gopt_tune_options){.sampler = "auto",
                             .model = model,
                             .out = test_path(out, dir, "out"),
                             .preset = preset,
                             .goal = {.objective = GOPT_OBJECTIVE_latency, .requests = 100},
                             .tolerance = {.rel = -1, .abs = -1},
                             .threads = {1},
                             .n_threads = 1,
                             .shapes = {.name = {"n"}, .size = {4}, .n = 1},
                             .seed = 1,
                             .budget_s = 4,
                             .progress = GOPT_PROGRESS_NONE};
    assert_ok(gopt_tune(t, NULL, &e), &e);
}

static void expect(const gopt_tune_options *t, gopt_study *study, int trial, const char *said)
{
    gopt_err e = {0};
    gopt_job j = {.options = t, .study = study};
    gopt_text_put(&j.shapes, "n=4");
    assert_ok(gopt_job_check_boundaries(&j, trial, gopt_now() + 20 * GOPT_NS_PER_S, &e), &e);
    if (!strstr(gopt_text_str(&j.boundaries), said))
        fail_msg("\"%s\" instead of \"%s\"", gopt_text_str(&j.boundaries), said);
    gopt_text_fini(&j.shapes);
    gopt_text_fini(&j.boundaries);
}

static void another_shape_shows_what_the_tuned_one_hides(void **state)
{
    char model[4096], out[4096], path[4096];
    gopt_tune_options t;
    gopt_study *study;
    gopt_findings *f;
    gopt_err e = {0};
    bool told = false;
    run_job(&t, *state, model, out);
    assert_ok(gopt_study_read(&study, test_path(path, out, "study.db"), &e), &e);
    assert_ok(gopt_decide(&f, study, &t.goal, &e), &e);
    for (int i = 0; i < f->n_notes; i++)
        told = told || strstr(f->notes[i], "at other shapes: ") || strstr(f->notes[i], "at another shape, ");
    assert_true(told);
    assert_int_equal(study->trials[1].reply.status, GOPT_TRIAL_pruned); /* the same plan where it was tuned */
    expect(&t, study, 0, "also verified at other shapes: n=1, n=5");
    expect(&t, study, 1, "computes something else at another shape, n=1: output 0: element 0");
    gopt_findings_free(f);
    gopt_study_close(study);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(another_shape_shows_what_the_tuned_one_hides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
