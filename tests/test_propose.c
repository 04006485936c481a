/* test_propose.c: what a job tries next: passes alone and left out, pairs of the strongest, then what the sampler says.
 * Speeds are made up, time is made up. */
#include <math.h>

#include "base/clock.h"
#include "base/file.h"
#include "coalition.h"
#include "effects.h"
#include "job.h"
#include "support/made_study.h"
#include "support/test.h"

static const char *const active[] = {"drop_identity", "merge_common", "drop_dead", "alias_views", "prepack"};
enum { ACTIVE = GOPT_COUNT(active), ROUNDS = 9, PROPOSALS_MAX = 200 };

static int64_t now;

static int64_t made_up_time(void)
{
    return now;
}

/* A job whose search takes from 0 to 100 s. */
static void begin(gopt_job *j, const gopt_tune_options *o, gopt_study *s)
{
    *j = (gopt_job){.options = o, .study = s, .begin = 0, .search_end = 100 * GOPT_NS_PER_S};
    gopt_random_seed(&j->random, (uint64_t)o->seed);
    gopt_clock_source = made_up_time;
    now = GOPT_NS_PER_S;
}

static double speed_of(const gopt_config *c)
{
    static const double gain[ACTIVE] = {1.5, 1.3, 1.01, 1.2, 1.1};
    double x = 1;
    for (int i = 0; i < ACTIVE; i++)
        x *= gopt_config_pass_on(c, gopt_passes[gopt_pass_find(active[i])]) ? gain[i] : 1;
    return x * (1 + 0.01 * (double)gopt_config_threads(c));
}

static void add_samples(gopt_study *s, int trial)
{
    for (int r = 0; r < ROUNDS; r++) {
        int round = s->next_round;
        double jitter = 1 + 0.001 * (r % 3);
        test_study_sample(s, 0, round, 10);
        test_study_sample(s, 0, round, 10 * jitter);
        test_study_sample(s, trial, round, 10 * jitter / speed_of(&s->trials[trial].config));
    }
}

static int add(gopt_study *s, const gopt_config *c, gopt_trial_role role, int a, int b, const char *status)
{
    gopt_err e = {0};
    gopt_text json = {0};
    gopt_trial t = {.role = role, .pass_a = a, .pass_b = b, .config = *c};
    gopt_text_add(&json, "{\"status\":\"%s\",\"plan_hash\":\"h%d\",\"passes\":[{\"pass\":\"inline_if\",\"changed\":0}",
                  status, s->n_trials);
    for (int i = 0; i < ACTIVE; i++)
        gopt_text_add(&json, ",{\"pass\":\"%s\",\"changed\":1}", active[i]);
    gopt_text_put(&json, "]}");
    assert_ok(gopt_study_add_trial(s, &t, gopt_text_str(&json), &e), &e);
    gopt_text_fini(&json);
    if (!strcmp(status, "ok") && role != GOPT_ROLE_BASELINE)
        add_samples(s, t.id);
    return t.id;
}

static gopt_study *new_study(const char *dir)
{
    static const gopt_study_identity identity = {
        .model_sha256 = "00", .shapes = "", .tool = "test", .device = "here", .seed = 1};
    char path[4096];
    gopt_err e = {0};
    gopt_study *s;
    gopt_config c;
    assert_ok(gopt_study_open(&s, test_path(path, dir, "study.db"), &identity, true, &e), &e);
    gopt_config_baseline(&c);
    c.v[gopt_setting_find("engine.threads")] = 2;
    add(s, &c, GOPT_ROLE_BASELINE, -1, -1, "ok");
    gopt_config_default(&c);
    c.v[gopt_setting_find("engine.threads")] = 2;
    add(s, &c, GOPT_ROLE_DEFAULT, -1, -1, "ok");
    return s;
}

static void end(gopt_study *s)
{
    gopt_study_close(s);
    gopt_clock_source = gopt_clock_monotonic;
}

static const gopt_tune_options options = {.sampler = "auto", .seed = 3, .threads = {1, 2}, .n_threads = 2};

/* Proposes and adds until there is nothing more; returns the number, the proposals in `all`. */
static int play(gopt_job *j, gopt_proposal *all, int max)
{
    int n = 0;
    while (n < max && gopt_job_propose(j, &all[n])) {
        add(j->study, &all[n].config, all[n].role, all[n].pass_a, all[n].pass_b, "ok");
        n++;
    }
    return n;
}

static bool is_on(const gopt_config *c, int pass)
{
    return gopt_config_pass_on(c, gopt_passes[pass]);
}

/* Coalitions that trials made for something else stand for: a player alone, all but one, the others with one. */
static int known_coalitions(gopt_study *s)
{
    gopt_players p;
    int n = 0;
    gopt_players_read(&p, s);
    assert_int_equal(p.n, ACTIVE);
    assert_int_equal(p.pass[ACTIVE - 1], -1);
    for (unsigned mask = 1; mask < (1u << ACTIVE) - 1; mask++) {
        const gopt_trial *t = gopt_coalition_find(s, &p, gopt_effects_default(s), mask);
        n += t && t->role != GOPT_ROLE_COALITION;
    }
    return n;
}

static void passes_come_alone_and_left_out_then_in_pairs_then_the_search(void **state)
{
    static gopt_proposal all[PROPOSALS_MAX];
    gopt_job j;
    gopt_study *s = new_study(*state);
    begin(&j, &options, s);
    int n = play(&j, all, PROPOSALS_MAX), pass[GOPT_SETTINGS_MAX];
    for (int i = 0; i < 2 * ACTIVE; i++) {
        int a = gopt_pass_find(active[i / 2]);
        assert_int_equal(all[i].pass_a, a);
        assert_int_equal(all[i].role, i % 2 ? GOPT_ROLE_LEAVE_ONE_OUT : GOPT_ROLE_SINGLE);
        assert_int_equal(gopt_config_pipeline(&all[i].config, pass), i % 2 ? gopt_pass_count() - 1 : 1);
        assert_int_equal(is_on(&all[i].config, a), i % 2 == 0);
    }
    int at = 2 * ACTIVE, reversed = 0, coalitions = 0;
    gopt_config preset;
    assert_int_equal(all[at].role, GOPT_ROLE_PRESET);
    assert_int_equal(gopt_preset_config(&preset, "reduce-overhead", s), GOPT_OK);
    assert_true(gopt_config_equal(&preset, &all[at++].config));
    assert_int_equal(gopt_preset_find(s, "max-autotune")->id, 1);
    for (; all[at].role == GOPT_ROLE_PAIR; at++) { /* of the four strongest: drop_dead is not among them */
        bool other_way = all[at].pass_a > all[at].pass_b;
        reversed += other_way;
        assert_int_equal(gopt_config_pipeline(&all[at].config, pass), 2);
        assert_true(pass[0] == all[at].pass_a && pass[1] == all[at].pass_b);
        assert_int_not_equal(all[at].pass_a, gopt_pass_find("drop_dead"));
        assert_int_not_equal(all[at].pass_b, gopt_pass_find("drop_dead"));
        assert_true(!other_way || all[at - 1].pass_a == all[at].pass_b); /* right after the usual way */
    }
    assert_int_equal(at - 2 * ACTIVE, 1 + 6 + 1);
    assert_int_equal(reversed, 1); /* of two that rewrite nodes */
    for (; all[at].role == GOPT_ROLE_COALITION; at++)
        coalitions++;
    assert_int_equal(coalitions, (1 << ACTIVE) - 2 - known_coalitions(s));
    for (int i = at; i < n; i++) { /* small enough for all: switches and threads, but those tried */
        assert_int_equal(all[i].role, GOPT_ROLE_SEARCH);
        for (int k = 0; k < i; k++)
            assert_false(gopt_config_equal(&all[i].config, &all[k].config));
    }
    assert_true(n - at > 1 << ACTIVE);
    end(s);
}

static void the_same_study_and_seed_give_the_same(void **state)
{
    static gopt_proposal first[60], again[60], other[60];
    gopt_tune_options o = options;
    gopt_job j;
    o.sampler = "random";
    gopt_study *s = new_study(*state);
    begin(&j, &o, s);
    assert_int_equal(play(&j, first, 60), 60);
    end(s);
    s = new_study(*state);
    begin(&j, &o, s);
    assert_int_equal(play(&j, again, 60), 60);
    end(s);
    o.seed = 4;
    s = new_study(*state);
    begin(&j, &o, s);
    assert_int_equal(play(&j, other, 60), 60);
    end(s);
    bool differs = false;
    for (int i = 0; i < 60; i++) {
        assert_int_equal(first[i].role, again[i].role);
        assert_true(gopt_config_equal(&first[i].config, &again[i].config));
        differs = differs || !gopt_config_equal(&first[i].config, &other[i].config);
    }
    assert_true(differs);
}

/* What effects and pairs may take of the time is bounded. */
static void time_moves_the_job_on(void **state)
{
    gopt_job j;
    gopt_proposal p;
    gopt_study *s = new_study(*state);
    begin(&j, &options, s);
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_SINGLE);
    now = 55 * GOPT_NS_PER_S;
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_PRESET);
    add(s, &p.config, p.role, p.pass_a, p.pass_b, "ok");
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_PAIR);
    now = 65 * GOPT_NS_PER_S;
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_COALITION);
    now = 80 * GOPT_NS_PER_S;
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_SEARCH);
    j.search_end = 0; /* a budget of nothing */
    assert_true(gopt_job_propose(&j, &p) && p.role == GOPT_ROLE_SEARCH);
    end(s);
}

static void without_a_default_there_is_nothing_to_vary(void **state)
{
    gopt_err e = {0};
    gopt_job j;
    gopt_proposal p;
    gopt_study *s = new_study(*state);
    begin(&j, &options, s);
    assert_ok(gopt_study_set_status(s, 1, GOPT_TRIAL_crashed, "signal 11", &e), &e);
    assert_false(gopt_job_propose(&j, &p));
    end(s);
}

/* A failed trial has an answer, too: it is not proposed again. */
static void failures_are_not_repeated(void **state)
{
    gopt_job j;
    gopt_proposal p;
    gopt_study *s = new_study(*state);
    begin(&j, &options, s);
    for (int i = 0; gopt_job_propose(&j, &p); i++) {
        for (int k = 0; k < s->n_trials; k++)
            assert_false(p.role == GOPT_ROLE_SEARCH && gopt_config_equal(&p.config, &s->trials[k].config));
        add(s, &p.config, p.role, p.pass_a, p.pass_b, i % 3 ? "ok" : "crashed");
        assert_true(i < PROPOSALS_MAX);
    }
    end(s);
}

/* The knobs of the kernels that the default runs join the space. */
static void knobs_of_used_kernels_are_varied(void **state)
{
    char trace[256], row[128];
    gopt_err e = {0};
    gopt_job j;
    gopt_proposal p;
    int k = 0;
    while (gopt_kernels[k] && !gopt_kernel_knob_count(gopt_kernels[k]))
        k++;
    assert_non_null(gopt_kernels[k]);
    gopt_study *s = new_study(*state);
    begin(&j, &options, s);
    now = 90 * GOPT_NS_PER_S;
    snprintf(row, sizeof row, "%s.%s", gopt_kernels[k]->name, gopt_kernels[k]->knobs[0].name);
    int at = gopt_setting_find(row), varied = 0;
    for (int traced = 0; traced < 2; traced++) {
        for (int i = 0; i < 30 && gopt_job_propose(&j, &p); i++) {
            varied += p.config.v[at] != s->trials[1].config.v[at];
            add(s, &p.config, p.role, p.pass_a, p.pass_b, "ok");
        }
        assert_true(traced ? varied > 0 : varied == 0);
        snprintf(trace, sizeof trace,
                 "{\"status\":\"ok\",\"total\":9,\"steps\":[{\"name\":\"n\",\"op\":\"x\",\"kernel\":\"%s\"}]}",
                 gopt_kernels[k]->name);
        assert_ok(gopt_study_set_trace(s, 1, trace, &e), &e);
    }
    end(s);
}

#define D(f) cmocka_unit_test_setup_teardown(f, test_dir_setup, test_dir_teardown)

/* Of all that is proposed: how often a setting is not what the default has. */
static int count_changed(const gopt_proposal *all, int n, const char *setting)
{
    int row = gopt_setting_find(setting), changed = 0;
    for (int i = 0; i < n; i++)
        changed += all[i].config.v[row] != gopt_setting_at(row)->knob->init;
    return changed;
}

/* First the default with it, then the search varies it; without a limit of memory neither. */
static void recomputation_is_for_limited_memory(void **state)
{
    static gopt_proposal all[PROPOSALS_MAX];
    for (int limited = 0; limited < 2; limited++) {
        gopt_tune_options o = options;
        gopt_job j;
        gopt_err e = {0};
        char path[4096];
        assert_ok(gopt_dir_make(test_path(path, *state, limited ? "limited" : "free"), &e), &e);
        gopt_study *s = new_study(path);
        o.goal.max_memory = limited ? 1e6 : 0;
        begin(&j, &o, s);
        int n = play(&j, all, PROPOSALS_MAX);
        assert_int_equal(count_changed(all, 1, "recompute.max_arena_kib"), limited);
        assert_true(n > 1 && (count_changed(all, n, "recompute.max_arena_kib") > 1) == limited);
        assert_true((count_changed(all, n, "recompute.max_extra_percent") > 0) == limited);
        end(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(passes_come_alone_and_left_out_then_in_pairs_then_the_search),
        D(the_same_study_and_seed_give_the_same),
        D(time_moves_the_job_on),
        D(without_a_default_there_is_nothing_to_vary),
        D(failures_are_not_repeated),
        D(knobs_of_used_kernels_are_varied),
        D(recomputation_is_for_limited_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
