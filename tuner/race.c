/* race.c: rounds of samples in random order, the baseline twice in each (A/A), every sample stored before the next. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/clock.h"
#include "job.h"

/* A slow baseline is not run twice for ever: this many pairs fix the noise floor well enough. */
enum { A_A_PAIRS_ENOUGH = 31, CONTENDERS_MAX = 16 };
static const double SLOW_BASELINE_NS = 5e7;
static const int64_t SAMPLE_LIMIT_NS = 60 * GOPT_NS_PER_S;

static double number(const cJSON *o, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

/* Without it nothing can be compared: it gets one more worker. */
static gopt_status restart_baseline(gopt_job *j, const gopt_reply *r, gopt_err *e)
{
    const char *why = r->why ? r->why : "no reason given";
    gopt_progress_note(j->progress, "the baseline %s: %s; it is started again", gopt_trial_status_name(r->status), why);
    GOPT_TRY(gopt_job_revive(j, j->baseline.trial, NULL, &j->baseline, e));
    return j->baseline.worker ? GOPT_OK : gopt_fail(e, GOPT_EUNSUP, "the baseline fails while it is timed: %s", why);
}

/* The worker failed while it was timed: its trial is no longer ok. */
static gopt_status lose(gopt_job *j, gopt_contender *c, const char *json, gopt_err *e)
{
    gopt_reply r;
    GOPT_TRY(gopt_reply_parse(&r, json, &j->study->arena, e));
    gopt_contender_stop(c);
    if (c == &j->baseline)
        return restart_baseline(j, &r, e);
    return gopt_study_set_status(j->study, c->trial, r.status, r.why ? r.why : "failed while it was timed", e);
}

/* A percentile is one of requests: a mean of several says nothing of it. */
static bool takes_singles(const gopt_job *j)
{
    return j->options->goal.objective == GOPT_OBJECTIVE_p99;
}

static gopt_status take_sample(gopt_job *j, gopt_contender *c, gopt_sample_stage stage, int round, double *ns,
                               gopt_err *e)
{
    char request[96];
    const char *reply;
    if (takes_singles(j))
        snprintf(request, sizeof request, "{\"do\":\"sample\",\"min_ns\":0,\"repeats\":1,\"warm\":true}");
    else
        snprintf(request, sizeof request, "{\"do\":\"sample\",\"min_ns\":1000000,\"repeats\":%d}", c->repeats);
    GOPT_TRY(gopt_worker_ask(c->worker, request, gopt_now() + SAMPLE_LIMIT_NS, NULL, &reply, e));
    cJSON *o = cJSON_Parse(reply);
    *ns = number(o, "ns");
    c->repeats = (int)GOPT_MAX(number(o, "repeats"), 1);
    double waited = number(o, "waited_s");
    j->workers_cpu_s += number(o, "cpu_s");
    j->workers_waited_s = waited >= 0 && j->workers_waited_s >= 0 ? j->workers_waited_s + waited : -1;
    cJSON_Delete(o);
    if (*ns <= 0 || !gopt_worker_alive(c->worker))
        return lose(j, c, reply, e);
    gopt_sample s = {.trial = c->trial, .round = round, .stage = stage, .ns = *ns, .repeats = c->repeats};
    return gopt_study_add_sample(j->study, &s, e);
}

static bool twice(const gopt_job *j)
{
    return j->baseline.warm_ns < SLOW_BASELINE_NS || j->rounds < A_A_PAIRS_ENOUGH;
}

/* What was measured is the workers: that this process waits for a processor disturbs nobody. */
static void read_health(const gopt_job *j, gopt_health *h)
{
    gopt_health_read(h);
    h->own_s += j->workers_cpu_s;
    h->waited_s = j->workers_waited_s;
}

static gopt_status run_round(gopt_job *j, gopt_contender *at, int n, gopt_sample_stage stage, gopt_err *e)
{
    gopt_contender *order[CONTENDERS_MAX + 2];
    int shuffled[CONTENDERS_MAX + 2], count = 0, round = j->study->next_round;
    gopt_health before, after;
    order[count++] = &j->baseline;
    if (twice(j))
        order[count++] = &j->baseline;
    for (int i = 0; i < n && count < GOPT_COUNT(order); i++)
        if (at[i].worker)
            order[count++] = &at[i];
    for (int i = 0; i < count; i++)
        shuffled[i] = i;
    gopt_random_shuffle(&j->random, shuffled, count);
    read_health(j, &before);
    for (int i = 0; i < count; i++) {
        double ns;
        gopt_contender *c = order[shuffled[i]];
        if (gopt_job_interrupted)
            return gopt_fail(e, GOPT_EINTR, "interrupted");
        if (c->worker)
            GOPT_TRY(take_sample(j, c, stage, round, &ns, e));
    }
    read_health(j, &after);
    j->rounds++;
    gopt_disturbance_add(&j->disturbance, &before, &after);
    if (gopt_health_disturbed(&before, &after)) {
        j->rounds_flagged++;
        GOPT_TRY(gopt_study_flag_round(j->study, round, e));
    }
    return GOPT_OK;
}

gopt_status gopt_job_race(gopt_job *j, gopt_contender *at, int n, gopt_sample_stage stage, int rounds, int64_t deadline,
                          gopt_err *e)
{
    int64_t begin = gopt_now();
    gopt_status s = GOPT_OK;
    for (int r = 0; !s && r < rounds && gopt_now() < deadline; r++)
        s = run_round(j, at, n, stage, e);
    j->spent.measure += (double)(gopt_now() - begin) / (double)GOPT_NS_PER_S;
    return s;
}
