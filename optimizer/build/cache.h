/* cache.h: compiled functions by content: the hash of their text, flags, compiler and processor. A unit (shared object)
 * holds several functions; a function's entry names its unit. Entries are written whole or not at all; a damaged one
 * counts as absent. */
#ifndef GOPT_BUILD_CACHE_H
#define GOPT_BUILD_CACHE_H

#include "base/err.h"
#include "base/hash.h"

typedef struct gopt_cache_entry {
    gopt_hash unit; /* where the function lies */
    int64_t ns;     /* its share of what compiling the unit took */
    int64_t peak_bytes;
} gopt_cache_entry;

/* False when there is none. dir NULL: never any. */
bool gopt_cache_find(const char *dir, gopt_hash function, gopt_cache_entry *out);
/* The unit's bytes, gopt_malloc'ed and checked against their hash; false when absent or damaged. */
bool gopt_cache_unit(const char *dir, gopt_hash unit, void **elf, size_t *bytes);
gopt_status gopt_cache_add_unit(const char *dir, const void *elf, size_t bytes, gopt_hash *unit, gopt_err *e);
gopt_status gopt_cache_add(const char *dir, gopt_hash function, const gopt_cache_entry *entry, gopt_err *e);

#endif
