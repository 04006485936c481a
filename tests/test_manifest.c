/* Manifests: what is written is read back, the same bytes every time; what was changed or is malformed is refused. */
#include "support/test.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "manifest.h"

static const char *const passes[] = {"fold_const", "fuse_chain"};
static const gopt_manifest_setting knobs[] = {
    {"fuse_chain.max_ops", "16"}, {"memory.planner", "by_size"}, {"x.on", "on"}};
static const gopt_manifest_dim dims[] = {{"batch", 1, 8}, {"seq", 128, INT64_MAX}};
static const gopt_manifest_cluster cluster = {
    .id = "c0",
    .dims = dims,
    .n_dims = 2,
    .weight = 0.75,
    .chosen = {.trial = 17,
               .pipeline = passes,
               .n_pipeline = 2,
               .knobs = knobs,
               .n_knobs = 3,
               .bundle = "bundles/chosen.gopt",
               .bundle_hash = "0123456789abcdef0123456789abcdef",
               .threads = 2,
               .latency_ns = {1.25e6, 1.2e6, 1.3e6},
               .speedup = {1.0 / 3, NAN, NAN},
               .samples = 300,
               .peak_bytes = INT64_C(1) << 40,
               .compile_ns = 123456789,
               .break_even_requests = NAN},
    .fallback = {.trial = 1, .bundle = "bundles/default.gopt", .bundle_hash = "e0", .threads = 1},
    .reason = "fastest beyond the noise: \"yes\", C:\\x\n\tnot # a comment \xC3\xA9",
};
static const gopt_manifest decision = {.tool_version = "0.1.0 (abc)",
                                       .model_path = "models/net.onnx",
                                       .model_sha256 = "1e5",
                                       .device_name = "",
                                       .device_fingerprint = "ff",
                                       .objective = "no",
                                       .verdict = NULL,
                                       .regime = "steady, warm caches, one session",
                                       .seed = INT64_MIN,
                                       .noise_floor = 0.1,
                                       .clusters = &cluster,
                                       .n_clusters = 1};

static void assert_text(const char *got, const char *want)
{
    if (!want)
        assert_null(got);
    else
        assert_string_equal(got, want);
}

static void assert_figure(gopt_manifest_figure a, gopt_manifest_figure b)
{
    const double got[] = {a.value, a.lo, a.hi}, want[] = {b.value, b.lo, b.hi};
    for (int i = 0; i < 3; i++)
        assert_true(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])));
}

static void assert_choice(const gopt_manifest_choice *a, const gopt_manifest_choice *b)
{
    assert_int_equal(a->trial, b->trial);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->peak_bytes, b->peak_bytes);
    assert_int_equal(a->compile_ns, b->compile_ns);
    assert_text(a->bundle, b->bundle);
    assert_text(a->bundle_hash, b->bundle_hash);
    assert_figure(a->latency_ns, b->latency_ns);
    assert_figure(a->speedup, b->speedup);
    assert_int_equal(a->n_pipeline, b->n_pipeline);
    for (int i = 0; i < b->n_pipeline; i++)
        assert_text(a->pipeline[i], b->pipeline[i]);
    assert_int_equal(a->n_knobs, b->n_knobs);
    for (int i = 0; i < b->n_knobs; i++) {
        assert_text(a->knobs[i].name, b->knobs[i].name);
        assert_text(a->knobs[i].value, b->knobs[i].value);
    }
}

static void assert_manifest(const gopt_manifest *a, const gopt_manifest *b)
{
    assert_text(a->tool_version, b->tool_version);
    assert_text(a->model_path, b->model_path);
    assert_text(a->model_sha256, b->model_sha256);
    assert_text(a->device_name, b->device_name);
    assert_text(a->objective, b->objective);
    assert_text(a->verdict, b->verdict);
    assert_text(a->regime, b->regime);
    assert_int_equal(a->seed, b->seed);
    assert_true(a->noise_floor == b->noise_floor);
    assert_int_equal(a->n_clusters, b->n_clusters);
    for (int i = 0; i < b->n_clusters; i++) {
        const gopt_manifest_cluster *x = &a->clusters[i], *y = &b->clusters[i];
        assert_text(x->id, y->id);
        assert_text(x->reason, y->reason);
        assert_true(x->weight == y->weight);
        assert_int_equal(x->n_dims, y->n_dims);
        for (int k = 0; k < y->n_dims; k++) {
            assert_text(x->dims[k].name, y->dims[k].name);
            assert_int_equal(x->dims[k].lo, y->dims[k].lo);
            assert_int_equal(x->dims[k].hi, y->dims[k].hi);
        }
        assert_choice(&x->chosen, &y->chosen);
        assert_choice(&x->fallback, &y->fallback);
    }
}

static char *file_text(const char *path)
{
    gopt_mapping m;
    gopt_err e;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    char *s = malloc(m.bytes + 1);
    memcpy(s, m.data, m.bytes);
    s[m.bytes] = 0;
    gopt_file_unmap(&m);
    return s;
}

static void what_is_written_is_read_back(void **state)
{
    char path[PATH_MAX];
    gopt_manifest *m;
    gopt_err e;
    test_path(path, *state, "manifest.yaml");
    assert_ok(gopt_manifest_write(&decision, path, &e), &e);
    assert_ok(gopt_manifest_read(&m, path, &e), &e);
    assert_manifest(m, &decision);
    gopt_manifest_free(m);
}

static void a_manifest_without_clusters(void **state)
{
    char path[PATH_MAX];
    gopt_manifest empty = decision, *m;
    gopt_err e;
    empty.n_clusters = 0;
    test_path(path, *state, "manifest.yaml");
    assert_ok(gopt_manifest_write(&empty, path, &e), &e);
    assert_ok(gopt_manifest_read(&m, path, &e), &e);
    assert_manifest(m, &empty);
    gopt_manifest_free(m);
}

static void the_same_decision_gives_the_same_bytes(void **state)
{
    char path[PATH_MAX];
    gopt_manifest *m;
    gopt_err e;
    test_path(path, *state, "manifest.yaml");
    assert_ok(gopt_manifest_write(&decision, path, &e), &e);
    char *first = file_text(path);
    assert_ok(gopt_manifest_read(&m, path, &e), &e);
    assert_ok(gopt_manifest_write(m, path, &e), &e);
    char *second = file_text(path);
    assert_string_equal(first, second);
    free(first);
    free(second);
    gopt_manifest_free(m);
}

/* Texts that YAML reads as something else when they stand without quotes, and every byte. */
static void every_text_survives(void **state)
{
    static const char *const texts[] = {"null",
                                        "~",
                                        "true",
                                        "No",
                                        "1e3",
                                        "0x10",
                                        "-",
                                        "- a",
                                        "a: b",
                                        "a #b",
                                        "#a",
                                        " a",
                                        "a ",
                                        "[a]",
                                        "{a}",
                                        "&a",
                                        "*a",
                                        "!a",
                                        "|",
                                        "%a",
                                        "@a",
                                        "`a",
                                        "'a'",
                                        "\"a\"",
                                        "a\\b",
                                        "",
                                        ":",
                                        "?",
                                        "a\nb",
                                        "a\tb",
                                        "\x01",
                                        "\x7f",
                                        "2001-01-01",
                                        "1:30",
                                        "=",
                                        "<<",
                                        "\xC2\xA0",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80",
                                        "...",
                                        "---",
                                        "a,b",
                                        "a]",
                                        ".5"};
    char path[PATH_MAX], bytes[256];
    gopt_err e;
    test_path(path, *state, "manifest.yaml");
    for (int i = 1; i < 256; i++)
        bytes[i - 1] = (char)i;
    bytes[127] = 0; /* beyond are no characters on their own */
    for (int i = 0; i <= GOPT_COUNT(texts); i++) {
        gopt_manifest one = decision, *m;
        one.regime = i < GOPT_COUNT(texts) ? texts[i] : bytes;
        assert_ok(gopt_manifest_write(&one, path, &e), &e);
        assert_ok(gopt_manifest_read(&m, path, &e), &e);
        assert_string_equal(m->regime, one.regime);
        gopt_manifest_free(m);
    }
}

static void bytes_that_are_no_text_become_question_marks(void **state)
{
    char path[PATH_MAX];
    gopt_manifest odd = decision, *m;
    gopt_err e;
    odd.regime = "a\xFF b\xC3 c\xE2\x80\xA8";
    test_path(path, *state, "manifest.yaml");
    assert_ok(gopt_manifest_write(&odd, path, &e), &e);
    assert_ok(gopt_manifest_read(&m, path, &e), &e);
    assert_string_equal(m->regime, "a? b? c???");
    gopt_manifest_free(m);
}

/* Writes the good manifest with `from` replaced by `to`, reads it, and expects the failure. */
static void refuses(const char *dir, const char *from, const char *to, const char *message)
{
    char path[PATH_MAX], changed[8192];
    gopt_manifest *m;
    gopt_err e = {0};
    test_path(path, dir, "manifest.yaml");
    assert_ok(gopt_manifest_write(&decision, path, &e), &e);
    char *good = file_text(path), *at = strstr(good, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    free(good);
    assert_ok(gopt_file_write_text(path, changed, &e), &e);
    assert_int_not_equal(gopt_manifest_read(&m, path, &e), GOPT_OK);
    assert_null(m);
    if (!strstr(e.msg, message) || strncmp(e.msg, path, strlen(path)) != 0)
        fail_msg("\"%s\" expected, got \"%s\"", message, e.msg);
}

static void what_was_changed_by_hand_is_refused(void **state)
{
    refuses(*state, "\"16\"", "\"32\"", "line 50: the lines above were changed after gopt-tune wrote them");
    refuses(*state, "# What", "# what", "the lines above were changed");
    refuses(*state, "\nhash: \"", "\nhash: \"0", "'hash' is not the last line as gopt-tune wrote it");
    refuses(*state, "\nhash: ", "\n# x\nhash: ", "the lines above were changed");
}

static void what_is_malformed_is_refused_with_its_line(void **state)
{
    refuses(*state, "seed: ", "seed: x", "line 12: seed: a whole number expected");
    refuses(*state, "seed: -", "seed: -1", "line 12: seed: a whole number expected");
    refuses(*state, "noise_floor: 0.1", "noise_floor: [1]", "line 13: noise_floor: a number or null expected");
    refuses(*state, "noise_floor: ", "floor: ", "line 1: the key 'noise_floor' is missing");
    refuses(*state, "threads: 2", "threads: -2", "line 25: threads: -2 is out of range: 0 to 4096");
    refuses(*state, "threads: 2", "threads: 99999999", "line 25: threads: 99999999 is out of range: 0 to 4096");
    refuses(*state, "trial: 17", "trial: 99999999999", "line 22: trial: 99999999999 is out of range");
    refuses(*state, "clusters:\n", "clusters: 5\nx:\n", "line 14: clusters: a list expected");
    refuses(*state, "value: 1250000, ", "", "the key 'value' is missing");
    refuses(*state, "regime: \"", "regime: \"\t\\q", "not YAML: ");
    refuses(*state, "bundle: bundles/default.gopt", "bundle: null",
            "fallback: its bundle and the bundle's hash expected");
    refuses(*state, "gopt_manifest: 1", "gopt_manifest: 2", "manifest format 2, this version reads 1");
    refuses(*state, "objective: ", "objective: &a [*a]\nx: ", "objective: text expected");
}

/* What a parser of YAML takes seconds for (its work grows with the square of the depth) is not given to it. */
static void deep_nesting_is_refused_at_once(void **state)
{
    enum { DEEP = 200000 };
    static const char *const levels[] = {"{", "[", "- ", "? "};
    char path[PATH_MAX];
    gopt_manifest *m;
    gopt_err e = {0};
    test_path(path, *state, "manifest.yaml");
    for (int i = 0; i < GOPT_COUNT(levels); i++) {
        gopt_text deep = {0};
        gopt_text_put(&deep, "\n");
        for (int k = 0; k < DEEP; k++)
            gopt_text_put(&deep, levels[i]);
        assert_ok(gopt_file_write_text(path, gopt_text_str(&deep), &e), &e);
        gopt_text_fini(&deep);
        int64_t begin = gopt_now();
        assert_int_equal(gopt_manifest_read(&m, path, &e), GOPT_EINPUT);
        assert_true(gopt_now() - begin < GOPT_NS_PER_S);
        assert_non_null(strstr(e.msg, "manifest.yaml: line 2: nested more than 64 deep"));
    }
}

/* Cut anywhere, or with any byte changed, it is an error: never a crash, never another decision. */
static void any_damage_is_refused(void **state)
{
    char path[PATH_MAX];
    gopt_manifest *m;
    gopt_err e = {0};
    test_path(path, *state, "manifest.yaml");
    assert_ok(gopt_manifest_write(&decision, path, &e), &e);
    char *good = file_text(path);
    size_t n = strlen(good);
    for (size_t i = 0; i < n; i += 7) {
        gopt_piece cut = {good, i};
        assert_ok(gopt_file_write(path, &cut, 1, &e), &e);
        assert_int_not_equal(gopt_manifest_read(&m, path, &e), GOPT_OK);
        char kept = good[i];
        good[i] = (char)(good[i] ^ 1);
        assert_ok(gopt_file_write_text(path, good, &e), &e);
        assert_int_not_equal(gopt_manifest_read(&m, path, &e), GOPT_OK);
        good[i] = kept;
    }
    free(good);
}

static gopt_status write_and_read(void *path, gopt_err *e)
{
    gopt_manifest *m;
    GOPT_TRY(gopt_manifest_write(&decision, path, e));
    GOPT_TRY(gopt_manifest_read(&m, path, e));
    gopt_manifest_free(m);
    return GOPT_OK;
}

static void survives_every_oom(void **state)
{
    char path[PATH_MAX];
    assert_true(test_every_oom(write_and_read, test_path(path, *state, "manifest.yaml")) > 3);
}

static void a_missing_file_is_named(void **state)
{
    char path[PATH_MAX];
    gopt_manifest *m;
    gopt_err e = {0};
    test_path(path, *state, "absent.yaml");
    assert_int_equal(gopt_manifest_read(&m, path, &e), GOPT_EIO);
    assert_non_null(strstr(e.msg, "absent.yaml"));
}

static void paths_are_relative_to_the_manifest(void **state)
{
    char buf[64];
    (void)state;
    assert_string_equal(gopt_manifest_path(buf, sizeof buf, "out/manifest.yaml", "bundles/x"), "out/bundles/x");
    assert_string_equal(gopt_manifest_path(buf, sizeof buf, "/m.yaml", "x"), "/x");
    assert_string_equal(gopt_manifest_path(buf, sizeof buf, "m.yaml", "x"), "x");
    assert_string_equal(gopt_manifest_path(buf, sizeof buf, "out/m.yaml", "/x"), "/x");
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_read_back),
        T(a_manifest_without_clusters),
        T(the_same_decision_gives_the_same_bytes),
        T(every_text_survives),
        T(bytes_that_are_no_text_become_question_marks),
        T(what_was_changed_by_hand_is_refused),
        T(what_is_malformed_is_refused_with_its_line),
        T(deep_nesting_is_refused_at_once),
        T(any_damage_is_refused),
        T(survives_every_oom),
        T(a_missing_file_is_named),
        T(paths_are_relative_to_the_manifest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
