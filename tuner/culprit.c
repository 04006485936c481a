/* culprit.c: halving the pipeline of what failed, banning the pass at fault, and the command that shows it. */
#include "culprit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "effects.h"

enum { BANS_MAX = 4 }; /* candidates of the search that are looked into */

bool gopt_culprit_is_failure(const gopt_trial *t)
{
    switch (t->reply.status) {
    case GOPT_TRIAL_compile_failed:
    case GOPT_TRIAL_run_failed:
    case GOPT_TRIAL_wrong:
    case GOPT_TRIAL_crashed:
    case GOPT_TRIAL_out_of_memory:
        return true;
    default:
        return false;
    }
}

/* ---- the command ---- */

static void put_pipeline(gopt_text *t, const gopt_config *c)
{
    int pass[GOPT_SETTINGS_MAX], n = gopt_config_pipeline(c, pass);
    gopt_text_put(t, " --pipeline ");
    for (int i = 0; i < n; i++)
        gopt_text_add(t, "%s%s", i ? "," : "", gopt_passes[pass[i]]->name);
    if (!n)
        gopt_text_put(t, "none");
}

static void put_knobs(gopt_text *t, const gopt_config *c)
{
    for (int i = 0; i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        if ((s->is_switch && s->pass) || c->v[i] == s->knob->init || !strcmp(s->name, "engine.threads"))
            continue;
        gopt_text_add(t, " --set %s=", s->name);
        gopt_knob_print(s->knob, c->v[i], t);
    }
    gopt_text_add(t, " --threads %lld", (long long)gopt_config_threads(c));
}

/* The worker says which inputs it was: "inputs nan, output 0: ...". */
static const char *inputs_of(const gopt_trial *t)
{
    for (int k = 0; k < GOPT_INPUT_CASES; k++) {
        const char *name = gopt_input_case_name((gopt_input_case)k), *why = t->reply.why ? t->reply.why : "";
        size_t n = strlen(name);
        if (!strncmp(why, "inputs ", 7) && !strncmp(why + 7, name, n) && why[7 + n] == ',')
            return name;
    }
    return "random";
}

static void put_command(gopt_text *t, const gopt_job *j, const gopt_trial *failed)
{
    gopt_text_put(t, "gopt verify");
    put_pipeline(t, &failed->config);
    put_knobs(t, &failed->config);
    if (j->shapes.n) {
        gopt_text_put(t, " --shape ");
        gopt_text_put_word(t, gopt_text_str(&j->shapes));
    }
    gopt_text_add(t, " --inputs %s --seed %lld ", inputs_of(failed), (long long)j->options->seed);
    gopt_text_put_word(t, j->options->model ? j->options->model : "");
}

static gopt_status ban(gopt_job *j, int pass, int trial, gopt_err *e)
{
    gopt_text command = {0};
    const gopt_trial *t = &j->study->trials[trial];
    put_command(&command, j, t);
    gopt_status s = command.failed ? gopt_oom(e) : gopt_study_ban(j->study, pass, trial, gopt_text_str(&command), e);
    gopt_progress_note(j->progress, "pass %s is at fault and is banned: %s: %s", gopt_passes[pass]->name,
                       gopt_trial_status_name(t->reply.status), t->reply.why ? t->reply.why : "no reason given");
    gopt_progress_note(j->progress, "to see it: %s", gopt_text_str(&command));
    gopt_text_fini(&command);
    return s;
}

/* ---- halving ---- */

/* -1: it runs, 1: it fails, 0: there was no time to say. */
static gopt_status try_config(gopt_job *j, const gopt_config *c, int *trial, int *verdict, gopt_err *e)
{
    gopt_contender at;
    GOPT_TRY(gopt_job_try(j, c, GOPT_ROLE_SEARCH, -1, -1, &at, e));
    gopt_contender_stop(&at);
    const gopt_trial *t = &j->study->trials[at.trial];
    *trial = at.trial;
    *verdict = gopt_culprit_is_failure(t) ? 1 : t->reply.status == GOPT_TRIAL_timed_out ? 0 : -1;
    if (t->reply.status != GOPT_TRIAL_ok)
        return GOPT_OK;
    /* Another trial with this plan is not to be left out for it. */
    return gopt_study_set_status(j->study, at.trial, GOPT_TRIAL_pruned, "right; not timed, to find a pass at fault", e);
}

gopt_status gopt_culprit_find(gopt_job *j, int trial, int *culprit, gopt_err *e)
{
    const gopt_config whole = j->study->trials[trial].config;
    int pass[GOPT_SETTINGS_MAX], n = gopt_config_pipeline(&whole, pass), lo = -1, hi = n, evidence = trial;
    *culprit = -1;
    while (hi - lo > 1) { /* the first hi passes fail, the first lo do not (-1: nothing is known to run) */
        int mid = lo < 0 ? 0 : (lo + hi) / 2, verdict, made;
        gopt_config prefix = whole;
        for (int i = mid; i < n; i++)
            gopt_config_switch_pass(&prefix, gopt_passes[pass[i]], false);
        GOPT_TRY(try_config(j, &prefix, &made, &verdict, e));
        if (verdict == 0)
            return GOPT_OK;
        lo = verdict < 0 ? mid : lo;
        hi = verdict > 0 ? mid : hi;
        evidence = verdict > 0 ? made : evidence;
    }
    if (hi == 0)
        return GOPT_OK;
    *culprit = pass[hi - 1];
    return ban(j, *culprit, evidence, e);
}

gopt_status gopt_culprit_of_candidate(gopt_job *j, int trial, gopt_err *e)
{
    const gopt_trial *t = &j->study->trials[trial], *standard = gopt_effects_default(j->study);
    int verdict = 1, pass = -1;
    bool wrong = t->reply.status == GOPT_TRIAL_wrong || t->reply.status == GOPT_TRIAL_crashed;
    if (!wrong || !standard || j->study->n_bans >= BANS_MAX || gopt_job_over(j))
        return GOPT_OK;
    if (t->role == GOPT_ROLE_SINGLE)
        return ban(j, t->pass_a, trial, e);
    if (t->role == GOPT_ROLE_SEARCH) { /* the same passes with the knobs of the default */
        gopt_config plain = standard->config;
        for (int i = 0; gopt_passes[i]; i++)
            gopt_config_switch_pass(&plain, gopt_passes[i], gopt_config_pass_on(&t->config, gopt_passes[i]));
        GOPT_TRY(try_config(j, &plain, &trial, &verdict, e));
    }
    return verdict > 0 ? gopt_culprit_find(j, trial, &pass, e) : GOPT_OK;
}
