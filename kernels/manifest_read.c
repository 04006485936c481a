/* manifest_read.c: text to decision, all or nothing. The first thing that is wrong is kept, with its line. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/yaml.h"
#include "manifest.h"
#include "manifest_fields.h"

typedef struct reader {
    yaml_document_t document;
    gopt_manifest *m;
    gopt_status status; /* sticky */
    gopt_err *e;
} reader;

static GOPT_PRINTF(3, 4) void refuse(reader *r, const yaml_node_t *at, const char *fmt, ...)
{
    char cause[256];
    va_list args;
    if (r->status)
        return;
    va_start(args, fmt);
    vsnprintf(cause, sizeof cause, fmt, args);
    va_end(args);
    r->status = gopt_fail(r->e, GOPT_EINPUT, "line %zu: %s", at ? at->start_mark.line + 1 : 1, cause);
}

static void *check(reader *r, void *p)
{
    if (!p && !r->status)
        r->status = gopt_oom(r->e);
    return p;
}

static const yaml_node_t *node(reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

static const char *scalar(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* An unquoted null. */
static bool is_null(const yaml_node_t *n)
{
    const char *s = scalar(n);
    return s && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (!strcmp(s, "null") || !strcmp(s, "~") || !*s);
}

static const yaml_node_t *find(reader *r, const yaml_node_t *map, const char *key)
{
    if (r->status)
        return NULL;
    if (!map || map->type != YAML_MAPPING_NODE) {
        refuse(r, map, "a mapping with the key '%s' expected", key);
        return NULL;
    }
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
        const char *name = scalar(node(r, p->key));
        if (name && !strcmp(name, key))
            return node(r, p->value);
    }
    refuse(r, map, "the key '%s' is missing", key);
    return NULL;
}

static const yaml_node_t *find_kind(reader *r, const yaml_node_t *map, const char *key, yaml_node_type_t kind)
{
    const yaml_node_t *n = find(r, map, key);
    if (n && n->type == kind)
        return n;
    refuse(r, n, "%s: a %s expected", key, kind == YAML_SEQUENCE_NODE ? "list" : "mapping");
    return NULL;
}

/* ---- scalars ---- */

static const char *read_text(reader *r, const yaml_node_t *n, const char *key)
{
    const char *s = scalar(n);
    if (is_null(n))
        return NULL;
    if (!s || strlen(s) != n->data.scalar.length) {
        refuse(r, n, "%s: text expected", key);
        return NULL;
    }
    return check(r, gopt_arena_str(&r->m->arena, s));
}

static int64_t read_int(reader *r, const yaml_node_t *n, const char *key, int64_t lo, int64_t hi)
{
    const char *s = scalar(n);
    char *end = NULL;
    errno = 0;
    int64_t v = s ? strtoll(s, &end, 10) : 0;
    if (!s || end == s || *end || errno)
        refuse(r, n, "%s: a whole number expected", key);
    else if (v < lo || v > hi)
        refuse(r, n, "%s: %s is out of range: %lld to %lld", key, s, (long long)lo, (long long)hi);
    return v;
}

static double read_number(reader *r, const yaml_node_t *n, const char *key)
{
    const char *s = scalar(n);
    char *end = NULL;
    if (is_null(n))
        return NAN;
    double v = s ? strtod(s, &end) : NAN;
    if (!s || end == s || *end || !isfinite(v))
        refuse(r, n, "%s: a number or null expected", key);
    return v;
}

/* ---- mappings ---- */

static void read_fields(reader *r, const yaml_node_t *map, const gopt_field *fields, void *object)
{
    for (const gopt_field *f = fields; f->name; f++) {
        void *at = (char *)object + f->offset;
        const yaml_node_t *n = find(r, map, f->name);
        if (r->status)
            return;
        switch (f->kind) {
        case GOPT_FIELD_TEXT:
            *(const char **)at = read_text(r, n, f->name);
            break;
        case GOPT_FIELD_INT:
            *(int *)at = (int)read_int(r, n, f->name, INT_MIN, INT_MAX);
            break;
        case GOPT_FIELD_THREADS:
            *(int *)at = (int)read_int(r, n, f->name, 0, GOPT_POOL_MOST);
            break;
        case GOPT_FIELD_LONG:
            *(int64_t *)at = read_int(r, n, f->name, INT64_MIN, INT64_MAX);
            break;
        case GOPT_FIELD_NUMBER:
            *(double *)at = read_number(r, n, f->name);
            break;
        case GOPT_FIELD_FIGURE:
            read_fields(r, n, gopt_figure_fields, at);
            break;
        }
    }
}

static int length(const yaml_node_t *list)
{
    return (int)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static const yaml_node_t *element(reader *r, const yaml_node_t *list, int i)
{
    return node(r, list->data.sequence.items.start[i]);
}

static void read_pipeline(reader *r, const yaml_node_t *map, gopt_manifest_choice *c)
{
    const yaml_node_t *list = find_kind(r, map, "pipeline", YAML_SEQUENCE_NODE);
    const char **names = list ? check(r, GOPT_NEW(&r->m->arena, const char *, length(list))) : NULL;
    for (int i = 0; names && !r->status && i < length(list); i++)
        if (!(names[i] = read_text(r, element(r, list, i), "pipeline")))
            refuse(r, element(r, list, i), "pipeline: the name of a pass expected");
    c->pipeline = names;
    c->n_pipeline = names ? length(list) : 0;
}

static void read_knobs(reader *r, const yaml_node_t *map, gopt_manifest_choice *c)
{
    const yaml_node_t *knobs = find_kind(r, map, "knobs", YAML_MAPPING_NODE);
    if (!knobs)
        return;
    const yaml_node_pair_t *pair = knobs->data.mapping.pairs.start;
    c->n_knobs = (int)(knobs->data.mapping.pairs.top - pair);
    gopt_manifest_setting *s = check(r, GOPT_NEW(&r->m->arena, gopt_manifest_setting, c->n_knobs));
    c->knobs = s;
    for (int i = 0; s && !r->status && i < c->n_knobs; i++) {
        s[i].name = read_text(r, node(r, pair[i].key), "knobs");
        s[i].value = read_text(r, node(r, pair[i].value), "knobs");
        if (!s[i].name || !s[i].value)
            refuse(r, node(r, pair[i].key), "knobs: name and value expected");
    }
}

static void read_choice(reader *r, const yaml_node_t *cluster, const char *name, gopt_manifest_choice *c)
{
    const yaml_node_t *map = find_kind(r, cluster, name, YAML_MAPPING_NODE);
    read_fields(r, map, gopt_choice_fields, c);
    read_pipeline(r, map, c);
    read_knobs(r, map, c);
    if (!r->status && (!c->bundle || !c->bundle_hash))
        refuse(r, map, "%s: its bundle and the bundle's hash expected", name);
}

static void read_dims(reader *r, const yaml_node_t *map, gopt_manifest_cluster *c)
{
    const yaml_node_t *list = find_kind(r, map, "dims", YAML_SEQUENCE_NODE);
    gopt_manifest_dim *d = list ? check(r, GOPT_NEW(&r->m->arena, gopt_manifest_dim, length(list))) : NULL;
    for (int i = 0; d && !r->status && i < length(list); i++)
        read_fields(r, element(r, list, i), gopt_dim_fields, &d[i]);
    c->dims = d;
    c->n_dims = d ? length(list) : 0;
}

static void read_clusters(reader *r, const yaml_node_t *root)
{
    const yaml_node_t *list = find_kind(r, root, "clusters", YAML_SEQUENCE_NODE);
    gopt_manifest_cluster *c = list ? check(r, GOPT_NEW(&r->m->arena, gopt_manifest_cluster, length(list))) : NULL;
    for (int i = 0; c && !r->status && i < length(list); i++) {
        const yaml_node_t *map = element(r, list, i);
        read_fields(r, map, gopt_cluster_fields, &c[i]);
        read_dims(r, map, &c[i]);
        read_choice(r, map, "chosen", &c[i].chosen);
        read_choice(r, map, "fallback", &c[i].fallback);
    }
    r->m->clusters = c;
    r->m->n_clusters = c ? length(list) : 0;
}

/* The seal is the last line of the file; what it must say follows from the bytes before it. */
static void check_seal(reader *r, const yaml_node_t *root, const gopt_mapping *file)
{
    char hex[GOPT_MANIFEST_HASH_DIGITS + 1], line[sizeof hex + sizeof GOPT_MANIFEST_SEAL + 8];
    const yaml_node_t *seal = find(r, root, GOPT_MANIFEST_SEAL);
    const char *claimed = scalar(seal);
    if (r->status)
        return;
    size_t n = (size_t)snprintf(line, sizeof line, "%s: \"%.*s\"\n", GOPT_MANIFEST_SEAL, GOPT_MANIFEST_HASH_DIGITS,
                                claimed ? claimed : "");
    if (n > file->bytes || memcmp(file->data + file->bytes - n, line, n) != 0) {
        refuse(r, seal, "'%s' is not the last line as gopt-tune wrote it", GOPT_MANIFEST_SEAL);
        return;
    }
    gopt_hash_hex(hex, gopt_hash_bytes(file->data, file->bytes - n));
    if (strcmp(hex, claimed))
        refuse(r, seal,
               "the lines above were changed after gopt-tune wrote them (their hash is %s, this line says %s); "
               "decide again with gopt report, or tune again",
               hex, claimed);
}

static void read_document(reader *r, const gopt_mapping *file)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (!root || root->type != YAML_MAPPING_NODE) {
        refuse(r, root, "not a manifest: a mapping that begins with '%s' expected", GOPT_MANIFEST_MAGIC);
        return;
    }
    const yaml_node_t *magic = find(r, root, GOPT_MANIFEST_MAGIC);
    if (magic && read_int(r, magic, GOPT_MANIFEST_MAGIC, 1, INT_MAX) != GOPT_MANIFEST_VERSION && !r->status)
        r->status = gopt_fail(r->e, GOPT_EUNSUP, "manifest format %s, this version reads %d; tune again", scalar(magic),
                              GOPT_MANIFEST_VERSION);
    read_fields(r, root, gopt_manifest_fields, r->m);
    read_clusters(r, root);
    check_seal(r, root, file);
}

static gopt_status parse(gopt_manifest *m, const gopt_mapping *file, gopt_err *e)
{
    yaml_parser_t parser;
    reader r = {.m = m, .e = e};
    GOPT_TRY(gopt_yaml_check(file->data, file->bytes, e));
    if (!yaml_parser_initialize(&parser))
        return gopt_oom(e);
    yaml_parser_set_input_string(&parser, file->data, file->bytes);
    if (!yaml_parser_load(&parser, &r.document)) {
        r.status = parser.error == YAML_MEMORY_ERROR
                       ? gopt_oom(e)
                       : gopt_fail(e, GOPT_EINPUT, "line %zu: not YAML: %s", parser.problem_mark.line + 1,
                                   parser.problem ? parser.problem : "malformed");
    } else {
        read_document(&r, file);
        yaml_document_delete(&r.document);
    }
    yaml_parser_delete(&parser);
    return r.status;
}

gopt_status gopt_manifest_read(gopt_manifest **out, const char *path, gopt_err *e)
{
    gopt_mapping file;
    *out = NULL;
    GOPT_TRY(gopt_file_map(&file, path, e));
    gopt_manifest *m = gopt_calloc(1, sizeof *m);
    gopt_status s = m ? parse(m, &file, e) : gopt_oom(e);
    gopt_file_unmap(&file);
    if (s) {
        gopt_manifest_free(m);
        return gopt_within(e, s, "%s", path);
    }
    *out = m;
    return GOPT_OK;
}
