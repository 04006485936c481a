/* random.c: xoshiro256** (Blackman & Vigna 2018), seeded by splitmix64. */
#include "stats.h"

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void gopt_random_seed(gopt_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9E3779B97F4A7C15u;
        uint64_t z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t gopt_random_next(gopt_random *r)
{
    uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

int gopt_random_below(gopt_random *r, int n)
{
    uint64_t bound = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t x;
    do
        x = gopt_random_next(r);
    while (x >= limit);
    return (int)(x % bound);
}

double gopt_random_unit(gopt_random *r)
{
    return (double)(gopt_random_next(r) >> 11) * 0x1.0p-53;
}

void gopt_random_shuffle(gopt_random *r, int *x, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = gopt_random_below(r, i + 1), t = x[i];
        x[i] = x[k];
        x[k] = t;
    }
}
