/* json.c: findings.json. Trees are cJSON's; a failed allocation is remembered and asked for once at the end. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "clean.h"
#include "findings.h"

typedef struct builder {
    bool failed;
} builder;

/* Hands item to parent, an object when there is a key and an array otherwise. Returns it, or NULL after a failure. */
static cJSON *add(builder *b, cJSON *parent, const char *key, cJSON *item)
{
    bool ok = parent && item;
    if (ok)
        ok = key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item);
    if (!ok) {
        cJSON_Delete(item);
        b->failed = true;
        return NULL;
    }
    if (item->string)
        gopt_clean_utf8(item->string);
    return item;
}

static cJSON *object(builder *b, cJSON *parent, const char *key)
{
    return add(b, parent, key, cJSON_CreateObject());
}

static cJSON *array(builder *b, cJSON *parent, const char *key)
{
    return add(b, parent, key, cJSON_CreateArray());
}

static void text(builder *b, cJSON *parent, const char *key, const char *s)
{
    cJSON *item = add(b, parent, key, s ? cJSON_CreateString(s) : cJSON_CreateNull());
    if (s && item)
        gopt_clean_utf8(item->valuestring);
}

/* The shortest digits that read back as v: cJSON itself would round to 15. */
static void number(builder *b, cJSON *parent, const char *key, double v)
{
    enum { DIGITS = 15, DIGITS_MAX = 17 };
    char text[40];
    int digits = DIGITS;
    do
        snprintf(text, sizeof(text), "%.*g", digits, v);
    while (digits++ < DIGITS_MAX && strtod(text, NULL) != v);
    add(b, parent, key, isfinite(v) ? cJSON_CreateRaw(text) : cJSON_CreateNull());
}

/* Written as it is: cJSON would turn large ones into floating point. */
static void integer(builder *b, cJSON *parent, const char *key, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, v);
    add(b, parent, key, cJSON_CreateRaw(digits));
}

static void known(builder *b, cJSON *parent, const char *key, int64_t v)
{
    if (v == GOPT_UNKNOWN)
        add(b, parent, key, cJSON_CreateNull());
    else
        integer(b, parent, key, v);
}

static void truth(builder *b, cJSON *parent, const char *key, bool v)
{
    add(b, parent, key, cJSON_CreateBool(v));
}

static void texts(builder *b, cJSON *parent, const char *key, const char *const *s, int n)
{
    cJSON *list = array(b, parent, key);
    for (int i = 0; i < n; i++)
        text(b, list, NULL, s[i]);
}

static void facts(builder *b, cJSON *o, const gopt_finding_fact *f, int n)
{
    for (int i = 0; i < n; i++)
        if (f[i].kind == GOPT_FINDING_TEXT)
            text(b, o, f[i].name, f[i].text);
        else if (f[i].kind == GOPT_FINDING_NUMBER)
            number(b, o, f[i].name, f[i].number);
        else
            truth(b, o, f[i].name, f[i].number != 0);
}

static void ratio(builder *b, cJSON *parent, const char *key, const gopt_finding_ratio *r, bool eta)
{
    cJSON *o = object(b, parent, key);
    number(b, o, "value", r->value);
    number(b, o, "lo", r->lo);
    number(b, o, "hi", r->hi);
    text(b, o, "verdict", eta ? gopt_finding_eta_name(r->verdict) : gopt_finding_verdict_name(r->verdict));
}

/* A group of figures, null where nothing of it is known. */
static cJSON *group(builder *b, cJSON *parent, const char *key, int64_t first)
{
    if (first != GOPT_UNKNOWN)
        return object(b, parent, key);
    add(b, parent, key, cJSON_CreateNull());
    return NULL;
}

static void latency(builder *b, cJSON *trial, const gopt_finding_latency *l)
{
    cJSON *o = group(b, trial, "latency", l->median);
    if (!o)
        return;
    known(b, o, "median", l->median);
    known(b, o, "lo", l->lo);
    known(b, o, "hi", l->hi);
    number(b, o, "mean", l->mean);
    known(b, o, "p90", l->p90);
    known(b, o, "p95", l->p95);
    known(b, o, "p99", l->p99);
    known(b, o, "samples", l->samples);
}

static void memory(builder *b, cJSON *trial, const gopt_finding_memory *m)
{
    cJSON *o = group(b, trial, "memory", m->peak);
    if (!o)
        return;
    known(b, o, "peak", m->peak);
    known(b, o, "steady", m->steady);
    known(b, o, "weights", m->weights);
    known(b, o, "arena", m->arena);
    known(b, o, "workspace", m->workspace);
    known(b, o, "runtime", m->runtime);
    number(b, o, "saving", m->saving);
    known(b, o, "arena_bound", m->arena_bound);
    number(b, o, "arena_reuse", m->reuse);
    number(b, o, "arena_fragmentation", m->fragmentation);
}

static void compile(builder *b, cJSON *trial, const gopt_finding_compile *c)
{
    cJSON *o = group(b, trial, "compile", c->total);
    if (!o)
        return;
    known(b, o, "total", c->total);
    known(b, o, "peak_memory", c->peak_memory);
    truth(b, o, "cached", c->cached);
    cJSON *stages = object(b, o, "stages");
    for (int i = 0; i < c->n_stages; i++)
        known(b, stages, c->stages[i].name, c->stages[i].ns);
}

static void trial(builder *b, cJSON *trials, const gopt_finding_trial *t)
{
    cJSON *o = object(b, trials, NULL);
    integer(b, o, "id", t->id);
    text(b, o, "status", t->status);
    text(b, o, "why", t->why);
    text(b, o, "role", t->role);
    texts(b, o, "pipeline", t->pipeline, t->n_pipeline);
    facts(b, object(b, o, "config"), t->config, t->n_config);
    latency(b, o, &t->latency);
    number(b, o, "throughput_per_s", t->throughput_per_s);
    ratio(b, o, "speedup", &t->speedup, false);
    memory(b, o, &t->memory);
    compile(b, o, &t->compile);
    number(b, o, "break_even_requests", t->break_even_requests);
    number(b, o, "utility", t->utility);
    cJSON *error = object(b, o, "error");
    number(b, error, "max_abs", t->max_abs);
    number(b, error, "max_rel", t->max_rel);
}

static void singles(builder *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, effects, "single");
    for (int i = 0; i < c->n_single; i++) {
        const gopt_finding_single *s = &c->single[i];
        cJSON *o = object(b, list, NULL);
        text(b, o, "pass", s->pass);
        integer(b, o, "trial", s->trial);
        ratio(b, o, "speedup", &s->speedup, false);
        number(b, o, "memory_saving", s->memory_saving);
        known(b, o, "compile", s->compile);
        number(b, o, "share", s->share);
        number(b, o, "operator_speedup", s->operator_speedup);
        number(b, o, "amdahl_predicted", s->amdahl_predicted);
        number(b, o, "amdahl_ceiling", s->amdahl_ceiling);
        text(b, o, "bottleneck", s->bottleneck);
    }
}

static void left_out(builder *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, effects, "leave_one_out");
    for (int i = 0; i < c->n_left_out; i++) {
        cJSON *o = object(b, list, NULL);
        text(b, o, "pass", c->left_out[i].pass);
        integer(b, o, "trial", c->left_out[i].trial);
        ratio(b, o, "slowdown", &c->left_out[i].slowdown, false);
    }
}

static void pairs(builder *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, effects, "pairs");
    for (int i = 0; i < c->n_pairs; i++) {
        cJSON *o = object(b, list, NULL);
        text(b, o, "first", c->pairs[i].first);
        text(b, o, "second", c->pairs[i].second);
        integer(b, o, "trial", c->pairs[i].trial);
        ratio(b, o, "eta", &c->pairs[i].eta, true);
        text(b, o, "why", c->pairs[i].why);
        cJSON *first = object(b, o, "first_rewrites"), *second = object(b, o, "second_rewrites");
        known(b, first, "alone", c->pairs[i].first_alone);
        known(b, first, "together", c->pairs[i].first_together);
        known(b, second, "alone", c->pairs[i].second_alone);
        known(b, second, "together", c->pairs[i].second_together);
    }
}

static void attribution(builder *b, cJSON *effects, const gopt_finding_attribution *a)
{
    cJSON *o = group(b, effects, "attribution", a->n_shares ? a->n_shares : GOPT_UNKNOWN);
    if (!o)
        return;
    integer(b, o, "trial", a->trial);
    number(b, o, "total", a->total);
    known(b, o, "orders", a->orders);
    known(b, o, "all_orders", a->all_orders);
    cJSON *list = array(b, o, "passes");
    for (int i = 0; i < a->n_shares; i++) {
        cJSON *share = object(b, list, NULL);
        text(b, share, "pass", a->shares[i].pass);
        ratio(b, share, "gain", &a->shares[i].gain, false);
        number(b, share, "share", a->shares[i].share);
    }
}

static void steps(builder *b, cJSON *effects, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, effects, "steps");
    for (int i = 0; i < c->n_steps; i++) {
        const gopt_finding_step *s = &c->steps[i];
        cJSON *o = object(b, list, NULL);
        text(b, o, "pass", s->pass);
        known(b, o, "nodes_before", s->nodes_before);
        known(b, o, "nodes_after", s->nodes_after);
        known(b, o, "kernels_after", s->kernels_after);
        known(b, o, "arena_after", s->arena_after);
        known(b, o, "latency", s->latency);
    }
}

static void regime(builder *b, cJSON *regimes, const char *key, const gopt_finding_regime *r, int n)
{
    cJSON *list = array(b, regimes, key);
    for (int i = 0; i < n; i++) {
        cJSON *o = object(b, list, NULL);
        number(b, o, "from", r[i].from);
        number(b, o, "to", r[i].to);
        integer(b, o, "trial", r[i].trial);
    }
}

static void anytime(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, cluster, "anytime");
    for (int i = 0; i < c->n_anytime; i++) {
        cJSON *o = object(b, list, NULL);
        number(b, o, "elapsed_s", c->anytime[i].elapsed_s);
        integer(b, o, "trial", c->anytime[i].trial);
        known(b, o, "median", c->anytime[i].median);
    }
}

static void profiles(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, cluster, "profiles");
    for (int i = 0; i < c->n_profiles; i++) {
        const gopt_finding_profile *p = &c->profiles[i];
        cJSON *o = object(b, list, NULL);
        integer(b, o, "trial", p->trial);
        number(b, o, "inflation", p->inflation);
        cJSON *spots = array(b, o, "hotspots");
        for (int k = 0; k < p->n_hotspots; k++) {
            cJSON *spot = object(b, spots, NULL);
            text(b, spot, "name", p->hotspots[k].name);
            text(b, spot, "kernel", p->hotspots[k].kernel);
            known(b, spot, "calls", p->hotspots[k].calls);
            known(b, spot, "ns", p->hotspots[k].ns);
            number(b, spot, "share", p->hotspots[k].share);
        }
    }
}

static void shapes(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, cluster, "shapes"), *bounds = object(b, cluster, "bounds");
    for (int i = 0; i < c->n_shapes; i++) {
        cJSON *o = object(b, list, NULL);
        for (int k = 0; k < c->shapes[i].n_sizes; k++)
            known(b, o, c->shapes[i].sizes[k].dim, c->shapes[i].sizes[k].value);
    }
    for (int i = 0; i < c->n_bounds; i++) {
        cJSON *pair = array(b, bounds, c->bounds[i].dim);
        known(b, pair, NULL, c->bounds[i].lo);
        known(b, pair, NULL, c->bounds[i].hi);
    }
}

static void presets(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, cluster, "presets");
    for (int i = 0; i < c->n_presets; i++) {
        cJSON *o = object(b, list, NULL);
        text(b, o, "preset", c->presets[i].name);
        integer(b, o, "trial", c->presets[i].trial);
        number(b, o, "compile", c->presets[i].compile_ns);
        number(b, o, "run", c->presets[i].run_ns);
        number(b, o, "best_from", c->presets[i].best_from);
        number(b, o, "best_to", c->presets[i].best_to);
    }
}

static void bans(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *list = array(b, cluster, "banned");
    for (int i = 0; i < c->n_bans; i++) {
        cJSON *o = object(b, list, NULL);
        text(b, o, "pass", c->bans[i].pass);
        integer(b, o, "trial", c->bans[i].trial);
        text(b, o, "command", c->bans[i].command);
    }
}

static void effects(builder *b, cJSON *cluster, const gopt_finding_cluster *c)
{
    cJSON *o = object(b, cluster, "effects");
    singles(b, o, c);
    left_out(b, o, c);
    pairs(b, o, c);
    attribution(b, o, &c->attribution);
    steps(b, o, c);
}

static void cluster(builder *b, cJSON *clusters, const gopt_finding_cluster *c)
{
    cJSON *o = object(b, clusters, NULL);
    text(b, o, "id", c->id);
    shapes(b, o, c);
    number(b, o, "weight", c->weight);
    known(b, o, "baseline", c->baseline_trial);
    known(b, o, "default", c->default_trial);
    known(b, o, "chosen", c->chosen_trial);
    ratio(b, o, "chosen_over_default", &c->over_default, false);
    text(b, o, "reason", c->reason);
    cJSON *front = array(b, o, "front");
    for (int i = 0; i < c->n_front; i++)
        integer(b, front, NULL, c->front[i]);
    cJSON *regimes = object(b, o, "regimes");
    regime(b, regimes, "alpha", c->alpha, c->n_alpha);
    regime(b, regimes, "requests", c->requests, c->n_requests);
    cJSON *trials = array(b, o, "trials");
    for (int i = 0; i < c->n_trials; i++)
        trial(b, trials, &c->trials[i]);
    presets(b, o, c);
    bans(b, o, c);
    effects(b, o, c);
    anytime(b, o, c);
    profiles(b, o, c);
}

static void model(builder *b, cJSON *top, const gopt_finding_model *m)
{
    cJSON *o = object(b, top, "model");
    text(b, o, "path", m->path);
    text(b, o, "sha256", m->sha256);
    known(b, o, "nodes", m->nodes);
    known(b, o, "parameters_bytes", m->parameters_bytes);
    cJSON *operators = object(b, o, "operators"), *coverage = object(b, o, "coverage");
    for (int i = 0; i < m->n_operators; i++)
        known(b, operators, m->operators[i].name, m->operators[i].count);
    known(b, coverage, "native", m->native);
    known(b, coverage, "reference", m->reference);
    known(b, coverage, "unsupported", m->unsupported);
}

static void settings(builder *b, cJSON *top, const gopt_finding_settings *s)
{
    cJSON *o = object(b, top, "settings");
    text(b, o, "objective", s->objective);
    number(b, o, "alpha", s->alpha);
    number(b, o, "requests", s->requests);
    known(b, o, "max_memory", s->max_memory);
    known(b, o, "max_compile", s->max_compile);
    known(b, o, "max_latency", s->max_latency);
    facts(b, o, s->more, s->n_more);
}

static void machine(builder *b, cJSON *top, const gopt_findings *f)
{
    cJSON *device = object(b, top, "device"), *noise = object(b, top, "noise");
    text(b, device, "kind", f->device.kind);
    text(b, device, "name", f->device.name);
    text(b, device, "fingerprint", f->device.fingerprint);
    facts(b, device, f->device.facts, f->device.n_facts);
    number(b, noise, "floor", f->noise.floor);
    truth(b, noise, "unquiet", f->noise.unquiet);
    known(b, noise, "rounds_flagged", f->noise.rounds_flagged);
    known(b, noise, "rounds", f->noise.rounds);
}

static void circumstances(builder *b, cJSON *top, const gopt_findings *f)
{
    cJSON *spent = object(b, top, "accounting"), *traffic = object(b, top, "traffic");
    number(b, spent, "compile_s", f->accounting.compile);
    number(b, spent, "verify_s", f->accounting.verify);
    number(b, spent, "measure_s", f->accounting.measure);
    number(b, spent, "search_s", f->accounting.search);
    number(b, spent, "other_s", f->accounting.other);
    text(b, traffic, "source", f->traffic.source);
    number(b, traffic, "rate_per_s", f->traffic.rate_per_s);
    number(b, traffic, "lifetime_s", f->traffic.lifetime_s);
    number(b, traffic, "hit_rate", f->traffic.hit_rate);
    number(b, traffic, "coverage", f->traffic.coverage);
    number(b, traffic, "padding_waste", f->traffic.padding_waste);
    number(b, traffic, "fallback_share", f->traffic.fallback_share);
}

static void ending(builder *b, cJSON *top, const gopt_findings *f)
{
    cJSON *verdict = object(b, top, "verdict");
    text(b, verdict, "result", f->verdict.result);
    text(b, verdict, "against", f->verdict.against);
    texts(b, verdict, "details", f->verdict.details, f->verdict.n_details);
    text(b, top, "regime", f->regime);
    texts(b, top, "health", f->health, f->n_health);
    texts(b, top, "notes", f->notes, f->n_notes);
    cJSON *commands = array(b, top, "commands");
    for (int i = 0; i < f->n_commands; i++) {
        cJSON *o = object(b, commands, NULL);
        text(b, o, "purpose", f->commands[i].purpose);
        text(b, o, "line", f->commands[i].line);
    }
}

static void build(builder *b, cJSON *top, const gopt_findings *f)
{
    text(b, top, "schema", "gopt-findings/1");
    cJSON *tool = object(b, top, "tool");
    text(b, tool, "version", f->tool_version);
    text(b, tool, "commit", f->tool_commit);
    integer(b, top, "seed", f->seed);
    number(b, top, "budget_s", f->budget_s);
    number(b, top, "elapsed_s", f->elapsed_s);
    text(b, top, "stopped", f->stopped);
    settings(b, top, &f->settings);
    model(b, top, &f->model);
    machine(b, top, f);
    circumstances(b, top, f);
    cJSON *clusters = array(b, top, "clusters");
    for (int i = 0; i < f->n_clusters; i++)
        cluster(b, clusters, &f->clusters[i]);
    ending(b, top, f);
}

gopt_status gopt_findings_json(char **out, const gopt_findings *f, gopt_err *e)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = gopt_malloc, .free_fn = gopt_free}); /* the same heap as before */
    builder b = {0};
    cJSON *top = cJSON_CreateObject();
    build(&b, top, f);
    *out = b.failed ? NULL : cJSON_Print(top);
    cJSON_Delete(top);
    return *out ? GOPT_OK : gopt_oom(e);
}

gopt_status gopt_findings_write_json(const gopt_findings *f, const char *path, gopt_err *e)
{
    char *json;
    gopt_status s = gopt_findings_json(&json, f, e);
    if (!json)
        return s;
    s = gopt_file_write(path, (gopt_piece[]){{json, strlen(json)}, {"\n", 1}}, 2, e);
    gopt_free(json);
    return s;
}
