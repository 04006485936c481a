/* results.c: what a job leaves in OUT: bundles, manifest, reports. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "about.h"
#include "against.h"
#include "base/clock.h"
#include "decide.h"
#include "publish.h"
#include "report.h"

gopt_status gopt_contender_bundle(gopt_job *j, gopt_contender *c, gopt_err *e)
{
    char file[64], path[1200];
    const char *reply;
    int64_t begin = gopt_now();
    if (!c->worker || j->study->trials[c->trial].bundle)
        return GOPT_OK;
    snprintf(file, sizeof file, "trial-%d.gopt", c->trial);
    snprintf(path, sizeof path, "%s/bundles/%s", j->options->out, file);
    cJSON *o = cJSON_CreateObject();
    char *text = o && cJSON_AddStringToObject(o, "do", "bundle") && cJSON_AddStringToObject(o, "path", path)
                     ? cJSON_PrintUnformatted(o)
                     : NULL;
    cJSON_Delete(o);
    if (!text)
        return gopt_oom(e);
    gopt_status s = gopt_worker_ask(c->worker, text, gopt_now() + 60 * GOPT_NS_PER_S, NULL, &reply, e);
    cJSON_free(text);
    GOPT_TRY(s);
    cJSON *answer = cJSON_Parse(reply);
    const char *status = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "status"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "why"));
    if (!status || strcmp(status, "ok") != 0)
        s = gopt_fail(e, GOPT_EIO, "%s: %s", path, why ? why : "cannot be written");
    cJSON_Delete(answer);
    j->spent.compile += (double)(gopt_now() - begin) / 1e9;
    return s ? s : gopt_study_set_bundle(j->study, c->trial, file, e);
}

static const double TRACE_SHARE = 0.02; /* of the budget, for one inference: slower ones are not traced */

/* Who gets a bundle here may be chosen: where its time goes is known only from a worker that compiled it. */
static gopt_status trace_once(gopt_job *j, gopt_contender *c, gopt_err *e)
{
    bool affordable = c->warm_ns < TRACE_SHARE * j->options->budget_s * 1e9;
    return affordable && !j->study->trials[c->trial].steps ? gopt_job_trace(j, c, e) : GOPT_OK;
}

gopt_status gopt_job_need_bundle(gopt_job *j, int trial, gopt_err *e)
{
    gopt_contender c = {.trial = trial};
    if (trial < 0 || j->study->trials[trial].bundle)
        return GOPT_OK;
    GOPT_TRY(gopt_job_revive(j, trial, NULL, &c, e));
    gopt_status s = gopt_contender_bundle(j, &c, e);
    if (!s)
        s = trace_once(j, &c, e);
    gopt_contender_stop(&c);
    return s;
}

static gopt_status write_all(gopt_job *j, const gopt_findings *f, bool reports, gopt_err *e)
{
    const gopt_finding_cluster *c = &f->clusters[0];
    GOPT_TRY(gopt_job_need_bundle(j, c->chosen_trial, e));
    GOPT_TRY(gopt_job_need_bundle(j, c->default_trial, e));
    GOPT_TRY(gopt_publish_manifest(f, j->study, j->options->out, e));
    return reports ? gopt_report_write(f, j->options->out, e) : GOPT_OK;
}

/* A choice that was not in the final gets its bundle first, and a trace with it, which the findings then tell of. */
static gopt_status decide(gopt_job *j, gopt_findings **out, gopt_err *e)
{
    GOPT_TRY(gopt_decide(out, j->study, &j->options->goal, e));
    int chosen = (*out)->clusters[0].chosen_trial;
    if (chosen < 0 || j->study->trials[chosen].bundle)
        return GOPT_OK;
    gopt_findings_free(*out);
    GOPT_TRY(gopt_job_need_bundle(j, chosen, e));
    return gopt_decide(out, j->study, &j->options->goal, e);
}

gopt_status gopt_job_publish(gopt_job *j, bool reports, gopt_err *e)
{
    gopt_findings *f;
    GOPT_TRY(gopt_about_store(j, e));
    GOPT_TRY(decide(j, &f, e));
    gopt_status s = j->options->against ? gopt_against_judge(f, j->options->against, e) : GOPT_OK;
    const gopt_finding_cluster *c = &f->clusters[0];
    j->timed = gopt_finding_trial_is_ok(gopt_finding_trial_find(c, c->chosen_trial)) &&
               gopt_finding_trial_is_ok(gopt_finding_trial_find(c, c->default_trial));
    if (!s && j->timed)
        s = write_all(j, f, reports, e);
    j->regressed = f->verdict.result && !strcmp(f->verdict.result, "regression");
    j->unmet = c->unmet;
    if (!j->timed)
        gopt_progress_note(j->progress, "too little was timed yet: no manifest; the same command goes on from here");
    gopt_findings_free(f);
    return s;
}

void gopt_job_summary(gopt_job *j, gopt_text *out)
{
    gopt_findings *f;
    if (!j->timed || gopt_decide(&f, j->study, &j->options->goal, NULL))
        return;
    gopt_publish_summary(f, j->options->out, out);
    gopt_findings_free(f);
}
