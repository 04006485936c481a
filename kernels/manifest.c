/* manifest.c: the decision as text. Plain scalars where YAML reads them as the very text, double quotes elsewhere. */
#include "manifest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "manifest_fields.h"

#define FIELD(struct_name, kind, member)                                                                               \
    {                                                                                                                  \
#member, GOPT_FIELD_##kind, offsetof(struct_name, member)                                                      \
    }

const gopt_field gopt_manifest_fields[] = {FIELD(gopt_manifest, TEXT, tool_version),
                                           FIELD(gopt_manifest, TEXT, model_path),
                                           FIELD(gopt_manifest, TEXT, model_sha256),
                                           FIELD(gopt_manifest, TEXT, device_name),
                                           FIELD(gopt_manifest, TEXT, device_fingerprint),
                                           FIELD(gopt_manifest, TEXT, objective),
                                           FIELD(gopt_manifest, TEXT, verdict),
                                           FIELD(gopt_manifest, TEXT, regime),
                                           FIELD(gopt_manifest, LONG, seed),
                                           FIELD(gopt_manifest, NUMBER, noise_floor),
                                           {0}};

const gopt_field gopt_cluster_fields[] = {FIELD(gopt_manifest_cluster, TEXT, id),
                                          FIELD(gopt_manifest_cluster, NUMBER, weight),
                                          FIELD(gopt_manifest_cluster, TEXT, reason),
                                          {0}};

const gopt_field gopt_choice_fields[] = {FIELD(gopt_manifest_choice, INT, trial),
                                         FIELD(gopt_manifest_choice, TEXT, bundle),
                                         FIELD(gopt_manifest_choice, TEXT, bundle_hash),
                                         FIELD(gopt_manifest_choice, THREADS, threads),
                                         FIELD(gopt_manifest_choice, FIGURE, latency_ns),
                                         FIELD(gopt_manifest_choice, FIGURE, speedup),
                                         FIELD(gopt_manifest_choice, LONG, samples),
                                         FIELD(gopt_manifest_choice, LONG, peak_bytes),
                                         FIELD(gopt_manifest_choice, LONG, compile_ns),
                                         FIELD(gopt_manifest_choice, NUMBER, break_even_requests),
                                         {0}};

const gopt_field gopt_dim_fields[] = {
    FIELD(gopt_manifest_dim, TEXT, name), FIELD(gopt_manifest_dim, LONG, lo), FIELD(gopt_manifest_dim, LONG, hi), {0}};

const gopt_field gopt_figure_fields[] = {FIELD(gopt_manifest_figure, NUMBER, value),
                                         FIELD(gopt_manifest_figure, NUMBER, lo),
                                         FIELD(gopt_manifest_figure, NUMBER, hi),
                                         {0}};

/* ---- scalars ---- */

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_./-", c);
}

/* Safe without quotes: a word that YAML 1.1 and 1.2 both take for text. */
static bool is_plain(const char *s)
{
    static const char *const special[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    for (int i = 0; i < GOPT_COUNT(special); i++)
        if (!strcasecmp(s, special[i]))
            return false;
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || *s == '/'))
        return false;
    while (*s && is_word_char(*s))
        s++;
    return !*s;
}

/* Bytes that are no UTF-8 cannot be part of a YAML file: '?' stands for them. */
static void put_quoted(gopt_text *t, const char *s)
{
    gopt_text_put(t, "\"");
    for (const char *p = s; *p;) {
        size_t n = gopt_utf8_length(p);
        if (*p == '"' || *p == '\\')
            gopt_text_add(t, "\\%c", *p);
        else if (n)
            gopt_text_putn(t, p, n);
        else if ((unsigned char)*p < 0x80)
            gopt_text_add(t, "\\x%02X", (unsigned)*p);
        else
            gopt_text_put(t, "?");
        p += n ? n : 1;
    }
    gopt_text_put(t, "\"");
}

static void put_string(gopt_text *t, const char *s)
{
    if (!s)
        gopt_text_put(t, "null");
    else if (is_plain(s))
        gopt_text_put(t, s);
    else
        put_quoted(t, s);
}

/* The shortest text that reads back as the same number. */
static void put_number(gopt_text *t, double v)
{
    char buf[40];
    if (!isfinite(v)) {
        gopt_text_put(t, "null");
        return;
    }
    bool is_whole = fabs(v) < 1e15 && v == floor(v);
    snprintf(buf, sizeof buf, "%.0f", v);
    for (int digits = 6; !is_whole && digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    gopt_text_put(t, buf);
}

/* ---- mappings ---- */

static void put_flow(gopt_text *t, const gopt_field *fields, const void *object);

static void put_value(gopt_text *t, const gopt_field *f, const void *object)
{
    const char *at = (const char *)object + f->offset;
    switch (f->kind) {
    case GOPT_FIELD_TEXT:
        put_string(t, *(const char *const *)(const void *)at);
        break;
    case GOPT_FIELD_INT:
    case GOPT_FIELD_THREADS:
        gopt_text_add(t, "%d", *(const int *)(const void *)at);
        break;
    case GOPT_FIELD_LONG:
        gopt_text_add(t, "%" PRId64, *(const int64_t *)(const void *)at);
        break;
    case GOPT_FIELD_NUMBER:
        put_number(t, *(const double *)(const void *)at);
        break;
    case GOPT_FIELD_FIGURE:
        put_flow(t, gopt_figure_fields, at);
        break;
    }
}

/* {name: batch, lo: 1, hi: 8} */
static void put_flow(gopt_text *t, const gopt_field *fields, const void *object)
{
    for (const gopt_field *f = fields; f->name; f++) {
        gopt_text_add(t, "%s%s: ", f == fields ? "{" : ", ", f->name);
        put_value(t, f, object);
    }
    gopt_text_put(t, "}");
}

static void put_block(gopt_text *t, const char *indent, const gopt_field *fields, const void *object)
{
    for (const gopt_field *f = fields; f->name; f++) {
        gopt_text_add(t, "%s%s: ", indent, f->name);
        put_value(t, f, object);
        gopt_text_put(t, "\n");
    }
}

static void put_choice(gopt_text *t, const char *name, const gopt_manifest_choice *c)
{
    gopt_text_add(t, "    %s:\n", name);
    put_block(t, "      ", gopt_choice_fields, c);
    gopt_text_put(t, "      pipeline: [");
    for (int i = 0; i < c->n_pipeline; i++) {
        gopt_text_put(t, i ? ", " : "");
        put_string(t, c->pipeline[i]);
    }
    gopt_text_put(t, c->n_knobs ? "]\n      knobs:\n" : "]\n      knobs: {}\n");
    for (int i = 0; i < c->n_knobs; i++) {
        gopt_text_put(t, "        ");
        put_string(t, c->knobs[i].name);
        gopt_text_put(t, ": ");
        put_string(t, c->knobs[i].value);
        gopt_text_put(t, "\n");
    }
}

static void put_cluster(gopt_text *t, const gopt_manifest_cluster *c)
{
    size_t begin = t->n;
    put_block(t, "    ", gopt_cluster_fields, c);
    if (t->s && !t->failed)
        t->s[begin + 2] = '-'; /* the first line of a list's item */
    gopt_text_put(t, c->n_dims ? "    dims:\n" : "    dims: []\n");
    for (int i = 0; i < c->n_dims; i++) {
        gopt_text_put(t, "      - ");
        put_flow(t, gopt_dim_fields, &c->dims[i]);
        gopt_text_put(t, "\n");
    }
    put_choice(t, "chosen", &c->chosen);
    put_choice(t, "fallback", &c->fallback);
}

gopt_status gopt_manifest_write(const gopt_manifest *m, const char *path, gopt_err *e)
{
    gopt_text t = {0};
    char hex[33];
    gopt_text_add(&t, "%s: %d\n", GOPT_MANIFEST_MAGIC, GOPT_MANIFEST_VERSION);
    gopt_text_put(&t,
                  "# What gopt-tune decided; libgopt runs it. The last line is a hash of all before it: do not edit,\n"
                  "# decide again with gopt report, or tune again. Times in nanoseconds, memory in bytes.\n");
    put_block(&t, "", gopt_manifest_fields, m);
    gopt_text_put(&t, m->n_clusters ? "clusters:\n" : "clusters: []\n");
    for (int i = 0; i < m->n_clusters; i++)
        put_cluster(&t, &m->clusters[i]);
    gopt_hash h = gopt_hash_bytes(gopt_text_str(&t), t.n);
    gopt_text_add(&t, "%s: \"%s\"\n", GOPT_MANIFEST_SEAL, gopt_hash_hex(hex, h));
    gopt_status s = t.failed ? gopt_oom(e) : gopt_file_write_text(path, t.s, e);
    gopt_text_fini(&t);
    return s;
}

void gopt_manifest_free(gopt_manifest *m)
{
    if (!m)
        return;
    gopt_arena_fini(&m->arena);
    gopt_free(m);
}

const char *gopt_manifest_path(char *buf, size_t size, const char *manifest, const char *named)
{
    const char *slash = strrchr(manifest, '/');
    int folder = named[0] == '/' || !slash ? 0 : (int)(slash + 1 - manifest);
    snprintf(buf, size, "%.*s%s", folder, manifest, named);
    return buf;
}
