/* cache.c: files DIR/code/HASH.fn (one line of text) and DIR/code/HASH.so. */
#include "build/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

static void path_of(char *buf, size_t size, const char *dir, gopt_hash h, const char *ending)
{
    char hex[33];
    snprintf(buf, size, "%s/code/%s.%s", dir, gopt_hash_hex(hex, h), ending);
}

static bool is_equal(gopt_hash a, gopt_hash b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

bool gopt_cache_find(const char *dir, gopt_hash function, gopt_cache_entry *out)
{
    char path[512], line[160];
    if (!dir)
        return false;
    path_of(path, sizeof path, dir, function, "fn");
    gopt_mapping m;
    if (gopt_file_map(&m, path, NULL))
        return false;
    snprintf(line, sizeof line, "%.*s", (int)GOPT_MIN(m.bytes, sizeof line - 1), (const char *)m.data);
    gopt_file_unmap(&m);
    return sscanf(line, "%16" SCNx64 "%16" SCNx64 " %" SCNd64 " %" SCNd64 "\n", &out->unit.hi, &out->unit.lo, &out->ns,
                  &out->peak_bytes) == 4;
}

bool gopt_cache_unit(const char *dir, gopt_hash unit, void **elf, size_t *bytes)
{
    char path[512];
    gopt_mapping m;
    *elf = NULL;
    path_of(path, sizeof path, dir, unit, "so");
    if (gopt_file_map(&m, path, NULL))
        return false;
    if (is_equal(gopt_hash_bytes(m.data, m.bytes), unit) && (*elf = gopt_malloc(GOPT_MAX(m.bytes, (size_t)1)))) {
        memcpy(*elf, m.data, m.bytes);
        *bytes = m.bytes;
    }
    gopt_file_unmap(&m);
    return *elf != NULL;
}

static gopt_status write_entry(const char *dir, gopt_hash h, const char *ending, const void *data, size_t bytes,
                               gopt_err *e)
{
    char path[512];
    snprintf(path, sizeof path, "%s/code", dir);
    GOPT_TRY(gopt_dir_make(path, e));
    path_of(path, sizeof path, dir, h, ending);
    return gopt_file_write(path, &(gopt_piece){data, bytes}, 1, e);
}

gopt_status gopt_cache_add_unit(const char *dir, const void *elf, size_t bytes, gopt_hash *unit, gopt_err *e)
{
    *unit = gopt_hash_bytes(elf, bytes);
    return write_entry(dir, *unit, "so", elf, bytes, e);
}

gopt_status gopt_cache_add(const char *dir, gopt_hash function, const gopt_cache_entry *entry, gopt_err *e)
{
    char line[160];
    int n = snprintf(line, sizeof line, "%016" PRIx64 "%016" PRIx64 " %" PRId64 " %" PRId64 "\n", entry->unit.hi,
                     entry->unit.lo, entry->ns, entry->peak_bytes);
    return write_entry(dir, function, "fn", line, (size_t)n, e);
}
