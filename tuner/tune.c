/* tune.c: the course of a job. Baseline and default first, a valid manifest as soon as they are timed, then what
 * propose.c says in small batches, then the final: the leaders rebuilt through the deployment path and timed on fresh
 * samples. */
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "culprit.h"
#include "decide.h"
#include "effects.h"

volatile sig_atomic_t gopt_job_interrupted;

enum {
    ROUNDS_LEAST = 9, /* a 95 % interval on a median needs 9 */
    ROUNDS_MOST = 31,
    BATCH = 4,       /* trials that share the baseline's samples */
    BATCH_TRIED = 8, /* tried for one batch: those that fail or repeat a plan are not timed */
    BANS_MAX = 3,    /* passes of the default that may turn out wrong */
    FINALISTS = 4    /* leaders and the default */
};
static const double RACE_SHARE = 0.02; /* of the budget, for the rounds of one batch */
static const double FINAL_SHARE = 0.12, FINAL_LEAST_S = 1.5;
static const double OTHER_SHAPES_SHARE = 0.04;
static const char RENDER_KEY[] = "render_s"; /* in the study: what writing results took */

static void on_interrupt(int signal_number)
{
    gopt_job_interrupted++;
    if (gopt_job_interrupted > 1) { /* the study is intact at any moment: leave at once */
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

static int64_t later(int64_t from, double seconds)
{
    return from + (int64_t)(seconds * (double)GOPT_NS_PER_S);
}

static void set_times(gopt_job *j)
{
    double budget = j->options->budget_s, final = GOPT_MAX(FINAL_SHARE * budget, FINAL_LEAST_S);
    final += gopt_text_str(&j->shapes)[0] ? OTHER_SHAPES_SHARE * budget : 0;
    j->end = later(j->begin, budget);
    j->search_end = later(j->begin, budget - final - j->render_s);
}

static void report_progress(gopt_job *j)
{
    int failed = 0;
    double lo, hi;
    gopt_estimate best = {.value = NAN, .lo = NAN, .hi = NAN};
    for (int i = 0; i < j->study->n_trials; i++) {
        gopt_trial_status s = j->study->trials[i].reply.status;
        failed += s != GOPT_TRIAL_ok && s != GOPT_TRIAL_pruned;
        gopt_estimate x = gopt_effects_speedup(j->study, i);
        if (isfinite(x.value) && !(best.value >= x.value))
            best = x;
    }
    gopt_effects_drift(j->study, &lo, &hi);
    gopt_progress_update(j->progress, j->study->n_trials, failed, best.value, best.lo * lo, best.hi * hi);
}

/* ---- baseline and default ---- */

static gopt_status begin_baseline(gopt_job *j, gopt_err *e)
{
    const gopt_trial *known = gopt_effects_baseline(j->study);
    gopt_config c;
    gopt_progress_stage(j->progress, "baseline");
    gopt_config_baseline(&c);
    c.v[gopt_setting_find("engine.threads")] = j->bench.target.threads;
    GOPT_TRY(known ? gopt_job_revive(j, known->id, NULL, &j->baseline, e)
                   : gopt_job_try(j, &c, GOPT_ROLE_BASELINE, -1, -1, &j->baseline, e));
    if (j->baseline.worker)
        return GOPT_OK;
    const gopt_trial *t = &j->study->trials[j->baseline.trial];
    return gopt_fail(e, t->reply.status == GOPT_TRIAL_out_of_memory ? GOPT_ELIMIT : GOPT_EUNSUP,
                     "%s: the unoptimized model does not run: %s: %s", j->options->model,
                     gopt_trial_status_name(t->reply.status), t->reply.why ? t->reply.why : "no reason given");
}

static void stand_by_baseline(const gopt_job *j, gopt_config *c)
{
    gopt_config_baseline(c);
    c->v[gopt_setting_find("engine.threads")] = j->bench.target.threads;
}

/* A default that fails is tried again without the pass at fault; without any pass at last. One that only the end of the
 * budget stopped is nobody's fault: the next run tries it again. */
static gopt_status begin_default(gopt_job *j, gopt_contender *out, gopt_err *e)
{
    gopt_config c;
    const gopt_trial *known = gopt_effects_default(j->study);
    gopt_progress_stage(j->progress, "default");
    if (known)
        return known->reply.status == GOPT_TRIAL_ok ? gopt_job_revive(j, known->id, NULL, out, e) : GOPT_OK;
    GOPT_TRY(gopt_config_preset(&c, j->options->preset ? j->options->preset : "max-autotune", e));
    c.v[gopt_setting_find("engine.threads")] = j->bench.target.threads;
    for (int i = 0; i < j->study->n_bans; i++) /* by an earlier run */
        gopt_config_switch_pass(&c, gopt_passes[j->study->bans[i].pass], false);
    for (int ban = 0; ban <= BANS_MAX; ban++) {
        int culprit = -1;
        GOPT_TRY(gopt_job_try(j, &c, GOPT_ROLE_DEFAULT, -1, -1, out, e));
        const gopt_trial *t = &j->study->trials[out->trial];
        if (!gopt_culprit_is_failure(t))
            return GOPT_OK;
        gopt_progress_note(j->progress, "the default %s: %s", gopt_trial_status_name(t->reply.status),
                           t->reply.why ? t->reply.why : "");
        GOPT_TRY(gopt_culprit_find(j, out->trial, &culprit, e));
        if (culprit < 0)
            break;
        gopt_config_switch_pass(&c, gopt_passes[culprit], false);
    }
    stand_by_baseline(j, &c);
    return gopt_job_try(j, &c, GOPT_ROLE_DEFAULT, -1, -1, out, e);
}

/* ---- rounds ---- */

static int rounds_for(const gopt_job *j, const gopt_contender *at, int n)
{
    double ns = 2 * GOPT_MAX(j->baseline.warm_ns, 1e6);
    for (int i = 0; i < n; i++)
        ns += at[i].worker ? GOPT_MAX(at[i].warm_ns, 1e6) : 0;
    double affordable = RACE_SHARE * j->options->budget_s * 1e9 / ns;
    return (int)GOPT_MAX(ROUNDS_LEAST, GOPT_MIN(affordable, (double)ROUNDS_MOST));
}

/* A continued job goes straight on where it was; what writing results takes is known from before. */
static bool has_first_results(gopt_job *j)
{
    const gopt_trial *standard = gopt_effects_default(j->study);
    const char *render = gopt_study_get(j->study, RENDER_KEY);
    if (!render || !standard || !standard->steps || !j->study->trials[j->baseline.trial].steps ||
        gopt_effects_speedup(j->study, standard->id).n < ROUNDS_LEAST)
        return false;
    j->render_s = strtod(render, NULL);
    set_times(j);
    return true;
}

static gopt_status first_publication(gopt_job *j, gopt_err *e)
{
    char text[32];
    int64_t begin = gopt_now();
    GOPT_TRY(gopt_job_publish(j, false, e));
    gopt_progress_note(j->progress, "a first manifest is there after %.1f s", gopt_job_elapsed(j));
    GOPT_TRY(gopt_job_publish(j, true, e));
    j->render_s = 1.2 * (double)(gopt_now() - begin) / 1e9 + 0.2;
    set_times(j);
    snprintf(text, sizeof text, "%.3f", j->render_s);
    return gopt_study_set(j->study, RENDER_KEY, text, e);
}

static gopt_status first_results(gopt_job *j, gopt_err *e)
{
    gopt_contender standard = {.trial = -1};
    if (has_first_results(j))
        return GOPT_OK;
    gopt_status s = begin_default(j, &standard, e);
    if (!s)
        s = gopt_job_race(j, &standard, 1, GOPT_SAMPLE_RACE, rounds_for(j, &standard, 1), j->end, e);
    if (!s)
        s = gopt_contender_bundle(j, &standard, e);
    if (!s)
        s = gopt_contender_bundle(j, &j->baseline, e);
    if (!s)
        s = gopt_job_trace(j, &standard, e);
    gopt_contender_stop(&standard);
    if (!s)
        s = gopt_job_trace(j, &j->baseline, e);
    if (s)
        return s;
    report_progress(j);
    return first_publication(j, e);
}

/* ---- the loop ---- */

static gopt_status run_batch(gopt_job *j, bool *more, gopt_err *e)
{
    gopt_contender at[BATCH];
    gopt_status s = GOPT_OK;
    int64_t begin = gopt_now();
    int n = 0, tried = 0;
    while (!s && n < BATCH && tried < BATCH_TRIED && !gopt_job_over(j)) {
        gopt_proposal p;
        int64_t thinking = gopt_now();
        *more = gopt_job_propose(j, &p);
        j->spent.search += (double)(gopt_now() - thinking) / 1e9;
        if (!*more)
            break;
        s = gopt_job_try(j, &p.config, p.role, p.pass_a, p.pass_b, &at[n], e);
        tried++;
        if (!s)
            report_progress(j);
        if (!s && !at[n].worker)
            s = gopt_culprit_of_candidate(j, at[n].trial, e);
        n += !s && at[n].worker;
    }
    if (!s && n)
        s = gopt_job_race(j, at, n, GOPT_SAMPLE_RACE, rounds_for(j, at, n), j->search_end, e);
    for (int i = 0; !s && i < n; i++)
        if (at[i].worker && j->study->trials[at[i].trial].role == GOPT_ROLE_SINGLE)
            s = gopt_job_trace(j, &at[i], e);
    for (int i = 0; i < n; i++)
        gopt_contender_stop(&at[i]);
    if (tried)
        j->trial_s = (double)(gopt_now() - begin) / 1e9 / tried;
    report_progress(j);
    return s;
}

static gopt_status search(gopt_job *j, gopt_err *e)
{
    bool more = true;
    j->stopped = "budget";
    if (!gopt_job_over(j))
        GOPT_TRY(gopt_job_find_dormant(j, e));
    while (more && !gopt_job_over(j))
        GOPT_TRY(run_batch(j, &more, e));
    if (!more)
        j->stopped = "exhausted";
    return gopt_job_interrupted ? gopt_fail(e, GOPT_EINTR, "interrupted") : GOPT_OK;
}

/* ---- the final ---- */

static int finalists(const gopt_job *j, int *trial)
{
    const gopt_trial *standard = gopt_effects_stand_in(j->study, gopt_effects_default(j->study));
    int n = gopt_decide_leaders(j->study, &j->options->goal, trial, FINALISTS - 1);
    bool there = !standard;
    for (int i = 0; i < n; i++)
        there = there || trial[i] == standard->id;
    if (!there)
        trial[n++] = standard->id;
    return n;
}

/* Compiled again (its code is in the cache), written, and loaded as a deployment would. */
static gopt_status enter_final(gopt_job *j, int trial, gopt_contender *out, gopt_err *e)
{
    char path[1200];
    *out = (gopt_contender){.trial = -1};
    if (trial == j->baseline.trial)
        return GOPT_OK;
    GOPT_TRY(gopt_job_need_bundle(j, trial, e));
    if (!j->study->trials[trial].bundle)
        return GOPT_OK;
    snprintf(path, sizeof path, "%s/bundles/%s", j->options->out, j->study->trials[trial].bundle);
    return gopt_job_revive(j, trial, path, out, e);
}

typedef struct heat {
    int trial[FINALISTS + 1], n;
    gopt_contender at[FINALISTS + 1];
} heat;

static gopt_status begin_heat(gopt_job *j, heat *h, gopt_err *e)
{
    gopt_status s = GOPT_OK;
    *h = (heat){.n = 0};
    int n = finalists(j, h->trial);
    for (; !s && h->n < n; h->n++)
        s = enter_final(j, h->trial[h->n], &h->at[h->n], e);
    return s;
}

static void end_heat(heat *h)
{
    for (int i = 0; i < h->n; i++)
        gopt_contender_stop(&h->at[i]);
    h->n = 0;
}

/* Has the final itself moved others to the front? */
static bool has_new_leader(const gopt_job *j, const heat *h)
{
    int trial[FINALISTS + 1], n = finalists(j, trial);
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int k = 0; k < h->n; k++)
            known = known || h->trial[k] == trial[i];
        if (!known)
            return true;
    }
    return false;
}

enum { HEATS = GOPT_BLOCKS, SWAP_AT = 3 };
static const double REOPEN_SHARE = 0.3; /* of the final's time, for starting all again before every heat */

static bool swap(const gopt_job *j, const heat *h, int k, int rounds)
{
    return k == SWAP_AT && rounds >= 2 * ROUNDS_LEAST && has_new_leader(j, h);
}

/* Where code and data lie differs from process to process, and with them the speed: every heat has new ones. */
static gopt_status reopen_heat(gopt_job *j, heat *h, gopt_err *e)
{
    gopt_contender_stop(&j->baseline);
    GOPT_TRY(gopt_job_revive(j, j->baseline.trial, NULL, &j->baseline, e));
    gopt_status s =
        j->baseline.worker ? GOPT_OK : gopt_fail(e, GOPT_EUNSUP, "the baseline fails when it is started again");
    for (int i = 0; !s && i < h->n; i++) {
        gopt_contender_stop(&h->at[i]);
        s = enter_final(j, h->trial[i], &h->at[i], e);
    }
    return s;
}

/* What would be chosen now gets its bundle, which takes a while where it was not in the final, and is verified at other
 * shapes. */
static gopt_status prepare_choice(gopt_job *j, gopt_err *e)
{
    int chosen = gopt_decide_chosen(j->study, &j->options->goal);
    if (chosen < 0)
        return GOPT_OK;
    GOPT_TRY(gopt_job_need_bundle(j, chosen, e));
    int64_t limit = later(gopt_now(), OTHER_SHAPES_SHARE * j->options->budget_s);
    return gopt_job_check_boundaries(j, chosen, limit, e);
}

/* The leaders of the races were partly lucky: whom they leave behind may lead once that is known, and gets two heats.
 */
static gopt_status final(gopt_job *j, gopt_err *e)
{
    int rounds = strcmp(j->stopped, "budget") ? 2000 / HEATS : INT32_MAX, before = j->rounds;
    int64_t begin = gopt_now(), end = later(j->end, -j->render_s);
    heat h;
    gopt_progress_stage(j->progress, "final");
    gopt_status s = begin_heat(j, &h, e);
    /* Twice: the baseline, which is slower, is started again, too. */
    bool cheap = 2.0 * (double)(gopt_now() - begin) * (HEATS - 1) < REOPEN_SHARE * (double)(end - begin);
    for (int k = 0; !s && k < HEATS && (k == 0 || gopt_now() < end); k++) {
        if (swap(j, &h, k, j->rounds - before)) {
            end_heat(&h);
            s = begin_heat(j, &h, e);
        } else if (k && cheap) {
            s = reopen_heat(j, &h, e);
        }
        if (!s && k == HEATS - 1) /* the last heat takes what is left */
            s = prepare_choice(j, e);
        if (!s)
            s = gopt_job_race(j, h.at, h.n, GOPT_SAMPLE_FINAL, rounds, begin + (end - begin) / HEATS * (k + 1), e);
    }
    end_heat(&h);
    return s;
}

static gopt_status run(gopt_job *j, gopt_err *e)
{
    GOPT_TRY(gopt_job_setup(j, e));
    set_times(j);
    gopt_status s = begin_baseline(j, e);
    if (!s)
        s = first_results(j, e);
    if (!s)
        s = search(j, e);
    if (!s)
        s = final(j, e);
    const bool interrupted = s == GOPT_EINTR;
    if (s && !interrupted)
        return s;
    if (interrupted)
        j->stopped = "interrupted";
    gopt_contender_stop(&j->baseline);
    gopt_progress_stage(j->progress, "writing results");
    j->writing = true;
    GOPT_TRY(gopt_job_publish(j, true, e));
    GOPT_TRY(gopt_study_end_run(j->study, gopt_job_elapsed(j), j->stopped, e));
    if (interrupted)
        return gopt_fail(e, s, "interrupted after %.1f s; %s %s", gopt_job_elapsed(j),
                         j->timed ? "results so far are in" : "nothing was timed yet; the same command goes on in",
                         j->options->out);
    if (!j->timed)
        return gopt_fail(e, GOPT_ELIMIT,
                         "%s: a budget of %g s is too short to time baseline and default 9 times; the same "
                         "command goes on from here",
                         j->options->model, j->options->budget_s);
    if (j->unmet)
        return gopt_fail(e, GOPT_EDIFF,
                         "%s: no candidate keeps the constraints: the manifest serves the default; see %s/report.txt",
                         j->options->model, j->options->out);
    return j->regressed ? gopt_fail(e, GOPT_EDIFF, "a regression against %s: see report.txt", j->options->against)
                        : GOPT_OK;
}

gopt_status gopt_tune(const gopt_tune_options *o, gopt_text *summary, gopt_err *e)
{
    gopt_job *j = gopt_calloc(1, sizeof *j);
    if (!j)
        return gopt_oom(e);
    j->options = o;
    j->begin = gopt_now();
    j->render_s = 1;
    j->stopped = "budget";
    j->progress = o->quiet ? NULL : gopt_progress_new(o->progress, o->budget_s);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGHUP, on_interrupt); /* a terminal that is gone ends the job as Ctrl-C does */
    gopt_status s = run(j, e);
    if ((!s || s == GOPT_EINTR || s == GOPT_EDIFF) && summary && j->study)
        gopt_job_summary(j, summary);
    gopt_progress_free(j->progress);
    gopt_job_fini(j);
    gopt_free(j);
    return s;
}
