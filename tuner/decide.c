/* decide.c: a study and what it says about itself, as findings. */
#include "decide.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"

static double number(const cJSON *o, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsNumber(n) ? n->valuedouble : NAN;
}

static int64_t whole(const cJSON *o, const char *name)
{
    double v = number(o, name);
    return isfinite(v) ? (int64_t)v : GOPT_UNKNOWN;
}

static const char *text(gopt_findings *f, const cJSON *o, const char *name)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
    return s ? gopt_arena_str(&f->arena, s) : NULL;
}

static const cJSON *part(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static const gopt_finding_fact *facts(gopt_findings *f, const cJSON *o, int *n)
{
    const cJSON *one;
    gopt_finding_fact *list = GOPT_NEW(&f->arena, gopt_finding_fact, cJSON_GetArraySize(o));
    *n = 0;
    if (list)
        cJSON_ArrayForEach(one, o)
        {
            const char *name = gopt_arena_str(&f->arena, one->string);
            list[(*n)++] = cJSON_IsNumber(one) ? gopt_finding_fact_number(name, one->valuedouble)
                                               : gopt_finding_fact_text(name, text(f, o, one->string));
        }
    return list;
}

static void set_model(gopt_findings *f, const cJSON *o)
{
    const cJSON *operators = part(o, "operators"), *one;
    gopt_finding_operator *list = GOPT_NEW(&f->arena, gopt_finding_operator, cJSON_GetArraySize(operators));
    f->model = (gopt_finding_model){.path = text(f, o, "path"),
                                    .sha256 = text(f, o, "sha256"),
                                    .nodes = whole(o, "nodes"),
                                    .parameters_bytes = whole(o, "parameters_bytes"),
                                    .operators = list,
                                    .native = whole(o, "native"),
                                    .reference = whole(o, "reference")};
    if (list)
        cJSON_ArrayForEach(one, operators) list[f->model.n_operators++] =
            (gopt_finding_operator){.name = gopt_arena_str(&f->arena, one->string), .count = (int64_t)one->valuedouble};
}

static void set_machine(gopt_findings *f, const cJSON *o)
{
    f->device.kind = "cpu";
    f->device.name = text(f, o, "name");
    f->device.fingerprint = text(f, o, "fingerprint");
    f->device.facts = facts(f, part(o, "facts"), &f->device.n_facts);
}

static void set_settings(gopt_findings *f, const gopt_goal *g, const cJSON *o)
{
    f->settings =
        (gopt_finding_settings){.objective = gopt_objective_name(g->objective),
                                .alpha = g->alpha,
                                .requests = g->requests,
                                .max_memory = g->max_memory > 0 ? (int64_t)g->max_memory : GOPT_UNKNOWN,
                                .max_compile = g->max_compile_ns > 0 ? (int64_t)g->max_compile_ns : GOPT_UNKNOWN,
                                .max_latency = g->max_latency_ns > 0 ? (int64_t)g->max_latency_ns : GOPT_UNKNOWN};
    f->settings.more = facts(f, o, &f->settings.n_more);
}

/* How much the baseline's own time varied in the course of the job: frequency, neighbours, phases of the machine. */
static double spread_of(const gopt_study *s, int trial)
{
    enum { LEAST = 29 }; /* for a 90th percentile */
    int n = 0;
    double *ns = trial >= 0 ? gopt_malloc(((size_t)s->n_samples + 1) * sizeof *ns) : NULL, spread = NAN;
    for (int i = ns ? s->trials[trial].last_sample : -1; i >= 0; i = s->samples[i].before)
        ns[n++] = s->samples[i].ns;
    if (n >= LEAST)
        spread = gopt_quantile(ns, n, 0.9) / gopt_quantile(ns, n, 0.1) - 1;
    gopt_free(ns);
    return spread;
}

static bool is_unquiet(const gopt_finding_noise *n)
{
    return (n->rounds > 0 && (double)n->rounds_flagged > GOPT_UNQUIET_ROUNDS * (double)n->rounds) ||
           n->others > GOPT_UNQUIET_OTHERS || n->steal > GOPT_UNQUIET_STEAL;
}

static void set_noise(gopt_findings *f, const cJSON *root, const gopt_assessment *a)
{
    const cJSON *disturbance = part(root, "disturbance");
    f->noise.floor = a->floor;
    f->noise.rounds = whole(root, "rounds");
    f->noise.rounds_flagged = whole(root, "rounds_flagged");
    f->noise.others = number(disturbance, "others");
    f->noise.steal = number(disturbance, "steal");
    f->noise.waited = number(disturbance, "waited");
    f->noise.spread = spread_of(a->study, a->baseline);
    f->noise.unquiet = is_unquiet(&f->noise);
    const char **line = GOPT_NEW(&f->arena, const char *, 1);
    if (!line)
        return;
    line[0] = gopt_arena_printf(&f->arena, "%lld of %lld rounds were disturbed by others on this machine%s",
                                (long long)f->noise.rounds_flagged, (long long)f->noise.rounds,
                                f->noise.unquiet ? ": it was unquiet, read small differences with care" : "");
    f->health = line;
    f->n_health = 1;
}

static void set_lines(gopt_findings *f, const cJSON *list)
{
    const cJSON *one;
    const char **lines = GOPT_NEW(&f->arena, const char *, cJSON_GetArraySize(list));
    if (lines)
        cJSON_ArrayForEach(one, list) if (cJSON_IsString(one)) lines[f->n_notes++] =
            gopt_arena_str(&f->arena, one->valuestring);
    f->notes = lines;
}

static void set_accounting(gopt_findings *f, const cJSON *o)
{
    f->accounting = (gopt_finding_accounting){.compile = number(o, "compile"),
                                              .verify = number(o, "verify"),
                                              .measure = number(o, "measure"),
                                              .search = number(o, "search"),
                                              .other = number(o, "other")};
}

/* "batch=1,seq=32" */
static gopt_status set_shape(gopt_findings *f, gopt_finding_cluster *c, const char *shapes, gopt_err *e)
{
    enum { DIMS_MAX = 64 };
    gopt_finding_size *size = GOPT_NEW(&f->arena, gopt_finding_size, DIMS_MAX);
    gopt_finding_bound *bound = GOPT_NEW(&f->arena, gopt_finding_bound, DIMS_MAX);
    gopt_finding_shape *shape = GOPT_NEW(&f->arena, gopt_finding_shape, 1);
    char *rest = gopt_arena_str(&f->arena, shapes ? shapes : ""), *save = NULL;
    if (!size || !bound || !shape || !rest)
        return gopt_oom(e);
    int n = 0;
    for (char *one = strtok_r(rest, ",", &save); one && n < DIMS_MAX; one = strtok_r(NULL, ",", &save)) {
        char *equals = strrchr(one, '=');
        if (!equals)
            continue;
        *equals = 0;
        int64_t value = strtoll(equals + 1, NULL, 10);
        size[n] = (gopt_finding_size){.dim = one, .value = value};
        bound[n++] = (gopt_finding_bound){.dim = one, .lo = value, .hi = value};
    }
    *shape = (gopt_finding_shape){.sizes = size, .n_sizes = n};
    c->shapes = shape;
    c->n_shapes = 1;
    c->bounds = bound;
    c->n_bounds = n;
    return GOPT_OK;
}

static void set_verdict(gopt_findings *f, const gopt_assessment *a)
{
    f->verdict.result = a->chosen >= 0 && a->chosen == a->standard ? "kept_default" : "ok";
}

/* "gopt bench /abs/OUT/manifest.yaml": what a shell in any folder understands. */
static const char *call(gopt_findings *f, const char *command, const char *out, const char *file, const char *more)
{
    gopt_text line = {0}, operand = {0};
    gopt_text_add(&operand, "%s%s", out, file);
    gopt_program_word(&line, "gopt");
    gopt_text_add(&line, " %s ", command);
    gopt_text_put_word(&line, gopt_text_str(&operand));
    gopt_text_put(&line, more);
    const char *kept = gopt_arena_str(&f->arena, gopt_text_str(&line));
    gopt_text_fini(&operand);
    gopt_text_fini(&line);
    return kept;
}

/* The folder that the study lies in; in the arena. */
static const char *out_of(gopt_findings *f, const gopt_study *s)
{
    char *path = realpath(s->path, NULL);
    char *out = gopt_arena_str(&f->arena, path ? path : s->path), *slash = out ? strrchr(out, '/') : NULL;
    free(path);
    if (slash)
        *slash = 0;
    return slash ? out : ".";
}

static void set_commands(gopt_findings *f, const gopt_study *s, const cJSON *root)
{
    char weights[96] = "";
    const char *out = out_of(f, s);
    if (isfinite(f->settings.alpha) && isfinite(f->settings.requests))
        snprintf(weights, sizeof weights, " --objective %s --alpha %g --requests %.15g", f->settings.objective,
                 f->settings.alpha, f->settings.requests);
    const gopt_finding_command known[] = {
        {"tune again; with --fresh from the beginning", text(f, root, "command")},
        {"time the chosen configuration", call(f, "bench", out, "/manifest.yaml", "")},
        {"check its results", call(f, "verify", out, "/manifest.yaml", "")},
        {"see whether it still holds on this machine", call(f, "check", out, "/manifest.yaml", " --measure")},
        {"decide again without measuring, under another goal", call(f, "report", out, "", weights)},
    };
    gopt_finding_command *list = GOPT_NEW(&f->arena, gopt_finding_command, GOPT_COUNT(known));
    for (int i = 0; list && i < GOPT_COUNT(known); i++)
        if (known[i].line && *known[i].line) /* a study of an earlier gopt does not tell how it was begun */
            list[f->n_commands++] = known[i];
    f->commands = list;
}

static gopt_status fill(gopt_findings *f, gopt_study *s, const gopt_goal *goal, const cJSON *root,
                        const gopt_assessment *a, gopt_err *e)
{
    f->tool_version = gopt_study_get(s, "tool");
    f->tool_commit = text(f, root, "commit");
    f->seed = whole(root, "seed");
    f->budget_s = number(root, "budget_s");
    f->elapsed_s = number(root, "elapsed_s");
    f->stopped = text(f, root, "stopped");
    f->regime = "steady state, warm caches, one session, inputs bound once";
    set_model(f, part(root, "model"));
    set_machine(f, part(root, "device"));
    set_settings(f, goal, part(root, "settings"));
    set_noise(f, root, a);
    set_lines(f, part(root, "notes"));
    set_accounting(f, part(root, "accounting"));
    f->traffic.hit_rate = goal->hit_rate;
    f->clusters = gopt_findings_take_clusters(f, 1);
    if (!f->clusters)
        return gopt_oom(e);
    f->n_clusters = 1;
    gopt_finding_cluster *c = &f->clusters[0];
    c->id = "c0";
    c->weight = 1;
    const char *shapes = cJSON_GetStringValue(part(root, "shapes"));
    GOPT_TRY(set_shape(f, c, shapes, e));
    GOPT_TRY(gopt_decide_trials(f, c, a, e));
    GOPT_TRY(gopt_decide_effects(f, c, a, e));
    set_verdict(f, a);
    set_commands(f, s, root);
    return f->arena.failed ? gopt_oom(e) : GOPT_OK;
}

static gopt_status about(cJSON **out, gopt_study *s, gopt_err *e)
{
    const char *json = gopt_study_get(s, "about");
    *out = json ? cJSON_Parse(json) : NULL;
    return *out ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "the study does not say what job it is of; it ended too early");
}

gopt_status gopt_decide(gopt_findings **out, gopt_study *s, const gopt_goal *goal, gopt_err *e)
{
    gopt_assessment a;
    cJSON *root;
    *out = NULL;
    GOPT_TRY(about(&root, s, e));
    gopt_status status = gopt_assess(&a, s, goal, e);
    if (!status) {
        status = gopt_findings_new(out, e);
        if (!status)
            status = fill(*out, s, goal, root, &a, e);
        gopt_assess_fini(&a);
    }
    if (status) {
        gopt_findings_free(*out);
        *out = NULL;
    }
    cJSON_Delete(root);
    return status;
}

gopt_status gopt_decide_goal(gopt_goal *out, gopt_study *s, gopt_err *e)
{
    cJSON *root;
    GOPT_TRY(about(&root, s, e));
    const cJSON *o = part(root, "goal");
    const char *objective = cJSON_GetStringValue(part(o, "objective"));
    *out = gopt_goal_default;
    gopt_status status = objective ? gopt_objective_parse(&out->objective, objective, e) : GOPT_OK;
    out->alpha = number(o, "alpha");
    out->requests = number(o, "requests");
    out->hit_rate = number(o, "hit_rate");
    out->max_memory = number(o, "max_memory");
    out->max_compile_ns = number(o, "max_compile_ns");
    out->max_latency_ns = number(o, "max_latency_ns");
    cJSON_Delete(root);
    return status;
}

int gopt_decide_leaders(const gopt_study *s, const gopt_goal *goal, int *trial, int max)
{
    gopt_assessment a;
    if (gopt_assess(&a, s, goal, NULL))
        return 0;
    int n = gopt_assess_leaders(&a, trial, max);
    gopt_assess_fini(&a);
    return n;
}

int gopt_decide_chosen(const gopt_study *s, const gopt_goal *goal)
{
    gopt_assessment a;
    if (gopt_assess(&a, s, goal, NULL))
        return -1;
    int chosen = a.chosen;
    gopt_assess_fini(&a);
    return chosen;
}
