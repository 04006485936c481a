/* compile.c: gopt compile: one configuration, no search. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "bundle.h"
#include "compile.h"
#include "import.h"
#include "json.h"
#include "late.h"
#include "pick.h"
#include "shape.h"
#include "subject.h"
#include "workplace.h"

typedef struct options {
    gopt_pick pick;
    gopt_shapes shapes;
    const char *output;
    bool json;
} options;

typedef struct result {
    gopt_compile_log log;
    gopt_plan *plan;
    gopt_hash content;
    double bytes;
} result;

/* A bundle serves one shape: it must be chosen, not guessed. */
static gopt_status bind(gopt_graph *g, const gopt_shapes *shapes, gopt_err *e)
{
    GOPT_TRY(gopt_shape_need_all(g, shapes, e));
    return gopt_shape_bind(g, shapes, gopt_lengths[0], NULL, NULL, e);
}

static gopt_status import(gopt_graph **g, const char *path, const options *o, int64_t *import_ns, int64_t *infer_ns,
                          gopt_err *e)
{
    int64_t begin = gopt_now();
    GOPT_TRY(gopt_model_import(g, path, NULL, e));
    int64_t then = gopt_now();
    gopt_status s = bind(*g, &o->shapes, e);
    *import_ns = then - begin;
    *infer_ns = gopt_now() - then;
    if (!s)
        return GOPT_OK;
    gopt_graph_free(*g);
    return gopt_within(e, s, "%s", path);
}

static gopt_status compile(result *r, const char *path, const options *o, const gopt_workplace *place, gopt_err *e)
{
    gopt_config config;
    gopt_graph *g;
    int64_t import_ns, infer_ns;
    struct stat st;
    GOPT_TRY(gopt_pick_config(&config, &o->pick, e));
    GOPT_TRY(import(&g, path, o, &import_ns, &infer_ns, e));
    gopt_compile_options c = {.cache_dir = place->cache, .scratch_dir = place->scratch};
    gopt_target_host(&c.target, (int)gopt_config_threads(&config));
    gopt_status s = gopt_compile(&r->plan, g, &config, &c, &r->log, e);
    if (s)
        return gopt_within(e, s, "%s", path);
    int64_t begin = gopt_now();
    GOPT_TRY(gopt_bundle_write(r->plan, o->output, &r->content, e));
    r->log.stage_ns[GOPT_STAGE_import] += import_ns;
    r->log.stage_ns[GOPT_STAGE_shape_inference] += infer_ns;
    r->log.stage_ns[GOPT_STAGE_serialization] += gopt_now() - begin;
    r->bytes = stat(o->output, &st) ? 0 : (double)st.st_size;
    return GOPT_OK;
}

/* Those of bodies, too, as everywhere. */
static int steps_of(const gopt_compile_log *log)
{
    return log->kernels_native + log->kernels_generated + log->kernels_reference;
}

static gopt_status tell_json(const result *r, const options *o, gopt_err *e)
{
    char hex[33];
    cJSON *root = cJSON_CreateObject(), *stages = NULL;
    gopt_json_text(root, "bundle", o->output);
    gopt_json_text(root, "content", gopt_hash_hex(hex, r->content));
    gopt_json_number(root, "bytes", r->bytes);
    gopt_json_number(root, "steps", steps_of(&r->log));
    gopt_json_number(root, "native", r->log.kernels_native);
    gopt_json_number(root, "generated", r->log.kernels_generated);
    gopt_json_number(root, "reference", r->log.kernels_reference);
    gopt_json_number(root, "weights", (double)r->plan->weight_bytes);
    gopt_json_number(root, "arena", (double)r->log.arena_bytes);
    gopt_json_number(root, "late_values", gopt_late_values(r->plan));
    gopt_json_number(root, "workspace", (double)r->plan->workspace_bytes);
    gopt_json_number(root, "total", (double)gopt_compile_total(&r->log));
    cJSON_AddBoolToObject(root, "cached", r->log.cached);
    stages = cJSON_AddObjectToObject(root, "stages");
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        gopt_json_number(stages, gopt_stage_names[i], (double)r->log.stage_ns[i]);
    return gopt_json_print(root, e);
}

static gopt_status tell_text(const result *r, const options *o, gopt_err *e)
{
    char a[32], b[32], c[33];
    gopt_text t = {0};
    gopt_utf8_put(&t, o->output);
    gopt_text_add(&t, ": %s, content %s\n", gopt_text_bytes(a, r->bytes), gopt_hash_hex(c, r->content));
    gopt_text_add(&t, "  steps       %d: %d native, %d generated, %d reference\n", steps_of(&r->log),
                  r->log.kernels_native, r->log.kernels_generated, r->log.kernels_reference);
    gopt_text_add(&t, "  memory      weights %s, activations %s", gopt_text_bytes(a, (double)r->plan->weight_bytes),
                  gopt_text_bytes(b, (double)r->log.arena_bytes));
    gopt_late_values_put(&t, gopt_late_values(r->plan));
    gopt_text_put(&t, "\n");
    gopt_text_add(&t, "  compiled in %s%s\n", gopt_text_ns(a, (double)gopt_compile_total(&r->log)),
                  r->log.cached ? ", counting what the cache saved" : "");
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        if (r->log.stage_ns[i])
            gopt_text_add(&t, "    %-17s %s\n", gopt_stage_names[i], gopt_text_ns(a, (double)r->log.stage_ns[i]));
    if (r->log.no_compiler)
        gopt_text_put(&t, "  no C compiler was found: precompiled kernels instead of generated ones\n");
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    fputs(gopt_text_str(&t), stdout);
    gopt_text_fini(&t);
    return s;
}

static gopt_status run(void *opts, const char *const *operand, int n, gopt_err *e)
{
    const options *o = opts;
    gopt_workplace place;
    result r = {0};
    char path[PATH_MAX];
    (void)n;
    if (!o->output)
        return gopt_fail(e, GOPT_EUSAGE, "compile: -o BUNDLE is missing");
    GOPT_TRY(gopt_subject_model(path, sizeof path, operand[0], e));
    gopt_workplace_open(&place);
    gopt_status s = compile(&r, path, o, &place, e);
    gopt_workplace_close(&place);
    if (!s)
        s = o->json ? tell_json(&r, o, e) : tell_text(&r, o, e);
    gopt_plan_free(r.plan);
    gopt_compile_log_fini(&r.log);
    return s;
}

static const gopt_option rows[] = {
    {"--output", 'o', "BUNDLE", gopt_parse_text, offsetof(options, output), "file to write"},
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "a size for every symbolic dimension"},
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object; times in nanoseconds, memory in bytes"},
    {0}};

const gopt_command gopt_command_compile = {
    .name = "compile",
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .doc = "Compiles a model with one configuration, without a search, into a bundle that libgopt runs.",
    .more = "Examples:\n"
            "  gopt compile net.onnx -o net.gopt-bundle\n"
            "  gopt compile net.onnx -o small.gopt-bundle --preset reduce-overhead --shape batch=1,seq=128\n"
            "  gopt compile net.onnx -o tuned.gopt-bundle --set fuse_chain.max_ops=8 --set engine.threads=2\n",
    .options = rows,
    .size = sizeof(options),
    .run = run,
};
