/* test_job.c: the parts of a job: trials in workers, rounds, bundles, and what is set up before. */
#include "job.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "effects.h"
#include "support/graphs.h"
#include "support/processes.h"
#include "support/subject.h"
#include "support/test.h"

static const gopt_study_identity identity = {
    .model_sha256 = "00", .shapes = "", .tool = "test", .device = "here", .seed = 1};

typedef struct scene {
    test_subject subject;
    gopt_tune_options options;
    gopt_job job;
} scene;

/* A job in dir with a minute left, set up by hand. */
static scene *begin(const char *dir)
{
    char path[4096];
    gopt_err e = {0};
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    test_subject_make(&s->subject, test_subject_model, 2, dir);
    s->options =
        (gopt_tune_options){.out = dir, .budget_s = 5, .sampler = "auto", .goal = gopt_goal_default, .seed = 1};
    gopt_job *j = &s->job;
    *j = (gopt_job){.options = &s->options, .bench = s->subject.bench, .baseline.trial = -1, .begin = gopt_now()};
    j->search_end = j->end = j->begin + 60 * GOPT_NS_PER_S;
    gopt_random_seed(&j->random, 1);
    assert_ok(gopt_dir_make(test_path(path, dir, "bundles"), &e), &e);
    assert_ok(gopt_study_open(&j->study, test_path(path, dir, "study.db"), &identity, true, &e), &e);
    return s;
}

static void end(scene *s)
{
    gopt_contender_stop(&s->job.baseline);
    gopt_study_close(s->job.study);
    test_subject_fini(&s->subject);
    free(s);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no worker is left */
}

static void try_one(scene *s, bool optimized, gopt_trial_role role, gopt_contender *out)
{
    gopt_err e = {0};
    gopt_config c;
    if (optimized)
        gopt_config_default(&c);
    else
        gopt_config_baseline(&c);
    c.v[gopt_setting_find("engine.threads")] = 1;
    assert_ok(gopt_job_try(&s->job, &c, role, -1, -1, out, &e), &e);
}

static gopt_trial *last_trial(scene *s)
{
    return &s->job.study->trials[s->job.study->n_trials - 1];
}

/* ---- trials ---- */

static void a_trial_is_compiled_verified_stored_and_warm(void **state)
{
    scene *s = begin(*state);
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    assert_int_equal(s->job.baseline.trial, 0);
    assert_true(gopt_worker_alive(s->job.baseline.worker));
    assert_true(s->job.baseline.warm_ns > 0 && s->job.baseline.repeats >= 1);
    const gopt_trial *t = last_trial(s);
    assert_true(t->role == GOPT_ROLE_BASELINE && t->reply.status == GOPT_TRIAL_ok && t->elapsed_s > 0);
    assert_true(s->job.spent.compile > 0 && s->job.spent.verify > 0 && s->job.spent.measure > 0);
    end(s);
}

static void the_same_plan_again_is_pruned(void **state)
{
    scene *s = begin(*state);
    gopt_contender again;
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    try_one(s, false, GOPT_ROLE_SEARCH, &again);
    assert_null(again.worker);
    assert_int_equal(again.trial, 1);
    assert_int_equal(last_trial(s)->reply.status, GOPT_TRIAL_pruned);
    assert_string_equal(last_trial(s)->reply.why, "same plan as trial 0");
    end(s);
}

static void a_wrong_trial_is_stored_and_not_timed(void **state)
{
    scene *s = begin(*state);
    gopt_contender c;
    ((float *)s->subject.outputs[0].data)[0] = 7;
    try_one(s, false, GOPT_ROLE_SEARCH, &c);
    assert_null(c.worker);
    assert_int_equal(last_trial(s)->reply.status, GOPT_TRIAL_wrong);
    assert_non_null(strstr(last_trial(s)->reply.why, "element 0"));
    end(s);
}

static void an_interrupted_trial_leaves_nothing(void **state)
{
    gopt_err e = {0};
    gopt_config c;
    gopt_contender out;
    scene *s = begin(*state);
    gopt_config_baseline(&c);
    gopt_job_interrupted = 1;
    assert_int_equal(gopt_job_try(&s->job, &c, GOPT_ROLE_SEARCH, -1, -1, &out, &e), GOPT_EINTR);
    assert_null(out.worker);
    assert_int_equal(s->job.study->n_trials, 0);
    assert_true(gopt_job_over(&s->job));
    s->job.writing = true; /* what is left to write is written all the same */
    assert_ok(gopt_job_try(&s->job, &c, GOPT_ROLE_SEARCH, -1, -1, &out, &e), &e);
    gopt_contender_stop(&out);
    gopt_job_interrupted = 0;
    end(s);
}

/* ---- rounds ---- */

static void a_round_takes_the_baseline_twice_and_everyone_once(void **state)
{
    enum { ROUNDS = 12 };
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender other;
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    try_one(s, true, GOPT_ROLE_DEFAULT, &other);
    assert_ok(gopt_job_race(&s->job, &other, 1, GOPT_SAMPLE_FINAL, ROUNDS, s->job.end, &e), &e);
    const gopt_study *study = s->job.study;
    assert_int_equal(study->n_samples, 3 * ROUNDS);
    assert_int_equal(s->job.rounds, ROUNDS);
    bool first = false, later = false;
    for (int r = 0; r < ROUNDS; r++) {
        int base = 0;
        for (int k = 0; k < 3; k++) {
            const gopt_sample *x = &study->samples[3 * r + k];
            assert_true(x->round == r && x->stage == GOPT_SAMPLE_FINAL && x->ns > 0 && x->repeats >= 1);
            assert_true(x->ns * x->repeats > 0.5e6); /* long enough for the clock */
            base += x->trial == 0;
        }
        assert_int_equal(base, 2);
        first = first || study->samples[3 * r].trial == 1;
        later = later || study->samples[3 * r].trial == 0;
    }
    assert_true(first && later); /* the order is random */
    gopt_contender_stop(&other);
    end(s);
}

/* Whose goal is a percentile needs samples of one inference each, of the baseline, too. */
static void a_percentile_is_one_of_single_inferences(void **state)
{
    enum { ROUNDS = 4 };
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender other;
    s->options.goal.objective = GOPT_OBJECTIVE_p99;
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    try_one(s, true, GOPT_ROLE_DEFAULT, &other);
    assert_true(s->job.baseline.warm_ns < 5e5); /* quick enough for several in one sample */
    assert_ok(gopt_job_race(&s->job, &other, 1, GOPT_SAMPLE_RACE, ROUNDS, s->job.end, &e), &e);
    assert_int_equal(s->job.study->n_samples, 3 * ROUNDS);
    for (int i = 0; i < s->job.study->n_samples; i++)
        assert_int_equal(s->job.study->samples[i].repeats, 1);
    for (int trial = 0; trial < 2; trial++)
        assert_int_equal(gopt_effects_repeats(s->job.study, trial), 1);
    gopt_contender_stop(&other);
    end(s);
}

static void a_race_ends_at_its_deadline(void **state)
{
    gopt_err e = {0};
    scene *s = begin(*state);
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    int64_t now = gopt_now();
    assert_ok(gopt_job_race(&s->job, NULL, 0, GOPT_SAMPLE_RACE, INT32_MAX, now + GOPT_NS_PER_S / 5, &e), &e);
    assert_true(gopt_now() - now < 2 * GOPT_NS_PER_S);
    assert_true(s->job.rounds > 0);
    gopt_job_interrupted = 1;
    assert_int_equal(gopt_job_race(&s->job, NULL, 0, GOPT_SAMPLE_RACE, 5, s->job.end, &e), GOPT_EINTR);
    gopt_job_interrupted = 0;
    end(s);
}

static void who_fails_in_a_race_is_out_of_it(void **state)
{
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender other;
    pid_t before[8], after[8];
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    int n = test_children(getpid(), before, 8);
    try_one(s, true, GOPT_ROLE_DEFAULT, &other);
    assert_int_equal(test_children(getpid(), after, 8), n + 1);
    for (int i = 0; i <= n; i++)
        if (after[i] != before[0])
            kill(after[i], SIGKILL);
    assert_ok(gopt_job_race(&s->job, &other, 1, GOPT_SAMPLE_RACE, 4, s->job.end, &e), &e);
    assert_null(other.worker);
    assert_int_equal(last_trial(s)->reply.status, GOPT_TRIAL_crashed);
    assert_non_null(strstr(last_trial(s)->reply.why, "signal 9"));
    assert_int_equal(s->job.study->n_samples, 4 * 2);
    end(s);
}

static void a_baseline_that_is_killed_is_started_again(void **state)
{
    gopt_err e = {0};
    scene *s = begin(*state);
    pid_t pid[2];
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    assert_int_equal(test_children(getpid(), pid, 2), 1);
    kill(pid[0], SIGKILL);
    assert_ok(gopt_job_race(&s->job, NULL, 0, GOPT_SAMPLE_RACE, 3, s->job.end, &e), &e);
    assert_true(gopt_worker_alive(s->job.baseline.worker));
    assert_int_equal(last_trial(s)->reply.status, GOPT_TRIAL_ok);
    assert_int_equal(s->job.study->n_samples, 3 * 2 - 1);
    ((float *)s->subject.outputs[0].data)[0] = 7; /* the next one cannot start */
    assert_int_equal(test_children(getpid(), pid, 2), 1);
    kill(pid[0], SIGKILL);
    assert_int_equal(gopt_job_race(&s->job, NULL, 0, GOPT_SAMPLE_RACE, 3, s->job.end, &e), GOPT_EUNSUP);
    assert_non_null(strstr(e.msg, "signal 9"));
    end(s);
}

/* ---- coming back, bundles, traces ---- */

static void a_trial_is_revived_from_its_configuration_and_its_bundle(void **state)
{
    char path[4096];
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender c;
    try_one(s, true, GOPT_ROLE_DEFAULT, &c);
    assert_ok(gopt_contender_bundle(&s->job, &c, &e), &e);
    assert_string_equal(last_trial(s)->bundle, "trial-0.gopt");
    assert_true(gopt_file_exists(test_path(path, *state, "bundles/trial-0.gopt")));
    assert_ok(gopt_contender_bundle(&s->job, &c, &e), &e); /* once is enough */
    gopt_contender_stop(&c);
    assert_ok(gopt_job_revive(&s->job, 0, NULL, &c, &e), &e);
    assert_true(gopt_worker_alive(c.worker) && c.warm_ns > 0 && c.trial == 0);
    gopt_contender_stop(&c);
    assert_ok(gopt_job_revive(&s->job, 0, path, &c, &e), &e);
    assert_true(gopt_worker_alive(c.worker));
    gopt_contender_stop(&c);
    assert_int_equal(s->job.study->n_trials, 1); /* it is the same trial */
    assert_ok(gopt_job_revive(&s->job, 0, "no-such.gopt", &c, &e), &e);
    assert_null(c.worker);
    assert_int_equal(last_trial(s)->reply.status, GOPT_TRIAL_run_failed);
    end(s);
}

static void a_bundle_is_made_when_it_is_needed(void **state)
{
    char path[4096];
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender c;
    try_one(s, true, GOPT_ROLE_DEFAULT, &c);
    gopt_contender_stop(&c);
    assert_ok(gopt_job_need_bundle(&s->job, -1, &e), &e);
    assert_ok(gopt_job_need_bundle(&s->job, 0, &e), &e);
    assert_true(gopt_file_exists(test_path(path, *state, "bundles/trial-0.gopt")));
    assert_true(last_trial(s)->n_steps > 0 && last_trial(s)->traced_ns > 0); /* it may be chosen: it is traced, too */
    assert_ok(gopt_dir_remove(test_path(path, *state, "bundles"), &e), &e);
    try_one(s, false, GOPT_ROLE_BASELINE, &c);
    assert_int_equal(gopt_contender_bundle(&s->job, &c, &e), GOPT_EIO); /* nowhere to write it */
    assert_non_null(strstr(e.msg, "trial-1.gopt"));
    assert_null(last_trial(s)->bundle);
    gopt_contender_stop(&c);
    end(s);
}

static void a_trace_names_the_steps(void **state)
{
    gopt_err e = {0};
    scene *s = begin(*state);
    gopt_contender none = {.trial = -1};
    try_one(s, false, GOPT_ROLE_BASELINE, &s->job.baseline);
    assert_ok(gopt_job_trace(&s->job, &none, &e), &e);
    assert_int_equal(last_trial(s)->n_steps, 0);
    assert_ok(gopt_job_trace(&s->job, &s->job.baseline, &e), &e);
    const gopt_trial *t = last_trial(s);
    assert_int_equal(t->n_steps, 5);
    assert_string_equal(t->steps[0].op, "MatMul");
    assert_true(t->traced_ns > 0 && t->steps[0].n_origin == 1);
    end(s);
}

/* ---- setting up ---- */

static const char open_model[] = "input x float32[batch,seq]\n"
                                 "const w float32[1,7] random(1)\n"
                                 "n1: y float32[batch,seq] = Relu(x)\n"
                                 "output y\n";

static gopt_status set_up(gopt_job *j, gopt_tune_options *o, const char *dir, const char *text, gopt_err *e)
{
    static char model[4096], out[4096];
    gopt_graph *g = test_graph(text);
    assert_ok(gopt_model_export(g, test_path(model, dir, "m.onnx"), e), e);
    gopt_graph_free(g);
    if (!o->model)
        o->model = model;
    if (!o->out)
        o->out = test_path(out, dir, "out");
    o->budget_s = 20;
    *j = (gopt_job){.options = o, .begin = gopt_now(), .baseline.trial = -1};
    return gopt_job_setup(j, e);
}

static void a_job_is_set_up_from_a_model(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_job j;
    gopt_tune_options o = {.tolerance = GOPT_TOLERANCE_DEFAULT, .threads = {1, 2}, .n_threads = 2, .seed = 5};
    o.shapes = (gopt_shapes){.name = {"seq"}, .size = {3}, .n = 1};
    assert_ok(set_up(&j, &o, *state, open_model, &e), &e);
    assert_string_equal(gopt_text_str(&j.shapes), "batch=1,seq=3");
    assert_non_null(strstr(j.shape_note, "1 symbolic dimension was not given"));
    assert_int_equal(j.bench.target.threads, 2);
    assert_int_equal(j.bench.n_cases, GOPT_INPUT_CASES);
    for (int k = 0; k < GOPT_INPUT_CASES; k++)
        assert_int_equal(j.bench.kind[k], k);
    const gopt_tensor *x = j.bench.inputs[0][0], *y = &j.bench.expected[0][0];
    assert_int_equal(gopt_tensor_count(y), 3);
    for (int i = 0; i < 3; i++) {
        double v = gopt_tensor_get(x, i);
        assert_true(gopt_tensor_get(y, i) == (v > 0 ? v : 0));
    }
    assert_true(gopt_file_exists(test_path(path, *state, "out/study.db")));
    assert_int_equal(strlen(j.info.sha256), 64);
    gopt_job_fini(&j);
}

/* Of the lengths that are proposed, 128 is the first that the kernel fits into. */
static void a_length_that_fits_is_found(void **state)
{
    static const char text[] = "input x float32[batch,1,len]\n"
                               "const w float32[4,1,%d] random(1)\n"
                               "n1: y float32[?,4,?] = Conv(x, w)\n"
                               "output y\n";
    char model[sizeof text + 8];
    gopt_err e = {0};
    gopt_job j;
    gopt_tune_options o = {.tolerance = GOPT_TOLERANCE_DEFAULT, .seed = 5};
    snprintf(model, sizeof model, text, 100);
    assert_ok(set_up(&j, &o, *state, model, &e), &e);
    assert_string_equal(gopt_text_str(&j.shapes), "batch=1,len=128");
    assert_int_equal(j.bench.n_cases, GOPT_INPUT_CASES);
    gopt_job_fini(&j);
    snprintf(model, sizeof model, text, 5000);
    assert_int_equal(set_up(&j, &o, *state, model, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "no size tried for len fits: choose with --shape"));
    gopt_job_fini(&j);
}

static void what_cannot_be_set_up_says_why(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_job j;
    gopt_tune_options o = {.tolerance = GOPT_TOLERANCE_DEFAULT, .seed = 5};
    o.shapes = (gopt_shapes){.name = {"sek"}, .size = {3}, .n = 1};
    assert_int_equal(set_up(&j, &o, *state, open_model, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean 'seq'?"));
    gopt_job_fini(&j);
    o = (gopt_tune_options){.model = "no-such-model.onnx"};
    assert_int_not_equal(set_up(&j, &o, *state, open_model, &e), GOPT_OK);
    assert_non_null(strstr(e.msg, "no-such-model.onnx"));
    gopt_job_fini(&j);
    o = (gopt_tune_options){.out = test_path(path, *state, "file")};
    assert_ok(gopt_file_write_text(path, "", &e), &e);
    assert_int_equal(set_up(&j, &o, *state, open_model, &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, path));
    gopt_job_fini(&j);
}

/* Continuing needs the same seed; --fresh takes any. */
static void a_study_of_another_seed_is_refused(void **state)
{
    gopt_err e = {0};
    gopt_job j;
    gopt_tune_options o = {.tolerance = GOPT_TOLERANCE_DEFAULT, .seed = 5};
    assert_ok(set_up(&j, &o, *state, open_model, &e), &e);
    gopt_job_fini(&j);
    o.seed = 6;
    assert_int_equal(set_up(&j, &o, *state, open_model, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "another seed"));
    gopt_job_fini(&j);
    o.fresh = true;
    assert_ok(set_up(&j, &o, *state, open_model, &e), &e);
    gopt_job_fini(&j);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        D(a_trial_is_compiled_verified_stored_and_warm),
        D(the_same_plan_again_is_pruned),
        D(a_wrong_trial_is_stored_and_not_timed),
        D(an_interrupted_trial_leaves_nothing),
        D(a_round_takes_the_baseline_twice_and_everyone_once),
        D(a_percentile_is_one_of_single_inferences),
        D(a_race_ends_at_its_deadline),
        D(who_fails_in_a_race_is_out_of_it),
        D(a_baseline_that_is_killed_is_started_again),
        D(a_trial_is_revived_from_its_configuration_and_its_bundle),
        D(a_bundle_is_made_when_it_is_needed),
        D(a_trace_names_the_steps),
        D(a_job_is_set_up_from_a_model),
        D(a_length_that_fits_is_found),
        D(what_cannot_be_set_up_says_why),
        D(a_study_of_another_seed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
