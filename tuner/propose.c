/* propose.c: the order of trials: passes alone and left out, pairs of those that matter, then what the sampler says. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "coalition.h"
#include "effects.h"
#include "job.h"
#include "sampler.h"

/* Shares of the search time after which singles, pairs and coalitions give way to the search. */
static const double EFFECTS_SHARE = 0.5, PAIRS_SHARE = 0.6, COALITIONS_SHARE = 0.7;
enum { PAIRED_PASSES = 4, EXHAUSTIVE_MAX = 64 };

static double spent_share(const gopt_job *j)
{
    double all = (double)(j->search_end - j->begin);
    return all > 0 ? (double)(gopt_now() - j->begin) / all : 1;
}

static bool untried(const gopt_job *j, const gopt_proposal *p)
{
    return !gopt_effects_find(j->study, p->role, p->pass_a, p->pass_b);
}

/* baseline + a (+ b), with the knobs that the default has. */
static void only(gopt_config *out, const gopt_config *standard, int a, int b)
{
    *out = *standard;
    for (int i = 0; gopt_passes[i]; i++)
        if (i != a && i != b)
            gopt_config_switch_pass(out, gopt_passes[i], false);
    gopt_config_normalize(out);
}

/* The passes that the default uses, then (dormant) those that only find their work taken; none that is at fault. */
static int candidates(const gopt_job *j, const gopt_trial *standard, bool dormant, int *pass)
{
    int all[2 * GOPT_SETTINGS_MAX], n = gopt_effects_active(standard, all), kept = 0;
    n += dormant ? gopt_effects_dormant(j->study, all + n) : 0;
    for (int i = 0; i < n; i++)
        if (!gopt_study_is_banned(j->study, all[i]))
            pass[kept++] = all[i];
    return kept;
}

static bool propose_effects(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    int active[2 * GOPT_SETTINGS_MAX], used = candidates(j, standard, false, active);
    int n = candidates(j, standard, true, active);
    for (int i = 0; i < n; i++) {
        *out = (gopt_proposal){.role = GOPT_ROLE_SINGLE, .pass_a = active[i], .pass_b = -1};
        only(&out->config, &standard->config, active[i], -1);
        if (untried(j, out))
            return true;
        *out = (gopt_proposal){
            .config = standard->config, .role = GOPT_ROLE_LEAVE_ONE_OUT, .pass_a = active[i], .pass_b = -1};
        gopt_config_switch_pass(&out->config, gopt_passes[active[i]], false);
        if (i < used && untried(j, out))
            return true;
    }
    return false;
}

/* Once two passes that rewrite were tried in the usual order: the other way round. Where that is not legal it fails,
 * where it makes no difference its plan is the same. */
static bool propose_reversed(const gopt_job *j, const gopt_trial *standard, int first, int second, gopt_proposal *out)
{
    if (gopt_passes[first]->decides || gopt_passes[second]->decides)
        return false;
    *out = (gopt_proposal){.role = GOPT_ROLE_PAIR, .pass_a = second, .pass_b = first};
    only(&out->config, &standard->config, first, second);
    gopt_config_move_pass(&out->config, second, first);
    return untried(j, out);
}

static bool propose_pairs(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    int all[2 * GOPT_SETTINGS_MAX], top[PAIRED_PASSES], n = candidates(j, standard, true, all);
    n = gopt_effects_strongest(j->study, standard, all, n, top, PAIRED_PASSES);
    for (int b = 1; b < n; b++)
        for (int a = 0; a < b; a++) {
            int first = GOPT_MIN(top[a], top[b]), second = GOPT_MAX(top[a], top[b]);
            *out = (gopt_proposal){.role = GOPT_ROLE_PAIR, .pass_a = first, .pass_b = second};
            only(&out->config, &standard->config, first, second);
            if (untried(j, out) || propose_reversed(j, standard, first, second, out))
                return true;
        }
    return false;
}

static bool propose_coalition(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    gopt_players players;
    unsigned mask;
    *out = (gopt_proposal){.role = GOPT_ROLE_COALITION, .pass_a = -1, .pass_b = -1};
    if (gopt_players_choose(&players, j->study, NULL) ||
        !gopt_coalition_next(j->study, &players, standard, (uint64_t)j->options->seed, &mask))
        return false;
    gopt_coalition_config(&out->config, &players, standard, mask);
    return true;
}

/* The preset between baseline and default, which compiles in no time; a job that narrows its space has only its own. */
static bool propose_preset(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    *out = (gopt_proposal){.role = GOPT_ROLE_PRESET, .pass_a = -1, .pass_b = -1};
    return !j->options->preset && !gopt_preset_config(&out->config, "reduce-overhead", j->study) &&
           !gopt_preset_find(j->study, "reduce-overhead") && standard;
}

/* ---- what only some jobs want ---- */

/* The default with one setting changed, unless that has been tried. */
static bool propose_changed(const gopt_job *j, const gopt_trial *standard, int row, int64_t value, gopt_proposal *out)
{
    *out = (gopt_proposal){.config = standard->config, .role = GOPT_ROLE_SEARCH, .pass_a = -1, .pass_b = -1};
    out->config.v[row] = value;
    for (int i = 0; i < j->study->n_trials; i++)
        if (gopt_config_equal(&j->study->trials[i].config, &out->config))
            return false;
    return true;
}

/* Its weights in each of the types that were asked for. */
static bool propose_precision(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    int row = gopt_setting_find("precision.weights");
    for (int v = 0; v < 32 && row >= 0; v++)
        if (j->options->precisions >> v & 1 && propose_changed(j, standard, row, v, out))
            return true;
    return false;
}

static const char RECOMPUTE_LIMIT[] = "recompute.max_arena_kib", RECOMPUTE_WORK[] = "recompute.max_extra_percent";
enum { RECOMPUTE_NONE, RECOMPUTE_LEAST }; /* values of the first */

/* Recomputation costs time: it is tried where memory is limited, or what the job is for. */
static bool saves_memory(const gopt_job *j)
{
    return j->options->goal.max_memory > 0 || j->options->goal.objective == GOPT_OBJECTIVE_memory;
}

static bool propose_recompute(const gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    int row = gopt_setting_find(RECOMPUTE_LIMIT);
    return row >= 0 && saves_memory(j) && propose_changed(j, standard, row, RECOMPUTE_LEAST, out);
}

/* ---- the search ---- */

static bool is_used(const gopt_trial *t, const gopt_kernel *k)
{
    for (int i = 0; i < t->n_steps; i++)
        if (t->steps[i].kernel && !strcmp(t->steps[i].kernel, k->name))
            return true;
    return false;
}

static bool is_active(const gopt_job *j, const gopt_trial *standard, const gopt_pass *p)
{
    int active[2 * GOPT_SETTINGS_MAX], n = candidates(j, standard, false, active);
    for (int i = 0; i < n; i++)
        if (gopt_passes[active[i]] == p)
            return true;
    return false;
}

static void add_row(gopt_space *s, int row, const int64_t *value, int n)
{
    s->row[s->n_rows] = row;
    s->n_values[s->n_rows] = n;
    memcpy(s->value[s->n_rows++], value, (size_t)n * sizeof *value);
}

/* At most 16 values of a knob, spread over its range. */
static void add_knob(gopt_space *s, int row, const gopt_knob *k)
{
    int64_t value[16], count = gopt_knob_count(k);
    int n = (int)GOPT_MIN(count, (int64_t)GOPT_COUNT(value));
    for (int i = 0; i < n; i++)
        value[i] = gopt_knob_value(k, n < count ? i * (count - 1) / (n - 1) : i);
    if (n > 1)
        add_row(s, row, value, n);
}

static void add_threads(gopt_space *s, int row, const gopt_tune_options *o)
{
    int64_t value[16];
    int n = 0;
    for (int i = 0; i < o->n_threads && n < GOPT_COUNT(value); i++)
        value[n++] = o->threads[i];
    for (int t = 1; !o->n_threads && t <= gopt_cpu_count() && n < GOPT_COUNT(value); t++)
        value[n++] = t;
    if (n > 1)
        add_row(s, row, value, n);
}

static void add_precision(gopt_space *s, int row, unsigned asked)
{
    int64_t value[16];
    int n = 0;
    for (int v = 0; v < GOPT_COUNT(value); v++)
        if (asked >> v & 1 || v == s->start.v[row])
            value[n++] = v;
    if (n > 1)
        add_row(s, row, value, n);
}

static void make_space(const gopt_job *j, const gopt_trial *standard, gopt_space *s)
{
    s->n_rows = 0;
    s->start = standard->config;
    for (int i = 0; i < j->study->n_bans; i++)
        gopt_config_switch_pass(&s->start, gopt_passes[j->study->bans[i].pass], false);
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_setting *row = gopt_setting_at(i);
        if (!strcmp(row->name, "engine.threads"))
            add_threads(s, i, j->options);
        else if (!strcmp(row->name, "precision.weights"))
            add_precision(s, i, j->options->precisions);
        else if (saves_memory(j) && !strcmp(row->name, RECOMPUTE_LIMIT))
            add_row(s, i, (const int64_t[]){RECOMPUTE_NONE, RECOMPUTE_LEAST}, 2);
        else if (saves_memory(j) && !strcmp(row->name, RECOMPUTE_WORK))
            add_knob(s, i, row->knob);
        else if (row->pass ? is_active(j, standard, row->pass) : row->kernel && is_used(standard, row->kernel))
            add_knob(s, i, row->knob);
    }
}

static bool propose_search(gopt_job *j, const gopt_trial *standard, gopt_proposal *out)
{
    gopt_space *space = gopt_malloc(sizeof *space);
    gopt_observation *seen = gopt_calloc((size_t)j->study->n_trials + 1, sizeof *seen);
    bool found = false;
    if (space && seen) {
        make_space(j, standard, space);
        for (int i = 0; i < j->study->n_trials; i++) {
            const gopt_trial *t = &j->study->trials[i];
            double speedup = gopt_effects_speedup(j->study, t->id).value;
            seen[i] = (gopt_observation){.config = &t->config, .ok = isfinite(speedup), .score = 1 / speedup};
        }
        const gopt_sampler *sampler = gopt_sampler_find(j->options->sampler);
        if (!sampler)
            sampler = gopt_sampler_find(gopt_space_size(space) <= EXHAUSTIVE_MAX ? "exhaustive" : "neighbourhood");
        *out = (gopt_proposal){.role = GOPT_ROLE_SEARCH, .pass_a = -1, .pass_b = -1};
        found = sampler->next(space, seen, j->study->n_trials, &j->random, &out->config);
    }
    gopt_free(space);
    gopt_free(seen);
    return found;
}

/* What tells of the passes, each for its share of the time; `late` when the search has nothing more. */
static bool propose_telling(const gopt_job *j, const gopt_trial *standard, bool late, gopt_proposal *out)
{
    double share = late ? 0 : spent_share(j);
    if (share < EFFECTS_SHARE && propose_effects(j, standard, out))
        gopt_progress_stage(j->progress, "passes alone and left out");
    else if (share < PAIRS_SHARE && propose_preset(j, standard, out))
        gopt_progress_stage(j->progress, "presets");
    else if (share < PAIRS_SHARE && propose_pairs(j, standard, out))
        gopt_progress_stage(j->progress, "pairs of passes");
    else if (share < COALITIONS_SHARE && propose_coalition(j, standard, out))
        gopt_progress_stage(j->progress, "shares of the gain");
    else
        return false;
    return true;
}

bool gopt_job_propose(gopt_job *j, gopt_proposal *out)
{
    const gopt_trial *standard = gopt_effects_default(j->study);
    if (!standard)
        return false;
    if (propose_precision(j, standard, out)) {
        gopt_progress_stage(j->progress, "precisions");
        return true;
    }
    if (propose_recompute(j, standard, out)) {
        gopt_progress_stage(j->progress, "recomputation");
        return true;
    }
    if (propose_telling(j, standard, false, out))
        return true;
    gopt_progress_stage(j->progress, "search");
    return propose_search(j, standard, out) || propose_telling(j, standard, true, out);
}
