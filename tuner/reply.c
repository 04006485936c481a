/* reply.c: JSON of the worker protocol and of configurations, both ways. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

#define GOPT_X_TRIAL(n) [GOPT_TRIAL_##n] = #n,
static const char *const statuses[GOPT_TRIAL_STATUS_COUNT] = {GOPT_TRIAL_STATUSES(GOPT_X_TRIAL)};
#undef GOPT_X_TRIAL
static const char *const roles[GOPT_ROLE_COUNT] = {"baseline", "default",   "single", "leave_one_out",
                                                   "pair",     "coalition", "preset", "search"};

const char *gopt_trial_status_name(gopt_trial_status s)
{
    return statuses[s];
}

const char *gopt_trial_role_name(gopt_trial_role r)
{
    return roles[r];
}

static double number(const cJSON *o, const char *name, double fallback)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsNumber(n) ? n->valuedouble : fallback;
}

/* A whole number as far as doubles hold them: a damaged file must not overflow a conversion. */
static int64_t whole(const cJSON *o, const char *name, int64_t fallback)
{
    static const double MOST = 9007199254740992.0;
    double v = number(o, name, (double)fallback);
    return v >= -MOST && v <= MOST ? (int64_t)v : fallback;
}

static int count(const cJSON *o, const char *name)
{
    return (int)GOPT_MIN(GOPT_MAX(whole(o, name, 0), 0), (int64_t)INT32_MAX);
}

static size_t bytes(const cJSON *o, const char *name)
{
    return (size_t)GOPT_MAX(whole(o, name, 0), 0);
}

static const char *text(const cJSON *o, const char *name, gopt_arena *a)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
    return s ? gopt_arena_str(a, s) : NULL;
}

static const char *text_or(const cJSON *o, const char *name, const char *fallback, gopt_arena *a)
{
    const char *s = text(o, name, a);
    return s ? s : fallback;
}

static gopt_trial_status status_of(const cJSON *o)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "status"));
    for (int i = 0; s && i < GOPT_TRIAL_STATUS_COUNT; i++)
        if (!strcmp(s, statuses[i]))
            return (gopt_trial_status)i;
    return GOPT_TRIAL_crashed;
}

static void read_memory(gopt_reply *out, const cJSON *o)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, "memory");
    out->arena_bound = bytes(m, "arena_bound");
    out->arena_total = bytes(m, "arena_total");
    out->memory = (gopt_memory){.peak = bytes(m, "peak"),
                                .steady = bytes(m, "steady"),
                                .weights = bytes(m, "weights"),
                                .arena = bytes(m, "arena"),
                                .workspace = bytes(m, "workspace"),
                                .runtime = bytes(m, "runtime")};
}

static unsigned char *read_touched(const cJSON *pass, int origins, gopt_arena *a)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pass, "touched"), *one;
    unsigned char *touched = GOPT_NEW(a, unsigned char, origins);
    if (touched)
        cJSON_ArrayForEach(one, list) if (cJSON_IsNumber(one) && one->valueint >= 0 && one->valueint < origins)
            touched[one->valueint] = 1;
    return touched;
}

enum { ORIGINS_MAX = 1 << 24 }; /* a number above is no model's */

static void read_passes(gopt_reply *out, const cJSON *o, gopt_arena *a)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "passes"), *one;
    int n = cJSON_GetArraySize(list), i = 0;
    out->n_origins = GOPT_MIN(count(o, "origins"), ORIGINS_MAX);
    out->passes = GOPT_NEW(a, gopt_trial_pass, n);
    out->touched = GOPT_NEW(a, unsigned char *, n);
    if (!out->passes || !out->touched)
        return;
    out->n_passes = n;
    cJSON_ArrayForEach(one, list)
    {
        out->passes[i] = (gopt_trial_pass){.pass = text(one, "pass", a),
                                           .changed = count(one, "changed"),
                                           .nodes_before = count(one, "nodes_before"),
                                           .nodes_after = count(one, "nodes_after"),
                                           .ns = whole(one, "ns", 0)};
        out->touched[i++] = read_touched(one, out->n_origins, a);
    }
}

gopt_status gopt_reply_parse(gopt_reply *out, const char *json, gopt_arena *a, gopt_err *e)
{
    *out = (gopt_reply){.status = GOPT_TRIAL_crashed};
    cJSON *o = cJSON_Parse(json);
    if (!o)
        return gopt_fail(e, GOPT_EINPUT, "a worker's reply is no JSON: %.80s", json);
    out->status = status_of(o);
    out->why = text(o, "why", a);
    out->plan_hash = text(o, "plan_hash", a);
    const cJSON *compile = cJSON_GetObjectItemCaseSensitive(o, "compile");
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        out->stage_ns[i] = whole(compile, gopt_stage_names[i], 0);
    out->compile_ns = whole(o, "compile_ns", -1);
    out->compile_peak = whole(o, "compile_peak", -1);
    out->cached = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "cached"));
    out->native = count(o, "native");
    out->generated = count(o, "generated");
    out->reference = count(o, "reference");
    read_memory(out, o);
    out->max_abs = number(o, "max_abs", -1);
    out->max_rel = number(o, "max_rel", -1);
    out->verify_ns = whole(o, "verify_ns", 0);
    out->predicted_s = number(o, "predicted_s", -1);
    read_passes(out, o, a);
    cJSON_Delete(o);
    return a->failed ? gopt_oom(e) : GOPT_OK;
}

static void read_step(gopt_trial_step *s, const cJSON *o, gopt_arena *a)
{
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(o, "origin"), *one;
    int n = cJSON_GetArraySize(origin);
    *s = (gopt_trial_step){.name = text_or(o, "name", "?", a),
                           .op = text_or(o, "op", "?", a),
                           .kernel = text_or(o, "kernel", "?", a),
                           .ns = whole(o, "ns", 0)};
    s->origin = GOPT_NEW(a, int, n);
    if (s->origin)
        cJSON_ArrayForEach(one, origin) s->origin[s->n_origin++] = one->valueint;
}

gopt_status gopt_trace_parse(gopt_trial *t, const char *json, gopt_arena *a, gopt_err *e)
{
    cJSON *o = cJSON_Parse(json);
    if (!o)
        return gopt_fail(e, GOPT_EINPUT, "a trace is no JSON: %.80s", json);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "steps"), *one;
    t->steps = NULL;
    t->n_steps = 0;
    if (status_of(o) == GOPT_TRIAL_ok && (t->steps = GOPT_NEW(a, gopt_trial_step, cJSON_GetArraySize(list))))
        cJSON_ArrayForEach(one, list) read_step(&t->steps[t->n_steps++], one, a);
    t->traced_ns = number(o, "total", 0);
    cJSON_Delete(o);
    return a->failed ? gopt_oom(e) : GOPT_OK;
}

static cJSON *setting_value(const gopt_setting *s, int64_t v)
{
    if (s->knob->kind == GOPT_KNOB_BOOL)
        return cJSON_CreateBool(v != 0);
    if (s->knob->kind == GOPT_KNOB_CHOICE)
        return cJSON_CreateString(s->knob->choices[v]);
    return cJSON_CreateNumber((double)v);
}

char *gopt_config_json(const gopt_config *c)
{
    cJSON *o = cJSON_CreateObject();
    gopt_config plain;
    gopt_config_baseline(&plain);
    for (int i = 0; o && i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        if (s->is_switch || c->v[i] != plain.v[i] || !strcmp(s->name, "engine.threads"))
            cJSON_AddItemToObject(o, s->name, setting_value(s, c->v[i]));
    }
    char *json = o ? cJSON_PrintUnformatted(o) : NULL;
    cJSON_Delete(o);
    return json;
}

static gopt_status set_from(gopt_config *c, const cJSON *one, gopt_err *e)
{
    int row = gopt_setting_find(one->string);
    if (row < 0)
        return gopt_fail(e, GOPT_EUSAGE, "knob %s is unknown to this version", one->string);
    const gopt_knob *k = gopt_setting_at(row)->knob;
    if (cJSON_IsString(one)) {
        gopt_status s = gopt_knob_parse(k, one->valuestring, &c->v[row], e);
        return s ? gopt_within(e, s, "%s", one->string) : GOPT_OK;
    }
    double v = cJSON_IsBool(one) ? cJSON_IsTrue(one) : cJSON_IsNumber(one) ? one->valuedouble : NAN;
    if (!(fabs(v) <= 1e15) || v != floor(v) || !gopt_knob_valid(k, (int64_t)v))
        return gopt_fail(e, GOPT_EUSAGE, "knob %s cannot be %g", one->string, v);
    c->v[row] = (int64_t)v;
    return GOPT_OK;
}

gopt_status gopt_config_from_json(gopt_config *out, const char *json, gopt_err *e)
{
    cJSON *o = cJSON_Parse(json);
    const cJSON *one;
    gopt_status s = cJSON_IsObject(o) ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "a configuration is no JSON object");
    gopt_config_baseline(out);
    for (one = !s ? o->child : NULL; !s && one; one = one->next)
        s = set_from(out, one, e);
    cJSON_Delete(o);
    return s;
}
