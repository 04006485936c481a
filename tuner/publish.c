/* publish.c: manifest and summary from findings. */
#include "publish.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bundle.h"
#include "manifest.h"

static gopt_status bundle_of(const gopt_study *s, int trial, const char *dir, gopt_arena *a, gopt_manifest_choice *out,
                             gopt_err *e)
{
    char path[1200], hex[33];
    gopt_plan *plan;
    gopt_hash content;
    if (!s->trials[trial].bundle)
        return gopt_fail(e, GOPT_EBUG, "trial %d has no bundle", trial);
    out->bundle = gopt_arena_printf(a, "bundles/%s", s->trials[trial].bundle);
    snprintf(path, sizeof path, "%s/bundles/%s", dir, s->trials[trial].bundle);
    GOPT_TRY(gopt_bundle_read(&plan, path, &content, e));
    out->threads = plan->target.threads;
    gopt_plan_free(plan);
    out->bundle_hash = gopt_arena_str(a, gopt_hash_hex(hex, content));
    return out->bundle && out->bundle_hash ? GOPT_OK : gopt_oom(e);
}

/* Every knob whose value is not the baseline's, as the table prints it. */
static gopt_status knobs_of(const gopt_config *c, gopt_arena *a, gopt_manifest_choice *out, gopt_err *e)
{
    gopt_manifest_setting *list = GOPT_NEW(a, gopt_manifest_setting, gopt_setting_count());
    gopt_config plain;
    gopt_config_baseline(&plain);
    for (int i = 0; list && i < gopt_setting_count(); i++) {
        const gopt_setting *s = gopt_setting_at(i);
        if (s->is_switch ? c->v[i] == plain.v[i] : c->v[i] == s->knob->init && strcmp(s->name, "engine.threads") != 0)
            continue;
        gopt_text t = {0};
        gopt_knob_print(s->knob, c->v[i], &t);
        list[out->n_knobs++] = (gopt_manifest_setting){.name = s->name, .value = gopt_arena_str(a, gopt_text_str(&t))};
        gopt_text_fini(&t);
    }
    out->knobs = list;
    return a->failed ? gopt_oom(e) : GOPT_OK;
}

static double known(int64_t v)
{
    return v == GOPT_UNKNOWN ? NAN : (double)v;
}

static gopt_status choice(const gopt_finding_cluster *c, int trial, const gopt_study *s, const char *dir, gopt_arena *a,
                          gopt_manifest_choice *out, gopt_err *e)
{
    const gopt_finding_trial *t = gopt_finding_trial_find(c, trial);
    *out = (gopt_manifest_choice){.trial = trial, .pipeline = t->pipeline, .n_pipeline = t->n_pipeline};
    out->latency_ns = (gopt_manifest_figure){known(t->latency.median), known(t->latency.lo), known(t->latency.hi)};
    out->speedup = (gopt_manifest_figure){t->speedup.value, t->speedup.lo, t->speedup.hi};
    out->samples = t->latency.samples;
    out->peak_bytes = t->memory.peak;
    out->compile_ns = t->compile.total;
    out->break_even_requests = t->break_even_requests;
    GOPT_TRY(knobs_of(&s->trials[trial].config, a, out, e));
    return bundle_of(s, trial, dir, a, out, e);
}

static gopt_status cluster(const gopt_finding_cluster *c, const gopt_study *s, const char *dir, gopt_arena *a,
                           gopt_manifest_cluster *out, gopt_err *e)
{
    gopt_manifest_dim *dims = GOPT_NEW(a, gopt_manifest_dim, c->n_bounds);
    if (!dims)
        return gopt_oom(e);
    for (int i = 0; i < c->n_bounds; i++)
        dims[i] = (gopt_manifest_dim){.name = c->bounds[i].dim, .lo = c->bounds[i].lo, .hi = c->bounds[i].hi};
    *out = (gopt_manifest_cluster){
        .id = c->id, .dims = dims, .n_dims = c->n_bounds, .weight = c->weight, .reason = c->reason};
    GOPT_TRY(choice(c, c->chosen_trial, s, dir, a, &out->chosen, e));
    return choice(c, c->default_trial, s, dir, a, &out->fallback, e);
}

gopt_status gopt_publish_manifest(const gopt_findings *f, const gopt_study *s, const char *dir, gopt_err *e)
{
    char path[1200];
    gopt_arena a = {0};
    gopt_manifest_cluster *clusters = GOPT_NEW(&a, gopt_manifest_cluster, f->n_clusters);
    gopt_status status = clusters ? GOPT_OK : gopt_oom(e);
    for (int i = 0; !status && i < f->n_clusters; i++)
        status = cluster(&f->clusters[i], s, dir, &a, &clusters[i], e);
    gopt_manifest m = {.tool_version = f->tool_version,
                       .model_path = f->model.path,
                       .model_sha256 = f->model.sha256,
                       .device_name = f->device.name,
                       .device_fingerprint = f->device.fingerprint,
                       .objective = f->settings.objective,
                       .verdict = f->verdict.result,
                       .regime = f->regime,
                       .seed = f->seed,
                       .noise_floor = f->noise.floor,
                       .clusters = clusters,
                       .n_clusters = f->n_clusters};
    snprintf(path, sizeof path, "%s/manifest.yaml", dir);
    if (!status)
        status = gopt_manifest_write(&m, path, e);
    gopt_arena_fini(&a);
    return status;
}

static void put_trust(const gopt_finding_noise *n, gopt_text *out)
{
    if (!n->unquiet)
        return;
    gopt_text_put(out, "trust: little, measured on a disturbed machine: rerun when it is quiet");
    if (n->rounds > 0)
        gopt_text_add(out, " (%lld of %lld rounds disturbed", (long long)n->rounds_flagged, (long long)n->rounds);
    if (n->rounds > 0 && isfinite(n->others))
        gopt_text_add(out, ", other processes took %.0f %% of the processors' time", 100 * n->others);
    gopt_text_put(out, n->rounds > 0 ? ")\n" : "\n");
}

void gopt_publish_summary(const gopt_findings *f, const char *dir, gopt_text *out)
{
    char a[32], b[32], c[32];
    for (int i = 0; i < f->n_clusters; i++) {
        const gopt_finding_cluster *k = &f->clusters[i];
        const gopt_finding_trial *t = gopt_finding_trial_find(k, k->chosen_trial);
        const gopt_finding_trial *base = gopt_finding_trial_find(k, k->baseline_trial);
        if (!t || !base)
            continue;
        gopt_text_add(out, "%s: trial %d, %.2fx the baseline [%.2f, %.2f]: %s instead of %s, peak memory %s; %s\n",
                      k->what_if                            ? "a what-if, would be chosen"
                      : k->chosen_trial == k->default_trial ? "default kept"
                                                            : "chosen",
                      t->id, t->speedup.value, t->speedup.lo, t->speedup.hi, gopt_text_ns(a, known(t->latency.median)),
                      gopt_text_ns(b, known(base->latency.median)), gopt_text_bytes(c, known(t->memory.peak)),
                      k->reason);
        if (k->remedy)
            gopt_text_add(out, "to get it, with the whole budget spent again: %s\n", k->remedy);
    }
    put_trust(&f->noise, out);
    gopt_text_add(out, "%s/report.html  report.txt  manifest.yaml  findings.json  study.db  bundles/  plots/\n", dir);
}
