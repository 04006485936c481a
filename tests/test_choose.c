/* test_choose.c: what goals choose from studies whose final only some trials were in. */
#include <math.h>
#include <string.h>

#include "assess.h"
#include "support/made_study.h"
#include "support/test.h"

enum { ROUNDS = 40, DEFAULT = 1 };

/* Trials 2 and up as they did in races; trials[0..n) and baseline and default are in the final, too. */
static gopt_study *study(const char *dir, const double *ms, const double *compile_ms, int more, const int *trials,
                         const double *final_ms, int n)
{
    gopt_err e = {0};
    gopt_study *s = test_study_make(dir, ms, compile_ms, more, ROUNDS);
    for (int r = ROUNDS; r < 2 * ROUNDS; r++) {
        double jitter = 1 + 0.002 * (r % 5);
        const struct {
            int trial;
            double ms;
        } always[] = {{0, 10}, {0, 10 * jitter}, {1, 4 * jitter}};
        for (int i = 0; i < GOPT_COUNT(always) + n; i++) {
            bool own = i >= GOPT_COUNT(always);
            double t = own ? final_ms[i - GOPT_COUNT(always)] * (1 + 0.002 * ((r + i) % 5)) : always[i].ms;
            gopt_sample x = {.trial = own ? trials[i - GOPT_COUNT(always)] : always[i].trial,
                             .round = r,
                             .ns = t * 1e6,
                             .repeats = 1,
                             .stage = GOPT_SAMPLE_FINAL};
            assert_ok(gopt_study_add_sample(s, &x, &e), &e);
        }
    }
    return s;
}

static gopt_assessment choose(const gopt_study *s, const gopt_goal *goal)
{
    gopt_err e = {0};
    gopt_assessment a;
    assert_ok(gopt_assess(&a, s, goal, &e), &e);
    return a;
}

static void expect(const gopt_study *s, const gopt_goal *goal, int trial, const char *reason)
{
    gopt_assessment a = choose(s, goal);
    if (a.chosen != trial || !strstr(a.reason, reason))
        fail_msg("trial %d (%s) instead of %d (%s)", a.chosen, a.reason, trial, reason);
    assert_false(a.unmet);
    gopt_assess_fini(&a);
}

/* Trial 2 is small, trial 3 is quick to compile, trial 4 is the fastest and was in the final alone. */
static gopt_study *varied(const char *dir)
{
    const double ms[] = {3.9, 5, 2}, compile_ms[] = {150, 2, 2000}, final_ms[] = {2.1};
    const int trials[] = {4};
    gopt_study *s = study(dir, ms, compile_ms, 3, trials, final_ms, 1);
    s->trials[2].reply.memory.peak = 50 << 20;
    return s;
}

static void a_constraint_is_kept_by_what_was_not_in_the_final(void **state)
{
    gopt_study *s = varied(*state);
    gopt_goal goal = gopt_goal_default;
    goal.max_memory = 55 << 20;
    expect(s, &goal, 2, "the default does not keep the constraints");
    goal.max_memory = 40 << 20;
    gopt_assessment a = choose(s, &goal);
    assert_true(a.unmet && a.chosen == DEFAULT);
    gopt_assess_fini(&a);
    goal = gopt_goal_default;
    goal.max_compile_ns = 1e9;
    expect(s, &goal, DEFAULT, "no candidate is known to be better");
    goal.max_compile_ns = 3e6;
    expect(s, &goal, 3, "the default does not keep the constraints");
    gopt_study_close(s);
}

static void what_is_counted_needs_no_final(void **state)
{
    gopt_study *s = varied(*state);
    gopt_goal goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_memory;
    expect(s, &goal, 2, "least peak memory, 50.0 MiB; the default has");
    goal.objective = GOPT_OBJECTIVE_compile;
    expect(s, &goal, 3, "shortest time to compile, 2.00 ms; the default has");
    goal.max_latency_ns = 4.5e6;
    expect(s, &goal, 2, "shortest time to compile, 150 ms; the default has");
    gopt_study_close(s);
}

static void of_equals_the_fastest_is_taken(void **state)
{
    const double ms[] = {3, 2}, compile_ms[] = {200, 200};
    gopt_study *s = study(*state, ms, compile_ms, 2, NULL, NULL, 0);
    s->trials[2].reply.memory.peak = 50 << 20;
    s->trials[3].reply.memory.peak = (50 << 20) + (1 << 18);
    gopt_goal goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_memory;
    expect(s, &goal, 3,
           "fastest within 1 % of the least peak memory: it has 50.2 MiB, trial 2 has 50.0 MiB; the default");
    for (int i = 2; i < 4; i++)
        s->trials[i].reply.memory.peak = s->trials[DEFAULT].reply.memory.peak - (1 << 10);
    expect(s, &goal, 3, "1.998 [1.994, 2.002] times as fast with no more memory and no more compiling");
    gopt_study_close(s);
}

static void little_less_of_what_is_counted_is_a_tie(void **state)
{
    const double ms[] = {5, 3}, compile_ms[] = {900, 900};
    gopt_study *s = study(*state, ms, compile_ms, 2, NULL, NULL, 0);
    gopt_goal goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_memory;
    s->trials[2].reply.memory.peak = 1000 << 10;
    s->trials[3].reply.memory.peak = 1009 << 10;
    s->trials[DEFAULT].reply.memory.peak = 1012 << 10;
    expect(s, &goal, DEFAULT, "less than 1 % apart is a tie");
    s->trials[DEFAULT].reply.memory.peak = 1002 << 10;
    s->trials[3].reply.memory.peak = 2000 << 10;
    expect(s, &goal, DEFAULT, "no candidate is better than the default: fastest within 1 % of the least peak memory");
    gopt_study_close(s);
}

/* Objectives that come down to latency say what latency says. */
static void a_tie_is_a_tie_whatever_it_is_called(void **state)
{
    const double ms[] = {3.99}, compile_ms[] = {200}, final_ms[] = {3.99};
    const int trials[] = {2};
    gopt_study *s = study(*state, ms, compile_ms, 1, trials, final_ms, 1);
    gopt_goal goal = gopt_goal_default;
    s->trials[2].reply.memory.peak = 61 << 20; /* it is not for free */
    expect(s, &goal, DEFAULT, "tie");
    goal.objective = GOPT_OBJECTIVE_utility;
    goal.alpha = 0;
    expect(s, &goal, DEFAULT, "tie");
    goal.objective = GOPT_OBJECTIVE_wall;
    goal.requests = 1e9;
    expect(s, &goal, DEFAULT, "tie");
    gopt_study_close(s);
}

static void luck_in_races_is_not_chosen_but_named(void **state)
{
    const double ms[] = {2, 2.12}, compile_ms[] = {200, 200}, final_ms[] = {2.15};
    const int trials[] = {3};
    gopt_study *s = study(*state, ms, compile_ms, 2, trials, final_ms, 1);
    for (int i = 0; i < s->n_samples; i++) /* races that scatter by half */
        if (s->samples[i].trial == 2)
            s->samples[i].ns *= 0.75 + 0.5 * (i % 7) / 6;
    gopt_assessment a = choose(s, &gopt_goal_default);
    const gopt_assessed *x = gopt_assess_find(&a, 2);
    assert_true(x->run_ns < 2.1e6 && x->cautious_ns > 2.2e6);
    assert_int_equal(a.chosen, 3);
    assert_non_null(strstr(a.reason, "x the baseline, but of short races: the low end of its speedup"));
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

/* In the middle of every regime, by more than the margin, the same is chosen. */
static void regimes_are_what_would_be_chosen(void **state)
{
    const double ms[] = {2, 6, 8}, compile_ms[] = {2000, 30, 5}, final_ms[] = {2};
    const int trials[] = {2};
    gopt_study *s = study(*state, ms, compile_ms, 3, trials, final_ms, 1);
    gopt_assessment a = choose(s, &gopt_goal_default);
    assert_true(a.n_requests >= 3 && a.n_alpha >= 2);
    for (int i = 0; i < a.n_requests + a.n_alpha; i++) {
        bool wall = i < a.n_requests;
        const gopt_regime *r = wall ? &a.requests[i] : &a.alpha[i - a.n_requests];
        gopt_goal goal = gopt_goal_default;
        goal.objective = wall ? GOPT_OBJECTIVE_wall : GOPT_OBJECTIVE_utility;
        *(wall ? &goal.requests : &goal.alpha) = isinf(r->to) ? 2 * r->from + 1 : (r->from + r->to) / 2;
        gopt_assessment b = choose(s, &goal);
        assert_int_equal(b.chosen, r->trial);
        gopt_assess_fini(&b);
    }
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

static void p99_that_is_not_known_decides_nothing(void **state)
{
    const double ms[] = {2}, compile_ms[] = {200}, final_ms[] = {2};
    const int trials[] = {2};
    gopt_study *s = study(*state, ms, compile_ms, 1, trials, final_ms, 1);
    gopt_goal goal = gopt_goal_default;
    goal.objective = GOPT_OBJECTIVE_p99;
    expect(s, &goal, 2, "by median latency, as p99 needs 299 samples");
    goal.max_memory = 40 << 20;
    gopt_assessment a = choose(s, &goal);
    assert_true(a.unmet && a.chosen == DEFAULT && strstr(a.reason, "constraints"));
    gopt_assess_fini(&a);
    gopt_study_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_constraint_is_kept_by_what_was_not_in_the_final),
        T(what_is_counted_needs_no_final),
        T(of_equals_the_fastest_is_taken),
        T(little_less_of_what_is_counted_is_a_tie),
        T(a_tie_is_a_tie_whatever_it_is_called),
        T(luck_in_races_is_not_chosen_but_named),
        T(regimes_are_what_would_be_chosen),
        T(p99_that_is_not_known_decides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
