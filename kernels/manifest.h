/* manifest.h: the decision as YAML: what a deployment runs and what it was promised. Deterministic text: same decision,
 * same bytes. Read all or nothing, errors with line numbers; the last line is a hash over all lines before it. */
#ifndef GOPT_MANIFEST_H
#define GOPT_MANIFEST_H

#include "base/arena.h"
#include "base/err.h"

typedef struct gopt_manifest_figure { /* a measured figure with its 95 % interval; NAN: unknown */
    double value, lo, hi;
} gopt_manifest_figure;

typedef struct gopt_manifest_setting {
    const char *name, *value; /* "fuse_chain.max_ops", "16" */
} gopt_manifest_setting;

/* One compiled configuration. */
typedef struct gopt_manifest_choice {
    int trial;
    const char *const *pipeline; /* passes, in order */
    int n_pipeline;
    const gopt_manifest_setting *knobs; /* all that differ from the baseline */
    int n_knobs;
    const char *bundle;      /* path relative to the manifest */
    const char *bundle_hash; /* hex, of the bundle's content */
    int threads;
    gopt_manifest_figure latency_ns, speedup;
    int64_t samples, peak_bytes, compile_ns;
    double break_even_requests; /* NAN: never */
} gopt_manifest_choice;

typedef struct gopt_manifest_dim {
    const char *name;
    int64_t lo, hi;
} gopt_manifest_dim;

typedef struct gopt_manifest_cluster {
    const char *id;
    const gopt_manifest_dim *dims; /* bounds of the symbolic dimensions; none for a model without any */
    int n_dims;
    double weight;
    gopt_manifest_choice chosen, fallback; /* fallback: the default */
    const char *reason;
} gopt_manifest_cluster;

typedef struct gopt_manifest {
    gopt_arena arena; /* of all that was read; a manifest made for writing may leave it empty */
    const char *tool_version;
    const char *model_path, *model_sha256;
    const char *device_name, *device_fingerprint;
    const char *objective, *verdict;
    const char *regime; /* how it was measured: "steady, warm caches, one session" */
    int64_t seed;
    double noise_floor;
    const gopt_manifest_cluster *clusters;
    int n_clusters;
} gopt_manifest;

gopt_status gopt_manifest_write(const gopt_manifest *m, const char *path, gopt_err *e); /* atomically */
gopt_status gopt_manifest_read(gopt_manifest **out, const char *path, gopt_err *e); /* EINPUT: "PATH: line 7: ..." */
void gopt_manifest_free(gopt_manifest *m);
/* Where a file is that a manifest names: relative to the manifest's own folder, unless absolute. Into buf, returned. */
const char *gopt_manifest_path(char *buf, size_t size, const char *manifest, const char *named);

#endif
