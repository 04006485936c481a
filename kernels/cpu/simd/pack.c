/* pack.c: laying matrices out in tiles, so that gemm reads them front to back; and turning them over. */
#include "cpu/simd/parts.h"

/* Vectors lie side by side: a row of the tile is a run of memory. */
static void pack_rows(const gopt_packing *p, const float *src, int rows, float *dst)
{
    for (int64_t q = 0; q < p->k; q++, dst += p->unit) {
        const float *s = src + q * p->depth;
        int i = 0;
        for (; i + GOPT_VW <= rows; i += GOPT_VW)
            v_store(dst + i, v_load(s + i) * p->scale);
        for (; i < rows; i++)
            dst[i] = s[i] * p->scale;
        for (; i < p->unit; i++)
            dst[i] = 0;
    }
}

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_memory __attribute__((vector_size(16), aligned(4), may_alias));

/* Four vectors, four elements of each. */
static inline void transpose4(const float *s, int64_t step, float scale, float *d, int64_t unit)
{
    v4 a = *(const v4_memory *)s * scale, b = *(const v4_memory *)(s + step) * scale;
    v4 c = *(const v4_memory *)(s + 2 * step) * scale, e = *(const v4_memory *)(s + 3 * step) * scale;
    v4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    v4 ce0 = __builtin_shufflevector(c, e, 0, 4, 1, 5), ce1 = __builtin_shufflevector(c, e, 2, 6, 3, 7);
    *(v4_memory *)d = __builtin_shufflevector(ab0, ce0, 0, 1, 4, 5);
    *(v4_memory *)(d + unit) = __builtin_shufflevector(ab0, ce0, 2, 3, 6, 7);
    *(v4_memory *)(d + 2 * unit) = __builtin_shufflevector(ab1, ce1, 0, 1, 4, 5);
    *(v4_memory *)(d + 3 * unit) = __builtin_shufflevector(ab1, ce1, 2, 3, 6, 7);
}

/* Each vector is a run of memory. */
static void pack_columns(const gopt_packing *p, const float *src, int rows, float *dst)
{
    int i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *s = src + i * p->step;
        int64_t q = 0;
        for (; q + 4 <= p->k; q += 4)
            transpose4(s + q, p->step, p->scale, dst + q * p->unit + i, p->unit);
        for (; q < p->k; q++)
            for (int j = 0; j < 4; j++)
                dst[q * p->unit + i + j] = s[j * p->step + q] * p->scale;
    }
    for (; i < p->unit; i++)
        for (int64_t q = 0; q < p->k; q++)
            dst[q * p->unit + i] = i < rows ? src[i * p->step + q] * p->scale : 0;
}

static void pack_any(const gopt_packing *p, const float *src, int rows, float *dst)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int i = 0; i < p->unit; i++)
            dst[q * p->unit + i] = i < rows ? src[i * p->step + q * p->depth] * p->scale : 0;
}

void GOPT_LEVEL(gopt_pack)(const gopt_packing *p)
{
    for (int64_t tile = p->first; tile < p->last; tile++) {
        const float *src = p->src + tile * p->unit * p->step;
        float *dst = p->dst + tile * p->unit * p->k;
        int64_t left = p->n - tile * p->unit;
        int rows = left < p->unit ? (int)left : p->unit;
        if (p->step == 1)
            pack_rows(p, src, rows, dst);
        else if (p->depth == 1)
            pack_columns(p, src, rows, dst);
        else
            pack_any(p, src, rows, dst);
    }
}

static inline void transpose_band(float *dst, int64_t dst_row, const float *src, int64_t src_row, int64_t rows,
                                  int64_t cols)
{
    int64_t j = 0;
    for (; j + 4 <= cols; j += 4) {
        int64_t i = 0;
        for (; i + 4 <= rows; i += 4)
            transpose4(src + j * src_row + i, src_row, 1, dst + i * dst_row + j, dst_row);
        for (; i < rows; i++)
            for (int64_t k = j; k < j + 4; k++)
                dst[i * dst_row + k] = src[k * src_row + i];
    }
    for (; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            dst[i * dst_row + j] = src[j * src_row + i];
}

/* By squares of as many rows as the first table of pages holds; in them, few rows at a time: rows that lie a power of
 * two apart share the lines of the first cache. */
void GOPT_LEVEL(gopt_transpose)(float *dst, int64_t dst_row, const float *src, int64_t src_row, int64_t rows,
                                int64_t cols)
{
    enum { BAND = 8, SIDE = 64 };
    for (int64_t j = 0; j < cols; j += SIDE)
        for (int64_t i = 0; i < rows; i += BAND)
            transpose_band(dst + i * dst_row + j, dst_row, src + j * src_row + i, src_row,
                           rows - i < BAND ? rows - i : BAND, cols - j < SIDE ? cols - j : SIDE);
}
