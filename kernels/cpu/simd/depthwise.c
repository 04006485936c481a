/* depthwise.c: sums of shifted runs, and taking results that lie row by row together. */
#include "cpu/simd/parts.h"

enum { WIDE = 4 }; /* vectors computed at once: enough to hide the latency of products */

/* Vectors at j and after it, the last one at `last`. */
static inline __attribute__((always_inline)) void collect(const gopt_taps *t, float *dst, int64_t j, int64_t last,
                                                          const int nv)
{
    vf begin = v_splat(t->begin), a = begin, b = begin, c = begin, d = begin;
    for (int64_t k = 0; k < t->n; k++) {
        const float *p = t->src + t->offset[k];
        vf w = t->weight ? v_splat(t->weight[k]) : v_splat(1);
        d += w * v_load(p + last);
        if (nv > 1)
            a += w * v_load(p + j);
        if (nv > 2)
            b += w * v_load(p + j + GOPT_VW);
        if (nv > 3)
            c += w * v_load(p + j + 2 * GOPT_VW);
    }
    if (nv > 1)
        v_store(dst + j, a);
    if (nv > 2)
        v_store(dst + j + GOPT_VW, b);
    if (nv > 3)
        v_store(dst + j + 2 * GOPT_VW, c);
    v_store(dst + last, d);
}

/* Fewer than a vector. */
static inline __attribute__((always_inline)) void collect_few(const gopt_taps *t, float *dst, int64_t n)
{
    vf acc = v_splat(t->begin);
    for (int64_t k = 0; k < t->n; k++)
        acc += (t->weight ? v_splat(t->weight[k]) : v_splat(1)) * v_load_part(t->src + t->offset[k], (int)n, 0);
    v_store_part(dst, acc, (int)n);
}

/* The last vector may overlap the one before it. */
void GOPT_LEVEL(gopt_taps_run)(const gopt_taps *t, float *dst, int64_t n)
{
    if (n < GOPT_VW) {
        collect_few(t, dst, n);
        return;
    }
    for (int64_t j = 0; j < n; j += WIDE * GOPT_VW) {
        int64_t left = (n - j + GOPT_VW - 1) / GOPT_VW, nv = left < WIDE ? left : WIDE;
        int64_t last = j + (nv - 1) * GOPT_VW;
        last = last < n - GOPT_VW ? last : n - GOPT_VW;
        if (nv == WIDE)
            collect(t, dst, j, last, WIDE);
        else if (nv == 3)
            collect(t, dst, j, last, 3);
        else if (nv == 2)
            collect(t, dst, j, last, 2);
        else
            collect(t, dst, j, last, 1);
    }
}

/* Whole vectors are stored where the rest of the output has room: the next row overwrites what is too much. */
void GOPT_LEVEL(gopt_compact)(float *dst, const float *src, int64_t first, int64_t n, int64_t cols, int64_t used)
{
    int64_t x = first % cols, left = 0;
    for (int64_t at = first, row = x; at < first + n; at += cols - row, row = 0) {
        int64_t m = used - row < first + n - at ? used - row : first + n - at;
        left += m > 0 ? m : 0;
    }
    for (int64_t at = 0; left > 0; at += cols - x, x = 0) {
        int64_t m = used - x < left ? used - x : left;
        if (m <= 0)
            continue;
        int64_t i = 0;
        for (; i < m && i + GOPT_VW <= left; i += GOPT_VW)
            v_store(dst + i, v_load(src + at + i));
        for (; i < m; i++)
            dst[i] = src[at + i];
        dst += m;
        left -= m;
    }
}
