/* cache_key.c: keys as hashes and as files. */
#include "build/cache_key.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build/cc.h"
#include "cpu/emit.h"

#define GOPT_X_FIELD(name, doc) #name,
const char *const gopt_cache_field_names[GOPT_CACHE_FIELD_COUNT] = {GOPT_CACHE_FIELDS(GOPT_X_FIELD)};
#undef GOPT_X_FIELD
#define GOPT_X_FIELD(name, doc) doc,
const char *const gopt_cache_field_docs[GOPT_CACHE_FIELD_COUNT] = {GOPT_CACHE_FIELDS(GOPT_X_FIELD)};
#undef GOPT_X_FIELD

gopt_status gopt_cache_key_make(gopt_cache_key *out, const char *text, int level, gopt_err *e)
{
    gopt_text headers = {0};
    const char *identity = gopt_cc_find()->identity, *processor = strstr(identity, "; ");
    size_t n = processor ? (size_t)(processor - identity) : strlen(identity);
    gopt_emit_prelude(&headers);
    if (headers.failed) {
        gopt_text_fini(&headers);
        return gopt_oom(e);
    }
    char code[33], prelude[33];
    const char *const values[GOPT_CACHE_FIELD_COUNT] = {
        [GOPT_CACHE_FIELD_code] = gopt_hash_hex(code, gopt_hash_bytes(text, strlen(text))),
        [GOPT_CACHE_FIELD_headers] = gopt_hash_hex(prelude, gopt_hash_bytes(gopt_text_str(&headers), headers.n)),
        [GOPT_CACHE_FIELD_processor] = processor ? processor + 2 : "unknown"};
    gopt_text_fini(&headers);
    *out = (gopt_cache_key){0};
    for (int i = 0; i < GOPT_CACHE_FIELD_COUNT; i++)
        if (values[i])
            snprintf(out->field[i], sizeof out->field[i], "%s", values[i]);
    snprintf(out->field[GOPT_CACHE_FIELD_level], sizeof out->field[0], "-O%d", level);
    snprintf(out->field[GOPT_CACHE_FIELD_compiler], sizeof out->field[0], "%.*s", (int)n, identity);
    return GOPT_OK;
}

gopt_hash gopt_cache_key_hash(const gopt_cache_key *k)
{
    return gopt_hash_bytes(k, sizeof *k); /* zeroed behind the texts */
}

void gopt_cache_key_print(const gopt_cache_key *k, const char *kernel, gopt_text *t)
{
    gopt_text_add(t, "kernel %s\n", kernel);
    for (int i = 0; i < GOPT_CACHE_FIELD_COUNT; i++)
        gopt_text_add(t, "%s %s\n", gopt_cache_field_names[i], k->field[i]);
}

gopt_status gopt_cache_keys_write(const char *dir, gopt_hash unit, const gopt_text *printed, gopt_err *e)
{
    char path[PATH_MAX], hex[33];
    snprintf(path, sizeof path, "%s/code/%s.keys", dir, gopt_hash_hex(hex, unit));
    return printed->failed ? gopt_oom(e) : gopt_file_write_text(path, gopt_text_str(printed), e);
}

/* The value of a line "name value" into buf; where the next line begins, NULL when it is another one or too long. */
static const char *parse_line(char *buf, size_t size, const char *name, const char *text, const char *end)
{
    size_t n = strlen(name);
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    if (!stop || (size_t)(stop - text) <= n || memcmp(text, name, n) != 0 || text[n] != ' ')
        return NULL;
    size_t length = (size_t)(stop - text) - n - 1;
    if (length >= size)
        return NULL;
    memcpy(buf, text + n + 1, length);
    buf[length] = 0;
    return stop + 1;
}

typedef struct record {
    char kernel[64];
    gopt_cache_key key;
} record;

/* One function; where the next begins, NULL when it is damaged. */
static const char *parse(record *out, const char *text, const char *end)
{
    *out = (record){.kernel = ""};
    text = parse_line(out->kernel, sizeof out->kernel, "kernel", text, end);
    for (int i = 0; text && i < GOPT_CACHE_FIELD_COUNT; i++)
        text = parse_line(out->key.field[i], sizeof out->key.field[i], gopt_cache_field_names[i], text, end);
    return text;
}

void gopt_cache_keys_read(const char *path, gopt_cache_key_seen *fn, void *ctx)
{
    gopt_mapping m;
    record r;
    if (gopt_file_map(&m, path, NULL))
        return;
    const char *end = (const char *)m.data + m.bytes;
    for (const char *p = (const char *)m.data; p && p < end;)
        if ((p = parse(&r, p, end)))
            fn(ctx, &r.key, r.kernel);
    gopt_file_unmap(&m);
}
