/* test_tune.c: whole jobs on a small model: what they leave, what ends them, how they go on, what they do with a
 * compiler that makes nonsense. */
#include "tune.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "again.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "effects.h"
#include "gopt.h"
#include "lock.h"
#include "support/child.h"
#include "support/graphs.h"
#include "support/test.h"

static const char model_text[] = "input x float32[batch,64]\n"
                                 "const w1 float32[64,96] random(1)\n"
                                 "const b1 float32[96] random(2)\n"
                                 "const w2 float32[96,32] random(3)\n"
                                 "n1: h float32[batch,96] = MatMul(x, w1)\n"
                                 "n2: c float32[batch,96] = Add(h, b1)\n"
                                 "n3: s float32[batch,96] = Sigmoid(c)\n"
                                 "n4: m float32[batch,96] = Mul(c, s)\n"
                                 "n5: i float32[batch,96] = Identity(m)\n"
                                 "n6: y float32[batch,32] = MatMul(i, w2)\n"
                                 "n7: z float32[batch,32] = Softmax(y)\n"
                                 "output z\n";

static char model_path[4096], out_path[4096], cache_path[4096];

/* Options of a job in dir; model and cache lie there, too. */
static gopt_tune_options options_in(const char *dir, double budget_s)
{
    gopt_err e = {0};
    test_path(model_path, dir, "m.onnx");
    test_path(out_path, dir, "out");
    setenv("GOPT_CACHE_DIR", test_path(cache_path, dir, "cache"), 1);
    if (!gopt_file_exists(model_path)) {
        gopt_graph *g = test_graph(model_text);
        assert_ok(gopt_model_export(g, model_path, &e), &e);
        gopt_graph_free(g);
    }
    return (gopt_tune_options){.model = model_path,
                               .out = out_path,
                               .sampler = "auto",
                               .budget_s = budget_s,
                               .goal = gopt_goal_default,
                               .tolerance = GOPT_TOLERANCE_DEFAULT,
                               .threads = {1, 2},
                               .n_threads = 2,
                               .seed = 7,
                               .progress = GOPT_PROGRESS_NONE};
}

static gopt_status tune(const gopt_tune_options *o, gopt_text *summary, gopt_err *e)
{
    gopt_job_interrupted = 0;
    gopt_status s = gopt_tune(o, summary, e);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    return s;
}

static gopt_study *open_study(const char *dir)
{
    char path[4096];
    gopt_err e = {0};
    gopt_study *s;
    assert_ok(gopt_study_read(&s, test_path(path, dir, "out/study.db"), &e), &e);
    return s;
}

static const char *const left[] = {"manifest.yaml", "report.html", "report.txt", "findings.json", "study.db"};

static void assert_results(const char *dir)
{
    char name[128], path[4096];
    for (int i = 0; i < GOPT_COUNT(left); i++) {
        snprintf(name, sizeof name, "out/%s", left[i]);
        if (!gopt_file_exists(test_path(path, dir, name)))
            fail_msg("no %s", name);
    }
    /* What the manifest says can be served. */
    gopt_err e = {0};
    gopt_model *m;
    gopt_session *s;
    assert_ok(gopt_model_open(&m, test_path(path, dir, "out/manifest.yaml"), NULL, &e), &e);
    assert_ok(gopt_session_new(&s, m, &e), &e);
    float data[64] = {0};
    gopt_tensor x = {.dtype = GOPT_DTYPE_F32, .rank = 2, .dim = {1, 64}, .data = data};
    assert_ok(gopt_session_bind(s, 0, &x, &e), &e);
    assert_ok(gopt_session_run(s, &e), &e);
    double sum = 0;
    for (int i = 0; i < 32; i++)
        sum += gopt_tensor_get(gopt_session_output(s, 0), i);
    assert_true(sum > 0.999 && sum < 1.001); /* of a Softmax */
    gopt_session_free(s);
    gopt_model_close(m);
}

static int count_role(const gopt_study *s, gopt_trial_role role)
{
    int n = 0;
    for (int i = 0; i < s->n_trials; i++)
        n += s->trials[i].role == role;
    return n;
}

static void assert_nothing_failed(const gopt_study *s)
{
    for (int i = 0; i < s->n_trials; i++)
        if (s->trials[i].reply.status != GOPT_TRIAL_ok && s->trials[i].reply.status != GOPT_TRIAL_pruned)
            fail_msg("trial %d %s: %s", i, gopt_trial_status_name(s->trials[i].reply.status), s->trials[i].reply.why);
}

enum { BUDGET_S = 4 };

static void assert_nothing_in_scratch(void)
{
    char path[4096];
    DIR *d = opendir(test_path(path, cache_path, "scratch"));
    for (const struct dirent *one; d && (one = readdir(d));)
        assert_int_equal(one->d_name[0], '.');
    if (d)
        closedir(d);
}

static void run_once(const char *dir, const gopt_tune_options *o, int run)
{
    gopt_err e = {0};
    gopt_text summary = {0};
    int64_t begin = gopt_now();
    assert_ok(tune(o, &summary, &e), &e);
    assert_true(gopt_now() - begin < (BUDGET_S + 2) * GOPT_NS_PER_S);
    assert_non_null(strstr(gopt_text_str(&summary), "baseline"));
    gopt_text_fini(&summary);
    assert_results(dir);
    assert_nothing_in_scratch();
    gopt_study *s = open_study(dir);
    assert_int_equal(s->run, run);
    assert_int_equal(count_role(s, GOPT_ROLE_BASELINE), 1);
    assert_int_equal(count_role(s, GOPT_ROLE_DEFAULT), 1);
    assert_non_null(gopt_effects_baseline(s));
    assert_non_null(gopt_effects_default(s));
    assert_nothing_failed(s);
    assert_true(s->trials[0].n_steps == 7 && s->trials[1].n_steps > 0);
    gopt_study_close(s);
}

static char *read_file(const char *path)
{
    gopt_err e = {0};
    gopt_mapping m;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    char *text = malloc(m.bytes + 1);
    assert_non_null(text);
    memcpy(text, m.data, m.bytes);
    text[m.bytes] = 0;
    gopt_file_unmap(&m);
    return text;
}

/* Nothing is measured, everything is written again, for another goal. */
static void decide_again(const char *dir)
{
    char path[4096];
    gopt_err e = {0};
    gopt_text summary = {0};
    const gopt_goal_change change = {.objective = GOPT_OBJECTIVE_memory,
                                     .alpha = NAN,
                                     .requests = 5,
                                     .max_memory = NAN,
                                     .max_compile_ns = NAN,
                                     .max_latency_ns = NAN};
    test_path(path, dir, "out/findings.json");
    assert_int_equal(remove(path), 0);
    gopt_status s = gopt_decide_again(out_path, &change, &summary, NULL, &e);
    assert_true(!s || (s == GOPT_EDIFF && strstr(e.msg, "has no bundle"))); /* as the choice happens to be */
    assert_non_null(strstr(gopt_text_str(&summary), "baseline"));
    char *findings = read_file(path);
    const char *objective = strstr(findings, "\"objective\"");
    assert_true(objective && strstr(objective, "\"memory\"") - objective < 20);
    free(findings);
    gopt_text_fini(&summary);
    assert_results(dir);
    assert_int_equal(gopt_decide_again("no-such-folder", &change, &summary, NULL, &e), GOPT_EINPUT);
    gopt_text_fini(&summary);
}

static double number_after(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

/* Elapsed time and budget are of all runs, as the trials are; the choice is traced like baseline and default. */
static void assert_told_of_all(const char *dir, int runs)
{
    char path[4096], where[64];
    char *findings = read_file(test_path(path, dir, "out/findings.json"));
    char *report = read_file(test_path(path, dir, "out/report.txt"));
    assert_true(number_after(findings, "\"budget_s\":") == runs * BUDGET_S);
    assert_true(number_after(findings, "\"elapsed_s\":") > (runs - 1) * (BUDGET_S - 1.0));
    snprintf(where, sizeof where, " in %d runs, stopped: ", runs);
    assert_true((strstr(report, where) != NULL) == (runs > 1));
    assert_null(strstr(report, "was not traced"));
    free(findings);
    free(report);
}

/* On a busy machine a run may be over before passes are tried alone; the next goes on from there. */
static void a_job_keeps_its_budget_and_goes_on_later(void **state)
{
    enum { RUNS_MAX = 6 };
    gopt_err e = {0};
    gopt_tune_options o = options_in(*state, BUDGET_S);
    int trials = 0, samples = 0, single = 0;
    for (int run = 1; run <= 2 || (single == 0 && run <= RUNS_MAX); run++) {
        run_once(*state, &o, run);
        assert_told_of_all(*state, run);
        gopt_study *s = open_study(*state);
        assert_true(s->n_trials >= trials && s->n_samples > samples && s->spent_before > run);
        trials = s->n_trials;
        samples = s->n_samples;
        single = count_role(s, GOPT_ROLE_SINGLE);
        gopt_study_close(s);
    }
    assert_true(single > 0);
    decide_again(*state);
    o.seed++;
    assert_int_equal(tune(&o, NULL, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "--fresh"));
}

/* From another process, after some time. */
static pid_t interrupt_after(double seconds)
{
    pid_t to = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        usleep((useconds_t)(seconds * 1e6));
        kill(to, SIGINT);
        _exit(0);
    }
    return pid;
}

static void an_interrupted_job_writes_what_it_has(void **state)
{
    gopt_err e = {0};
    gopt_tune_options o = options_in(*state, 60);
    pid_t helper = interrupt_after(3);
    int64_t begin = gopt_now();
    assert_int_equal(tune(&o, NULL, &e), GOPT_EINTR);
    waitpid(helper, NULL, 0);
    gopt_job_interrupted = 0;
    assert_true(gopt_now() - begin < 8 * GOPT_NS_PER_S);
    assert_non_null(strstr(e.msg, "results so far are in"));
    assert_results(*state);
    gopt_study *s = open_study(*state);
    assert_true(s->n_trials > 1 && s->n_samples > 0);
    gopt_study_close(s);
}

/* Before anything was timed there is nothing to write, and the same job can go on. */
static void an_interruption_at_the_start_is_fine(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_tune_options o = options_in(*state, 60);
    gopt_job_interrupted = 1;
    assert_int_equal(gopt_tune(&o, NULL, &e), GOPT_EINTR);
    gopt_job_interrupted = 0;
    assert_non_null(strstr(e.msg, "before anything was timed"));
    assert_false(gopt_file_exists(test_path(path, *state, "out/manifest.yaml")));
    o.budget_s = 2.5;
    assert_ok(tune(&o, NULL, &e), &e);
    assert_results(*state);
}

static int tune_until_killed(void *ctx)
{
    gopt_err e = {0};
    gopt_tune_options o = options_in(ctx, 60);
    return tune(&o, NULL, &e) != GOPT_OK;
}

static int kill_in_a_while(void *ctx)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(tune_until_killed(ctx));
    usleep(1500000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}

static void a_killed_job_goes_on_from_its_study(void **state)
{
    gopt_err e = {0};
    gopt_tune_options o = options_in(*state, 3);
    assert_int_equal(test_in_child(kill_in_a_while, *state), 0);
    gopt_study *s = open_study(*state);
    int trials = s->n_trials;
    assert_true(trials > 0);
    gopt_study_close(s);
    assert_ok(tune(&o, NULL, &e), &e);
    assert_results(*state);
    s = open_study(*state);
    assert_true(s->n_trials >= trials);
    assert_int_equal(count_role(s, GOPT_ROLE_BASELINE), 1);
    gopt_study_close(s);
}

/* A compiler whose functions do nothing: the code loads and runs, and every result of it is wrong. */
static const char wrong_compiler[] = "#!/bin/sh\n"
                                     "if [ \"$1\" = --version ]; then echo wrong 1.0; exit; fi\n"
                                     "for source; do :; done\n"
                                     "grep -o 'gopt_[0-9a-f]\\{32\\}' \"$source\" | sort -u |\n"
                                     "    sed 's/.*/void &(const void *t) { (void)t; }/' >\"$source.new\"\n"
                                     "mv \"$source.new\" \"$source\"\n"
                                     "exec cc \"$@\"\n";

static int tune_with_a_wrong_compiler(void *ctx)
{
    char path[4096];
    gopt_err e = {0};
    gopt_tune_options o = options_in(ctx, 3);
    if (gopt_file_write_text(test_path(path, ctx, "wrong-cc"), wrong_compiler, &e) || chmod(path, 0700))
        return 2;
    setenv("GOPT_CC", path, 1);
    gopt_status s = tune(&o, NULL, &e);
    if (s)
        print_error("%s\n", e.msg);
    return s != GOPT_OK;
}

/* The default fails its verification; the pass at fault is found by halving and banned, the rest of the default stays.
 */
static void a_pass_that_spoils_the_results_is_banned(void **state)
{
    char path[4096];
    if (!gopt_process_find("cc", path, sizeof path))
        skip();
    assert_int_equal(test_in_child(tune_with_a_wrong_compiler, *state), 0);
    assert_results(*state);
    gopt_study *s = open_study(*state);
    const gopt_trial *standard = gopt_effects_default(s);
    assert_int_equal(s->trials[1].reply.status, GOPT_TRIAL_wrong);
    assert_int_equal(count_role(s, GOPT_ROLE_DEFAULT), 2);
    assert_non_null(standard);
    assert_int_equal(standard->reply.status, GOPT_TRIAL_ok);
    int pass[GOPT_SETTINGS_MAX];
    assert_int_equal(gopt_config_pipeline(&standard->config, pass), gopt_pass_count() - 1);
    assert_false(gopt_config_pass_on(&standard->config, gopt_passes[gopt_pass_find("codegen")]));
    gopt_study_close(s);
}

/* Two jobs would mix their samples and spoil each other's timing. */
/* The model's weights are multiples of 1/128: float16 holds them, int8 with the scale 1/127 does not. */
static void a_too_coarse_precision_is_turned_down(void **state)
{
    gopt_err e = {0};
    int row = gopt_setting_find("precision.weights"), tried[4] = {0};
    int64_t f16, int8;
    assert_ok(gopt_knob_parse(gopt_setting_at(row)->knob, "f16", &f16, &e), &e);
    assert_ok(gopt_knob_parse(gopt_setting_at(row)->knob, "int8", &int8, &e), &e);
    gopt_tune_options o = options_in(*state, BUDGET_S);
    o.precisions = 1u << f16 | 1u << int8;
    assert_ok(tune(&o, NULL, &e), &e);
    assert_results(*state);
    gopt_study *s = open_study(*state);
    for (int i = 0; i < s->n_trials; i++) {
        const gopt_trial *t = &s->trials[i];
        tried[t->config.v[row]]++;
        if (t->config.v[row] == int8 && gopt_config_pass_on(&t->config, gopt_setting_at(row)->pass))
            assert_int_equal(t->reply.status, GOPT_TRIAL_wrong);
        else
            assert_true(t->reply.status == GOPT_TRIAL_ok || t->reply.status == GOPT_TRIAL_pruned);
    }
    assert_true(tried[0] && tried[f16] && tried[int8]);
    assert_int_equal(tried[0] + tried[f16] + tried[int8], s->n_trials); /* nothing that was not asked for */
    gopt_study_close(s);
}

static void a_second_job_in_the_same_folder_is_refused(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_lock other;
    gopt_tune_options o = options_in(*state, 5);
    assert_ok(gopt_dir_make(out_path, &e), &e);
    assert_ok(gopt_lock_take(&other, out_path, &e), &e);
    o.fresh = true;
    assert_int_equal(tune(&o, NULL, &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, "another job"));
    assert_false(gopt_file_exists(test_path(path, *state, "out/study.db")));
    gopt_lock_release(&other);
}

static void what_cannot_begin_says_why(void **state)
{
    char path[4096];
    gopt_err e = {0};
    gopt_tune_options o = options_in(*state, 5);
    o.preset = "no-such-preset";
    assert_int_equal(tune(&o, NULL, &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "no-such-preset"));
    o = options_in(*state, 5);
    assert_ok(gopt_file_write_text(test_path(path, *state, "file"), "", &e), &e);
    o.out = path;
    assert_int_equal(tune(&o, NULL, &e), GOPT_EIO);
    o = options_in(*state, 5);
    assert_ok(gopt_file_write_text(test_path(path, *state, "bad.onnx"), "no model", &e), &e);
    o.model = path;
    assert_int_equal(tune(&o, NULL, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "bad.onnx"));
    o.model = test_path(path, *state, "absent.onnx");
    assert_int_equal(tune(&o, NULL, &e), GOPT_EINPUT);
    assert_non_null(strstr(e.msg, "absent.onnx"));
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(a_pass_that_spoils_the_results_is_banned),   D(a_job_keeps_its_budget_and_goes_on_later),
        D(an_interrupted_job_writes_what_it_has),      D(an_interruption_at_the_start_is_fine),
        D(a_killed_job_goes_on_from_its_study),        D(what_cannot_begin_says_why),
        D(a_second_job_in_the_same_folder_is_refused), D(a_too_coarse_precision_is_turned_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
