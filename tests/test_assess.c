/* test_assess.c: from samples of known speeds to speedups, verdicts, front, regimes and the choice. */
#include <math.h>

#include "assess.h"
#include "decide.h"
#include "support/made_study.h"
#include "support/test.h"

static gopt_assessment assess(const gopt_study *s, const gopt_goal *goal)
{
    gopt_err e = {0};
    gopt_assessment a;
    assert_ok(gopt_assess(&a, s, goal, &e), &e);
    return a;
}

static void speedups_do_not_see_the_drift(void **state)
{
    const double ms[] = {2}, compile[] = {300};
    gopt_study *s = test_study_make(*state, ms, compile, 1, 40);
    gopt_estimate r = gopt_effects_speedup(s, 2);
    assert_true(fabs(r.value - 5) < 0.05 && r.lo > 4.9 && r.hi < 5.1);
    assert_true(gopt_effects_noise_floor(s) < 0.01);
    assert_true(gopt_effects_speedup(s, 0).value == 1);
    gopt_assessment a = assess(s, &gopt_goal_default);
    const gopt_assessed *x = gopt_assess_find(&a, 2), *base = gopt_assess_find(&a, 0);
    assert_true(fabs(base->run_ns / x->run_ns / x->speedup.value - 1) < 1e-9);
    assert_int_equal(x->verdict, GOPT_VERDICT_BETTER);
    assert_int_equal(a.chosen, 2);
    assert_true(fabs(x->saving - 0.4) < 1e-9);
    assert_true(fabs(x->break_even - x->compile_ns / (base->run_ns - x->run_ns)) < 1e-6);
    assert_true(fabs(x->utility - x->speedup.value / (1 + 0.001 * x->compile_ns / x->run_ns)) < 1e-9);
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

static void a_tie_keeps_the_default(void **state)
{
    const double ms[] = {3.99, 12}, compile[] = {300, 5};
    gopt_study *s = test_study_make(*state, ms, compile, 2, 40);
    gopt_assessment a = assess(s, &gopt_goal_default);
    assert_int_equal(a.chosen, 1);
    assert_non_null(strstr(a.reason, "tie"));
    assert_int_equal(gopt_assess_find(&a, 3)->verdict, GOPT_VERDICT_WORSE);
    assert_true(gopt_assess_find(&a, 1)->on_front);
    assert_true(isnan(gopt_assess_find(&a, 3)->break_even));
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

static void objectives_and_constraints_decide(void **state)
{
    const double ms[] = {2, 6}, compile[] = {2000, 1};
    gopt_study *s = test_study_make(*state, ms, compile, 2, 40);
    gopt_goal goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_compile;
    gopt_assessment a = assess(s, &goal);
    assert_int_equal(a.chosen, 3);
    gopt_assess_fini(&a);
    goal = gopt_goal_default;
    goal.max_compile_ns = 1e9;
    a = assess(s, &goal);
    assert_int_equal(a.chosen, 1);
    gopt_assess_fini(&a);
    goal.max_compile_ns = 5e6;
    a = assess(s, &goal);
    assert_int_equal(a.chosen, 3);
    gopt_assess_fini(&a);
    goal.max_compile_ns = 1e3;
    a = assess(s, &goal);
    assert_int_equal(a.chosen, 1);
    assert_non_null(strstr(a.reason, "constraints"));
    gopt_assess_fini(&a);
    goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_wall;
    goal.requests = 1;
    a = assess(s, &goal);
    assert_int_equal(a.chosen, 3);
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

/* In the middle of every interval the trial it names is the winner. */
static void regimes_name_the_winners(void **state)
{
    const double ms[] = {2, 6, 8}, compile[] = {2000, 30, 5};
    gopt_study *s = test_study_make(*state, ms, compile, 3, 40);
    gopt_assessment a = assess(s, &gopt_goal_default);
    assert_true(a.n_requests >= 3 && a.requests[0].from == 0 && isinf(a.requests[a.n_requests - 1].to));
    for (int i = 0; i < a.n_requests; i++) {
        double at = isinf(a.requests[i].to) ? 2 * a.requests[i].from + 1 : (a.requests[i].from + a.requests[i].to) / 2;
        const gopt_assessed *w = gopt_assess_find(&a, a.requests[i].trial);
        for (int k = 0; k < a.n; k++)
            assert_true(w->compile_ns + at * w->run_ns <= (a.at[k].compile_ns + at * a.at[k].run_ns) * (1 + 1e-12));
        assert_true(i == 0 || a.requests[i].from == a.requests[i - 1].to);
    }
    for (int i = 0; i < a.n_alpha; i++) {
        double at = isinf(a.alpha[i].to) ? 2 * a.alpha[i].from + 1 : (a.alpha[i].from + a.alpha[i].to) / 2;
        const gopt_assessed *w = gopt_assess_find(&a, a.alpha[i].trial);
        double best = w->speedup.value / (1 + at * w->compile_ns / w->run_ns);
        for (int k = 0; k < a.n; k++)
            assert_true(best >= a.at[k].speedup.value / (1 + at * a.at[k].compile_ns / a.at[k].run_ns) * (1 - 1e-12));
    }
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

static void too_few_rounds_are_no_result(void **state)
{
    const double ms[] = {2}, compile[] = {1};
    gopt_study *s = test_study_make(*state, ms, compile, 1, 5);
    gopt_assessment a = assess(s, &gopt_goal_default);
    assert_null(gopt_assess_find(&a, 2));
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

static const char about[] =
    "{\"seed\":1,\"budget_s\":60,\"elapsed_s\":59,\"stopped\":\"budget\",\"shapes\":\"batch=1,seq=32\",\"model\":{"
    "\"path\":"
    "\"m.onnx\",\"sha256\":\"00\",\"nodes\":9,\"parameters_bytes\":100,\"operators\":{\"Conv\":2},\"native\":3,"
    "\"reference\":0},"
    "\"device\":{\"name\":\"cpu\",\"fingerprint\":\"f\",\"facts\":{\"cores\":2}},\"goal\":{\"objective\":\"latency\","
    "\"alpha\":"
    "0.001,\"requests\":100,\"hit_rate\":0},\"settings\":{},\"accounting\":{\"compile\":20,\"verify\":5,\"measure\":30,"
    "\"search\":1,\"other\":3},\"rounds\":40,\"rounds_flagged\":2,\"disturbance\":{\"others\":0.3,\"steal\":0,"
    "\"waited\":0.05},\"notes\":[\"a note\"]}";

static void findings_say_what_the_study_says(void **state)
{
    const double ms[] = {2, 7, 6, 5}, compile[] = {300, 30, 30, 30};
    gopt_err e = {0};
    gopt_findings *f;
    gopt_goal goal;
    gopt_study *s = test_study_make(*state, ms, compile, 4, 40);
    int pass = gopt_pass_find("fold_const");
    s->trials[3].role = GOPT_ROLE_SINGLE;
    s->trials[3].pass_a = pass;
    s->trials[4].role = GOPT_ROLE_SINGLE;
    s->trials[4].pass_a = pass + 1;
    s->trials[5].role = GOPT_ROLE_PAIR;
    s->trials[5].pass_a = pass;
    s->trials[5].pass_b = pass + 1;
    assert_int_equal(gopt_decide(&f, s, &gopt_goal_default, &e), GOPT_EINPUT);
    assert_ok(gopt_study_set(s, "about", about, &e), &e);
    assert_ok(gopt_decide_goal(&goal, s, &e), &e);
    assert_true(goal.requests == 100);
    assert_ok(gopt_decide(&f, s, &goal, &e), &e);
    const gopt_finding_cluster *c = &f->clusters[0];
    assert_int_equal(c->n_trials, 6);
    assert_int_equal(c->chosen_trial, 2);
    assert_int_equal(c->n_single, 2);
    assert_int_equal(c->n_pairs, 1);
    double eta = (10.0 / 5) / ((10.0 / 7) * (10.0 / 6));
    assert_true(fabs(c->pairs[0].eta.value / eta - 1) < 0.01);
    assert_true(c->pairs[0].eta.lo <= c->pairs[0].eta.value && c->pairs[0].eta.value <= c->pairs[0].eta.hi);
    assert_int_equal(c->bounds[1].lo, 32);
    assert_true(f->noise.unquiet); /* by the processors' time that others took: few rounds are flagged */
    assert_true(f->noise.others == 0.3 && f->noise.waited == 0.05 && f->noise.steal == 0);
    assert_true(fabs(f->noise.spread - 0.38) < 0.03); /* the made-up machine drifts by half */
    assert_string_equal(gopt_finding_trust(&f->noise), "little");
    assert_string_equal(f->verdict.result, "ok");
    gopt_findings_free(f);
    gopt_study_close(s);
}

/* Node 0 is what the pass touched and halves; node 1 takes as much more or less as the machine is slower or faster in
 * the second trace. */
static void a_trace_tells_how_the_rest_changed(void **state)
{
    static const char trace[] = "{\"status\":\"ok\",\"total\":%d,\"steps\":["
                                "{\"name\":\"a\",\"op\":\"Relu\",\"kernel\":\"k\",\"origin\":[0],\"ns\":%d},"
                                "{\"name\":\"b\",\"op\":\"Conv\",\"kernel\":\"k\",\"origin\":[1],\"ns\":%d}]}";
    static const struct {
        int rest;
        const char *says;
    } rows[] = {{670, "took 33 % less than before, most of it Conv"},
                {1330, "took 33 % longer than before, most of it Conv"},
                {1010, "did not change"}};
    const double ms[] = {8}, compile[] = {30};
    gopt_study *s = test_study_make(*state, ms, compile, 1, 40);
    gopt_err e = {0};
    char json[512];
    s->trials[2].role = GOPT_ROLE_SINGLE;
    s->trials[2].pass_a = gopt_pass_find("fold_const");
    snprintf(json, sizeof json, trace, 2000, 1000, 1000);
    assert_ok(gopt_study_set_trace(s, 0, json, &e), &e);
    assert_ok(gopt_study_set(s, "about", about, &e), &e);
    for (int i = 0; i < GOPT_COUNT(rows); i++) {
        gopt_findings *f;
        snprintf(json, sizeof json, trace, 500 + rows[i].rest, 500, rows[i].rest);
        assert_ok(gopt_study_set_trace(s, 2, json, &e), &e);
        assert_ok(gopt_decide(&f, s, &gopt_goal_default, &e), &e);
        const gopt_finding_single *x = &f->clusters[0].single[0];
        assert_true(fabs(x->rest_change - (rows[i].rest / 1000.0 - 1)) < 1e-9);
        assert_non_null(strstr(x->bottleneck, rows[i].says));
        assert_true(fabs(x->share - 0.5) < 1e-9 && fabs(x->operator_speedup - 2) < 1e-9);
        gopt_findings_free(f);
    }
    gopt_study_close(s);
}

/* The report names the limits beyond which it says that the machine was unquiet. */
static void the_limits_of_trust_are_those_that_are_named(void **state)
{
    const double limit[] = {GOPT_UNQUIET_ROUNDS, GOPT_UNQUIET_OTHERS, GOPT_UNQUIET_STEAL};
    gopt_study *s = test_study_make(*state, NULL, NULL, 0, 40);
    for (int i = 0; i < 2 * GOPT_COUNT(limit); i++) {
        double share[3] = {0, 0, 0};
        char json[160];
        gopt_err e = {0};
        gopt_findings *f;
        share[i / 2] = limit[i / 2] * (i % 2 ? 1.01 : 0.99);
        snprintf(json, sizeof json,
                 "{\"rounds\":10000,\"rounds_flagged\":%.0f,\"disturbance\":{\"others\":%g,\"steal\":%g}}",
                 10000 * share[0], share[1], share[2]);
        assert_ok(gopt_study_set(s, "about", json, &e), &e);
        assert_ok(gopt_decide(&f, s, &gopt_goal_default, &e), &e);
        assert_true(f->noise.unquiet == (i % 2 == 1));
        gopt_findings_free(f);
    }
    gopt_study_close(s);
}

/* 299 samples and more have a p99, but not where one of them is the mean of two inferences. */
static void means_have_no_percentiles(void **state)
{
    enum { ROUNDS = 400 };
    const double ms[] = {2}, compile[] = {300};
    gopt_err e = {0};
    for (int repeats = 1; repeats <= 2; repeats++) {
        gopt_findings *f;
        gopt_study *s = test_study_make(*state, ms, compile, 1, ROUNDS);
        for (int i = 0; i < s->n_samples; i++)
            if (s->samples[i].trial == 2 && s->samples[i].round == 17)
                s->samples[i].repeats = repeats;
        assert_ok(gopt_study_set(s, "about", about, &e), &e);
        assert_ok(gopt_decide(&f, s, &gopt_goal_default, &e), &e);
        const gopt_finding_latency *l = &f->clusters[0].trials[2].latency, *other = &f->clusters[0].trials[1].latency;
        assert_int_equal(l->repeats, repeats);
        assert_int_equal(other->repeats, 1);
        assert_true(l->samples == ROUNDS && l->median > 0 && other->p99 > 0);
        assert_true((l->p99 > 0) == (repeats == 1) && (l->p95 > 0) == (repeats == 1) && (l->p90 > 0) == (repeats == 1));
        gopt_findings_free(f);
        gopt_study_close(s);
    }
}

/* debug is the baseline, which compiles in 10 ms and takes 10; max-autotune compiles in 30. */
static void presets_win_where_their_wall_times_cross(void **state)
{
    const double ms[] = {8}, compile[] = {30};
    gopt_err e = {0};
    gopt_findings *f;
    gopt_study *s = test_study_make(*state, ms, compile, 1, 40);
    assert_ok(gopt_preset_config(&s->trials[2].config, "max-autotune", s), &e);
    s->trials[1].config.v[gopt_setting_find("engine.threads")] = 7; /* not the preset */
    assert_ok(gopt_preset_config(&s->trials[0].config, "debug", s), &e);
    assert_ok(gopt_study_set(s, "about", about, &e), &e);
    assert_ok(gopt_decide(&f, s, &gopt_goal_default, &e), &e);
    const gopt_finding_preset *debug = &f->clusters[0].presets[0], *autotune = &f->clusters[0].presets[1];
    assert_int_equal(f->clusters[0].n_presets, 2);
    assert_true(debug->trial == 0 && autotune->trial == 2);
    assert_true(debug->best_from == 0 && isnan(autotune->best_to) && debug->best_to == autotune->best_from);
    assert_true(fabs(debug->compile_ns + debug->best_to * debug->run_ns - autotune->compile_ns -
                     debug->best_to * autotune->run_ns) < 1);
    gopt_findings_free(f);
    gopt_study_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(speedups_do_not_see_the_drift),
        T(a_tie_keeps_the_default),
        T(objectives_and_constraints_decide),
        T(regimes_name_the_winners),
        T(too_few_rounds_are_no_result),
        T(findings_say_what_the_study_says),
        T(means_have_no_percentiles),
        T(a_trace_tells_how_the_rest_changed),
        T(presets_win_where_their_wall_times_cross),
        T(the_limits_of_trust_are_those_that_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
