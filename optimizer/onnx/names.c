/* names.c: what names stand for, and names for what has none. */
#include <string.h>

#include "onnx/importer.h"

static gopt_value absent; /* stands for inputs that a caller left out */

const char *gopt_onnx_domain(const char *domain)
{
    return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

int64_t gopt_onnx_version(const gopt_onnx_frame *f, const char *domain)
{
    int64_t version = 0;
    for (size_t i = 0; i < f->n_opset; i++) /* some files list a domain several times: the newest counts */
        if (!strcmp(gopt_onnx_domain(f->opset[i]->domain), domain))
            version = GOPT_MAX(version, f->opset[i]->version);
    return version == 0 && f->model ? gopt_onnx_version(f->model, domain) : version;
}

gopt_status gopt_onnx_define(gopt_onnx_scope *s, const char *name, gopt_value *v, gopt_err *e)
{
    if (gopt_name_map_add(&s->names, name, v))
        return GOPT_OK;
    return s->names.failed ? gopt_oom(e) : gopt_fail(e, GOPT_EINPUT, "\"%.100s\" is defined twice", name);
}

gopt_status gopt_onnx_define_absent(gopt_onnx_scope *s, const char *name, gopt_err *e)
{
    return gopt_onnx_define(s, name, &absent, e);
}

gopt_status gopt_onnx_find(const gopt_onnx_scope *s, const char *name, gopt_value **out, gopt_err *e)
{
    gopt_value *v = NULL;
    *out = NULL;
    if (!*name)
        return GOPT_OK;
    for (; s && !v; s = s->outer)
        v = gopt_name_map_find(&s->names, name);
    if (!v)
        return gopt_fail(e, GOPT_EINPUT, "\"%.100s\" is not defined", name);
    *out = v == &absent ? NULL : v;
    return GOPT_OK;
}

/* Adds name to the map, with a number behind it where it is taken. Ids only grow, so the first number is nearly always
 * free. */
static const char *first_free(gopt_onnx_importer *x, gopt_name_map *map, const char *name)
{
    gopt_arena *a = &x->family->arena;
    const char *candidate = gopt_arena_str(a, name);
    for (int i = x->family->next_id; candidate; i++) {
        if (gopt_name_map_add(map, candidate, NULL))
            return candidate;
        if (map->failed)
            a->failed = true;
        candidate = gopt_arena_printf(a, "%s_%d", name, i);
    }
    return NULL;
}

const char *gopt_onnx_value_name(gopt_onnx_importer *x, const gopt_onnx_frame *f, const char *name)
{
    const char *full = gopt_arena_printf(&x->scratch, "%s%s", f->prefix, name);
    return full ? first_free(x, &x->values, full) : NULL;
}

const char *gopt_onnx_node_name(gopt_onnx_importer *x, const gopt_onnx_frame *f, const char *name, const char *op,
                                int origin)
{
    gopt_arena *a = &x->family->arena;
    if (name && *name) {
        const char *full = gopt_arena_printf(a, "%s%s", f->prefix, name);
        if (!full || gopt_name_map_add(&x->nodes, full, NULL))
            return full;
    }
    const char *made = gopt_arena_printf(a, "%s%s_%d", f->prefix, op, origin);
    while (made && (gopt_name_map_find(&x->file_nodes, made) || !gopt_name_map_add(&x->nodes, made, NULL))) {
        if (x->nodes.failed)
            return NULL;
        made = gopt_arena_printf(a, "%s_", made);
    }
    return made;
}

const char *gopt_onnx_added_name(gopt_onnx_importer *x, const char *node, const char *what)
{
    const char *full = gopt_arena_printf(&x->scratch, "%s/%s", node, what);
    return full ? first_free(x, &x->nodes, full) : NULL;
}

void gopt_onnx_scope_fini(gopt_onnx_scope *s)
{
    gopt_name_map_fini(&s->names);
    gopt_name_map_fini(&s->constants);
    gopt_name_map_fini(&s->results);
    gopt_name_map_fini(&s->hints);
}
