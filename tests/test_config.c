/* test_config.c: the table of settings, configurations as text, presets and preset files. */
#include "config.h"

#include "base/arena.h"
#include "base/cpu.h"
#include "base/file.h"
#include "support/test.h"

/* ---- the table ---- */

static void names_are_unique_and_found(void **state)
{
    (void)state;
    int n = gopt_setting_count();
    assert_true(n > 3 && n < GOPT_SETTINGS_MAX); /* room for all: the table drops what does not fit */
    for (int i = 0; i < n; i++) {
        const gopt_setting *s = gopt_setting_at(i);
        assert_int_equal(gopt_setting_find(s->name), i);
        assert_non_null(strchr(s->name, '.'));
        assert_true(s->knob && s->knob->doc && s->knob->doc[0]);
        assert_true(gopt_knob_valid(s->knob, s->knob->init));
        assert_false(s->pass && s->kernel);
    }
    assert_null(gopt_setting_at(-1));
    assert_null(gopt_setting_at(n));
    assert_int_equal(gopt_setting_find("pass"), -1);
}

static void every_registered_thing_has_its_rows(void **state)
{
    (void)state;
    char name[128];
    for (int i = 0; gopt_passes[i]; i++) {
        snprintf(name, sizeof name, "pass.%s", gopt_passes[i]->name);
        int row = gopt_setting_find(name);
        assert_true(row >= 0 && gopt_setting_at(row)->is_switch);
        for (const gopt_knob *k = gopt_passes[i]->knobs; k && k->name; k++) {
            snprintf(name, sizeof name, "%s.%s", gopt_passes[i]->name, k->name);
            assert_true(gopt_setting_find(name) >= 0);
        }
    }
    for (int i = 0; gopt_kernels[i]; i++) {
        snprintf(name, sizeof name, "kernel.%s", gopt_kernels[i]->name);
        assert_int_equal(gopt_setting_find(name) >= 0, gopt_kernels[i]->rival);
        for (const gopt_knob *k = gopt_kernels[i]->knobs; k && k->name; k++) {
            snprintf(name, sizeof name, "%s.%s", gopt_kernels[i]->name, k->name);
            assert_true(gopt_setting_find(name) >= 0);
        }
    }
    assert_true(gopt_setting_find("engine.threads") >= 0);
}

static void every_value_of_every_row_prints_and_parses_back(void **state)
{
    (void)state;
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        for (int64_t k = 0; k < gopt_knob_count(s->knob); k++) {
            gopt_err e = {0};
            gopt_config c;
            gopt_text t = {0};
            gopt_config_default(&c);
            gopt_text_add(&t, "%s=", s->name);
            gopt_knob_print(s->knob, gopt_knob_value(s->knob, k), &t);
            assert_ok(gopt_config_set(&c, gopt_text_str(&t), &e), &e);
            assert_int_equal(c.v[i], gopt_knob_value(s->knob, k));
            gopt_text_fini(&t);
        }
    }
}

/* ---- configurations ---- */

static void baseline_runs_no_pass_and_default_all(void **state)
{
    (void)state;
    gopt_config c;
    int pass[GOPT_SETTINGS_MAX];
    gopt_config_baseline(&c);
    assert_int_equal(gopt_config_pipeline(&c, pass), 0);
    assert_int_equal(gopt_config_threads(&c), gopt_cpu_count());
    gopt_config_default(&c);
    assert_int_equal(gopt_config_pipeline(&c, pass), gopt_pass_count());
    for (int i = 0; i < gopt_pass_count(); i++) {
        assert_int_equal(pass[i], i);
        assert_true(gopt_config_pass_on(&c, gopt_passes[i]));
    }
}

static void the_pipeline_keeps_the_order_of_the_registry(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_config c;
    int pass[GOPT_SETTINGS_MAX];
    gopt_config_baseline(&c);
    assert_ok(gopt_config_set(&c, "pass.reuse_memory=on", &e), &e);
    assert_ok(gopt_config_set(&c, "pass.fold_const=true", &e), &e);
    assert_int_equal(gopt_config_pipeline(&c, pass), 2);
    assert_string_equal(gopt_passes[pass[0]]->name, "fold_const");
    assert_string_equal(gopt_passes[pass[1]]->name, "reuse_memory");
}

static void knobs_are_reached_through_their_owner(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_config c;
    const gopt_pass *codegen = gopt_passes[gopt_pass_find("codegen")];
    gopt_config_default(&c);
    assert_ok(gopt_config_set(&c, "codegen.opt_level=3", &e), &e);
    assert_ok(gopt_config_set(&c, "codegen.gemm=off", &e), &e);
    const int64_t *knob = gopt_config_pass_knobs(&c, codegen);
    for (int i = 0; codegen->knobs[i].name; i++)
        if (!strcmp(codegen->knobs[i].name, "opt_level"))
            assert_int_equal(knob[i], 3);
        else if (!strcmp(codegen->knobs[i].name, "gemm"))
            assert_int_equal(knob[i], 0);
    for (int i = 0; gopt_kernels[i]; i++) {
        assert_true(gopt_config_kernel_on(&c, gopt_kernels[i]));
        knob = gopt_config_kernel_knobs(&c, gopt_kernels[i]);
        for (int k = 0; k < gopt_kernel_knob_count(gopt_kernels[i]); k++)
            assert_int_equal(knob[k], gopt_kernels[i]->knobs[k].init);
    }
}

/* Knobs of what does not run are defaults, so that configurations that behave alike are equal. */
static void idle_knobs_are_normalized(void **state)
{
    (void)state;
    gopt_err e = {0};
    gopt_config a, b;
    gopt_config_default(&a);
    assert_ok(gopt_config_set(&a, "pass.codegen=off", &e), &e);
    b = a;
    assert_ok(gopt_config_set(&b, "codegen.opt_level=3", &e), &e);
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        if (s->kernel && s->kernel->generated)
            b.v[i] = gopt_knob_value(s->knob, gopt_knob_count(s->knob) - 1);
    }
    assert_false(gopt_config_equal(&a, &b));
    gopt_config_normalize(&a);
    gopt_config_normalize(&b);
    assert_true(gopt_config_equal(&a, &b));
    assert_ok(gopt_config_set(&b, "pass.codegen=on", &e), &e);
    assert_ok(gopt_config_set(&b, "codegen.opt_level=3", &e), &e);
    gopt_config_normalize(&b);
    assert_int_equal(b.v[gopt_setting_find("codegen.opt_level")], 3);
}

static const struct {
    const char *assignment, *says;
} wrong[] = {
    {"pass.fold_const", "name=value expected"},
    {"", "name=value expected"},
    {"pass.fold_cosnt=on", "did you mean 'pass.fold_const'?"},
    {"engine.thread=2", "did you mean 'engine.threads'?"},
    {"zzzzzzzz=1", "--list knobs"},
    {"a-name-that-is-longer-than-any-setting-could-ever-be-in-this-table-of-ours=1", "name=value expected"},
    {"pass.fold_const=maybe", "on or off"},
    {"pass.fold_const=", "on or off"},
    {"engine.threads=0", "1, 2 ... "},
    {"engine.threads=two", "1, 2 ... "},
    {"engine.threads=1e1", "engine.threads"},
    {"codegen.opt_level=4", "1, 2, 3"},
    {"reuse_memory.planner=by_luck", "by_size, by_lifetime"},
};

static void wrong_assignments_say_what_is_allowed(void **state)
{
    (void)state;
    for (int i = 0; i < GOPT_COUNT(wrong); i++) {
        gopt_err e = {0};
        gopt_config c, before;
        gopt_config_default(&c);
        before = c;
        if (gopt_config_set(&c, wrong[i].assignment, &e) != GOPT_EUSAGE || !strstr(e.msg, wrong[i].says))
            fail_msg("'%s': \"%s\"", wrong[i].assignment, e.msg);
        assert_true(gopt_config_equal(&c, &before));
    }
}

/* ---- presets ---- */

static void presets_are_listed_and_start_where_they_say(void **state)
{
    (void)state;
    gopt_config baseline, standard, c;
    gopt_config_baseline(&baseline);
    gopt_config_default(&standard);
    for (int i = 0; i < gopt_preset_count(); i++) {
        gopt_err e = {0};
        const char *doc = NULL, *name = gopt_preset_at(i, &doc);
        assert_true(name && doc && doc[0]);
        assert_ok(gopt_config_preset(&c, name, &e), &e);
        if (!strcmp(name, "debug") || !strcmp(name, "baseline"))
            assert_true(gopt_config_equal(&c, &baseline));
        else if (!strcmp(name, "max-autotune") || !strcmp(name, "default"))
            assert_true(gopt_config_equal(&c, &standard));
        else
            assert_false(gopt_config_pass_on(&c, gopt_passes[gopt_pass_find("codegen")]));
    }
    const char *doc;
    assert_null(gopt_preset_at(-1, &doc));
    assert_null(gopt_preset_at(gopt_preset_count(), &doc));
}

static gopt_status load(const char *dir, const char *text, gopt_config *c, gopt_err *e)
{
    char path[4096];
    assert_ok(gopt_file_write_text(test_path(path, dir, "p.yaml"), text, e), e);
    return gopt_config_preset(c, path, e);
}

static void a_file_changes_the_default(void **state)
{
    gopt_err e = {0};
    gopt_config c, want;
    gopt_config_default(&want);
    assert_ok(gopt_config_set(&want, "pass.drop_dead=off", &e), &e);
    assert_ok(gopt_config_set(&want, "reuse_memory.planner=by_lifetime", &e), &e);
    assert_ok(gopt_config_set(&want, "engine.threads=2", &e), &e);
    assert_ok(load(*state,
                   "# narrow\n"
                   "pass.drop_dead: off\n"
                   "'reuse_memory.planner': \"by_lifetime\"\n"
                   "engine.threads: 2\n",
                   &c, &e),
              &e);
    assert_true(gopt_config_equal(&c, &want));
    gopt_config_baseline(&want);
    assert_ok(gopt_config_set(&want, "pass.fuse_chain=on", &e), &e);
    assert_ok(load(*state, "from: baseline\npass.fuse_chain: on\n", &c, &e), &e);
    assert_true(gopt_config_equal(&c, &want));
    /* A knob of a pass that the file switches off is a default again. */
    gopt_config_default(&want);
    assert_ok(gopt_config_set(&want, "pass.codegen=off", &e), &e);
    gopt_config_normalize(&want);
    assert_ok(load(*state, "{codegen.opt_level: 3, pass.codegen: false}", &c, &e), &e);
    assert_true(gopt_config_equal(&c, &want));
}

static const struct {
    const char *text, *says;
} bad_files[] = {
    {"pass.fold_const: on\npass.drop_ded: on\n",
     "p.yaml: line 2: unknown knob 'pass.drop_ded'; did you mean 'pass.drop_dead'?"},
    {"\n\nengine.threads: 0\n", "p.yaml: line 3: engine.threads"},
    {"pass.fold_const: on\nengine.threads: [1, 2]\n", "p.yaml: line 2: 'knob: value' expected"},
    {"pass.fold_const: on\n? [a]\n: 1\n", "p.yaml: line 2: 'knob: value' expected"},
    {"pass.fold_const: on\npass.drop_dead: off\npass.fold_const: off\n",
     "p.yaml: line 3: pass.fold_const: given twice"},
    {"pass.fold_const: on\nfrom: baseline\n", "p.yaml: line 2: from: must come first"},
    {"from: nothing\n", "p.yaml: line 1: from: baseline or default expected, not 'nothing'"},
    {"", "p.yaml: a mapping of knobs to values expected"},
    {"- a\n- b\n", "p.yaml: a mapping of knobs to values expected"},
    {"pass.fold_const: on\n  x: [\n", "p.yaml: line 2"},
    {"\nfrom: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
     "p.yaml: line 2: nested more than 64 deep"},
    {"a: \x01\n", "p.yaml: byte 3: control characters are not allowed"},
    {"pass.fold_const: on\n---\npass.drop_dead: on\n", "p.yaml: line 2"},
    {"engine.threads: "
     "20000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00"
     "20000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00"
     "20000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00",
     "p.yaml: line 1"},
};

static void a_bad_file_is_refused_with_its_line(void **state)
{
    for (int i = 0; i < GOPT_COUNT(bad_files); i++) {
        gopt_err e = {0};
        gopt_config c;
        if (load(*state, bad_files[i].text, &c, &e) != GOPT_EUSAGE || !strstr(e.msg, bad_files[i].says))
            fail_msg("row %d: \"%s\"", i, e.msg);
    }
}

static void what_is_no_preset_is_said(void **state)
{
    gopt_err e = {0};
    gopt_config c;
    assert_int_equal(gopt_config_preset(&c, "max-autotun", &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "'max-autotun'"));
    assert_non_null(strstr(e.msg, "did you mean 'max-autotune'?"));
    assert_int_equal(gopt_config_preset(&c, "no-such-thing.yaml", &e), GOPT_EUSAGE);
    assert_non_null(strstr(e.msg, "--list presets"));
    assert_int_equal(gopt_config_preset(&c, *state, &e), GOPT_EINPUT); /* a folder */
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(every_registered_thing_has_its_rows),
        cmocka_unit_test(every_value_of_every_row_prints_and_parses_back),
        cmocka_unit_test(baseline_runs_no_pass_and_default_all),
        cmocka_unit_test(the_pipeline_keeps_the_order_of_the_registry),
        cmocka_unit_test(knobs_are_reached_through_their_owner),
        cmocka_unit_test(idle_knobs_are_normalized),
        cmocka_unit_test(wrong_assignments_say_what_is_allowed),
        cmocka_unit_test(presets_are_listed_and_start_where_they_say),
        D(a_file_changes_the_default),
        D(a_bad_file_is_refused_with_its_line),
        D(what_is_no_preset_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
