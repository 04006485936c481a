/* test_lower.c: what plans compute: values that branches capture, views, decisions, bundles. Always compared with the
 * reference executor. */
#include <unistd.h>

#include "bundle.h"
#include "compile.h"
#include "support/compiled.h"
#include "support/test.h"

static void check(const char *text, const gopt_config *c, const char *dir, const char *what)
{
    gopt_plan *p = test_compile(text, c, dir, NULL);
    test_plan_matches(p, text, what);
    gopt_plan_free(p);
}

static void check_bundle(const char *text, const gopt_config *c, const char *dir)
{
    char path[4096];
    gopt_err e = {0};
    gopt_plan *p = test_compile(text, c, dir, NULL), *again;
    assert_ok(gopt_bundle_write(p, test_path(path, dir, "m.gopt"), NULL, &e), &e);
    gopt_plan_free(p);
    assert_ok(gopt_bundle_read(&again, path, NULL, &e), &e);
    test_plan_matches(again, text, "bundle");
    gopt_plan_free(again);
}

/* ---- what plans compute ---- */

static void every_pass_alone_and_left_out_keeps_the_results(void **state)
{
    for (int m = 0; test_models[m]; m++) {
        gopt_config c;
        gopt_config_baseline(&c);
        check(test_models[m], &c, *state, "baseline");
        gopt_config_default(&c);
        check(test_models[m], &c, *state, "default");
        for (int i = 0; gopt_passes[i]; i++) {
            char row[80];
            snprintf(row, sizeof row, "pass.%s", gopt_passes[i]->name);
            gopt_config_baseline(&c);
            c.v[gopt_setting_find(row)] = 1;
            check(test_models[m], &c, *state, row);
            gopt_config_default(&c);
            c.v[gopt_setting_find(row)] = 0;
            gopt_config_normalize(&c);
            check(test_models[m], &c, *state, row);
        }
    }
}

static void a_bundle_keeps_bodies_views_and_code(void **state)
{
    for (int m = 0; test_models[m]; m++) {
        gopt_config c;
        gopt_config_baseline(&c);
        check_bundle(test_models[m], &c, *state);
        gopt_config_default(&c);
        check_bundle(test_models[m], &c, *state);
    }
}

static void a_branch_must_not_lose_what_it_captures(void **state)
{
    for (int planner = 0; planner < 2; planner++) {
        gopt_config c = test_config("pass.reuse_memory=on", "pass.alias_views=on", NULL);
        c.v[gopt_setting_find("reuse_memory.planner")] = planner;
        check(test_model_captured, &c, *state, "captured");
        check(test_model_looping, &c, *state, "looping");
    }
}

/* A stride that passes the import check must not make a kernel look at every remainder of it. */
static void the_largest_stride_is_no_more_work_than_any(void **state)
{
    static const char text[] = "input x float32[1,4,9,9]\nconst w float32[4,1,3,3] random(1)\n"
                               "c: y float32[1,4,1,9] = Conv(x, w) {group=4, pads=[1,1,1,1], strides=[2147483647,1]}\n"
                               "output y\n";
    gopt_config baseline, all;
    gopt_config_baseline(&baseline);
    gopt_config_default(&all);
    alarm(30);
    check(text, &baseline, *state, "baseline");
    check(text, &all, *state, "default");
    alarm(0);
}

/* ---- aliases ---- */

static int places(const gopt_plan *p, gopt_place place)
{
    int n = 0;
    for (int i = 0; i < p->n_values; i++)
        n += p->values[i].place == place;
    return n;
}

static void views_move_no_data(void **state)
{
    gopt_config plain = test_config(NULL, NULL), c = test_config("pass.alias_views=on", NULL);
    gopt_plan *p = test_compile(test_model_views, &plain, *state, NULL),
              *q = test_compile(test_model_views, &c, *state, NULL);
    assert_int_equal(places(p, GOPT_PLACE_ALIAS), 0);
    assert_true(places(q, GOPT_PLACE_ALIAS) >= 5);
    assert_int_equal(p->n_steps, 8);
    assert_int_equal(q->n_steps, 2);
    assert_true(q->arena_bytes < p->arena_bytes);
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].place == GOPT_PLACE_ALIAS)
            assert_int_not_equal(q->values[q->values[i].outer].place, GOPT_PLACE_ALIAS);
    test_plan_matches(q, test_model_views, "views");
    gopt_plan_free(p);
    gopt_plan_free(q);
}

static void ports_are_what_the_model_declares(void **state)
{
    gopt_config c = test_config(NULL, NULL);
    gopt_plan *p = test_compile(test_model_views, &c, *state, NULL);
    assert_int_equal(p->n_inputs, 1);
    assert_int_equal(p->n_outputs, 9);
    assert_string_equal(p->ports[0].name, "x");
    assert_string_equal(p->ports[1].name, "a");
    assert_int_equal(p->ports[1].dim[1], 4);
    assert_int_equal(p->outputs[7], p->outputs[8]);
    gopt_plan_free(p);
}

/* ---- decisions ---- */

static bool overlap(const gopt_plan *p)
{
    for (int i = 0; i < p->n_values; i++)
        for (int k = 0; k < i; k++) {
            const gopt_plan_value *a = &p->values[i], *b = &p->values[k];
            if (a->place == GOPT_PLACE_ARENA && b->place == GOPT_PLACE_ARENA && a->offset < b->offset + b->bytes &&
                b->offset < a->offset + a->bytes)
                return true;
        }
    return false;
}

static void reuse_is_a_decision(void **state)
{
    gopt_config apart = test_config(NULL, NULL), by_size = test_config("pass.reuse_memory=on", NULL);
    gopt_config by_life = test_config("pass.reuse_memory=on", "reuse_memory.planner=by_lifetime", NULL);
    gopt_plan *p = test_compile(test_model_chain, &apart, *state, NULL),
              *q = test_compile(test_model_chain, &by_size, *state, NULL);
    gopt_plan *r = test_compile(test_model_chain, &by_life, *state, NULL);
    assert_false(overlap(p));
    assert_true(overlap(q) && overlap(r));
    assert_true(q->arena_bytes < p->arena_bytes && r->arena_bytes < p->arena_bytes);
    assert_int_equal(p->weight_bytes, q->weight_bytes);
    gopt_plan_free(p);
    gopt_plan_free(q);
    gopt_plan_free(r);
}

static int packed(const gopt_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++) {
        for (int k = 0; k < p->steps[i].group.n_in; k++)
            n += p->steps[i].group.in[k].packed;
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            n += packed(p->steps[i].body[b]);
    }
    return n;
}

static void packing_is_a_decision(void **state)
{
    gopt_config loose = test_config(NULL, NULL), tight = test_config("pass.prepack=on", NULL);
    gopt_plan *p = test_compile(test_model_chain, &loose, *state, NULL),
              *q = test_compile(test_model_chain, &tight, *state, NULL);
    assert_int_equal(packed(p), 0);
    assert_true(packed(q) >= 3);
    gopt_plan_free(p);
    gopt_plan_free(q);
    p = test_compile(test_model_products, &tight, *state, NULL);
    assert_int_equal(packed(p), 3);
    gopt_plan_free(p);
}

static bool is_there(const gopt_plan *p, const char *name)
{
    for (int i = 0; i < p->n_values; i++)
        if (p->values[i].name && !strcmp(p->values[i].name, name))
            return p->values[i].data;
    fail_msg("no value %s", name);
    return false;
}

static void weights_that_only_packed_forms_are_read_of_are_forgotten(void **state)
{
    gopt_config c = test_config("pass.prepack=on", NULL);
    gopt_plan *p = test_compile(test_model_heavy, &c, *state, NULL);
    assert_int_equal(packed(p), 6);
    assert_false(is_there(p, "u"));
    assert_false(is_there(p, "v"));
    assert_true(is_there(p, "w"));
    assert_true(is_there(p, "k"));
    test_plan_matches(p, test_model_heavy, "forgotten weights");
    gopt_plan_free(p);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(every_pass_alone_and_left_out_keeps_the_results),
        D(a_bundle_keeps_bodies_views_and_code),
        D(a_branch_must_not_lose_what_it_captures),
        D(the_largest_stride_is_no_more_work_than_any),
        D(views_move_no_data),
        D(ports_are_what_the_model_declares),
        D(reuse_is_a_decision),
        D(packing_is_a_decision),
        D(weights_that_only_packed_forms_are_read_of_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
