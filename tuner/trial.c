/* trial.c: one configuration in a worker of its own: compiled, loaded, verified, stored; warmed up when it is to be
 * timed. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "effects.h"
#include "job.h"

static const double WARM_SHARE = 0.01;
static const int64_t GRACE_NS = GOPT_NS_PER_S;

/* A candidate may take what is left of the search; before the first results and in the final, what is left of the job.
 */
static int64_t trial_deadline(const gopt_job *j)
{
    int64_t now = gopt_now();
    int64_t search = gopt_effects_default(j->study) && now < j->search_end ? j->search_end : j->end;
    return GOPT_MAX(search, now + GRACE_NS);
}

static const volatile int *interruption(const gopt_job *j)
{
    return j->writing ? NULL : &gopt_job_interrupted;
}

void gopt_contender_stop(gopt_contender *c)
{
    gopt_worker_stop(c->worker);
    c->worker = NULL;
}

static double seconds_since(int64_t begin)
{
    return (double)(gopt_now() - begin) / (double)GOPT_NS_PER_S;
}

static char *prepare_request(const gopt_config *c)
{
    char *config = gopt_config_json(c);
    cJSON *o = cJSON_CreateObject();
    char *text = NULL;
    if (config && o && cJSON_AddStringToObject(o, "do", "prepare") && cJSON_AddRawToObject(o, "config", config))
        text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    cJSON_free(config);
    return text;
}

static char *open_request(const char *path)
{
    cJSON *o = cJSON_CreateObject();
    char *text = NULL;
    if (o && cJSON_AddStringToObject(o, "do", "open") && cJSON_AddStringToObject(o, "path", path))
        text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    return text;
}

static gopt_status warm_up(gopt_job *j, gopt_contender *c, gopt_err *e)
{
    char request[80];
    const char *reply;
    double most = GOPT_MIN(2.0, WARM_SHARE * j->options->budget_s);
    int64_t begin = gopt_now();
    snprintf(request, sizeof request, "{\"do\":\"warm\",\"ns\":%lld}", (long long)(most * 1e9));
    GOPT_TRY(gopt_worker_ask(c->worker, request, trial_deadline(j), NULL, &reply, e));
    cJSON *o = cJSON_Parse(reply);
    const cJSON *ns = cJSON_GetObjectItemCaseSensitive(o, "ns");
    c->warm_ns = cJSON_IsNumber(ns) ? ns->valuedouble : 0;
    c->repeats = c->warm_ns > 0 ? (int)GOPT_MAX(1.0, 1.1e6 / c->warm_ns) : 1;
    cJSON_Delete(o);
    j->spent.measure += seconds_since(begin);
    if (gopt_worker_alive(c->worker) && c->warm_ns > 0)
        return GOPT_OK;
    gopt_reply r;
    GOPT_TRY(gopt_reply_parse(&r, reply, &j->study->arena, e));
    gopt_contender_stop(c);
    return gopt_study_set_status(j->study, c->trial, r.status, r.why ? r.why : "failed in the warm-up", e);
}

/* An earlier trial whose plan is the same: timing it again would tell nothing. -1: none. */
static int same_plan(const gopt_study *s, const gopt_reply *r)
{
    for (int i = 0; r->plan_hash && i < s->n_trials; i++) {
        const gopt_reply *other = &s->trials[i].reply;
        if (other->status == GOPT_TRIAL_ok && other != r && other->plan_hash && !strcmp(other->plan_hash, r->plan_hash))
            return i;
    }
    return -1;
}

static gopt_status judge(gopt_job *j, gopt_contender *c, gopt_err *e)
{
    char why[80];
    gopt_trial *t = &j->study->trials[c->trial];
    if (t->reply.status != GOPT_TRIAL_ok) {
        gopt_contender_stop(c);
        return GOPT_OK;
    }
    int same = same_plan(j->study, &t->reply);
    if (same < 0)
        return warm_up(j, c, e);
    gopt_contender_stop(c);
    snprintf(why, sizeof why, "same plan as trial %d", same);
    return gopt_study_set_status(j->study, c->trial, GOPT_TRIAL_pruned, why, e);
}

static void account(gopt_job *j, const gopt_reply *r, double wall)
{
    double verify = GOPT_MIN((double)r->verify_ns / 1e9, wall);
    j->spent.verify += verify;
    j->spent.compile += wall - verify;
}

gopt_status gopt_job_try(gopt_job *j, const gopt_config *config, gopt_trial_role role, int pass_a, int pass_b,
                         gopt_contender *out, gopt_err *e)
{
    const char *reply = NULL;
    int64_t begin = gopt_now();
    *out = (gopt_contender){.trial = -1, .repeats = 1};
    gopt_trial t = {.role = role, .pass_a = pass_a, .pass_b = pass_b, .config = *config};
    char *request = prepare_request(config);
    if (!request)
        return gopt_oom(e);
    gopt_status s = gopt_worker_start(&out->worker, &j->bench, e);
    if (!s)
        s = gopt_worker_ask(out->worker, request, trial_deadline(j), interruption(j), &reply, e);
    cJSON_free(request);
    double wall = seconds_since(begin);
    t.elapsed_s = j->study->spent_before + gopt_job_elapsed(j);
    if (!s)
        s = gopt_study_add_trial(j->study, &t, reply, e);
    if (!s) {
        out->trial = t.id;
        account(j, &t.reply, wall);
        s = judge(j, out, e);
    }
    if (s)
        gopt_contender_stop(out);
    return s;
}

gopt_status gopt_job_revive(gopt_job *j, int trial, const char *path, gopt_contender *out, gopt_err *e)
{
    const char *reply = NULL;
    gopt_reply r;
    int64_t begin = gopt_now();
    *out = (gopt_contender){.trial = trial, .repeats = 1};
    char *request = path ? open_request(path) : prepare_request(&j->study->trials[trial].config);
    if (!request)
        return gopt_oom(e);
    gopt_status s = gopt_worker_start(&out->worker, &j->bench, e);
    if (!s)
        s = gopt_worker_ask(out->worker, request, trial_deadline(j), interruption(j), &reply, e);
    cJSON_free(request);
    if (!s)
        s = gopt_reply_parse(&r, reply, &j->study->arena, e);
    if (!s) {
        account(j, &r, seconds_since(begin));
        if (r.status != GOPT_TRIAL_ok) {
            gopt_contender_stop(out);
            s = gopt_study_set_status(j->study, trial, r.status, r.why ? r.why : "failed when it was loaded again", e);
        } else {
            s = warm_up(j, out, e);
        }
    }
    if (s)
        gopt_contender_stop(out);
    return s;
}

gopt_status gopt_job_trace(gopt_job *j, gopt_contender *c, gopt_err *e)
{
    const char *reply;
    int64_t begin = gopt_now();
    int runs = c->warm_ns > 2e8 ? 1 : c->warm_ns > 2e7 ? 3 : 9;
    char request[64];
    if (!c->worker)
        return GOPT_OK;
    snprintf(request, sizeof request, "{\"do\":\"trace\",\"runs\":%d}", runs);
    GOPT_TRY(gopt_worker_ask(c->worker, request, trial_deadline(j), NULL, &reply, e));
    j->spent.measure += seconds_since(begin);
    return gopt_study_set_trace(j->study, c->trial, reply, e);
}
