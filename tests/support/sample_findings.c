#include "support/sample_findings.h"

#include <math.h>

#include "support/test.h"

enum { PASSES = 5, ALL = (1 << PASSES) - 1, TRIALS = 26, FIRST_SINGLE = 2, FIRST_LEFT_OUT = 7, FIRST_PAIR = 12 };

static const char *const pass_names[PASSES] = {"fold_constants", "fuse_conv_act", "fuse_chain", "layout_nhwc",
                                               "reuse_buffers"};

/* Times in us, sizes in KiB; a median of 0 is a trial that failed. */
typedef struct row {
    const char *status, *why, *role;
    int passes, threads;
    double median, compile, weights, arena;
} row;

static const row rows[TRIALS] = {
    {"ok", NULL, "baseline", 0, 1, 4213, 41000, 9200, 8100},
    {"ok", NULL, "default", ALL, 1, 2051, 312000, 9100, 3300},
    {"ok", NULL, "single", 1 << 0, 1, 4160, 44000, 9100, 8000},
    {"ok", NULL, "single", 1 << 1, 1, 3020, 190000, 9200, 6100},
    {"ok", NULL, "single", 1 << 2, 1, 3610, 150000, 9200, 5400},
    {"ok", NULL, "single", 1 << 3, 1, 4390, 60000, 9800, 8300},
    {"ok", NULL, "single", 1 << 4, 1, 4205, 42000, 9200, 3900},
    {"ok", NULL, "leave_one_out", ALL & ~(1 << 0), 1, 2060, 309000, 9200, 3300},
    {"ok", NULL, "leave_one_out", ALL & ~(1 << 1), 1, 3105, 180000, 9200, 3900},
    {"ok", NULL, "leave_one_out", ALL & ~(1 << 2), 1, 2480, 260000, 9100, 3500},
    {"ok", NULL, "leave_one_out", ALL & ~(1 << 3), 1, 1990, 290000, 9100, 3300},
    {"ok", NULL, "leave_one_out", ALL & ~(1 << 4), 1, 2055, 311000, 9100, 7900},
    {"ok", NULL, "pair", 1 << 1 | 1 << 2, 1, 2390, 280000, 9200, 4900},
    {"ok", NULL, "pair", 1 << 2 | 1 << 3, 1, 4010, 175000, 9800, 5600},
    {"ok", NULL, "pair", 1 << 1 | 1 << 3, 1, 2760, 210000, 9800, 6200},
    {"ok", NULL, "pair", 1 << 0 | 1 << 1, 1, 2990, 195000, 9100, 6100},
    {"ok", NULL, "search", ALL & ~(1 << 3), 2, 1490, 301000, 9100, 3600},
    {"ok", NULL, "search", ALL & ~(1 << 3), 2, 1312, 1840000, 9100, 3400},
    {"ok", NULL, "search", 1 << 1 | 1 << 4, 1, 2830, 185000, 8900, 2900},
    {"ok", NULL, "search", 1 << 1 | 1 << 2 | 1 << 4, 2, 1705, 240000, 9200, 3100},
    {"compile_failed", "cc: tile_m 24 needs 27 registers", "search", ALL, 2, 0, 0, 0, 0},
    {"wrong", "output 'scores': largest relative error 0.31, 0.001 allowed", "search", ALL, 2, 0, 0, 0, 0},
    {"timed_out", "no result within 12 s", "search", ALL, 2, 0, 0, 0, 0},
    {"pruned", "predicted 3.1 times slower than the best", "search", ALL, 1, 0, 0, 0, 0},
    {"pruned", "predicted 3.1 times slower than the best", "search", ALL, 1, 0, 0, 0, 0},
    {"out_of_memory", "needed more than 64 MiB", "search", ALL, 2, 0, 0, 0, 0},
};

static void *present(void *p)
{
    assert_non_null(p);
    return p;
}

#define TAKE(f, T, n) ((T *)present(GOPT_NEW(&(f)->arena, T, n)))

static gopt_finding_ratio ratio(double value, double spread)
{
    gopt_finding_ratio r = {value, value / (1 + spread), value * (1 + spread), GOPT_FINDING_TIE};
    if (fabs(log(value)) > 0.01 && (r.lo > 1 || r.hi < 1))
        r.verdict = value > 1 ? GOPT_FINDING_BETTER : GOPT_FINDING_WORSE;
    return r;
}

static void fill_config(gopt_findings *f, gopt_finding_trial *t, const row *r)
{
    const char **pipeline = TAKE(f, const char *, PASSES);
    gopt_finding_fact *config = TAKE(f, gopt_finding_fact, PASSES + 2);
    for (int i = 0; i < PASSES; i++) {
        if (r->passes >> i & 1)
            pipeline[t->n_pipeline++] = pass_names[i];
        config[i] = gopt_finding_fact_switch(pass_names[i], r->passes >> i & 1);
    }
    config[PASSES] = gopt_finding_fact_number("engine.threads", r->threads);
    config[PASSES + 1] = gopt_finding_fact_text("plan.order", t->id == 17 ? "by_size" : "first_fit");
    t->pipeline = pipeline;
    t->config = config;
    t->n_config = PASSES + 2;
}

static void fill_memory(gopt_finding_trial *t, const row *r, const gopt_finding_trial *base)
{
    gopt_finding_memory *m = &t->memory;
    m->weights = (int64_t)r->weights << 10;
    m->arena = (int64_t)r->arena << 10;
    m->workspace = 384 << 10;
    m->runtime = 210 << 10;
    m->peak = m->weights + m->arena + m->workspace + m->runtime;
    m->steady = m->peak - (64 << 10);
    m->saving = 1 - (double)m->peak / (double)base->memory.peak;
}

static void fill_compile(gopt_findings *f, gopt_finding_trial *t, const row *r)
{
    static const gopt_finding_stage share[] = {
        {"import", 5},           {"passes", 10},           {"kernel_selection", 5},
        {"code_generation", 10}, {"code_compilation", 60}, {"weight_packing", 7},
        {"memory_planning", 3}};
    gopt_finding_stage *stages = TAKE(f, gopt_finding_stage, GOPT_COUNT(share));
    t->compile.total = 0;
    for (int i = 0; i < GOPT_COUNT(share); i++) {
        stages[i] = (gopt_finding_stage){share[i].name, (int64_t)(r->compile * 10) * share[i].ns};
        t->compile.total += stages[i].ns;
    }
    t->compile.stages = stages;
    t->compile.n_stages = GOPT_COUNT(share);
    t->compile.peak_memory = 90 << 20;
}

static void fill_trial(gopt_findings *f, gopt_finding_trial *t, const row *r, const gopt_finding_trial *base)
{
    t->status = r->status;
    t->why = r->why;
    t->role = r->role;
    fill_config(f, t, r);
    if (r->median == 0)
        return;
    int64_t median = (int64_t)(r->median * 1000), samples = t->id == 0 || t->id == 1 || t->id == 17 ? 1000 : 63;
    t->latency = (gopt_finding_latency){.median = median,
                                        .lo = median - median / 150,
                                        .hi = median + median / 130,
                                        .mean = 1.01 * (double)median,
                                        .p90 = median + median / 20,
                                        .p95 = samples > 73 ? median + median / 10 : GOPT_UNKNOWN,
                                        .p99 = samples > 368 ? median + median / 4 : GOPT_UNKNOWN,
                                        .samples = samples,
                                        .repeats = 1};
    t->throughput_per_s = 1e9 / (double)median;
    fill_memory(t, r, base);
    fill_compile(f, t, r);
    double base_run = (double)base->latency.median, run = (double)median;
    t->speedup = ratio(base_run / run, t == base ? 0.002 : 0.008);
    if (base_run > run)
        t->break_even_requests = (double)t->compile.total / (base_run - run);
    t->utility = t->speedup.value / (1 + f->settings.alpha * (double)t->compile.total / run);
    t->max_abs = 3e-6;
    t->max_rel = 2e-5;
}

static bool dominated(const gopt_finding_cluster *c, const gopt_finding_trial *t)
{
    for (int i = 0; i < c->n_trials; i++) {
        const gopt_finding_trial *o = &c->trials[i];
        if (gopt_finding_trial_is_ok(o) && o->latency.lo <= t->latency.lo && o->memory.peak <= t->memory.peak &&
            o->compile.total <= t->compile.total && o != t)
            return true;
    }
    return false;
}

static void fill_front(gopt_findings *f, gopt_finding_cluster *c)
{
    int *front = TAKE(f, int, c->n_trials);
    for (int i = 0; i < c->n_trials; i++)
        if (gopt_finding_trial_is_ok(&c->trials[i]) && !dominated(c, &c->trials[i]))
            front[c->n_front++] = i;
    c->front = front;
}

/* Who has the least a + x b from which x on: a and b are compile and run time, or the other way round. */
static int fill_regime(gopt_findings *f, const gopt_finding_regime **out, const gopt_finding_cluster *c, bool swap)
{
    gopt_finding_regime *r = TAKE(f, gopt_finding_regime, c->n_trials);
    int n = 0, winner = -1;
    double a[TRIALS], b[TRIALS], at = 0;
    for (int i = 0; i < c->n_trials; i++) {
        double compile = (double)c->trials[i].compile.total, run = (double)c->trials[i].latency.median;
        a[i] = swap ? run : compile;
        b[i] = swap ? compile : run;
        if (gopt_finding_trial_is_ok(&c->trials[i]) && (winner < 0 || a[i] < a[winner]))
            winner = i;
    }
    for (bool more = true; more;) {
        int next = winner;
        double cross = INFINITY;
        for (int i = 0; i < c->n_trials; i++)
            if (gopt_finding_trial_is_ok(&c->trials[i]) && b[i] < b[winner] &&
                (a[i] - a[winner]) / (b[winner] - b[i]) < cross) {
                cross = (a[i] - a[winner]) / (b[winner] - b[i]);
                next = i;
            }
        more = next != winner;
        r[n++] = (gopt_finding_regime){at, more ? cross : NAN, winner};
        at = cross;
        winner = next;
    }
    *out = r;
    return n;
}

static void fill_effects(gopt_findings *f, gopt_finding_cluster *c)
{
    static const int pairs[][2] = {{1, 2}, {2, 3}, {1, 3}, {0, 1}};
    static const double share[PASSES] = {0.02, 0.71, 0.31, 0.71, 0}, operators[PASSES] = {2, 1.68, 1.85, 0.95, NAN};
    gopt_finding_single *single = TAKE(f, gopt_finding_single, PASSES);
    gopt_finding_left_out *left = TAKE(f, gopt_finding_left_out, PASSES);
    gopt_finding_pair *pair = TAKE(f, gopt_finding_pair, GOPT_COUNT(pairs));
    for (int i = 0; i < PASSES; i++) {
        const gopt_finding_trial *t = &c->trials[FIRST_SINGLE + i], *without = &c->trials[FIRST_LEFT_OUT + i];
        double s = share[i], sp = operators[i];
        single[i] = (gopt_finding_single){pass_names[i],
                                          t->id,
                                          t->speedup,
                                          t->memory.saving,
                                          t->compile.total,
                                          s,
                                          sp,
                                          1 / (1 - s + s / sp),
                                          1 / (1 - s),
                                          false,
                                          i == 1 ? "MaxPool takes 42 % of what is left" : NULL,
                                          NAN};
        left[i] = (gopt_finding_left_out){
            pass_names[i], without->id,
            ratio((double)without->latency.median / (double)c->trials[1].latency.median, 0.012)};
        left[i].slowdown.verdict = left[i].slowdown.verdict == GOPT_FINDING_BETTER  ? GOPT_FINDING_WORSE
                                   : left[i].slowdown.verdict == GOPT_FINDING_WORSE ? GOPT_FINDING_BETTER
                                                                                    : GOPT_FINDING_TIE;
    }
    for (int i = 0; i < GOPT_COUNT(pairs); i++) {
        const gopt_finding_trial *t = &c->trials[FIRST_PAIR + i];
        int a = pairs[i][0], b = pairs[i][1];
        pair[i] = (gopt_finding_pair){
            .first = pass_names[a],
            .second = pass_names[b],
            .trial = t->id,
            .eta = ratio(t->speedup.value / (single[a].speedup.value * single[b].speedup.value), 0.02),
            .why = i == 1 ? "layout_nhwc rewrote 3 places fewer after fuse_chain (16 instead of 19)" : NULL,
            .first_alone = 20,
            .first_together = 20,
            .second_alone = 19,
            .second_together = i == 1 ? 16 : 19};
    }
    c->single = single;
    c->left_out = left;
    c->pairs = pair;
    c->n_single = c->n_left_out = PASSES;
    c->n_pairs = GOPT_COUNT(pairs);
}

static void fill_attribution(gopt_findings *f, gopt_finding_cluster *c)
{
    static const char *const players[] = {"fuse_conv_act", "fuse_chain", "layout_nhwc", NULL};
    static const double gain[] = {1.5, 1.3, 0.97};
    gopt_finding_share *share = TAKE(f, gopt_finding_share, GOPT_COUNT(players));
    double total = c->trials[1].speedup.value, left = total;
    for (int i = 0; i < GOPT_COUNT(players); i++) {
        double one = i < GOPT_COUNT(gain) ? gain[i] : left;
        share[i] = (gopt_finding_share){players[i], ratio(one, 0.012), log(one) / log(total)};
        left /= one;
    }
    c->attribution = (gopt_finding_attribution){share, GOPT_COUNT(players), 20, 24, 1, total};
}

static void fill_bans(gopt_findings *f, gopt_finding_cluster *c)
{
    gopt_finding_ban *ban = TAKE(f, gopt_finding_ban, 1);
    ban[0] = (gopt_finding_ban){"fold_pads", 21, "gopt verify --pipeline fold_pads 'model.onnx'"};
    c->bans = ban;
    c->n_bans = 1;
}

static void fill_presets(gopt_findings *f, gopt_finding_cluster *c)
{
    gopt_finding_preset *p = TAKE(f, gopt_finding_preset, 3);
    p[0] = (gopt_finding_preset){"debug", 0, 41e6, 4213e3, 0, 300};
    p[1] = (gopt_finding_preset){"reduce-overhead", 4, 150e6, 3850e3, NAN, NAN};
    p[2] = (gopt_finding_preset){"max-autotune", 1, 690e6, 2051e3, 300, NAN};
    c->presets = p;
    c->n_presets = 3;
}

static void fill_course(gopt_findings *f, gopt_finding_cluster *c)
{
    static const double at[] = {1.2, 2.9, 14, 31.5, 47.2};
    static const int best[] = {0, 1, 10, 16, 17};
    static const int64_t nodes[] = {142, 131, 88, 64, 66, 66};
    gopt_finding_moment *moments = TAKE(f, gopt_finding_moment, GOPT_COUNT(at));
    gopt_finding_step *steps = TAKE(f, gopt_finding_step, PASSES);
    for (int i = 0; i < GOPT_COUNT(at); i++)
        moments[i] = (gopt_finding_moment){at[i], best[i], c->trials[best[i]].latency.median};
    for (int i = 0; i < PASSES; i++)
        steps[i] = (gopt_finding_step){pass_names[i],          nodes[i],     nodes[i + 1], nodes[i + 1] - 4,
                                       (8100 - 960 * i) << 10, GOPT_UNKNOWN, false};
    c->anytime = moments;
    c->n_anytime = GOPT_COUNT(at);
    c->steps = steps;
    c->n_steps = PASSES;
}

static void fill_profiles(gopt_findings *f, gopt_finding_cluster *c)
{
    static const gopt_finding_hotspot before[] = {{"Conv", "conv_f32_ref", 20, 2960000, 0.68, false},
                                                  {"Relu", "pointwise_f32", 19, 820000, 0.19, false},
                                                  {"MaxPool", NULL, 4, 410000, 0.09, false},
                                                  {"Gemm", "matmul_f32", 1, 170000, 0.04, false}},
                                      after[] = {{"Conv", "conv_f32_avx2", 20, 1090000, 0.81, false},
                                                 {"MaxPool", NULL, 4, 255000, 0.19, false}};
    gopt_finding_profile *p = TAKE(f, gopt_finding_profile, 2);
    p[0] = (gopt_finding_profile){0, before, GOPT_COUNT(before), 1.035};
    p[1] = (gopt_finding_profile){17, after, GOPT_COUNT(after), 1.025};
    c->profiles = p;
    c->n_profiles = 2;
}

static void fill_cluster(gopt_findings *f, gopt_finding_cluster *c)
{
    static const gopt_finding_size sizes[] = {{"batch", 1}};
    static const gopt_finding_shape shapes[] = {{sizes, 1}};
    static const gopt_finding_bound bounds[] = {{"batch", 1, 1}};
    *c = (gopt_finding_cluster){.id = "0",
                                .shapes = shapes,
                                .n_shapes = 1,
                                .bounds = bounds,
                                .n_bounds = 1,
                                .weight = 1,
                                .baseline_trial = 0,
                                .default_trial = 1,
                                .chosen_trial = 17,
                                .reason = "fastest median on the front; ahead of trial 16 beyond the noise",
                                .trials = present(gopt_findings_take_trials(f, TRIALS)),
                                .n_trials = TRIALS};
    for (int i = 0; i < TRIALS; i++)
        fill_trial(f, &c->trials[i], &rows[i], &c->trials[0]);
    c->over_default = ratio((double)c->trials[1].latency.median / (double)c->trials[17].latency.median, 0.007);
    fill_front(f, c);
    c->n_alpha = fill_regime(f, &c->alpha, c, true);
    c->n_requests = fill_regime(f, &c->requests, c, false);
    fill_effects(f, c);
    fill_attribution(f, c);
    fill_bans(f, c);
    fill_presets(f, c);
    fill_course(f, c);
    fill_profiles(f, c);
}

static void fill_job(gopt_findings *f)
{
    static const gopt_finding_operator operators[] = {{"Conv", 20}, {"Relu", 19}, {"MaxPool", 4}, {"Gemm", 1}};
    static const gopt_finding_command commands[] = {
        {"the whole job", "gopt-tune --budget 60s --seed 1 --alpha 0.001 'model.onnx'"},
        {"the choice against the default", "gopt bench manifest.yaml --against bundles/1.gopt"}};
    static const char *const details[] = {"trial 17 is 1.563 times as fast as the default"};
    static const char *const health[] = {"steal at most 0.3 % of a core, pressure at most 2 % in any round"};
    static const char *const notes[] = {"batch was not given: 1"};
    static gopt_finding_fact facts[3], more[2];
    facts[0] = gopt_finding_fact_text("isa", "avx2");
    facts[1] = gopt_finding_fact_number("cores", 2);
    facts[2] = gopt_finding_fact_number("l2_bytes", 1048576);
    more[0] = gopt_finding_fact_text("search", "bayesian");
    more[1] = gopt_finding_fact_switch("fresh", false);
    f->tool_version = "0.1.0";
    f->tool_commit = "0123456789ab";
    f->seed = 1;
    f->budget_s = 60;
    f->elapsed_s = 59.4;
    f->stopped = "budget";
    f->settings.objective = "latency";
    f->settings.alpha = 0.001;
    f->settings.requests = 10000;
    f->settings.max_memory = 64 << 20;
    f->settings.more = more;
    f->settings.n_more = 2;
    f->model = (gopt_finding_model){"model.onnx", "9f86d081884c7d65", 142, 9400000, operators, 4, 140, 2, 0};
    f->device = (gopt_finding_machine){"cpu", "Example CPU at 2 GHz", "4be1c7", facts, 3};
    f->noise = (gopt_finding_noise){.floor = 0.0042,
                                    .rounds_flagged = 3,
                                    .rounds = 141,
                                    .others = 0.012,
                                    .steal = 0,
                                    .waited = 0.004,
                                    .spread = 0.03};
    f->accounting = (gopt_finding_accounting){21.5, 3.1, 31.6, 0.4, 2.8};
    f->traffic.rate_per_s = 25;
    f->traffic.source = "--traffic traffic.yaml";
    f->traffic.lifetime_s = 86400 * 30;
    f->verdict = (gopt_finding_decision){"improvement", "last/manifest.yaml", details, 1};
    f->regime = "steady, warm caches, one session";
    f->health = health;
    f->n_health = 1;
    f->notes = notes;
    f->n_notes = 1;
    f->commands = commands;
    f->n_commands = 2;
}

gopt_findings *test_findings(void)
{
    gopt_findings *f;
    gopt_err e = {0};
    assert_ok(gopt_findings_new(&f, &e), &e);
    fill_job(f);
    f->clusters = present(gopt_findings_take_clusters(f, 1));
    f->n_clusters = 1;
    fill_cluster(f, f->clusters);
    return f;
}
