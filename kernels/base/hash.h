/* hash.h: content hashes (XXH3, 128 bits) for caches and bundles. */
#ifndef GOPT_BASE_HASH_H
#define GOPT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct gopt_hash {
    uint64_t hi, lo;
} gopt_hash;

typedef struct gopt_hasher gopt_hasher; /* streaming; heap object */

gopt_hash gopt_hash_bytes(const void *p, size_t n);
gopt_hasher *gopt_hasher_new(void); /* NULL when out of memory */
void gopt_hasher_add(gopt_hasher *h, const void *p, size_t n);
void gopt_hasher_str(gopt_hasher *h, const char *s); /* with its terminator, so that "a","b" != "ab" */
gopt_hash gopt_hasher_free(gopt_hasher *h);          /* the digest; frees h */
char *gopt_hash_hex(char buf[33], gopt_hash h);

#endif
