/* origin.c: manifests name models, and lie where their bundles are. */
#include "origin.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "manifest.h"

static bool names(const gopt_manifest *m, const char *bundle)
{
    for (int i = 0; i < m->n_clusters; i++)
        if (!strcmp(m->clusters[i].chosen.bundle, bundle) || !strcmp(m->clusters[i].fallback.bundle, bundle))
            return true;
    return false;
}

/* bundle: as the manifest names it; NULL: any. */
static bool find(char *buf, size_t size, const char *manifest, const char *bundle)
{
    gopt_manifest *m;
    if (gopt_manifest_read(&m, manifest, NULL))
        return false;
    bool found = m->model_path && (!bundle || names(m, bundle));
    if (found)
        gopt_manifest_path(buf, size, manifest, m->model_path);
    gopt_manifest_free(m);
    return found;
}

bool gopt_origin_of_manifest(char *buf, size_t size, const char *manifest)
{
    return find(buf, size, manifest, NULL);
}

bool gopt_origin_of_bundle(char *buf, size_t size, const char *bundle)
{
    char manifest[PATH_MAX + 32], named[PATH_MAX];
    const char *slash = strrchr(bundle, '/');
    int folder = slash ? (int)(slash + 1 - bundle) : 0;
    snprintf(manifest, sizeof manifest, "%.*s../manifest.yaml", folder, bundle);
    snprintf(named, sizeof named, "bundles/%s", bundle + folder);
    return find(buf, size, manifest, named);
}
