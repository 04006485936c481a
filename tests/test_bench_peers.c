/* scripts/bench_peers: gopt beside gopt, which needs no other engine; what is measured is kept, and told when it is
 * missing. */
#include "support/test.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"

/* Runs it in the folder `dir`; "$bench" is the program, told where gopt is. */
static void ends(const char *dir, const char *script, int code, const char *says)
{
    gopt_text command = {0};
    gopt_process_result r;
    gopt_err e = {0};
    gopt_text_add(
        &command,
        "root=$PWD; bench() { \"$root/scripts/bench_peers\" --bin \"$GOPT_BIN\" \"$@\"; }; cd '%s' && { %s\n} 2>&1",
        dir, script);
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

/* Python is not linked with a sanitizer, so it cannot load a library that is. */
static void needs_engines(void)
{
    const char *flags = getenv("GOPT_LDFLAGS");
    needs_packages();
    if (flags && strstr(flags, "-fsanitize")) {
        print_message("skipped 1: libgopt.so needs a sanitizer\n");
        skip();
    }
}

static const char QUICK[] = "--models s.onnx --threads 1 --contenders gopt,gopt-f16 --block 0.005";

/* `before`, the quick run with `options`, `after`: any may be empty. */
static void quick(const char *dir, const char *before, const char *options, const char *after, int code,
                  const char *says)
{
    gopt_text script = {0};
    gopt_text_add(&script, "%s bench %s %s %s", before, QUICK, options, after);
    ends(dir, gopt_text_str(&script), code, says);
    gopt_text_fini(&script);
}

static void two_engines_make_a_table(void **state)
{
    needs_engines();
    quick(*state, "\"$GOPT_BIN\"/gopt sample-model s.onnx &&", "--rounds 3 --out out", "&& cat out/table.txt", 0,
          "Speedups over gopt");
    ends(*state, "grep -c 'gopt-f16 .*e-0[3-5]$' out/table.txt", 0, "1\n"); /* its error is shown, and there is one */
    ends(*state,
         "python3 -c 'import json; c = json.load(open(\"out/raw/s.t1.json\"))[\"contenders\"][\"gopt-f16\"];"
         "print(len(c[\"rounds\"]), len(c[\"fresh\"]))'; ls out/work",
         0, "3 5\n");
    ends(*state, "command -v gnuplot >/dev/null || exit 0; grep -c '<svg' out/ratios.svg", 0, "");
}

static void a_case_is_measured_again_only_under_other_settings(void **state)
{
    needs_engines();
    quick(*state, "\"$GOPT_BIN\"/gopt sample-model s.onnx &&", "--rounds 1 --out out", "&& cp out/raw/s.t1.json first",
          0, "1 cases");
    quick(*state, "", "--rounds 1 --out out", "&& cmp first out/raw/s.t1.json && echo kept", 0, "kept");
    quick(*state, "", "--rounds 2 --out out", "&& cmp first out/raw/s.t1.json", 1, "differ");
    quick(*state, "echo '{\"settings' > out/raw/s.t1.json &&", "--rounds 1 --out out", "", 0, "1 cases");
}

static void what_cannot_run_is_told(void **state)
{
    needs_packages();
    quick(*state, "echo nothing > s.onnx;", "--rounds 1 --out out", "", 1, "s.onnx: no ONNX model");
    quick(*state,
          "python3 -c 'import onnx.parser as p, onnx; onnx.save(p.parse_model(\"<ir_version: 8, opset_import: "
          "[\\\"\\\": 17]> g (float[2] x) => (float[2] y) { y = Unheard(x) }\"), \"s.onnx\")' &&",
          "--rounds 1 --out out", "; cat out/table.txt", 0, "s x1: gopt: node Unheard");
}

/* Runs lines of Python that see the parts of the script; they assert. */
static void python(const char *dir, const char *lines)
{
    gopt_text script = {0};
    gopt_text_add(&script,
                  "cat > part.py <<'END'\nimport sys\nsys.dont_write_bytecode = True\n"
                  "sys.path.insert(0, sys.argv[1] + '/scripts/peers')\nimport numpy as np\n%sprint('held')\nEND\n"
                  "python3 part.py \"$root\"",
                  lines);
    ends(dir, gopt_text_str(&script), 0, "held\n");
    gopt_text_fini(&script);
}

static void wrong_outputs_are_told(void **state)
{
    needs_packages();
    python(*state, "import common\n"
                   "from cases import compare\n"
                   "want = {'y': np.float32([1, -2, np.nan, np.inf])}\n"
                   "def wrong(got, tolerance=1e-4, want=want):\n"
                   "    try: compare(got, want, tolerance)\n"
                   "    except common.Failed as e: return str(e)\n"
                   "assert not wrong({'y': np.float32([1, -2.0001, np.nan, np.inf])})\n"
                   "assert 'off by 0.005' in wrong({'y': np.float32([1, -2.01, np.nan, np.inf])})\n"
                   "assert not wrong({'y': np.float32([1, -2.01, np.nan, np.inf])}, 1e-2)\n"
                   "assert wrong({'y': np.float32([1, -2, 0, np.inf])})\n"
                   "assert wrong({'y': np.float32([1, -2, np.nan, 9])})\n"
                   "assert wrong({'y': np.float32([1, -2, np.nan])})\n"
                   "assert 'gives no output y' in wrong({'z': want['y']})\n"
                   "labels = {'y': np.int64([3, 4])}\n"
                   "assert not wrong(labels, want=labels) and wrong({'y': np.int64([3, 5])}, want=labels)\n");
}

static void a_speedup_is_of_pairs(void **state)
{
    needs_packages();
    python(*state, "from ratios import Result\n"
                   "slow = [[20.0, 22.0, 24.0], [200.0], [2.0]]\n" /* ten times slower and quicker machine */
                   "fast = [[11.0], [100.0], [1.0]]\n"
                   "raw = {'model': 'm', 'threads': 1, 'contenders': {'gopt': {'rounds': fast, 'fresh': [\n"
                   "    {'load_ns': n, 'peak_bytes': n} for n in (1, 2, 9)]}, 'onnxruntime': {'rounds': slow},\n"
                   "    'torch': {'rounds': fast[:1], 'failed': 'died'}}}\n"
                   "r = Result(raw)\n"
                   "assert np.allclose(r.speedup('gopt', 'onnxruntime'), 2)\n"
                   "assert r.best_peer('gopt')[1] == 'onnxruntime' and r.ours() == 'gopt'\n"
                   "assert r.speedup('torch', 'onnxruntime') is None and r.fresh('gopt', 'load_ns') == 2\n"
                   "from ratios import judge\n"
                   "holds = {b['what']: b['holds'] for b in judge([r])}\n"
                   "assert holds['geometric mean over onnxruntime, 1 thread'] is True\n"
                   "assert holds['tiny nets, 1 thread (m)'] is False\n"
                   "assert holds['MiniLM, 1 thread (no model)'] is None\n");
}

static void what_is_needed_is_told(void **state)
{
    needs("python3", "python3 -c '' 2>/dev/null");
    ends(*state, "python3 -I -S \"$root/scripts/bench_peers\" --models . --out out", 4, "pip install numpy onnx");
    ends(*state, "bench --models absent.onnx --out out", 2, "absent.onnx: no such file or folder");
    ends(*state, "bench --models . --contenders gopt,gobt --out out", 2, "no gobt; there are gopt, gopt-tuned");
    ends(*state, "bench --models . --threads 0 --out out", 2, "a list of numbers from 1");
    ends(*state, "bench --models . --budget soon --out out", 2, "--budget");
    ends(*state, "bench --help", 0, "exit codes");
}

static void who_is_left_out_is_told(void **state)
{
    needs_packages();
    ends(*state, "bench --models . --contenders gopt-tuned --out out", 4, "gopt-tuned left out: it needs a --budget");
    ends(*state, "bench --models . --contenders gopt --bin absent --out out", 4, "build gopt");
    ends(*state, "bench --models . --contenders gopt --out out", 1, "no case");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_engines_make_a_table, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(a_case_is_measured_again_only_under_other_settings, test_dir_setup,
                                        test_dir_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_run_is_told, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(wrong_outputs_are_told, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(a_speedup_is_of_pairs, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(what_is_needed_is_told, test_dir_setup, test_dir_teardown),
        cmocka_unit_test_setup_teardown(who_is_left_out_is_told, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
