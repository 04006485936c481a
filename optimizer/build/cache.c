/* cache.c: files DIR/code/HASH.fn (one line of text, with a hash of itself and of the function's) and DIR/code/HASH.so.
 */
#include "build/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

enum { PATH_SIZE = 4096, LINE_SIZE = 160 };

static void path_of(char buf[PATH_SIZE], const char *dir, gopt_hash h, const char *ending)
{
    char hex[33];
    snprintf(buf, PATH_SIZE, "%s/code/%s.%s", dir, gopt_hash_hex(hex, h), ending);
}

static bool is_equal(gopt_hash a, gopt_hash b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* "UNIT NS PEAK CHECK": returns the length. */
static size_t print_entry(char line[LINE_SIZE], gopt_hash function, const gopt_cache_entry *entry)
{
    char unit[33], own[33], check[33];
    int n = snprintf(line, LINE_SIZE, "%s %" PRId64 " %" PRId64 " %s", gopt_hash_hex(unit, entry->unit), entry->ns,
                     entry->peak_bytes, gopt_hash_hex(own, function));
    gopt_hash sum = gopt_hash_bytes(line, (size_t)n);
    n = snprintf(line, LINE_SIZE, "%s %" PRId64 " %" PRId64 " %s\n", unit, entry->ns, entry->peak_bytes,
                 gopt_hash_hex(check, sum));
    return (size_t)n;
}

static bool parse_entry(const char *text, size_t bytes, gopt_hash function, gopt_cache_entry *out)
{
    char line[LINE_SIZE], again[LINE_SIZE];
    if (bytes >= sizeof line)
        return false;
    memcpy(line, text, bytes);
    line[bytes] = 0;
    if (sscanf(line, "%16" SCNx64 "%16" SCNx64 " %" SCNd64 " %" SCNd64, &out->unit.hi, &out->unit.lo, &out->ns,
               &out->peak_bytes) != 4)
        return false;
    return print_entry(again, function, out) == bytes && !memcmp(again, line, bytes);
}

bool gopt_cache_find(const char *dir, gopt_hash function, gopt_cache_entry *out)
{
    char path[PATH_SIZE];
    gopt_mapping m;
    if (!dir)
        return false;
    path_of(path, dir, function, "fn");
    if (gopt_file_map(&m, path, NULL))
        return false;
    bool sound = parse_entry((const char *)m.data, m.bytes, function, out);
    gopt_file_unmap(&m);
    return sound;
}

bool gopt_cache_unit(const char *dir, gopt_hash unit, void **elf, size_t *bytes)
{
    char path[PATH_SIZE];
    gopt_mapping m;
    *elf = NULL;
    if (!dir)
        return false;
    path_of(path, dir, unit, "so");
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
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/code", dir);
    GOPT_TRY(gopt_dir_make(path, e));
    path_of(path, dir, h, ending);
    return gopt_file_write(path, &(gopt_piece){data, bytes}, 1, e);
}

gopt_status gopt_cache_add_unit(const char *dir, const void *elf, size_t bytes, gopt_hash *unit, gopt_err *e)
{
    *unit = gopt_hash_bytes(elf, bytes);
    return write_entry(dir, *unit, "so", elf, bytes, e);
}

gopt_status gopt_cache_add(const char *dir, gopt_hash function, const gopt_cache_entry *entry, gopt_err *e)
{
    char line[LINE_SIZE];
    return write_entry(dir, function, "fn", line, print_entry(line, function, entry), e);
}
