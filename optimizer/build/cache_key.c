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

void gopt_cache_key_print(const gopt_cache_key *k, gopt_text *t)
{
    for (int i = 0; i < GOPT_CACHE_FIELD_COUNT; i++)
        gopt_text_add(t, "%s %s\n", gopt_cache_field_names[i], k->field[i]);
}

gopt_status gopt_cache_keys_write(const char *dir, gopt_hash unit, const gopt_text *printed, gopt_err *e)
{
    char path[PATH_MAX], hex[33];
    snprintf(path, sizeof path, "%s/code/%s.keys", dir, gopt_hash_hex(hex, unit));
    return printed->failed ? gopt_oom(e) : gopt_file_write_text(path, gopt_text_str(printed), e);
}

/* One key; where the next begins, NULL when it is damaged. */
static const char *parse(gopt_cache_key *out, const char *text, const char *end)
{
    *out = (gopt_cache_key){0};
    for (int i = 0; i < GOPT_CACHE_FIELD_COUNT; i++) {
        size_t n = strlen(gopt_cache_field_names[i]);
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop || (size_t)(stop - text) <= n || memcmp(text, gopt_cache_field_names[i], n) != 0 || text[n] != ' ')
            return NULL;
        size_t length = (size_t)(stop - text) - n - 1;
        if (length >= sizeof out->field[i])
            return NULL;
        memcpy(out->field[i], text + n + 1, length);
        text = stop + 1;
    }
    return text;
}

void gopt_cache_keys_read(const char *path, void (*fn)(void *ctx, const gopt_cache_key *k), void *ctx)
{
    gopt_mapping m;
    gopt_cache_key key;
    if (gopt_file_map(&m, path, NULL))
        return;
    const char *end = (const char *)m.data + m.bytes;
    for (const char *p = (const char *)m.data; p && p < end;)
        if ((p = parse(&key, p, end)))
            fn(ctx, &key);
    gopt_file_unmap(&m);
}
