/* again.c: deciding again from what was measured. */
#include "again.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "command_line.h"
#include "decide.h"
#include "lock.h"
#include "manifest.h"
#include "publish.h"
#include "report.h"

static void keep_or(double *now, double changed)
{
    if (!isnan(changed))
        *now = changed;
}

static void apply(gopt_goal *g, const gopt_goal_change *c)
{
    if (c->objective != GOPT_OBJECTIVE_COUNT)
        g->objective = c->objective;
    keep_or(&g->alpha, c->alpha);
    keep_or(&g->requests, c->requests);
    keep_or(&g->max_memory, c->max_memory);
    keep_or(&g->max_compile_ns, c->max_compile_ns);
    keep_or(&g->max_latency_ns, c->max_latency_ns);
}

static bool has_bundle(const gopt_study *s, int trial, const char *dir)
{
    char path[1200];
    if (trial < 0 || trial >= s->n_trials || !s->trials[trial].bundle)
        return false;
    snprintf(path, sizeof path, "%s/bundles/%s", dir, s->trials[trial].bundle);
    return gopt_file_exists(path);
}

/* The trial that the manifest of dir serves of this study's model; -1: none. */
static int served_by(const gopt_findings *f, const gopt_study *s, const char *dir)
{
    char path[1200];
    gopt_manifest *m;
    snprintf(path, sizeof path, "%s/manifest.yaml", dir);
    if (gopt_manifest_read(&m, path, NULL))
        return -1;
    bool ours = m->n_clusters && f->model.sha256 && !strcmp(m->model_sha256, f->model.sha256);
    int chosen = ours ? m->clusters[0].chosen.trial : -1, fallback = ours ? m->clusters[0].fallback.trial : -1;
    gopt_manifest_free(m);
    return has_bundle(s, chosen, dir) ? chosen : has_bundle(s, fallback, dir) ? fallback : -1;
}

static void put_breach(gopt_text *t, const char *what, int64_t is, int64_t most, char *print(char[32], double))
{
    char a[32], b[32];
    if (most != GOPT_UNKNOWN && is != GOPT_UNKNOWN && is > most)
        gopt_text_add(t, "%s%s %s, %s allowed", t->n ? "; " : "", what, print(a, (double)is), print(b, (double)most));
}

/* Which constraints a trial breaks; NULL: none that is known. */
static const char *breaches(gopt_findings *f, const gopt_finding_trial *t)
{
    const gopt_finding_settings *s = &f->settings;
    gopt_text text = {0};
    if (!t)
        return NULL;
    put_breach(&text, "peak memory", t->memory.peak, s->max_memory, gopt_text_bytes);
    put_breach(&text, "time to compile", t->compile.total, s->max_compile, gopt_text_ns);
    put_breach(&text, "latency", t->latency.median, s->max_latency, gopt_text_ns);
    const char *kept = text.n ? gopt_arena_str(&f->arena, gopt_text_str(&text)) : NULL;
    gopt_text_fini(&text);
    return kept;
}

/* Of the findings' commands; a study of an earlier gopt does not tell its call. */
static bool is_tune(const gopt_finding_command *c)
{
    return strstr(c->line, "gopt-tune") != NULL;
}

/* For this goal and folder, which may be a copy. */
static void renew_commands(gopt_findings *f, const gopt_goal_change *change, const char *dir)
{
    gopt_finding_command *list = GOPT_NEW(&f->arena, gopt_finding_command, f->n_commands);
    for (int i = 0; list && i < f->n_commands; i++) {
        gopt_text line = {0};
        list[i] = f->commands[i];
        if (!is_tune(&list[i]))
            continue;
        gopt_tune_command_change(&line, list[i].line, change, dir);
        list[i].line = gopt_arena_str(&f->arena, gopt_text_str(&line));
        gopt_text_fini(&line);
    }
    f->commands = list;
}

/* The commands are about the manifest, and so about what is served. */
static void rename_commands(gopt_findings *f)
{
    gopt_finding_command *list = GOPT_NEW(&f->arena, gopt_finding_command, f->n_commands);
    for (int i = 0; list && i < f->n_commands; i++) {
        list[i] = f->commands[i];
        if (strstr(list[i].purpose, "the chosen"))
            list[i].purpose = "time what is served";
    }
    f->commands = list ? list : f->commands;
}

static void suppose(gopt_findings *f, const gopt_study *s, const char *dir)
{
    gopt_finding_cluster *c = &f->clusters[0];
    c->what_if = true;
    rename_commands(f);
    c->served_trial = served_by(f, s, dir);
    c->served_breaks = breaches(f, gopt_finding_trial_find(c, c->served_trial));
    c->remedy = f->n_commands && is_tune(&f->commands[0]) ? f->commands[0].line : NULL;
}

static gopt_status tell_what_if(const gopt_finding_cluster *c, int missing, const char *dir, gopt_err *e)
{
    char served[40] = " and serves nothing";
    const char *breaks = c->served_breaks ? c->served_breaks : "";
    if (c->served_trial >= 0)
        snprintf(served, sizeof served, " and serves trial %d", c->served_trial);
    return gopt_fail(e, GOPT_EDIFF,
                     "%s: manifest.yaml stays as it was%s%s%s%s: trial %d, which would be %s, has no bundle", dir,
                     served, *breaks ? " (" : "", breaks, *breaks ? ")" : "", missing,
                     missing == c->chosen_trial ? "chosen" : "the fallback");
}

static gopt_status write_all(gopt_findings *f, const gopt_study *s, const char *dir, gopt_text *summary, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    bool compiled = has_bundle(s, c->chosen_trial, dir) && has_bundle(s, c->default_trial, dir);
    if (compiled)
        GOPT_TRY(gopt_publish_manifest(f, s, dir, e));
    else
        suppose(f, s, dir);
    GOPT_TRY(gopt_report_write(f, dir, e));
    gopt_publish_summary(f, dir, summary);
    int missing = has_bundle(s, c->chosen_trial, dir) ? c->default_trial : c->chosen_trial;
    return compiled ? GOPT_OK : tell_what_if(c, missing, dir, e);
}

static void least(double *so_far, int64_t v)
{
    if (v != GOPT_UNKNOWN && !(*so_far <= (double)v))
        *so_far = (double)v;
}

/* How near the trials come to the constraints. */
static gopt_status refuse(const gopt_findings *f, const char *dir, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    char latency[32], memory[32], compile[32];
    double ns = NAN, bytes = NAN, compile_ns = NAN;
    for (int i = 0; i < c->n_trials; i++) {
        if (!gopt_finding_trial_is_ok(&c->trials[i]))
            continue;
        least(&ns, c->trials[i].latency.median);
        least(&bytes, c->trials[i].memory.peak);
        least(&compile_ns, c->trials[i].compile.total);
    }
    return gopt_fail(e, GOPT_EDIFF,
                     "%s: no candidate keeps the constraints (lowest latency %s, peak memory %s, time to compile %s): "
                     "manifest and reports stay as they were",
                     dir, gopt_text_ns(latency, ns), gopt_text_bytes(memory, bytes), gopt_text_ns(compile, compile_ns));
}

static gopt_status act(gopt_findings *f, const gopt_study *s, const char *dir, gopt_text *summary, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    if (c->chosen_trial < 0 || c->default_trial < 0)
        return gopt_fail(e, GOPT_EINPUT, "%s: nothing was timed yet; run gopt-tune", dir);
    return c->unmet ? refuse(f, dir, e) : write_all(f, s, dir, summary, e);
}

static gopt_status put_findings(const gopt_findings *f, gopt_text *out, gopt_err *e)
{
    char *json;
    GOPT_TRY(gopt_findings_json(&json, f, e));
    gopt_text_put(out, json);
    gopt_text_put(out, "\n");
    gopt_free(json);
    return out->failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status decide(const char *out_dir, const gopt_goal_change *change, gopt_text *summary, gopt_text *findings,
                          gopt_err *e)
{
    char path[1200];
    gopt_study *s;
    gopt_goal goal;
    gopt_findings *f = NULL;
    snprintf(path, sizeof path, "%s/study.db", out_dir);
    GOPT_TRY(gopt_study_read(&s, path, e));
    gopt_status status = gopt_decide_goal(&goal, s, e);
    if (!status) {
        apply(&goal, change);
        status = gopt_decide(&f, s, &goal, e);
    }
    if (!status)
        renew_commands(f, change, out_dir);
    if (!status)
        status = f->arena.failed ? gopt_oom(e) : act(f, s, out_dir, summary, e);
    if (findings && f && (!status || status == GOPT_EDIFF) && put_findings(f, findings, NULL))
        status = gopt_oom(e);
    gopt_findings_free(f);
    gopt_study_close(s);
    return status;
}

gopt_status gopt_decide_again(const char *out_dir, const gopt_goal_change *change, gopt_text *summary,
                              gopt_text *findings, gopt_err *e)
{
    gopt_lock lock = {0};
    GOPT_TRY(gopt_lock_take(&lock, out_dir, e));
    gopt_status s = decide(out_dir, change, summary, findings, e);
    gopt_lock_release(&lock);
    return s;
}
