/* inspect_study.c: a study: its job, how its trials ended, the quickest ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assess.h"
#include "base/utf8.h"
#include "inspect.h"

enum { SHOWN = 20 }; /* trials, unless all are asked for */

typedef struct row {
    const gopt_trial *trial;
    gopt_trial_status status;
    const char *why;
    int samples;
    double median_ns; /* as the report has it: the baseline's over the speedup; NAN: not timed */
    gopt_estimate speedup;
} row;

/* As the report has it: a trial that was timed in too few rounds is not ok, and its speed is not known. */
static void fill_row(row *r, const gopt_assessment *a, const gopt_trial *t)
{
    const gopt_study *s = a->study;
    const gopt_assessed *known = gopt_assess_find(a, t->id);
    bool timed = t->reply.status == GOPT_TRIAL_ok && known;
    *r = (row){.trial = t, .status = t->reply.status, .why = t->reply.why};
    r->speedup = timed ? gopt_effects_speedup(s, t->id) : (gopt_estimate){.value = NAN, .lo = NAN, .hi = NAN};
    if (t->reply.status == GOPT_TRIAL_ok && !timed) {
        r->status = GOPT_TRIAL_pruned;
        r->why = "the budget ended before it was timed in 9 rounds";
    }
    for (int i = 0; i < s->n_samples; i++)
        r->samples += s->samples[i].trial == t->id;
    r->median_ns = timed ? known->latency.median.value : NAN;
}

/* The quickest first, those that were not timed at the end, by id. */
static int by_speed(const void *a, const void *b)
{
    const row *x = a, *y = b;
    double p = isfinite(x->speedup.value) ? x->speedup.value : 0, q = isfinite(y->speedup.value) ? y->speedup.value : 0;
    return p != q ? (p < q) - (p > q) : (x->trial->id > y->trial->id) - (x->trial->id < y->trial->id);
}

static void put_counts(const gopt_inspection *x, const gopt_study *s, const row *rows)
{
    int count[GOPT_TRIAL_STATUS_COUNT] = {0};
    cJSON *o = x->json ? cJSON_AddObjectToObject(x->json, "statuses") : NULL;
    for (int i = 0; i < s->n_trials; i++)
        count[rows[i].status]++;
    gopt_inspect_number(x, "trials", "trials", s->n_trials);
    for (int k = 0; k < GOPT_TRIAL_STATUS_COUNT; k++) {
        const char *name = gopt_trial_status_name((gopt_trial_status)k);
        if (x->text && count[k])
            gopt_text_add(x->text, "    %s %d\n", name, count[k]);
        else if (x->json)
            gopt_json_number(o, name, count[k]);
    }
    gopt_inspect_number(x, "samples", "samples", s->n_samples);
    gopt_inspect_number(x, "noise_floor", "noise floor", gopt_effects_noise_floor(s));
}

static void put_differences(gopt_text *t, const gopt_config *c)
{
    gopt_config plain;
    gopt_config_default(&plain);
    for (int i = 0; i < gopt_setting_count(); i++) {
        if (c->v[i] == plain.v[i])
            continue;
        const gopt_setting *s = gopt_setting_at(i);
        gopt_text_add(t, " %s=", s->name);
        gopt_knob_print(s->knob, c->v[i], t);
    }
}

static void text_row(const gopt_inspection *x, const row *r)
{
    char ns[32], speed[48] = "-";
    const gopt_trial *t = r->trial;
    if (isfinite(r->speedup.value))
        snprintf(speed, sizeof speed, "%.3f", r->speedup.value);
    gopt_text_add(x->text, "  %5d  %-13s %-14s %7d  %9s  %7s ", t->id, gopt_trial_role_name(t->role),
                  gopt_trial_status_name(r->status), r->samples,
                  isfinite(r->median_ns) ? gopt_text_ns(ns, r->median_ns) : "-", speed);
    put_differences(x->text, &t->config);
    if (r->why) {
        gopt_text_put(x->text, " ");
        gopt_utf8_put(x->text, r->why);
    }
    gopt_text_put(x->text, "\n");
}

static void json_row(cJSON *list, const row *r)
{
    cJSON *o = cJSON_CreateObject(), *config = cJSON_AddObjectToObject(o, "config"), *s = cJSON_CreateObject();
    const gopt_trial *t = r->trial;
    gopt_json_number(o, "id", t->id);
    gopt_json_text(o, "role", gopt_trial_role_name(t->role));
    gopt_json_text(o, "status", gopt_trial_status_name(r->status));
    gopt_json_text(o, "why", r->why);
    gopt_json_number(o, "samples", r->samples);
    gopt_json_number(o, "median_ns", r->median_ns);
    gopt_json_number(s, "value", r->speedup.value);
    gopt_json_number(s, "lo", r->speedup.lo);
    gopt_json_number(s, "hi", r->speedup.hi);
    cJSON_AddItemToObject(o, "speedup", s);
    for (int i = 0; i < gopt_setting_count(); i++) {
        gopt_text value = {0};
        gopt_knob_print(gopt_setting_at(i)->knob, t->config.v[i], &value);
        gopt_json_text(config, gopt_setting_at(i)->name, gopt_text_str(&value));
        gopt_text_fini(&value);
    }
    cJSON_AddItemToArray(list, o);
}

static void put_rows(const gopt_inspection *x, const row *rows, int n)
{
    int shown = x->verbose || x->json ? n : GOPT_MIN(n, SHOWN);
    cJSON *list = x->json ? cJSON_AddArrayToObject(x->json, "table") : NULL;
    if (x->text && n)
        gopt_text_put(x->text,
                      "  trial  role          status         samples     median  speedup  unlike the default\n");
    for (int i = 0; i < shown; i++) {
        if (x->text)
            text_row(x, &rows[i]);
        else
            json_row(list, &rows[i]);
    }
    if (shown < n)
        gopt_text_add(x->text, "  and %d more; -v shows all\n", n - shown);
}

gopt_status gopt_inspect_study(const gopt_inspection *x, gopt_err *e)
{
    gopt_study *s;
    gopt_assessment a;
    GOPT_TRY(gopt_study_read(&s, x->path, e));
    gopt_status status = gopt_assess(&a, s, &gopt_goal_default, e);
    row *rows = gopt_calloc((size_t)s->n_trials + 1, sizeof *rows);
    if (!status && !rows)
        status = gopt_oom(e);
    if (!status) {
        for (int i = 0; i < s->n_trials; i++)
            fill_row(&rows[i], &a, &s->trials[i]);
        qsort(rows, (size_t)s->n_trials, sizeof *rows, by_speed);
        put_counts(x, s, rows);
        put_rows(x, rows, s->n_trials);
    }
    gopt_free(rows);
    gopt_assess_fini(&a);
    gopt_study_close(s);
    return status;
}
