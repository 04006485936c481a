/* tuner/command_line: the call that repeats a job says all that was given, and a shell reads it back as one. */
#include "support/test.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "command_line.h"
#include "config.h"

static gopt_tune_options usual(void)
{
    return (gopt_tune_options){.model = "/absent/net.onnx",
                               .out = "/absent/out",
                               .sampler = "auto",
                               .budget_s = 600,
                               .seed = 1,
                               .goal = gopt_goal_default,
                               .tolerance = GOPT_TOLERANCE_DEFAULT};
}

static void says(const gopt_tune_options *o, const char *shapes, const char *line)
{
    gopt_text t = {0};
    gopt_tune_command(&t, o, shapes);
    assert_string_equal(gopt_text_str(&t), line);
    gopt_text_fini(&t);
}

static void defaults_are_left_out(void **state)
{
    gopt_tune_options o = usual();
    (void)state;
    says(&o, "", "gopt-tune --budget 600s --seed 1 --out /absent/out /absent/net.onnx");
}

static void all_that_was_given_is_said(void **state)
{
    gopt_tune_options o = usual();
    int64_t int8;
    (void)state;
    assert_ok(gopt_knob_parse(gopt_setting_at(gopt_setting_find("precision.weights"))->knob, "int8", &int8, NULL),
              NULL);
    o.goal = (gopt_goal){.objective = GOPT_OBJECTIVE_p99,
                         .alpha = 0.25,
                         .requests = 1e6,
                         .max_memory = 5e8,
                         .max_compile_ns = 2e9,
                         .max_latency_ns = 150000};
    o.threads[o.n_threads++] = 1;
    o.threads[o.n_threads++] = 4;
    o.precisions = 1u << int8;
    o.preset = "debug";
    o.sampler = "random";
    o.tolerance.rel = 0.01;
    o.tolerance.abs = 1e-5;
    o.seed = 7;
    o.budget_s = 1.5;
    says(&o, "batch=1,seq len=8",
         "gopt-tune --budget 1.5s --seed 7 --shape batch=1 --shape 'seq len=8' --threads 1,4 --precision int8 "
         "--objective p99 --alpha 0.25 --requests 1000000 --max-memory 500000000 --max-compile 2s "
         "--max-latency 150us --preset debug --search random --tolerance 0.01,1e-05 --out /absent/out "
         "/absent/net.onnx");
}

static void changes(const char *line, const gopt_goal_change *c, const char *expected)
{
    gopt_text t = {0};
    gopt_tune_command_change(&t, line, c, "/absent/new out");
    assert_string_equal(gopt_text_str(&t), expected);
    gopt_text_fini(&t);
}

/* What is given anew stands once; what only looks like it, within a word, stays. */
static void a_call_is_changed(void **state)
{
    gopt_goal_change c = {.objective = GOPT_OBJECTIVE_COUNT,
                          .alpha = NAN,
                          .requests = NAN,
                          .max_memory = 512 << 20,
                          .max_compile_ns = 0,
                          .max_latency_ns = NAN};
    (void)state;
    changes("gopt-tune --budget 6s --max-compile 9ns --out '/my --out x' --max-latency 1ms '/it'\"'\"'s --out m.onnx'",
            &c,
            "gopt-tune --budget 6s --max-latency 1ms '/it'\"'\"'s --out m.onnx' --max-memory 512M --max-compile none "
            "--out '/absent/new out'");
    c = (gopt_goal_change){.objective = GOPT_OBJECTIVE_wall,
                           .alpha = 0,
                           .requests = 3600,
                           .max_memory = 1.5 * 0x1p30,
                           .max_compile_ns = 1e9 * 5400,
                           .max_latency_ns = 1e9 * 0.0015};
    changes("gopt-tune m.onnx --alpha 1 --out", &c,
            "gopt-tune m.onnx --objective wall --alpha 0 --requests 3600 --max-memory 1536M --max-compile 90m "
            "--max-latency 1500us --out '/absent/new out'");
}

static void files_are_found_from_anywhere(void **state)
{
    char dir[PATH_MAX], here[PATH_MAX], line[6 * PATH_MAX], *real = realpath(*state, NULL);
    gopt_tune_options o = usual();
    gopt_err e = {0};
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(mkdir(test_path(dir, *state, "my models"), 0777), 0);
    assert_int_equal(chdir(dir), 0);
    assert_ok(gopt_file_write_text("net.onnx", "", &e), &e);
    assert_ok(gopt_file_write_text("my.yaml", "", &e), &e);
    o.model = "net.onnx";
    o.out = ".";
    o.preset = "my.yaml";
    o.against = "../absent.yaml";
    snprintf(line, sizeof line,
             "gopt-tune --budget 600s --seed 1 --preset '%s/my models/my.yaml' --baseline ../absent.yaml --out "
             "'%s/my models' '%s/my models/net.onnx'",
             real, real, real);
    says(&o, "", line);
    assert_int_equal(chdir(here), 0);
    free(real);
}

static void assert_word(const char *program, const char *expected)
{
    gopt_text t = {0};
    gopt_program_word(&t, program);
    assert_string_equal(gopt_text_str(&t), expected);
    gopt_text_fini(&t);
}

/* By name where PATH leads to it, else by where it lies beside this program. */
static void programs_are_found_from_anywhere(void **state)
{
    char self[PATH_MAX], *path = strdup(getenv("PATH"));
    (void)state;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    char *slash = strrchr(self, '/');
    setenv("PATH", "/absent::/bin", 1);
    assert_word("sh", "sh");
    assert_word("gopt-absent", "gopt-absent");
    assert_word(slash + 1, self);
    char *name = strdup(slash + 1);
    *slash = 0;
    setenv("PATH", self, 1);
    assert_word(name, name);
    setenv("PATH", path, 1);
    free(name);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_left_out),
        cmocka_unit_test(all_that_was_given_is_said),
        cmocka_unit_test(a_call_is_changed),
        cmocka_unit_test(programs_are_found_from_anywhere),
        cmocka_unit_test_setup_teardown(files_are_found_from_anywhere, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
