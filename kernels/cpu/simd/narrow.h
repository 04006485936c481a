/* narrow.h: vectors of 32-bit integers from and to narrower ones in memory. By name on x86: of conversions between
 * vectors of different sizes compilers make single elements. */
#ifndef GOPT_CPU_SIMD_NARROW_H
#define GOPT_CPU_SIMD_NARROW_H

#include "cpu/simd/level.h"

typedef uint8_t vb_memory __attribute__((vector_size(GOPT_VW), aligned(1), may_alias));
typedef uint16_t vh_memory __attribute__((vector_size(2 * GOPT_VW), aligned(1), may_alias));

static inline __attribute__((always_inline, unused)) vi v_load_u8(const uint8_t *p)
{
#if defined(__AVX2__)
    vi v;
    __asm__("vpmovzxbd %1, %0" : "=v"(v) : "m"(*(const vb_memory *)p));
    return v;
#else
    return __builtin_convertvector(*(const vb_memory *)p, vi);
#endif
}

/* Bytes p[0], p[2]... of the pairs from p on, all of which are read; odd: p[1], p[3]... */
static inline __attribute__((always_inline, unused)) vi v_load_pairs_u8(const uint8_t *p, const bool odd)
{
#if defined(__AVX2__)
    vi v;
    __asm__("vpmovzxwd %1, %0" : "=v"(v) : "m"(*(const vh_memory *)p));
    return odd ? v >> 8 : v & 255;
#else
    vi v;
    for (int i = 0; i < GOPT_VW; i++)
        v[i] = p[2 * i + odd];
    return v;
#endif
}

/* Their low bytes. */
static inline __attribute__((always_inline, unused)) void v_store_u8(uint8_t *p, vi v)
{
#if defined(__AVX512F__)
    __asm__("vpmovdb %1, %0" : "=m"(*(vb_memory *)p) : "v"(v));
#elif defined(__AVX2__)
    typedef uint8_t bytes __attribute__((vector_size(32)));
    bytes b = (bytes)v;
    *(vb_memory *)p = __builtin_shufflevector(b, b, 0, 4, 8, 12, 16, 20, 24, 28);
#else
    for (int i = 0; i < GOPT_VW; i++)
        p[i] = (uint8_t)v[i];
#endif
}

#endif
