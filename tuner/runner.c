/* runner.c: import, bind, compile; or open; then bind inputs. */
#include "runner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bundle.h"
#include "compile.h"
#include "import.h"
#include "inputs.h"
#include "manifest.h"
#include "onnx/model.h"
#include "origin.h"
#include "shape.h"
#include "subject.h"

/* ---- what is run ---- */

/* Takes over the graph. */
static gopt_status compile(gopt_runner *r, gopt_graph *g, const gopt_runner_options *o, gopt_err *e)
{
    gopt_config config;
    gopt_compile_log log;
    gopt_compile_options c = {.cache_dir = o->place->cache, .scratch_dir = o->place->scratch};
    gopt_status s = gopt_pick_config(&config, o->pick, e);
    if (s) {
        gopt_graph_free(g);
        return s;
    }
    r->threads = (int)gopt_config_threads(&config);
    gopt_target_host(&c.target, r->threads);
    s = gopt_compile(&r->own, g, &config, &c, &log, e);
    gopt_compile_log_fini(&log);
    GOPT_TRY(s);
    r->inputs = r->own->ports;
    r->outputs = r->own->ports + r->own->n_inputs;
    r->n_inputs = r->own->n_inputs;
    r->n_outputs = r->own->n_outputs;
    return gopt_engine_new(&r->engine, r->own, r->threads, e);
}

/* Which of a manifest's engines serves. That it is the fallback must not pass unseen. */
static void note_choice(gopt_runner *r, const char *path)
{
    gopt_usage usage;
    gopt_manifest *m;
    gopt_err warning;
    gopt_model_usage(r->model, &usage);
    if (usage.notice) {
        gopt_fail(&warning, GOPT_EINPUT, "%.120s: %.350s; the fallback serves", path, usage.notice);
        gopt_error_print("gopt", &warning);
    }
    if (gopt_manifest_read(&m, path, NULL))
        return;
    const gopt_manifest_cluster *c = &m->clusters[0];
    snprintf(r->serves, sizeof r->serves, "%s, %s", usage.notice ? "fallback" : "chosen",
             usage.notice ? c->fallback.bundle : c->chosen.bundle);
    snprintf(r->content, sizeof r->content, "%s", usage.notice ? c->fallback.bundle_hash : c->chosen.bundle_hash);
    snprintf(r->sha256, sizeof r->sha256, "%s", m->model_sha256 ? m->model_sha256 : "");
    gopt_manifest_free(m);
}

static gopt_status open_session(gopt_runner *r, gopt_err *e)
{
    gopt_options options = {.threads = r->threads};
    GOPT_TRY(gopt_model_open(&r->model, r->path, &options, e));
    GOPT_TRY(gopt_session_new(&r->session, r->model, e));
    r->engine = gopt_session_engine(r->session);
    r->n_inputs = gopt_model_inputs(r->model, &r->inputs);
    r->n_outputs = gopt_model_outputs(r->model, &r->outputs);
    return GOPT_OK;
}

static gopt_status open_deployed(gopt_runner *r, gopt_subject kind, const char *path, const gopt_runner_options *o,
                                 gopt_err *e)
{
    r->threads = o->pick->threads;
    snprintf(r->path, sizeof r->path, "%s", path);
    GOPT_TRY(open_session(r, e));
    if (kind == GOPT_SUBJECT_MANIFEST)
        note_choice(r, path);
    return GOPT_OK;
}

static gopt_status bind(gopt_runner *r, const gopt_tensor *const *in, gopt_err *e)
{
    for (int i = 0; i < r->n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(r->engine, i, in[i], e));
    return GOPT_OK;
}

static gopt_status resolve(gopt_subject *kind, char *path, size_t size, const char *given, gopt_err *e)
{
    GOPT_TRY(gopt_subject_resolve(kind, path, size, given, e));
    return *kind == GOPT_SUBJECT_STUDY ? gopt_fail(e, GOPT_EINPUT, "%s: a study holds nothing that runs", given)
                                       : GOPT_OK;
}

gopt_status gopt_runner_check(const gopt_pick *pick, const gopt_shapes *shapes, const char *const *path, int n,
                              gopt_err *e)
{
    const char *given = pick->pipeline        ? "--pipeline"
                        : pick->preset        ? "--preset"
                        : pick->set.n         ? "--set"
                        : shapes && shapes->n ? "--shape"
                                              : NULL;
    for (int i = 0; given && i < n; i++) {
        gopt_subject kind;
        char found[PATH_MAX];
        if (gopt_subject_resolve(&kind, found, sizeof found, path[i], NULL) || kind == GOPT_SUBJECT_MODEL)
            return GOPT_OK;
    }
    return given ? gopt_fail(e, GOPT_EUSAGE, "%s: %.300s is compiled already, which fixes it; give the model", given,
                             path[0])
                 : GOPT_OK;
}

/* ---- inputs made up ---- */

static gopt_status make_from_model(gopt_runner *r, gopt_graph *g, uint64_t seed, gopt_err *e)
{
    r->source = "the model";
    return gopt_inputs_make(&r->made, g, GOPT_INPUT_RANDOM, seed, &r->arena, e);
}

/* Types and shapes are all that is known: a graph of inputs alone. */
static gopt_status make_from_ports(gopt_runner *r, uint64_t seed, gopt_err *e)
{
    gopt_graph *g;
    GOPT_TRY(gopt_graph_new(&g, e));
    gopt_status s = GOPT_OK;
    for (int i = 0; !s && i < r->n_inputs; i++) {
        const gopt_port *p = &r->inputs[i];
        gopt_fact f = {.dtype = p->dtype, .rank = p->rank};
        for (int d = 0; d < p->rank; d++)
            f.dim[d] = gopt_dim_of(p->dim[d] < 0 ? 1 : p->dim[d]);
        if (!gopt_graph_input(g, p->name, &f))
            s = gopt_oom(e);
    }
    if (!s)
        s = make_from_model(r, g, seed, e);
    r->source = "types and shapes";
    r->blind = true;
    gopt_graph_free(g);
    return s;
}

static gopt_status bind_to_ports(const gopt_runner *r, gopt_graph *g, gopt_arena *a, gopt_err *e)
{
    gopt_tensor *t = GOPT_NEW(a, gopt_tensor, r->n_inputs);
    const gopt_tensor **in = GOPT_NEW(a, const gopt_tensor *, r->n_inputs);
    if (!t || !in)
        return gopt_oom(e);
    if (g->n_inputs != r->n_inputs)
        return gopt_fail(e, GOPT_EINPUT, "the model has %d inputs, the bundle %d", g->n_inputs, r->n_inputs);
    for (int i = 0; i < r->n_inputs; i++) {
        t[i] = (gopt_tensor){.dtype = r->inputs[i].dtype, .rank = r->inputs[i].rank};
        memcpy(t[i].dim, r->inputs[i].dim, sizeof t[i].dim);
        in[i] = &t[i];
    }
    return gopt_shape_bind_to(g, in, e);
}

static gopt_status try_model(gopt_runner *r, const char *model, uint64_t seed, gopt_err *e)
{
    gopt_graph *g;
    GOPT_TRY(gopt_model_import(&g, model, NULL, e));
    gopt_status s = bind_to_ports(r, g, &r->arena, e);
    if (!s)
        s = make_from_model(r, g, seed, e);
    gopt_graph_free(g);
    return s;
}

/* From the model that was given, else from the one that it was made from, where that still is and fits. */
static gopt_status make_for_deployed(gopt_runner *r, gopt_subject kind, const gopt_runner_options *o, gopt_err *e)
{
    char model[PATH_MAX];
    if (o->model) {
        gopt_status s = try_model(r, o->model, o->seed, e);
        return s ? gopt_within(e, s == GOPT_EIO ? GOPT_EINPUT : s, "--model") : GOPT_OK;
    }
    bool known = kind == GOPT_SUBJECT_MANIFEST ? gopt_origin_of_manifest(model, sizeof model, r->path)
                                               : gopt_origin_of_bundle(model, sizeof model, r->path);
    return known && !try_model(r, model, o->seed, NULL) ? GOPT_OK : make_from_ports(r, o->seed, e);
}

/* ---- models ---- */

static gopt_status compile_made(gopt_runner *r, const char *path, int64_t length, const gopt_runner_options *o,
                                gopt_err *e)
{
    gopt_graph *g;
    gopt_text shape = {0};
    int made_up = 0;
    GOPT_TRY(gopt_model_import(&g, path, NULL, e));
    gopt_status s = gopt_shape_bind(g, o->shapes, length, &shape, &made_up, e);
    snprintf(r->shape, sizeof r->shape, "%s", gopt_text_str(&shape));
    gopt_text_fini(&shape);
    r->made_up = made_up > 0;
    if (!s)
        s = make_from_model(r, g, o->seed, e);
    if (s) {
        gopt_graph_free(g);
        return s;
    }
    GOPT_TRY(compile(r, g, o, e));
    GOPT_TRY(bind(r, r->made, e));
    return gopt_engine_run(r->engine, 0, e);
}

typedef struct opening {
    gopt_runner *r;
    const char *path;
    const gopt_runner_options *o;
} opening;

static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    opening *x = ctx;
    gopt_runner_close(x->r);
    gopt_status s = compile_made(x->r, x->path, length, x->o, e);
    *made_up = x->r->made_up;
    return s;
}

static gopt_status open_model_made(gopt_runner *r, const char *path, const gopt_runner_options *o, gopt_err *e)
{
    gopt_graph *g;
    opening x = {.r = r, .path = path, .o = o};
    int made_up = 0;
    gopt_status s = try_length(&x, gopt_lengths[0], &made_up, e);
    if (!s || !made_up)
        return s;
    GOPT_TRY(gopt_model_import(&g, path, NULL, e)); /* once more, only where the first length did not do */
    s = gopt_shape_search(g, o->shapes, try_length, &x, e);
    gopt_graph_free(g);
    return s;
}

static gopt_status note_content(gopt_runner *r, const char *path, gopt_err *e)
{
    gopt_mapping file;
    GOPT_TRY(gopt_file_map(&file, path, e));
    gopt_onnx_sha256(&file, r->sha256);
    gopt_file_unmap(&file);
    return GOPT_OK;
}

gopt_status gopt_runner_open_made(gopt_runner *r, const char *given, const gopt_runner_options *o, gopt_err *e)
{
    gopt_subject kind;
    char path[PATH_MAX];
    *r = (gopt_runner){0};
    GOPT_TRY(resolve(&kind, path, sizeof path, given, e));
    if (kind == GOPT_SUBJECT_MODEL) {
        GOPT_TRY(open_model_made(r, path, o, e));
        return note_content(r, path, e);
    }
    GOPT_TRY(open_deployed(r, kind, path, o, e));
    GOPT_TRY(make_for_deployed(r, kind, o, e));
    return bind(r, r->made, e);
}

gopt_status gopt_runner_try(gopt_runner *r, gopt_err *e)
{
    gopt_status s = gopt_engine_run(r->engine, 0, e);
    if (s && r->blind)
        return gopt_within(e, s, "with inputs made up from types and shapes alone (give --model MODEL)");
    return s;
}

bool gopt_runner_share(gopt_runner *r, const gopt_runner *from)
{
    if (r->n_inputs != from->n_inputs)
        return false;
    for (int i = 0; i < r->n_inputs; i++)
        if (r->made[i]->dtype != from->made[i]->dtype || !gopt_dims_equal(r->made[i], from->made[i]))
            return false;
    r->made = from->made;
    r->source = from->source;
    r->blind = from->blind;
    return !bind(r, r->made, NULL);
}

/* ---- opening once more ---- */

gopt_status gopt_runner_deploy(gopt_runner *r, const char *path, gopt_err *e)
{
    if (r->model)
        return GOPT_OK;
    gopt_hash content;
    GOPT_TRY(gopt_bundle_write(r->own, path, &content, e));
    snprintf(r->path, sizeof r->path, "%s", path);
    gopt_runner_shut(r);
    gopt_plan_free(r->own);
    r->own = NULL;
    return gopt_runner_reopen(r, e);
}

void gopt_runner_shut(gopt_runner *r)
{
    if (r->session)
        gopt_session_free(r->session);
    else
        gopt_engine_free(r->engine);
    gopt_model_close(r->model);
    r->session = NULL;
    r->engine = NULL;
    r->model = NULL;
}

gopt_status gopt_runner_reopen(gopt_runner *r, gopt_err *e)
{
    gopt_runner_shut(r);
    GOPT_TRY(open_session(r, e));
    return bind(r, r->made, e);
}

static void content_of(char hex[33], const gopt_runner *r)
{
    gopt_plan *plan;
    gopt_hash content;
    snprintf(hex, 33, "%s", r->content);
    if (hex[0] || gopt_bundle_read(&plan, r->path, &content, NULL))
        return;
    gopt_plan_free(plan);
    gopt_hash_hex(hex, content);
}

bool gopt_runner_same(const gopt_runner *x, const gopt_runner *y)
{
    char a[33], b[33];
    content_of(a, x);
    content_of(b, y);
    return a[0] && !strcmp(a, b);
}

static gopt_status lend_lane(void *ctx, int lane, gopt_engine **out, gopt_err *e)
{
    (void)e;
    *out = ((gopt_runner *const *)ctx)[lane]->engine;
    return GOPT_OK;
}

static gopt_status open_lane(void *ctx, int lane, gopt_engine **out, gopt_err *e)
{
    GOPT_TRY(gopt_runner_reopen(((gopt_runner *const *)ctx)[lane], e));
    return lend_lane(ctx, lane, out, e);
}

static void close_lane(void *ctx, int lane)
{
    gopt_runner_shut(((gopt_runner *const *)ctx)[lane]);
}

gopt_lane_source gopt_runner_lanes(gopt_runner *const *list, int n)
{
    return (gopt_lane_source){
        .open = n > 1 ? open_lane : lend_lane, .close = n > 1 ? close_lane : NULL, .ctx = (void *)(uintptr_t)list};
}

/* ---- inputs that are given ---- */

typedef struct given {
    const gopt_tensor *tensor;
    const char *const *name;
    int n;
} given;

/* in[k]: the tensor of the k-th of n inputs called `names`. */
static gopt_status match(const gopt_tensor **in, const given *g, const char *const *names, int n, gopt_err *e)
{
    for (int i = 0; i < g->n; i++) {
        int k = 0;
        while (g->name[i] && k < n && strcmp(names[k], g->name[i]) != 0)
            k++;
        if (!g->name[i])
            k = i;
        if (k >= n && g->name[i] && n)
            return gopt_within(e, gopt_unknown(e, "input", g->name[i], names, n), "--input");
        if (k >= n)
            return gopt_fail(e, GOPT_EUSAGE, "--input: more inputs than the model has (%d)", n);
        if (in[k])
            return gopt_fail(e, GOPT_EUSAGE, "--input: input \"%s\" is given twice", names[k]);
        in[k] = &g->tensor[i];
    }
    for (int k = 0; k < n; k++)
        if (!in[k])
            return gopt_fail(e, GOPT_EUSAGE, "input \"%s\" is missing: --input %s=FILE", names[k], names[k]);
    return GOPT_OK;
}

/* Of the graph's inputs, or of the opened model's when graph is NULL. */
static gopt_status match_inputs(gopt_runner *r, const gopt_graph *graph, const given *g, const gopt_tensor ***in,
                                gopt_err *e)
{
    int n = graph ? graph->n_inputs : r->n_inputs;
    const char **names = GOPT_NEW(&r->arena, const char *, n);
    *in = GOPT_NEW(&r->arena, const gopt_tensor *, n);
    if (!names || !*in)
        return gopt_oom(e);
    for (int i = 0; i < n; i++)
        names[i] = graph ? graph->inputs[i]->name : r->inputs[i].name;
    return match(*in, g, names, n, e);
}

static gopt_status open_model_for(gopt_runner *r, const char *path, const gopt_runner_options *o, const given *g,
                                  gopt_err *e)
{
    gopt_graph *graph;
    const gopt_tensor **in;
    GOPT_TRY(gopt_model_import(&graph, path, NULL, e));
    gopt_status s = match_inputs(r, graph, g, &in, e);
    if (!s)
        s = gopt_shape_bind_to(graph, in, e);
    if (s) {
        gopt_graph_free(graph);
        return s;
    }
    GOPT_TRY(compile(r, graph, o, e));
    return bind(r, in, e);
}

gopt_status gopt_runner_open_for(gopt_runner *r, const char *path_given, const gopt_runner_options *o,
                                 const gopt_tensor *tensor, const char *const *name, int n, gopt_err *e)
{
    gopt_subject kind;
    char path[PATH_MAX];
    given g = {.tensor = tensor, .name = name, .n = n};
    const gopt_tensor **in;
    *r = (gopt_runner){0};
    GOPT_TRY(resolve(&kind, path, sizeof path, path_given, e));
    if (kind == GOPT_SUBJECT_MODEL)
        return open_model_for(r, path, o, &g, e);
    GOPT_TRY(open_deployed(r, kind, path, o, e));
    GOPT_TRY(match_inputs(r, NULL, &g, &in, e));
    return bind(r, in, e);
}

void gopt_runner_close(gopt_runner *r)
{
    gopt_runner_shut(r);
    gopt_plan_free(r->own);
    gopt_arena_fini(&r->arena);
    *r = (gopt_runner){0};
}
