/* check.c: gopt check: is the decision still good? Model, machine, library, bundles and, when asked for, performance.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "bundle.h"
#include "device.h"
#include "json.h"
#include "manifest.h"
#include "onnx/model.h"
#include "promise.h"
#include "rounds.h"
#include "runner.h"
#include "subject.h"

typedef struct options {
    const char *model;
    double seconds;
    bool measure, json;
} options;

typedef enum state { SAME, FASTER, CHANGED, SLOWER, UNKNOWN, STATE_COUNT } state;

typedef struct finding {
    const char *what;
    state state;
    char detail[512];
} finding;

enum { FINDINGS_MOST = 8 };

typedef struct check {
    const options *o;
    const char *path; /* of the manifest */
    const gopt_manifest *m;
    gopt_workplace place;
    finding finding[FINDINGS_MOST];
    int n;
} check;

static void init(void *o)
{
    ((options *)o)->seconds = 3;
}

static GOPT_PRINTF(4, 5) void note(check *c, const char *what, state s, const char *fmt, ...)
{
    finding *f = &c->finding[c->n++];
    va_list args;
    *f = (finding){.what = what, .state = s};
    va_start(args, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, args);
    va_end(args);
    gopt_utf8_clean(f->detail);
}

static bool is_equal(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static const char *or_dash(const char *s)
{
    return s ? s : "-";
}

/* ---- what may have drifted ---- */

/* A model that was named must be there; the one that the manifest names may be gone. */
static gopt_status check_model(check *c, gopt_err *e)
{
    char path[PATH_MAX], hex[65];
    gopt_mapping file;
    gopt_err why = {0};
    if (c->o->model)
        GOPT_TRY(gopt_subject_model(path, sizeof path, c->o->model, e));
    else
        gopt_manifest_path(path, sizeof path, c->path, c->m->model_path ? c->m->model_path : "");
    if (gopt_file_map(&file, path, &why)) {
        if (c->o->model)
            return gopt_fail(e, GOPT_EINPUT, "%s", why.msg);
        note(c, "model", UNKNOWN, "%.400s; give --model", why.msg);
        return GOPT_OK;
    }
    gopt_onnx_sha256(&file, hex);
    gopt_file_unmap(&file);
    if (is_equal(hex, c->m->model_sha256))
        note(c, "model", SAME, "%.400s", path);
    else
        note(c, "model", CHANGED, "%.300s has another content than the model that was tuned", path);
    return GOPT_OK;
}

static void check_machine(check *c)
{
    gopt_device d;
    gopt_device_read(&d);
    if (is_equal(d.fingerprint, c->m->device_fingerprint))
        note(c, "machine", SAME, "%s", d.name);
    else if (!is_equal(d.name, c->m->device_name))
        note(c, "machine", CHANGED, "tuned on %.100s, this is %.100s", or_dash(c->m->device_name), d.name);
    else
        note(c, "machine", CHANGED,
             "the same processor, but processors to use, caches, instruction set, hypervisor or C compiler differ");
}

static void check_library(check *c)
{
    if (is_equal(gopt_version(), c->m->tool_version))
        note(c, "library", SAME, "gopt %s", gopt_version());
    else
        note(c, "library", CHANGED, "tuned by gopt %.80s, this is %.80s", or_dash(c->m->tool_version), gopt_version());
}

static bool check_bundle(check *c, const char *cluster, const char *role, const gopt_manifest_choice *choice)
{
    char path[PATH_MAX], hex[33];
    gopt_plan *plan;
    gopt_hash content;
    gopt_err why = {0};
    gopt_manifest_path(path, sizeof path, c->path, choice->bundle);
    if (gopt_bundle_read(&plan, path, &content, &why)) {
        note(c, "bundles", CHANGED, "cluster %.40s, %s: %.300s", or_dash(cluster), role, why.msg);
        return false;
    }
    gopt_plan_free(plan);
    if (!strcmp(gopt_hash_hex(hex, content), choice->bundle_hash))
        return true;
    note(c, "bundles", CHANGED, "cluster %.40s, %s: %.300s is not the file that was tuned", or_dash(cluster), role,
         path);
    return false;
}

/* The first one that is wrong says enough. */
static void check_bundles(check *c)
{
    for (int i = 0; i < c->m->n_clusters; i++) {
        const gopt_manifest_cluster *k = &c->m->clusters[i];
        if (!check_bundle(c, k->id, "chosen", &k->chosen) || !check_bundle(c, k->id, "fallback", &k->fallback))
            return;
    }
    note(c, "bundles", SAME, "%d cluster%s, chosen and fallback", c->m->n_clusters, c->m->n_clusters == 1 ? "" : "s");
}

/* ---- performance ---- */

static void judge_latency(check *c, const gopt_manifest_choice *chosen, const gopt_rounds *r)
{
    static const state states[] = {[GOPT_PROMISE_KEPT] = SAME,
                                   [GOPT_PROMISE_FASTER] = FASTER,
                                   [GOPT_PROMISE_SLOWER] = SLOWER,
                                   [GOPT_PROMISE_UNKNOWN] = UNKNOWN};
    const gopt_manifest_figure *was = &chosen->latency_ns;
    gopt_estimate now = gopt_rounds_latency(r, 0).median, then = {.value = was->value, .lo = was->lo, .hi = was->hi};
    gopt_text detail = {0};
    gopt_promise p = gopt_promise_judge(&now, &then, r->busy_share, &detail);
    note(c, "latency", states[p], "%s", gopt_text_str(&detail));
    gopt_text_fini(&detail);
}

static void judge_choice(check *c, const gopt_rounds *r)
{
    gopt_comparison k = gopt_rounds_compare(r);
    note(c, "choice", k.verdict == GOPT_VERDICT_WORSE ? CHANGED : SAME,
         "%.3f [%.3f, %.3f] times as fast as the fallback now: %s", k.ratio.value, k.ratio.lo, k.ratio.hi,
         gopt_verdict_name(k.verdict));
}

static gopt_status measure(check *c, gopt_runner *chosen, gopt_runner *fallback, gopt_rounds *rounds, gopt_err *e)
{
    const gopt_manifest_cluster *k = &c->m->clusters[0];
    char path[PATH_MAX];
    bool same = !strcmp(k->chosen.bundle_hash, k->fallback.bundle_hash);
    gopt_pick pick = {.threads = k->fallback.threads};
    gopt_runner_options o = {.pick = &(gopt_pick){.threads = 0}, .place = &c->place, .model = c->o->model, .seed = 1};
    GOPT_TRY(gopt_runner_open_made(chosen, c->path, &o, e));
    o.pick = &pick;
    gopt_manifest_path(path, sizeof path, c->path, k->fallback.bundle);
    if (!same)
        GOPT_TRY(gopt_runner_open_made(fallback, path, &o, e));
    gopt_runner *const lanes[] = {chosen, fallback};
    gopt_lane_source source = gopt_runner_lanes(lanes, same ? 1 : 2);
    GOPT_TRY(gopt_rounds_take(rounds, same ? 1 : 2, &source, c->o->seconds, 1, e));
    judge_latency(c, &k->chosen, rounds);
    if (!same)
        judge_choice(c, rounds);
    return GOPT_OK;
}

static gopt_status check_performance(check *c, gopt_err *e)
{
    gopt_runner chosen = {0}, fallback = {0};
    gopt_rounds rounds = {.n_lanes = 0};
    gopt_workplace_open(&c->place);
    gopt_status s = measure(c, &chosen, &fallback, &rounds, e);
    gopt_rounds_fini(&rounds);
    gopt_runner_close(&chosen);
    gopt_runner_close(&fallback);
    gopt_workplace_close(&c->place);
    return s;
}

/* ---- the command ---- */

static bool is_drift(state s)
{
    return s == CHANGED || s == SLOWER;
}

static bool has_drifted(const check *c)
{
    for (int i = 0; i < c->n; i++)
        if (is_drift(c->finding[i].state))
            return true;
    return false;
}

static bool any(const check *c, state s)
{
    for (int i = 0; i < c->n; i++)
        if (c->finding[i].state == s)
            return true;
    return false;
}

static gopt_status tell(const check *c, gopt_err *e)
{
    static const char *const words[STATE_COUNT] = {
        [SAME] = "unchanged", [FASTER] = "faster", [CHANGED] = "changed", [SLOWER] = "slower", [UNKNOWN] = "unknown"};
    bool drift = has_drifted(c);
    if (!c->o->json) {
        for (int i = 0; i < c->n; i++)
            printf("%-9s %-9s  %s\n", c->finding[i].what, words[c->finding[i].state], c->finding[i].detail);
        puts(drift             ? "drift: tune again"
             : any(c, UNKNOWN) ? "no drift seen, but not all could be looked at"
             : any(c, FASTER)  ? "no drift; tune again for figures that hold now"
                               : "no drift");
        return GOPT_OK;
    }
    cJSON *root = cJSON_CreateObject();
    gopt_json_text(root, "manifest", c->path);
    cJSON_AddBoolToObject(root, "drift", drift);
    cJSON_AddBoolToObject(root, "retune", drift);
    cJSON *list = cJSON_AddObjectToObject(root, "checks");
    for (int i = 0; i < c->n; i++) {
        cJSON *o = cJSON_AddObjectToObject(list, c->finding[i].what);
        gopt_json_text(o, "state", words[c->finding[i].state]);
        gopt_json_text(o, "detail", c->finding[i].detail);
    }
    return gopt_json_print(root, e);
}

static gopt_status look(check *c, gopt_err *e)
{
    GOPT_TRY(check_model(c, e));
    check_machine(c);
    check_library(c);
    check_bundles(c);
    if (c->o->measure && c->m->n_clusters && !has_drifted(c))
        GOPT_TRY(check_performance(c, e));
    GOPT_TRY(tell(c, e));
    if (has_drifted(c))
        return GOPT_EDIFF;
    return c->finding[0].state == UNKNOWN ? gopt_fail(e, GOPT_EINPUT, "%s", c->finding[0].detail) : GOPT_OK;
}

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    check c = {.o = o};
    gopt_subject kind;
    gopt_manifest *m;
    char path[PATH_MAX];
    (void)n;
    if (c.o->seconds <= 0)
        return gopt_fail(e, GOPT_EUSAGE, "--seconds: more than 0 is needed");
    GOPT_TRY(gopt_subject_resolve(&kind, path, sizeof path, operand[0], e));
    if (kind != GOPT_SUBJECT_MANIFEST && kind != GOPT_SUBJECT_MODEL)
        return gopt_fail(e, GOPT_EINPUT, "%s: not a manifest", path);
    GOPT_TRY(gopt_manifest_read(&m, path, e));
    c.path = path;
    c.m = m;
    gopt_status s = look(&c, e);
    gopt_manifest_free(m);
    return s;
}

static const gopt_option rows[] = {
    {"--model", 0, "MODEL", gopt_parse_text, offsetof(options, model),
     "the model to compare with (default: where it was)"},
    {"--measure", 0, NULL, NULL, offsetof(options, measure), "time the chosen bundle, in turns with the fallback"},
    {"--seconds", 0, "S", gopt_parse_duration, offsetof(options, seconds), "how long to measure (default 3)"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object"},
    {0}};

const gopt_command gopt_command_check = {
    .name = "check",
    .operands = "MANIFEST",
    .least = 1,
    .most = 1,
    .doc = "Has the model, the machine, the library or the performance drifted since the decision?",
    .more = "Exit code 0: no drift, 1: drift, tune again, 3: no drift seen, but the model is not there to look at.\n"
            "Performance is looked at when nothing else has changed.\n\n"
            "Examples:\n"
            "  gopt check net.gopt/manifest.yaml\n"
            "  gopt check net.gopt/manifest.yaml --model new/net.onnx --measure\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
