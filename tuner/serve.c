/* serve.c: the worker's side of the protocol in worker.h: compile, verify, time, trace, write. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bundle.h"
#include "deploy.h"
#include "device.h"
#include "stats.h"
#include "worker.h"

typedef struct server {
    const gopt_bench *bench;
    gopt_plan *plan;       /* prepared here ... */
    gopt_model *model;     /* ... or opened through the deployment path */
    gopt_session *session; /* of the model */
    gopt_engine *engine;   /* the plan's or the session's */
    gopt_compile_log log;
    gopt_difference difference;
    int64_t verify_ns;
    int64_t engine_ns; /* making the engine: part of the compile cost */
    int n_outputs;
    bool used; /* a plan was asked for: the graph may be gone */
} server;

static gopt_trial_status trial_status(gopt_status s, gopt_trial_status otherwise)
{
    switch (s) {
    case GOPT_OK:
        return GOPT_TRIAL_ok;
    case GOPT_EDIFF:
        return GOPT_TRIAL_wrong;
    case GOPT_ENOMEM:
        return GOPT_TRIAL_out_of_memory;
    case GOPT_ELIMIT:
        return GOPT_TRIAL_timed_out;
    default:
        return otherwise;
    }
}

static gopt_status bind_case(server *v, int k, gopt_err *e)
{
    const gopt_graph *g = v->bench->graph;
    for (int i = 0; i < g->n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(v->engine, i, v->bench->inputs[k][i], e));
    return GOPT_OK;
}

/* The first twice: every run starts from whatever another left in the arena. */
static gopt_status verify_case(server *v, int k, gopt_err *e)
{
    const gopt_bench *b = v->bench;
    GOPT_TRY(bind_case(v, k, e));
    for (int run = k ? 1 : 0; run < 2; run++) {
        GOPT_TRY(gopt_engine_run(v->engine, 0, e));
        for (int i = 0; i < v->n_outputs; i++) {
            gopt_tolerance t = {.rel = b->rel, .abs = b->abs};
            if (b->slack[k] && b->rel < 0) /* a tolerance that was given is meant */
                t.slack = b->slack[k][i];
            gopt_status s =
                gopt_verify_tensor(gopt_engine_output(v->engine, i), &b->expected[k][i], t, &v->difference, e);
            if (s)
                return gopt_within(e, s, "inputs %s, output %d", gopt_input_case_name(b->kind[k]), i);
        }
    }
    return GOPT_OK;
}

static gopt_status verify(server *v, gopt_err *e)
{
    int64_t begin = gopt_now();
    gopt_status s = GOPT_OK;
    for (int k = 0; !s && k < v->bench->n_cases; k++)
        s = verify_case(v, k, e);
    if (!s && v->bench->n_cases > 1)
        s = bind_case(v, 0, e);
    v->verify_ns = gopt_now() - begin;
    return s;
}

/* ---- replies ---- */

static void add(cJSON *o, const char *name, double v)
{
    cJSON_AddNumberToObject(o, name, v);
}

static void add_memory(server *v, cJSON *o)
{
    gopt_memory m;
    gopt_engine_memory(v->engine, &m);
    cJSON *memory = cJSON_AddObjectToObject(o, "memory");
    add(memory, "peak", (double)m.peak);
    add(memory, "steady", (double)m.steady);
    add(memory, "weights", (double)m.weights);
    add(memory, "arena", (double)m.arena);
    add(memory, "workspace", (double)m.workspace);
    add(memory, "runtime", (double)m.runtime);
    add(memory, "arena_bound", (double)v->log.arena_bound);
    add(memory, "arena_total", (double)v->log.arena_total);
}

static void add_touched(cJSON *o, const gopt_pass_record *r, int origins)
{
    cJSON *list = cJSON_AddArrayToObject(o, "touched");
    for (int i = 0; r->touched && i < origins; i++)
        if (r->touched[i])
            cJSON_AddItemToArray(list, cJSON_CreateNumber(i));
}

static void add_compile(server *v, cJSON *o, int origins)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    v->log.stage_ns[GOPT_STAGE_import] = v->bench->import_ns;
    v->log.stage_ns[GOPT_STAGE_shape_inference] += v->bench->infer_ns;
    v->log.stage_ns[GOPT_STAGE_serialization] += v->engine_ns;
    cJSON *compile = cJSON_AddObjectToObject(o, "compile");
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        add(compile, gopt_stage_names[i], (double)v->log.stage_ns[i]);
    add(o, "compile_ns", (double)gopt_compile_total(&v->log));
    add(o, "compile_peak", GOPT_MAX((double)usage.ru_maxrss * 1024, (double)v->log.compiler_peak_bytes));
    cJSON_AddBoolToObject(o, "cached", v->log.cached);
    add(o, "native", v->log.kernels_native);
    add(o, "generated", v->log.kernels_generated);
    add(o, "reference", v->log.kernels_reference);
    add(o, "origins", origins);
    cJSON *passes = cJSON_AddArrayToObject(o, "passes");
    for (int i = 0; i < v->log.n_records; i++) {
        const gopt_pass_record *r = &v->log.records[i];
        cJSON *pass = cJSON_CreateObject();
        cJSON_AddStringToObject(pass, "pass", r->pass->name);
        add(pass, "changed", r->changed);
        add(pass, "nodes_before", r->nodes_before);
        add(pass, "nodes_after", r->nodes_after);
        add(pass, "ns", (double)r->ns);
        add_touched(pass, r, origins);
        cJSON_AddItemToArray(passes, pass);
    }
}

static void hash_step(gopt_hasher *h, const gopt_plan *p, const gopt_step *s)
{
    gopt_hasher_str(h, s->name);
    gopt_hasher_str(h, s->kernel ? s->kernel->name : "late");
    gopt_hasher_str(h, s->symbol ? s->symbol : "");
    if (s->kernel)
        gopt_hasher_add(h, s->knob, (size_t)gopt_kernel_knob_count(s->kernel) * sizeof *s->knob);
    for (int k = 0; k < s->group.n_in + s->group.n_out; k++) {
        int v = k < s->group.n_in ? s->in[k] : s->out[k - s->group.n_in];
        const gopt_plan_value *at = v < 0 ? NULL : &p->values[v];
        int64_t place[4] = {v, at ? (int64_t)at->place : 0, at ? (int64_t)at->offset : 0, at ? (int64_t)at->bytes : 0};
        gopt_hasher_add(h, place, sizeof place);
    }
}

/* Of everything that decides what runs: two plans of one job with the same hash behave the same. */
static void hash_plan(gopt_hasher *h, const gopt_plan *p)
{
    int64_t sizes[4] = {p->n_steps, (int64_t)p->arena_bytes, (int64_t)p->workspace_bytes, (int64_t)p->weight_bytes};
    gopt_hasher_add(h, sizes, sizeof sizes);
    for (int i = 0; i < p->n_steps; i++) {
        hash_step(h, p, &p->steps[i]);
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            hash_plan(h, p->steps[i].body[b]);
    }
}

static double predicted(const gopt_plan *p)
{
    double s = 0;
    for (int i = 0; i < p->n_steps; i++)
        s += p->steps[i].cost_s;
    return s;
}

static void add_plan(server *v, cJSON *o)
{
    char hex[33];
    gopt_hasher *h = gopt_hasher_new();
    if (!h)
        return;
    hash_plan(h, v->plan);
    gopt_hasher_add(h, &v->plan->target.threads, sizeof v->plan->target.threads);
    cJSON_AddStringToObject(o, "plan_hash", gopt_hash_hex(hex, gopt_hasher_free(h)));
    add(o, "predicted_s", predicted(v->plan));
}

static void add_error(server *v, cJSON *o)
{
    if (isfinite(v->difference.max_abs))
        add(o, "max_abs", v->difference.max_abs);
    if (isfinite(v->difference.max_rel))
        add(o, "max_rel", v->difference.max_rel);
    add(o, "verify_ns", (double)v->verify_ns);
}

static void set_status(cJSON *o, gopt_trial_status s, const gopt_err *e)
{
    cJSON_AddStringToObject(o, "status", gopt_trial_status_name(s));
    if (s != GOPT_TRIAL_ok)
        cJSON_AddStringToObject(o, "why", e->msg);
}

/* ---- requests ---- */

static gopt_status make_engine(server *v, gopt_err *e)
{
    int64_t begin = gopt_now();
    GOPT_TRY(gopt_engine_new(&v->engine, v->plan, 0, e));
    v->engine_ns = gopt_now() - begin;
    v->n_outputs = v->plan->n_outputs;
    return GOPT_OK;
}

static void prepare(server *v, const cJSON *request, cJSON *reply)
{
    gopt_err e = {0};
    gopt_config config;
    int origins = v->bench->graph->family->imported_nodes;
    gopt_trial_status status = GOPT_TRIAL_compile_failed;
    const cJSON *given = cJSON_GetObjectItem(request, "config");
    char *text = cJSON_PrintUnformatted(given);
    gopt_status s = !given  ? gopt_fail(&e, GOPT_EUSAGE, "no configuration given")
                    : !text ? gopt_oom(&e)
                            : gopt_config_from_json(&config, text, &e);
    cJSON_free(text);
    if (!s) {
        gopt_compile_options o = {.target = v->bench->target, .cache_dir = v->bench->cache_dir};
        o.scratch_dir = v->bench->scratch_dir;
        o.target.threads = (int)gopt_config_threads(&config);
        /* The process has a copy-on-write image of the graph, which the compiler may consume. */
        s = gopt_compile(&v->plan, (gopt_graph *)(uintptr_t)v->bench->graph, &config, &o, &v->log, &e);
    }
    if (!s)
        s = make_engine(v, &e);
    if (!s) {
        status = GOPT_TRIAL_run_failed;
        s = verify(v, &e);
    }
    set_status(reply, trial_status(s, status), &e);
    add_compile(v, reply, origins);
    if (v->engine) {
        add_plan(v, reply);
        add_memory(v, reply);
        add_error(v, reply);
    }
}

static void open_path(server *v, const cJSON *request, cJSON *reply)
{
    gopt_err e = {0};
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(request, "path"));
    gopt_status s = gopt_model_open(&v->model, path ? path : "", NULL, &e);
    if (!s)
        s = gopt_session_new(&v->session, v->model, &e);
    if (!s) {
        v->engine = gopt_session_engine(v->session);
        v->n_outputs = gopt_model_outputs(v->model, NULL);
        s = verify(v, &e);
    }
    set_status(reply, trial_status(s, GOPT_TRIAL_run_failed), &e);
    if (v->engine) {
        add_memory(v, reply);
        add_error(v, reply);
    }
}

static double number(const cJSON *request, const char *name, double fallback)
{
    const cJSON *n = cJSON_GetObjectItem(request, name);
    return cJSON_IsNumber(n) ? n->valuedouble : fallback;
}

/* A count from 1 to most. */
static int count(const cJSON *request, const char *name, int fallback, int most)
{
    return (int)GOPT_MAX(GOPT_MIN(number(request, name, fallback), (double)most), 1.0);
}

/* ns of one inference over `repeats` of them. */
static gopt_status timed_run(server *v, int repeats, double *ns, gopt_err *e)
{
    int64_t begin = gopt_now();
    for (int i = 0; i < repeats; i++)
        GOPT_TRY(gopt_engine_run(v->engine, 0, e));
    *ns = (double)(gopt_now() - begin) / repeats;
    return GOPT_OK;
}

/* At least 5 runs and until two successive medians of 10 agree within 5 %, or the time is up. */
static void warm(server *v, const cJSON *request, cJSON *reply)
{
    enum { WINDOW = 10 };
    double ns[WINDOW] = {0}, last = 0, median = 0;
    gopt_err e = {0};
    gopt_status s = GOPT_OK;
    int64_t begin = gopt_now(), limit = (int64_t)GOPT_MIN(number(request, "ns", 0), 1e15);
    int n = 0;
    while (!s && (n < 5 || gopt_now() - begin < limit)) {
        s = timed_run(v, 1, &ns[n++ % WINDOW], &e);
        if (n % WINDOW)
            continue;
        median = gopt_median(ns, WINDOW);
        if (last > 0 && fabs(median - last) <= 0.05 * last)
            break;
        last = median;
    }
    set_status(reply, trial_status(s, GOPT_TRIAL_run_failed), &e);
    add(reply, "runs", n);
    add(reply, "ns", gopt_median(ns, GOPT_MIN(n, WINDOW)));
    if (v->engine)
        add_memory(v, reply);
}

enum { REPEATS_MAX = 1 << 20, TRACED_RUNS_MAX = 1000 };

static void sample(server *v, const cJSON *request, cJSON *reply)
{
    double ns = 0, least = number(request, "min_ns", 1e6), waited = gopt_health_waited();
    gopt_err e = {0};
    int64_t cpu_ns = gopt_cpu_now();
    int repeats = count(request, "repeats", 1, REPEATS_MAX);
    bool warm_first = cJSON_IsTrue(cJSON_GetObjectItem(request, "warm")); /* what others left in the caches is theirs */
    gopt_status s = warm_first ? timed_run(v, 1, &ns, &e) : GOPT_OK;
    if (!s)
        s = timed_run(v, repeats, &ns, &e);
    while (!s && ns * repeats < least && repeats < REPEATS_MAX) { /* too short to trust the clock: once more, longer */
        repeats = (int)GOPT_MIN(GOPT_MAX(2.0 * repeats, ceil(1.2 * least / GOPT_MAX(ns, 1))), (double)REPEATS_MAX);
        s = timed_run(v, repeats, &ns, &e);
    }
    set_status(reply, trial_status(s, GOPT_TRIAL_run_failed), &e);
    add(reply, "ns", ns);
    add(reply, "repeats", repeats);
    add(reply, "cpu_s", (double)(gopt_cpu_now() - cpu_ns) / (double)GOPT_NS_PER_S);
    add(reply, "waited_s", waited >= 0 ? GOPT_MAX(gopt_health_waited() - waited, 0) : -1);
}

static void count_inside(const gopt_plan *p, int *native, int *reference)
{
    for (int i = 0; i < p->n_steps; i++) {
        *native += p->steps[i].kernel != NULL;
        *reference += !p->steps[i].kernel && !p->steps[i].n_bodies;
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            count_inside(p->steps[i].body[b], native, reference);
    }
}

/* Of a step with bodies: what runs in them. */
static const char *kernel_name(char *buf, size_t size, const gopt_step *s)
{
    int native = 0, reference = 0;
    for (int b = 0; b < s->n_bodies; b++)
        count_inside(s->body[b], &native, &reference);
    snprintf(buf, size, "%s%d native, %d reference", GOPT_TRACE_BODIES, native, reference);
    return s->n_bodies ? buf : s->kernel ? s->kernel->name : "reference";
}

static void add_steps(const gopt_plan *p, cJSON *reply, const double *ns, int runs)
{
    cJSON *steps = cJSON_AddArrayToObject(reply, "steps");
    char kernel[64];
    for (int i = 0; i < p->n_steps; i++) {
        const gopt_step *s = &p->steps[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", s->name);
        cJSON_AddStringToObject(o, "op", s->group.op->name);
        cJSON_AddStringToObject(o, "kernel", kernel_name(kernel, sizeof kernel, s));
        cJSON_AddItemToObject(o, "origin", cJSON_CreateIntArray(s->origin, s->n_origin));
        add(o, "ns", gopt_median(ns + (size_t)i * (size_t)runs, runs));
        cJSON_AddItemToArray(steps, o);
    }
}

static void trace(server *v, const cJSON *request, cJSON *reply)
{
    gopt_err e = {0};
    int runs = count(request, "runs", 3, TRACED_RUNS_MAX), n = v->plan ? v->plan->n_steps : 0;
    int64_t *one = gopt_calloc((size_t)n + 1, sizeof *one);
    double *ns = gopt_calloc(((size_t)n + 1) * (size_t)runs, sizeof *ns), total = 0;
    gopt_status s = v->plan && one && ns ? GOPT_OK : gopt_fail(&e, GOPT_EUSAGE, "nothing prepared, or out of memory");
    for (int r = 0; !s && r < runs; r++) {
        int64_t begin = gopt_now();
        s = gopt_engine_trace(v->engine, one, &e);
        total += (double)(gopt_now() - begin) / runs;
        for (int i = 0; i < n; i++)
            ns[(size_t)i * (size_t)runs + (size_t)r] = (double)one[i];
    }
    set_status(reply, trial_status(s, GOPT_TRIAL_run_failed), &e);
    add(reply, "total", total);
    if (!s)
        add_steps(v->plan, reply, ns, runs);
    gopt_free(one);
    gopt_free(ns);
}

static void bundle(server *v, const cJSON *request, cJSON *reply)
{
    gopt_err e = {0};
    gopt_hash h = {0};
    char hex[33];
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(request, "path"));
    int64_t begin = gopt_now();
    gopt_status s =
        path && v->plan ? gopt_bundle_write(v->plan, path, &h, &e) : gopt_fail(&e, GOPT_EUSAGE, "nothing prepared");
    set_status(reply, s == GOPT_EIO ? GOPT_TRIAL_run_failed : trial_status(s, GOPT_TRIAL_run_failed), &e);
    cJSON_AddStringToObject(reply, "hash", gopt_hash_hex(hex, h));
    cJSON_AddBoolToObject(reply, "io", s == GOPT_EIO);
    add(reply, "ns", (double)(gopt_now() - begin));
}

typedef enum need { NEEDS_NOTHING, NEEDS_ENGINE, NEEDS_GRAPH } need;

static const struct {
    const char *name;
    void (*run)(server *v, const cJSON *request, cJSON *reply);
    need need;
} requests[] = {
    {"prepare", prepare, NEEDS_GRAPH}, {"open", open_path, NEEDS_GRAPH}, {"warm", warm, NEEDS_ENGINE},
    {"sample", sample, NEEDS_ENGINE},  {"trace", trace, NEEDS_ENGINE},   {"bundle", bundle, NEEDS_NOTHING},
};

/* Why a request is out of place now; NULL: it is not. */
static const char *objection(const server *v, need what)
{
    if (what == NEEDS_ENGINE && !v->engine)
        return "nothing prepared";
    return what == NEEDS_GRAPH && v->used ? "a worker prepares once" : NULL;
}

static int find_request(const server *v, const cJSON *request, gopt_err *e)
{
    const char *what = cJSON_GetStringValue(cJSON_GetObjectItem(request, "do"));
    int found = GOPT_COUNT(requests) - 1;
    while (found >= 0 && !(what && !strcmp(requests[found].name, what)))
        found--;
    const char *why = found < 0 ? "unknown request" : objection(v, requests[found].need);
    if (why)
        gopt_fail(e, GOPT_EUSAGE, "%s", why);
    return why ? -1 : found;
}

static void serve_line(server *v, const char *line, FILE *out)
{
    gopt_err e = {0};
    cJSON *request = cJSON_Parse(line), *reply = cJSON_CreateObject();
    int found = find_request(v, request, &e);
    if (found < 0) {
        set_status(reply, GOPT_TRIAL_run_failed, &e);
    } else {
        v->used = v->used || requests[found].need == NEEDS_GRAPH;
        requests[found].run(v, request, reply);
    }
    char *text = cJSON_PrintUnformatted(reply);
    fprintf(out, "%s\n", text ? text : "{\"status\":\"out_of_memory\",\"why\":\"out of memory\"}");
    fflush(out);
    cJSON_free(text);
    cJSON_Delete(reply);
    cJSON_Delete(request);
}

void gopt_worker_serve(const gopt_bench *b, int in, int out)
{
    server v = {.bench = b};
    FILE *requests_in = fdopen(in, "r"), *replies = fdopen(out, "w");
    char *line = NULL;
    size_t cap = 0;
    while (requests_in && replies && getline(&line, &cap, requests_in) > 0)
        serve_line(&v, line, replies);
    free(line);
    if (requests_in)
        fclose(requests_in);
    if (replies)
        fclose(replies);
    if (v.session)
        gopt_session_free(v.session);
    else
        gopt_engine_free(v.engine);
    gopt_model_close(v.model);
    gopt_plan_free(v.plan);
    gopt_compile_log_fini(&v.log);
}
