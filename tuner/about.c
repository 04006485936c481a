/* about.c: the job as JSON in its study. */
#include "about.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assess.h"
#include "command_line.h"

static void number(cJSON *o, const char *name, double v)
{
    if (isfinite(v))
        cJSON_AddNumberToObject(o, name, v);
    else
        cJSON_AddNullToObject(o, name);
}

static void text(cJSON *o, const char *name, const char *s)
{
    cJSON_AddStringToObject(o, name, s ? s : "");
}

static void count_operators(cJSON *list, const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const gopt_node *n = g->nodes[i];
        cJSON *had = cJSON_GetObjectItemCaseSensitive(list, n->op->name);
        if (had)
            cJSON_SetNumberValue(had, had->valuedouble + 1);
        else
            cJSON_AddNumberToObject(list, n->op->name, 1);
        for (int b = 0; b < n->n_bodies; b++)
            count_operators(list, n->body[b]);
    }
}

static void add_model(cJSON *root, const gopt_job *j)
{
    const gopt_trial *standard = gopt_effects_default(j->study);
    cJSON *o = cJSON_AddObjectToObject(root, "model");
    char *path = realpath(j->options->model, NULL);
    text(o, "path", path ? path : j->options->model);
    free(path);
    text(o, "sha256", j->info.sha256);
    number(o, "nodes", j->info.nodes);
    number(o, "parameters_bytes", (double)j->info.parameters_bytes);
    count_operators(cJSON_AddObjectToObject(o, "operators"), j->graph);
    number(o, "native", standard ? standard->reply.native + standard->reply.generated : 0);
    number(o, "reference", standard ? standard->reply.reference : 0);
}

static void add_device(cJSON *root, const gopt_device *d)
{
    cJSON *o = cJSON_AddObjectToObject(root, "device");
    text(o, "name", d->name);
    text(o, "fingerprint", d->fingerprint);
    cJSON *facts = cJSON_AddObjectToObject(o, "facts");
    number(facts, "cores", d->cores);
    text(facts, "isa", d->isa);
    number(facts, "l1_bytes", (double)d->l1);
    number(facts, "l2_bytes", (double)d->l2);
    number(facts, "l3_bytes", (double)d->l3);
    number(facts, "memory_bytes", (double)d->memory);
    text(facts, "kernel", d->kernel);
    text(facts, "hypervisor", d->hypervisor);
    text(facts, "compiler", d->compiler);
}

static void add_goal(cJSON *root, const gopt_goal *g)
{
    cJSON *o = cJSON_AddObjectToObject(root, "goal");
    text(o, "objective", gopt_objective_name(g->objective));
    number(o, "alpha", g->alpha);
    number(o, "requests", g->requests);
    number(o, "hit_rate", g->hit_rate);
    number(o, "max_memory", g->max_memory);
    number(o, "max_compile_ns", g->max_compile_ns);
    number(o, "max_latency_ns", g->max_latency_ns);
}

static void add_settings(cJSON *root, const gopt_tune_options *o, int runs)
{
    char tolerance[64] = "by element type";
    cJSON *s = cJSON_AddObjectToObject(root, "settings");
    if (o->tolerance.rel >= 0 && o->tolerance.abs >= 0)
        snprintf(tolerance, sizeof tolerance, "%g of each value and %g", o->tolerance.rel, o->tolerance.abs);
    else if (o->tolerance.rel >= 0)
        snprintf(tolerance, sizeof tolerance, "%g of the largest value", o->tolerance.rel);
    text(s, "preset", o->preset ? o->preset : "max-autotune");
    text(s, "search", o->sampler ? o->sampler : "auto");
    text(s, "tolerance", tolerance);
    number(s, "threads_max", o->n_threads ? o->threads[o->n_threads - 1] : gopt_cpu_count());
    if (runs > 1)
        number(s, "runs", runs);
}

/* ---- what all runs of the job took together ---- */

static const char EARLIER_KEY[] = "about_before"; /* what the last run before this one said: totals up to its end */

static double earlier(const cJSON *before, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(before, name);
    return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

/* *out is NULL in the first run, and when those before ended too early to tell. */
static gopt_status read_earlier(cJSON **out, gopt_study *s, gopt_err *e)
{
    const char *last = gopt_study_get(s, "about"), *kept;
    cJSON *o = last ? cJSON_Parse(last) : NULL;
    gopt_status status = GOPT_OK;
    if (o && earlier(o, "run") < s->run)
        status = gopt_study_set(s, EARLIER_KEY, last, e);
    cJSON_Delete(o);
    kept = status ? NULL : gopt_study_get(s, EARLIER_KEY);
    *out = kept ? cJSON_Parse(kept) : NULL;
    return status;
}

static void add_accounting(cJSON *root, const gopt_job *j, const cJSON *before)
{
    const gopt_accounting *a = &j->spent;
    const cJSON *had = cJSON_GetObjectItemCaseSensitive(before, "accounting");
    double spent_before = GOPT_MAX(j->study->spent_before, earlier(before, "elapsed_s"));
    double elapsed = spent_before + gopt_job_elapsed(j), known = 0;
    const struct {
        const char *name;
        double s;
    } part[] = {{"compile", a->compile}, {"verify", a->verify}, {"measure", a->measure}, {"search", a->search}};
    cJSON *o = cJSON_AddObjectToObject(root, "accounting");
    number(root, "run", j->study->run);
    number(root, "budget_s", j->options->budget_s + (before ? earlier(before, "budget_s") : spent_before));
    number(root, "elapsed_s", elapsed);
    for (int i = 0; i < GOPT_COUNT(part); i++) {
        double s = earlier(had, part[i].name) + part[i].s;
        number(o, part[i].name, s);
        known += s;
    }
    number(o, "other", GOPT_MAX(elapsed - known, 0));
    number(root, "rounds", earlier(before, "rounds") + j->rounds);
    number(root, "rounds_flagged", earlier(before, "rounds_flagged") + j->rounds_flagged);
}

/* Shares: of the time of all processors, but `waited` of the time of the rounds. */
static void add_disturbance(cJSON *root, const gopt_disturbance *d, const cJSON *before)
{
    const cJSON *had = cJSON_GetObjectItemCaseSensitive(before, "disturbance");
    cJSON *o = cJSON_AddObjectToObject(root, "disturbance");
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN), already = earlier(had, "seconds");
    double seconds = already + d->seconds;
    bool waited = d->waited_s >= 0 && (already <= 0 || cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(had, "waited")));
    number(o, "seconds", seconds);
    number(o, "steal", seconds > 0 ? (earlier(had, "steal") * already + d->steal_s / processors) / seconds : NAN);
    number(o, "others",
           seconds > 0 ? (earlier(had, "others") * already + GOPT_MAX(d->others_s, 0) / processors) / seconds : NAN);
    number(o, "waited", seconds > 0 && waited ? (earlier(had, "waited") * already + d->waited_s) / seconds : NAN);
}

static void add_command(cJSON *root, const gopt_job *j)
{
    gopt_text line = {0};
    gopt_tune_command(&line, j->options, gopt_text_str(&j->shapes));
    text(root, "command", gopt_text_str(&line));
    gopt_text_fini(&line);
}

static void add_cases(cJSON *notes, const gopt_bench *b)
{
    gopt_text t = {0};
    gopt_text_add(&t, "every candidate was verified on %d input case%s before it was timed (", b->n_cases,
                  b->n_cases == 1 ? "" : "s");
    for (int i = 0; i < b->n_cases; i++)
        gopt_text_add(&t, "%s%s", i ? ", " : "", gopt_input_case_name(b->kind[i]));
    gopt_text_put(&t, b->n_cases == 1 ? "; no other fits the model and the budget)" : ")");
    cJSON_AddItemToArray(notes, cJSON_CreateString(gopt_text_str(&t)));
    gopt_text_fini(&t);
}

static void add_notes(cJSON *root, const gopt_job *j)
{
    cJSON *notes = cJSON_AddArrayToObject(root, "notes");
    char line[512];
    if (j->shape_note[0]) {
        snprintf(line, sizeof line, "shape %s: %s; choose with --shape", gopt_text_str(&j->shapes), j->shape_note);
        cJSON_AddItemToArray(notes, cJSON_CreateString(line));
    }
    add_cases(notes, &j->bench);
    if (gopt_text_str(&j->boundaries)[0])
        cJSON_AddItemToArray(notes, cJSON_CreateString(gopt_text_str(&j->boundaries)));
    int threads = j->options->n_threads ? j->options->threads[j->options->n_threads - 1] : 0;
    if (threads > gopt_cpu_count()) {
        snprintf(line, sizeof line, "threads up to %d were allowed; the number of processors is %d", threads,
                 gopt_cpu_count());
        cJSON_AddItemToArray(notes, cJSON_CreateString(line));
    }
    if (!strcmp(j->device.compiler, "none"))
        cJSON_AddItemToArray(notes, cJSON_CreateString("no C compiler was found: no kernel was generated"));
}

gopt_status gopt_about_store(gopt_job *j, gopt_err *e)
{
    cJSON *before;
    GOPT_TRY(read_earlier(&before, j->study, e));
    cJSON *root = cJSON_CreateObject();
    if (root) {
        text(root, "commit", gopt_commit());
        number(root, "seed", (double)j->options->seed);
        text(root, "stopped", j->stopped);
        text(root, "shapes", gopt_text_str(&j->shapes));
        add_model(root, j);
        add_device(root, &j->device);
        add_goal(root, &j->options->goal);
        add_settings(root, j->options, j->study->run);
        add_accounting(root, j, before);
        add_disturbance(root, &j->disturbance, before);
        add_notes(root, j);
        add_command(root, j);
    }
    char *json = root ? cJSON_PrintUnformatted(root) : NULL;
    gopt_status s = json ? gopt_study_set(j->study, "about", json, e) : gopt_oom(e);
    cJSON_free(json);
    cJSON_Delete(root);
    cJSON_Delete(before);
    return s;
}
