/* inspect_deployed.c: a manifest: what was decided; a bundle: what will run. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "bundle.h"
#include "inspect.h"
#include "late.h"
#include "manifest.h"
#include "pass.h"

/* ---- manifests ---- */

static void put_pair(gopt_text *t, const char *before, const char *value)
{
    gopt_text_put(t, before);
    gopt_utf8_put(t, value);
}

static void text_figure(gopt_text *t, const char *before, gopt_manifest_figure f)
{
    char a[32], b[32], c[32];
    gopt_text_add(t, "%s%s", before, gopt_text_ns(a, f.value));
    if (isfinite(f.lo) && isfinite(f.hi))
        gopt_text_add(t, " [%s, %s]", gopt_text_ns(b, f.lo), gopt_text_ns(c, f.hi));
}

/* One word of a list that began with a title, on the next line where this one is full. */
static void put_word(gopt_text *t, size_t *column, const char *word)
{
    enum { WIDTH = 100 };
    size_t n = strlen(word) + 2;
    if (*column + n > WIDTH) {
        gopt_text_put(t, "\n     ");
        *column = 5;
    }
    put_pair(t, " ", word);
    gopt_text_put(t, ",");
    *column += n;
}

/* The comma after the last word goes. */
static void end_words(gopt_text *t)
{
    if (!t->failed)
        t->s[t->n - 1] = '\n';
}

static size_t begin_words(gopt_text *t, const char *title, int n)
{
    size_t begin = t->n;
    gopt_text_add(t, "    %s (%d):", title, n);
    return t->n - begin;
}

static bool is_on(const gopt_manifest_choice *c, const char *pass)
{
    for (int i = 0; i < c->n_pipeline; i++)
        if (!strcmp(c->pipeline[i], pass))
            return true;
    return false;
}

static void text_passes(gopt_text *t, const gopt_manifest_choice *c)
{
    int off = 0;
    for (int i = 0; gopt_passes[i]; i++)
        off += !is_on(c, gopt_passes[i]->name);
    size_t column = c->n_pipeline ? begin_words(t, "passes on", c->n_pipeline) : 0;
    for (int i = 0; i < c->n_pipeline; i++)
        put_word(t, &column, c->pipeline[i]);
    if (c->n_pipeline)
        end_words(t);
    column = off ? begin_words(t, "passes off", off) : 0;
    for (int i = 0; gopt_passes[i]; i++)
        if (!is_on(c, gopt_passes[i]->name))
            put_word(t, &column, gopt_passes[i]->name);
    if (off)
        end_words(t);
}

/* Switches and threads are told already. */
static bool is_told(const char *knob)
{
    return !strncmp(knob, "pass.", 5) || !strcmp(knob, "engine.threads");
}

static void text_knobs(gopt_text *t, const gopt_manifest_choice *c, bool all)
{
    for (int i = 0; i < c->n_knobs; i++) {
        if (!all && is_told(c->knobs[i].name))
            continue;
        put_pair(t, "    ", c->knobs[i].name);
        put_pair(t, " = ", c->knobs[i].value);
        gopt_text_put(t, "\n");
    }
}

static void text_choice(gopt_text *t, const char *title, const gopt_manifest_choice *c, bool verbose)
{
    char bytes[32], ns[32];
    gopt_text_add(t, "  %s: trial %d, %d thread%s", title, c->trial, c->threads, c->threads == 1 ? "" : "s");
    text_figure(t, ", latency ", c->latency_ns);
    if (isfinite(c->speedup.value))
        gopt_text_add(t, ", %.3gx the baseline", c->speedup.value);
    if (isfinite(c->speedup.lo) && isfinite(c->speedup.hi))
        gopt_text_add(t, " [%.3g, %.3g]", c->speedup.lo, c->speedup.hi);
    gopt_text_add(t, ", %" PRId64 " samples, peak memory %s, compiled in %s\n", c->samples,
                  gopt_text_bytes(bytes, (double)c->peak_bytes), gopt_text_ns(ns, (double)c->compile_ns));
    put_pair(t, "    bundle ", c->bundle);
    put_pair(t, ", content ", c->bundle_hash);
    gopt_text_put(t, "\n");
    text_passes(t, c);
    text_knobs(t, c, verbose);
}

static void text_cluster(gopt_text *t, const gopt_manifest_cluster *c, bool verbose)
{
    put_pair(t, "cluster ", c->id);
    gopt_text_add(t, ", weight %.3g", c->weight);
    for (int i = 0; i < c->n_dims; i++) {
        put_pair(t, ", ", c->dims[i].name);
        gopt_text_add(t, c->dims[i].lo == c->dims[i].hi ? " %" PRId64 : " %" PRId64 " to %" PRId64, c->dims[i].lo,
                      c->dims[i].hi);
    }
    put_pair(t, ": ", c->reason);
    gopt_text_put(t, "\n");
    text_choice(t, "chosen", &c->chosen, verbose);
    if (!verbose && c->fallback.trial == c->chosen.trial)
        gopt_text_put(t, "  fallback: the same\n");
    else
        text_choice(t, "fallback", &c->fallback, verbose);
}

static void json_figure(cJSON *o, const char *name, gopt_manifest_figure f)
{
    cJSON *figure = cJSON_AddObjectToObject(o, name);
    gopt_json_number(figure, "value", f.value);
    gopt_json_number(figure, "lo", f.lo);
    gopt_json_number(figure, "hi", f.hi);
}

static void json_choice(cJSON *cluster, const char *name, const gopt_manifest_choice *c)
{
    cJSON *o = cJSON_AddObjectToObject(cluster, name);
    gopt_json_number(o, "trial", c->trial);
    gopt_json_number(o, "threads", c->threads);
    json_figure(o, "latency_ns", c->latency_ns);
    json_figure(o, "speedup", c->speedup);
    gopt_json_number(o, "samples", (double)c->samples);
    gopt_json_number(o, "peak_bytes", (double)c->peak_bytes);
    gopt_json_number(o, "compile_ns", (double)c->compile_ns);
    gopt_json_number(o, "break_even_requests", c->break_even_requests);
    gopt_json_text(o, "bundle", c->bundle);
    gopt_json_text(o, "bundle_hash", c->bundle_hash);
    cJSON *pipeline = cJSON_AddArrayToObject(o, "pipeline"), *knobs = cJSON_AddObjectToObject(o, "config");
    for (int i = 0; i < c->n_pipeline; i++)
        cJSON_AddItemToArray(pipeline, gopt_json_string(c->pipeline[i]));
    for (int i = 0; i < c->n_knobs; i++)
        gopt_json_text(knobs, c->knobs[i].name, c->knobs[i].value);
}

static void json_cluster(cJSON *list, const gopt_manifest_cluster *c)
{
    cJSON *o = cJSON_CreateObject(), *bounds = cJSON_AddObjectToObject(o, "bounds");
    gopt_json_text(o, "id", c->id);
    gopt_json_number(o, "weight", c->weight);
    gopt_json_text(o, "reason", c->reason);
    for (int i = 0; i < c->n_dims; i++) {
        cJSON *range = cJSON_AddArrayToObject(bounds, c->dims[i].name);
        cJSON_AddItemToArray(range, cJSON_CreateNumber((double)c->dims[i].lo));
        cJSON_AddItemToArray(range, cJSON_CreateNumber((double)c->dims[i].hi));
    }
    json_choice(o, "chosen", &c->chosen);
    json_choice(o, "fallback", &c->fallback);
    cJSON_AddItemToArray(list, o);
}

gopt_status gopt_inspect_manifest(const gopt_inspection *x, gopt_err *e)
{
    gopt_manifest *m;
    GOPT_TRY(gopt_manifest_read(&m, x->path, e));
    gopt_inspect_text(x, "tool", "made by", m->tool_version);
    gopt_inspect_text(x, "model", "model", m->model_path);
    gopt_inspect_text(x, "sha256", "sha256", m->model_sha256);
    gopt_inspect_text(x, "device", "device", m->device_name);
    gopt_inspect_text(x, "fingerprint", "fingerprint", m->device_fingerprint);
    gopt_inspect_text(x, "objective", "objective", m->objective);
    gopt_inspect_text(x, "verdict", "verdict", m->verdict);
    gopt_inspect_text(x, "regime", "regime", m->regime);
    gopt_inspect_number(x, "noise_floor", "noise floor", m->noise_floor);
    cJSON *list = x->json ? cJSON_AddArrayToObject(x->json, "clusters") : NULL;
    for (int i = 0; i < m->n_clusters; i++) {
        if (x->text)
            text_cluster(x->text, &m->clusters[i], x->verbose);
        else
            json_cluster(list, &m->clusters[i]);
    }
    gopt_manifest_free(m);
    return GOPT_OK;
}

/* ---- bundles ---- */

static void put_port(const gopt_inspection *x, cJSON *list, const gopt_port *p)
{
    char text[320];
    gopt_tensor t = {.dtype = p->dtype, .rank = p->rank};
    memcpy(t.dim, p->dim, sizeof t.dim);
    gopt_tensor_describe(text, sizeof text, &t);
    if (x->text) {
        put_pair(x->text, "  ", p->name);
        gopt_text_add(x->text, " %s\n", text);
        return;
    }
    cJSON *o = cJSON_CreateObject(), *shape = p->rank < 0 ? cJSON_CreateNull() : cJSON_CreateArray();
    gopt_json_text(o, "name", p->name);
    gopt_json_text(o, "dtype", gopt_dtype_name(p->dtype));
    cJSON_AddItemToObject(o, "shape", shape);
    for (int d = 0; d < p->rank; d++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)p->dim[d]));
    cJSON_AddItemToArray(list, o);
}

static void put_ports(const gopt_inspection *x, const char *title, const gopt_port *p, int n)
{
    cJSON *list = x->json ? cJSON_AddArrayToObject(x->json, title) : NULL;
    if (x->text)
        gopt_text_add(x->text, "%s:\n", title);
    for (int i = 0; i < n; i++)
        put_port(x, list, &p[i]);
}

static const char *kernel_of(const gopt_step *s)
{
    return s->kernel ? s->kernel->name : "reference";
}

static void put_step(const gopt_inspection *x, cJSON *list, const gopt_step *s, int depth)
{
    if (x->json) {
        cJSON *o = cJSON_CreateObject();
        gopt_json_text(o, "name", s->name);
        gopt_json_text(o, "op", s->group.op->name);
        gopt_json_text(o, "kernel", kernel_of(s));
        gopt_json_number(o, "depth", depth);
        gopt_json_number(o, "parts", s->work.parts);
        cJSON_AddItemToArray(list, o);
        return;
    }
    gopt_text_add(x->text, "  %*s%s ", 2 * depth, "", s->group.op->name);
    gopt_utf8_put(x->text, s->name);
    gopt_text_add(x->text, ": %s%s", kernel_of(s), s->group.post ? ", with a pointwise end" : "");
    gopt_text_add(x->text, s->work.parts > 1 ? ", %d parts\n" : "\n", s->work.parts);
}

static void put_steps(const gopt_inspection *x, cJSON *list, const gopt_plan *p, int depth)
{
    for (int i = 0; i < p->n_steps; i++) {
        put_step(x, list, &p->steps[i], depth);
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            put_steps(x, list, p->steps[i].body[b], depth + 1);
    }
}

/* What a plan is made of, its bodies included. */
typedef struct content {
    int *count; /* how often each kernel is used; the last one is the reference */
    int steps, late;
    size_t arena;
} content;

static void count_kernels(const gopt_plan *p, content *c)
{
    c->arena += p->arena_bytes;
    for (int i = 0; i < p->n_steps; i++) {
        const gopt_step *s = &p->steps[i];
        c->count[s->kernel ? gopt_kernel_find(s->kernel->name) : gopt_kernel_count()]++;
        c->steps++;
        for (int b = 0; b < s->n_bodies; b++)
            count_kernels(s->body[b], c);
    }
}

static void put_kernels(const gopt_inspection *x, const int *count, int n)
{
    cJSON *list = x->json ? cJSON_AddObjectToObject(x->json, "kernels") : NULL;
    if (x->text)
        gopt_text_put(x->text, "kernels:\n");
    for (int i = 0; i < n; i++) {
        const char *name = i < n - 1 ? gopt_kernels[i]->name : "reference";
        if (count[i] && x->text)
            gopt_text_add(x->text, "  %-28s %5d%s\n", name, count[i],
                          i < n - 1 && gopt_kernels[i]->generated ? "  generated" : "");
        else if (count[i])
            gopt_json_number(list, name, count[i]);
    }
}

static void put_activations(const gopt_inspection *x, const content *c)
{
    char bytes[32];
    gopt_text t = {0};
    gopt_text_put(&t, gopt_text_bytes(bytes, (double)c->arena));
    gopt_late_values_put(&t, c->late);
    if (x->text)
        gopt_inspect_text(x, NULL, "activations", gopt_text_str(&t));
    gopt_text_fini(&t);
    if (!x->json)
        return;
    gopt_json_number(x->json, "arena", (double)c->arena);
    gopt_json_number(x->json, "late_values", c->late);
}

static void put_facts(const gopt_inspection *x, const gopt_plan *p, gopt_hash hash, const content *c)
{
    char hex[33];
    struct stat st = {0};
    size_t code = 0;
    stat(x->path, &st);
    for (int i = 0; i < p->n_code; i++)
        code += p->code[i].bytes;
    gopt_inspect_text(x, "content", "content", gopt_hash_hex(hex, hash));
    gopt_inspect_bytes(x, "bytes", "size", (double)st.st_size);
    gopt_inspect_text(x, "isa", "built for", gopt_isa_name(p->target.isa));
    gopt_inspect_number(x, "threads", "threads", p->target.threads);
    gopt_inspect_number(x, "steps", "steps", c->steps);
    gopt_inspect_bytes(x, "weights", "weights", (double)p->weight_bytes);
    put_activations(x, c);
    gopt_inspect_bytes(x, "workspace", "workspace", (double)p->workspace_bytes);
    gopt_inspect_bytes(x, "code", "generated code", (double)code);
}

gopt_status gopt_inspect_bundle(const gopt_inspection *x, gopt_err *e)
{
    gopt_plan *p;
    gopt_hash hash;
    int n = gopt_kernel_count() + 1;
    GOPT_TRY(gopt_bundle_read(&p, x->path, &hash, e));
    content c = {.count = gopt_calloc((size_t)n, sizeof *c.count), .late = gopt_late_values(p)};
    if (!c.count) {
        gopt_plan_free(p);
        return gopt_oom(e);
    }
    count_kernels(p, &c);
    put_facts(x, p, hash, &c);
    put_ports(x, "inputs", p->ports, p->n_inputs);
    put_ports(x, "outputs", p->ports + p->n_inputs, p->n_outputs);
    put_kernels(x, c.count, n);
    if (x->verbose && x->text)
        gopt_text_put(x->text, "steps in order:\n");
    if (x->verbose || x->json)
        put_steps(x, x->json ? cJSON_AddArrayToObject(x->json, "plan") : NULL, p, 0);
    gopt_free(c.count);
    gopt_plan_free(p);
    return GOPT_OK;
}
