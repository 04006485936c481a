/* again.c: deciding again from what was measured. */
#include "again.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command_line.h"
#include "decide.h"
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

/* NULL: a study of an earlier gopt does not tell its call. */
static const char *command_for(gopt_findings *f, const gopt_goal_change *c, const char *dir)
{
    gopt_text line = {0};
    if (!f->n_commands || !strstr(f->commands[0].line, "gopt-tune"))
        return NULL;
    gopt_tune_command_change(&line, f->commands[0].line, c, dir);
    const char *kept = gopt_arena_str(&f->arena, gopt_text_str(&line));
    gopt_text_fini(&line);
    return kept;
}

static int served_by(const char *dir)
{
    char path[1200];
    gopt_manifest *m;
    snprintf(path, sizeof path, "%s/manifest.yaml", dir);
    if (gopt_manifest_read(&m, path, NULL))
        return -1;
    int trial = m->n_clusters ? m->clusters[0].chosen.trial : -1;
    gopt_manifest_free(m);
    return trial;
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

static void suppose(gopt_findings *f, const gopt_goal_change *change, const char *dir)
{
    gopt_finding_cluster *c = &f->clusters[0];
    c->what_if = true;
    c->served_trial = served_by(dir);
    c->served_breaks = breaches(f, gopt_finding_trial_find(c, c->served_trial));
    c->remedy = command_for(f, change, dir);
}

static gopt_status tell_what_if(const gopt_finding_cluster *c, const char *dir, gopt_err *e)
{
    char served[40] = "";
    const char *breaks = c->served_breaks ? c->served_breaks : "";
    if (c->served_trial >= 0)
        snprintf(served, sizeof served, " and serves trial %d", c->served_trial);
    return gopt_fail(e, GOPT_EDIFF,
                     "%s: manifest.yaml stays as it was%s%s%s%s: trial %d, which would be chosen, has no bundle", dir,
                     served, *breaks ? " (" : "", breaks, *breaks ? ")" : "", c->chosen_trial);
}

static gopt_status write_all(gopt_findings *f, const gopt_study *s, const gopt_goal_change *change, const char *dir,
                             gopt_text *summary, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    bool compiled = s->trials[c->chosen_trial].bundle && s->trials[c->default_trial].bundle;
    if (compiled)
        GOPT_TRY(gopt_publish_manifest(f, s, dir, e));
    else
        suppose(f, change, dir);
    GOPT_TRY(gopt_report_write(f, dir, e));
    gopt_publish_summary(f, dir, summary);
    return compiled ? GOPT_OK : tell_what_if(c, dir, e);
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

static gopt_status act(gopt_findings *f, const gopt_study *s, const gopt_goal_change *change, const char *dir,
                       gopt_text *summary, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    if (c->chosen_trial < 0 || c->default_trial < 0)
        return gopt_fail(e, GOPT_EINPUT, "%s: nothing was timed yet; run gopt-tune", dir);
    return c->unmet ? refuse(f, dir, e) : write_all(f, s, change, dir, summary, e);
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

gopt_status gopt_decide_again(const char *out_dir, const gopt_goal_change *change, gopt_text *summary,
                              gopt_text *findings, gopt_err *e)
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
        status = act(f, s, change, out_dir, summary, e);
    if (findings && f && (!status || status == GOPT_EDIFF) && put_findings(f, findings, NULL))
        status = gopt_oom(e);
    gopt_findings_free(f);
    gopt_study_close(s);
    return status;
}
