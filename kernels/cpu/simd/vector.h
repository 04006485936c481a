/* vector.h: vectors of floats and integers as wide as the compiler's target has them, without any header of its own:
 * generated code starts with the text of this file. */
#ifndef GOPT_CPU_SIMD_VECTOR_H
#define GOPT_CPU_SIMD_VECTOR_H

#if defined(__AVX512F__)
#define GOPT_VW 16 /* floats in a vector */
#elif defined(__AVX2__)
#define GOPT_VW 8
#else
#define GOPT_VW 4
#endif

typedef float vf __attribute__((vector_size(4 * GOPT_VW)));
typedef int vi __attribute__((vector_size(4 * GOPT_VW)));
typedef unsigned vu __attribute__((vector_size(4 * GOPT_VW)));
typedef double vd __attribute__((vector_size(8 * GOPT_VW))); /* as many elements: two registers */
typedef long long vl __attribute__((vector_size(8 * GOPT_VW)));
typedef float vf_memory __attribute__((vector_size(4 * GOPT_VW), aligned(4), may_alias));

static inline __attribute__((always_inline)) vf v_load(const float *p)
{
    return *(const vf_memory *)p;
}

static inline __attribute__((always_inline)) void v_store(float *p, vf v)
{
    *(vf_memory *)p = v;
}

static inline __attribute__((always_inline)) vf v_splat(float x)
{
    return x - (vf){0};
}

static inline __attribute__((always_inline)) vi vi_splat(int x)
{
    return x - (vi){0};
}

/* Which elements have a place below n. */
static inline __attribute__((always_inline, unused)) vi v_below(int n)
{
#if GOPT_VW == 16
    static const vi place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif GOPT_VW == 8
    static const vi place = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    static const vi place = {0, 1, 2, 3};
#endif
    return place < n;
}

/* The first n <= GOPT_VW elements at p, the rest `fill`; nothing else is read. Compilers make a loop of it, so the
 * masked instruction is asked for by name. */
static inline __attribute__((always_inline, unused)) vf v_load_part(const float *p, int n, float fill)
{
    vf v = fill - (vf){0};
#if GOPT_VW == 16
    unsigned short mask = (unsigned short)((1u << n) - 1);
    __asm__("vmovups %1, %0%{%2%}" : "+v"(v) : "m"(*(const vf_memory *)p), "Yk"(mask));
#elif GOPT_VW == 8
    vf part;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(part) : "m"(*(const vf_memory *)p), "x"(v_below(n)));
    v = (vf)((v_below(n) & (vi)part) | (~v_below(n) & (vi)v));
#else
    for (int i = 0; i < n; i++)
        v[i] = p[i];
#endif
    return v;
}

static inline __attribute__((always_inline, unused)) void v_store_part(float *p, vf v, int n)
{
#if GOPT_VW == 16
    unsigned short mask = (unsigned short)((1u << n) - 1);
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(vf_memory *)p) : "v"(v), "Yk"(mask));
#elif GOPT_VW == 8
    __asm__("vmaskmovps %1, %2, %0" : "+m"(*(vf_memory *)p) : "x"(v), "x"(v_below(n)));
#else
    for (int i = 0; i < n; i++)
        p[i] = v[i];
#endif
}

/* n <= GOPT_VW bools as masks. */
static inline __attribute__((unused)) vi v_mask(const unsigned char *p, int n)
{
    vi m = {0};
    for (int i = 0; i < n; i++)
        m[i] = p[i] ? -1 : 0;
    return m;
}

/* Elements 0, 2, 4... of a, then of b. */
static inline __attribute__((always_inline, unused)) vf v_even(vf a, vf b)
{
#if GOPT_VW == 16
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif GOPT_VW == 8
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

/* Elements 0, 2... 2 n - 2 at p, n <= GOPT_VW; nothing past the last one is read. */
static inline __attribute__((always_inline, unused)) vf v_load_even(const float *p, int n)
{
    int first = 2 * n - 1 < GOPT_VW ? 2 * n - 1 : GOPT_VW;
    vf a = v_load_part(p, first, 0);
    return v_even(a, 2 * n - 1 > GOPT_VW ? v_load_part(p + GOPT_VW, 2 * n - 1 - GOPT_VW, 0) : a);
}

/* m has all bits of an element set or none. */
static inline __attribute__((always_inline)) vf v_select(vi m, vf a, vf b)
{
    return (vf)((m & (vi)a) | (~m & (vi)b));
}

/* The greater of two, NaN when either is. */
static inline __attribute__((always_inline)) vf v_max(vf a, vf b)
{
    return v_select((a > b) | (a != a), a, b);
}

static inline __attribute__((always_inline)) vf v_min(vf a, vf b)
{
    return v_select((a < b) | (a != a), a, b);
}

static inline __attribute__((always_inline)) vf v_abs(vf x)
{
    return (vf)((vi)x & 0x7fffffff);
}

/* x with the sign of s. */
static inline __attribute__((always_inline)) vf v_copysign(vf x, vf s)
{
    return (vf)(((vi)x & 0x7fffffff) | ((vi)s & (int)0x80000000));
}

/* Groups of 1, 2, 4, 8 elements change places with their neighbours: what is done to a vector and its swapped self goes
 * on with half as many. */
static inline __attribute__((always_inline, unused)) vf v_swap1(vf v)
{
#if GOPT_VW == 16
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif GOPT_VW == 8
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    return __builtin_shufflevector(v, v, 1, 0, 3, 2);
#endif
}

static inline __attribute__((always_inline, unused)) vf v_swap2(vf v)
{
#if GOPT_VW == 16
    return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
#elif GOPT_VW == 8
    return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
#else
    return __builtin_shufflevector(v, v, 2, 3, 0, 1);
#endif
}

#if GOPT_VW >= 8
static inline __attribute__((always_inline, unused)) vf v_swap4(vf v)
{
#if GOPT_VW == 16
    return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#else
    return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
}
#endif

#if GOPT_VW == 16
static inline __attribute__((always_inline, unused)) vf v_swap8(vf v)
{
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}
#endif

static inline __attribute__((always_inline)) float v_sum(vf v)
{
#if GOPT_VW == 16
    v += v_swap8(v);
#endif
#if GOPT_VW >= 8
    v += v_swap4(v);
#endif
    v += v_swap2(v);
    v += v_swap1(v);
    return v[0];
}

static inline __attribute__((always_inline)) float v_hmax(vf v)
{
    float s[GOPT_VW];
    v_store(s, v);
    float m = s[0];
    for (int i = 1; i < GOPT_VW; i++)
        m = s[i] > m || s[i] != s[i] ? s[i] : m;
    return m;
}

#endif
