/* scripts/export_models: models from the graphs in scripts/exports, whose weights depend on the seed alone. */
#include "support/test.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"

/* Runs it in the folder `dir`; $script is the program. */
static void ends(const char *dir, const char *script, int code, const char *says)
{
    gopt_text command = {0};
    gopt_process_result r;
    gopt_err e = {0};
    gopt_text_add(&command, "script=$PWD/scripts/export_models; cd '%s' && { %s\n} 2>&1", dir, script);
    const char *argv[] = {"sh", "-c", gopt_text_str(&command), NULL};
    assert_ok(gopt_process_run(&r, argv, 100 * GOPT_NS_PER_S, &e), &e);
    if (r.exit_code != code || !strstr(gopt_text_str(&r.output), says))
        print_error("%s\nexit code %d\n%s\n", script, r.exit_code, gopt_text_str(&r.output));
    assert_int_equal(r.exit_code, code);
    assert_non_null(strstr(gopt_text_str(&r.output), says));
    gopt_text_fini(&r.output);
    gopt_text_fini(&command);
}

static void needs(const char *what, const char *check)
{
    if (system(check) != 0) {
        print_message("skipped 1: %s is not installed\n", what);
        skip();
    }
}

static void needs_packages(void)
{
    needs("python3 with numpy and onnx", "python3 -c 'import numpy, onnx' 2>/dev/null");
}

static void a_model_is_the_same_for_the_same_seed(void **state)
{
    needs_packages();
    ends(*state, "\"$script\" a lstm && \"$script\" b lstm && cmp a/lstm.onnx b/lstm.onnx && ls a", 0,
         "lstm.inputs.json");
    ends(*state, "\"$script\" c lstm --seed 2 && cmp a/lstm.onnx c/lstm.onnx", 1, "differ");
}

static void what_it_writes_runs(void **state)
{
    needs_packages();
    ends(*state,
         "\"$script\" . lstm dlrm && export GOPT_CACHE_DIR=$PWD/cache &&"
         "\"$GOPT_BIN\"/gopt verify lstm.onnx --shape batch=1,seq=5 --pipeline none &&"
         "\"$GOPT_BIN\"/gopt verify dlrm.onnx --shape batch=2 --pipeline none",
         0, "PASS dlrm.onnx");
}

static void past_the_limit_weights_are_in_a_file_beside(void **state)
{
    needs_packages();
    ends(*state,
         "cat > apart.py <<END\n"
         "import importlib.machinery, importlib.util, pathlib, sys\n"
         "sys.dont_write_bytecode = True\n"
         "loader = importlib.machinery.SourceFileLoader('made', '$script')\n"
         "made = importlib.util.module_from_spec(importlib.util.spec_from_loader('made', loader))\n"
         "loader.exec_module(made)\n"
         "made.LARGEST = 1000\n"
         "for again in range(2): made.make('lstm', pathlib.Path('.'), 1)\n"
         "END\n"
         "python3 apart.py && "
         "GOPT_CACHE_DIR=$PWD/cache \"$GOPT_BIN\"/gopt verify lstm.onnx --shape batch=1,seq=5 --pipeline none",
         0, "PASS lstm.onnx");
    ends(*state,
         "test $(stat -c %s lstm.onnx) -lt 100000 && test $(stat -c %s lstm.onnx.data) -lt 4000000 && echo small", 0,
         "small");
}

static void every_export_has_inputs(void **state)
{
    needs_packages();
    ends(*state, "\"$script\" . --list | wc -l; ls \"${script%/*}\"/exports/*.xz | wc -l", 0, "14\n14\n");
    ends(*state, "\"$script\" . gpt2-decode --list", 0, "past_0_key [batch=1, 12, past=127, 64]");
    ends(*state, "\"$script\" --list gpt2-decode", 0, "past_0_key [batch=1, 12, past=127, 64]");
    ends(*state, "\"$script\"", 2, "give a folder for the models");
}

static void a_name_that_is_none_is_told(void **state)
{
    needs("python3", "python3 -c '' 2>/dev/null");
    ends(*state, "\"$script\" . lstn", 2, "no export is called lstn; there are bert-base, dlrm");
}

static void absent_packages_are_told(void **state)
{
    needs("python3", "python3 -c '' 2>/dev/null");
    ends(*state, "python3 -I -S \"$script\" . lstm", 4, "needs numpy and onnx: pip install numpy onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_is_the_same_for_the_same_seed, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(what_it_writes_runs, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(past_the_limit_weights_are_in_a_file_beside, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(every_export_has_inputs, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(a_name_that_is_none_is_told, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(absent_packages_are_told, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
