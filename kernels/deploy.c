/* deploy.c: gopt.h on top of manifests, bundles and engines. A model is one plan that its sessions share; each session
 * has an engine of its own. */
#include "deploy.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bundle.h"
#include "bundle_format.h"
#include "manifest.h"

struct gopt_model {
    gopt_plan *plan;
    int threads;
    bool fell_back;
    gopt_err why; /* the chosen bundle was not opened; empty when it was */
    atomic_uint_fast64_t runs, refused;
};

struct gopt_session {
    gopt_model *model;
    gopt_engine *engine;
};

/* ---- opening ---- */

/* A manifest may name only what lies in its own folder or below. */
static bool is_below(const char *named)
{
    if (named[0] == '/')
        return false;
    for (const char *p = named; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
            return false;
    }
    return true;
}

static gopt_status open_choice(gopt_model *m, const char *manifest, const gopt_manifest_choice *c, gopt_err *e)
{
    char path[PATH_MAX], hex[33];
    gopt_hash content;
    if (!is_below(c->bundle))
        return gopt_fail(e, GOPT_EINPUT, "%s: bundle %s: not below the manifest's folder", manifest, c->bundle);
    gopt_manifest_path(path, sizeof path, manifest, c->bundle);
    if (!gopt_file_exists(path))
        return gopt_fail(e, GOPT_EINPUT, "%.350s: no such file; bundles/ must lie beside its manifest", path);
    GOPT_TRY(gopt_bundle_read(&m->plan, path, &content, e));
    m->threads = c->threads;
    if (!strcmp(gopt_hash_hex(hex, content), c->bundle_hash))
        return GOPT_OK;
    gopt_plan_free(m->plan);
    m->plan = NULL;
    return gopt_fail(e, GOPT_EINPUT, "%s: its hash is %s, the manifest asks for %.40s", path, hex, c->bundle_hash);
}

static gopt_status open_cluster(gopt_model *m, const char *path, const gopt_manifest_cluster *c, gopt_err *e)
{
    gopt_status s = open_choice(m, path, &c->chosen, &m->why);
    if (!s)
        return GOPT_OK;
    if (s == GOPT_ENOMEM || !strcmp(c->chosen.bundle_hash, c->fallback.bundle_hash))
        return gopt_fail(e, s, "%s", m->why.msg);
    m->fell_back = true;
    gopt_err second;
    if (!open_choice(m, path, &c->fallback, &second))
        return GOPT_OK;
    return gopt_fail(e, s, "%.400s; nor is there a fallback: %.400s", m->why.msg, second.msg);
}

static gopt_status open_manifest(gopt_model *m, const char *path, gopt_err *e)
{
    gopt_manifest *manifest;
    GOPT_TRY(gopt_manifest_read(&manifest, path, e));
    gopt_status s = manifest->n_clusters ? open_cluster(m, path, &manifest->clusters[0], e)
                                         : gopt_fail(e, GOPT_EINPUT, "%s: it decides nothing: no cluster in it", path);
    gopt_manifest_free(manifest);
    return s;
}

static bool is_bundle(const gopt_mapping *file)
{
    return file->bytes >= strlen(GOPT_BUNDLE_MAGIC) &&
           !memcmp(file->data, GOPT_BUNDLE_MAGIC, strlen(GOPT_BUNDLE_MAGIC));
}

static gopt_status open_path(gopt_model *m, const char *path, gopt_err *e)
{
    gopt_mapping file;
    GOPT_TRY(gopt_file_map(&file, path, e));
    bool bundle = is_bundle(&file);
    gopt_file_unmap(&file);
    return bundle ? gopt_bundle_read(&m->plan, path, NULL, e) : open_manifest(m, path, e);
}

gopt_status gopt_model_open(gopt_model **out, const char *path, const gopt_options *options, gopt_err *e)
{
    *out = NULL;
    gopt_model *m = gopt_calloc(1, sizeof *m);
    if (!m)
        return gopt_oom(e);
    gopt_status s = open_path(m, path, e);
    if (s) {
        gopt_free(m);
        return s;
    }
    if (options && options->threads > 0)
        m->threads = options->threads;
    *out = m;
    return GOPT_OK;
}

void gopt_model_close(gopt_model *m)
{
    if (!m)
        return;
    gopt_plan_free(m->plan);
    gopt_free(m);
}

int gopt_model_inputs(const gopt_model *m, const gopt_port **ports)
{
    if (ports)
        *ports = m->plan->ports;
    return m->plan->n_inputs;
}

int gopt_model_outputs(const gopt_model *m, const gopt_port **ports)
{
    if (ports)
        *ports = m->plan->ports + m->plan->n_inputs;
    return m->plan->n_outputs;
}

void gopt_model_usage(const gopt_model *m, gopt_usage *out)
{
    uint64_t runs = atomic_load_explicit(&m->runs, memory_order_relaxed);
    *out = (gopt_usage){.runs = runs,
                        .fallbacks = m->fell_back ? runs : 0,
                        .refused = atomic_load_explicit(&m->refused, memory_order_relaxed),
                        .notice = m->fell_back ? m->why.msg : NULL};
}

/* ---- running ---- */

gopt_status gopt_session_new(gopt_session **out, gopt_model *m, gopt_err *e)
{
    *out = NULL;
    gopt_session *s = gopt_calloc(1, sizeof *s);
    if (!s)
        return gopt_oom(e);
    s->model = m;
    gopt_status status = gopt_engine_new(&s->engine, m->plan, m->threads, e);
    if (status) {
        gopt_free(s);
        return status;
    }
    *out = s;
    return GOPT_OK;
}

void gopt_session_free(gopt_session *s)
{
    if (!s)
        return;
    gopt_engine_free(s->engine);
    gopt_free(s);
}

gopt_status gopt_session_bind(gopt_session *s, int input, const gopt_tensor *t, gopt_err *e)
{
    gopt_status status =
        t ? gopt_engine_bind(s->engine, input, t, e) : gopt_fail(e, GOPT_EUSAGE, "input %d: no tensor given", input);
    if (status == GOPT_EINPUT)
        atomic_fetch_add_explicit(&s->model->refused, 1, memory_order_relaxed);
    return status;
}

gopt_status gopt_session_run(gopt_session *s, gopt_err *e)
{
    gopt_status status = gopt_engine_run(s->engine, 0, e);
    if (!status)
        atomic_fetch_add_explicit(&s->model->runs, 1, memory_order_relaxed);
    return status;
}

const gopt_tensor *gopt_session_output(const gopt_session *s, int output)
{
    return gopt_engine_output(s->engine, output);
}

gopt_engine *gopt_session_engine(gopt_session *s)
{
    return s->engine;
}
