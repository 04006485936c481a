/* XXH3, 128 bits, of the xxHash library. */
#define XXH_STATIC_LINKING_ONLY /* for the state's definition: it then lies in memory of ours */
#include "base/hash.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/arena.h"

struct gopt_hasher {
    XXH3_state_t state;
};

static gopt_hash digest(XXH128_hash_t h)
{
    return (gopt_hash){.hi = h.high64, .lo = h.low64};
}

gopt_hash gopt_hash_bytes(const void *p, size_t n)
{
    return digest(XXH3_128bits(p, n));
}

gopt_hasher *gopt_hasher_new(void)
{
    gopt_hasher *h = gopt_aligned(alignof(gopt_hasher), sizeof(*h));
    if (h) {
        XXH3_INITSTATE(&h->state);
        XXH3_128bits_reset(&h->state);
    }
    return h;
}

void gopt_hasher_add(gopt_hasher *h, const void *p, size_t n)
{
    if (n)
        XXH3_128bits_update(&h->state, p, n);
}

void gopt_hasher_str(gopt_hasher *h, const char *s)
{
    gopt_hasher_add(h, s, strlen(s) + 1);
}

gopt_hash gopt_hasher_free(gopt_hasher *h)
{
    gopt_hash result = digest(XXH3_128bits_digest(&h->state));
    gopt_free(h);
    return result;
}

char *gopt_hash_hex(char buf[33], gopt_hash h)
{
    snprintf(buf, 33, "%016" PRIx64 "%016" PRIx64, h.hi, h.lo);
    return buf;
}
