/* winograd.c: transforms of F(2x2, 3x3) and F(4x4, 3x3), a vector of tiles at a time. */
#include "cpu/simd/winograd.h"
#include "cpu/simd/parts.h"

static inline __attribute__((always_inline)) void input(const int m, const gopt_taps *t, int64_t n, float *v,
                                                        int64_t step)
{
    const int e = m + 2;
    for (int64_t j = 0; j < n; j += GOPT_VW) {
        vf d[36], h[36], out[6];
        for (int i = 0; i < e * e; i++)
            d[i] = v_load(t->src + t->offset[i] + j);
        for (int i = 0; i < e; i++)
            v_winograd_in(m, d + i * e, 1, h + i * e);
        for (int i = 0; i < e; i++) {
            v_winograd_in(m, h + i, e, out);
            for (int k = 0; k < e; k++)
                v_store(v + (k * e + i) * step + j, out[k]);
        }
    }
}

void GOPT_LEVEL(gopt_winograd_input)(int m, const gopt_taps *t, int64_t n, float *v, int64_t step)
{
    if (m == 2)
        input(2, t, n, v, step);
    else
        input(4, t, n, v, step);
}

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_memory __attribute__((vector_size(16), aligned(4), may_alias));

/* Pixels j of all tiles, for each j, to all pixels of tile after tile. */
static inline void interleave4(const vf *y, float *dst)
{
    for (int i = 0; i < GOPT_VW; i += 4) {
        const float *s = (const float *)y + i;
        v4 a = *(const v4_memory *)s, b = *(const v4_memory *)(s + GOPT_VW);
        v4 c = *(const v4_memory *)(s + 2 * GOPT_VW), e = *(const v4_memory *)(s + 3 * GOPT_VW);
        v4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        v4 ce0 = __builtin_shufflevector(c, e, 0, 4, 1, 5), ce1 = __builtin_shufflevector(c, e, 2, 6, 3, 7);
        *(v4_memory *)(dst + 4 * i) = __builtin_shufflevector(ab0, ce0, 0, 1, 4, 5);
        *(v4_memory *)(dst + 4 * i + 4) = __builtin_shufflevector(ab0, ce0, 2, 3, 6, 7);
        *(v4_memory *)(dst + 4 * i + 8) = __builtin_shufflevector(ab1, ce1, 0, 1, 4, 5);
        *(v4_memory *)(dst + 4 * i + 12) = __builtin_shufflevector(ab1, ce1, 2, 3, 6, 7);
    }
}

static inline void interleave2(const vf *y, float *dst)
{
    for (int i = 0; i < GOPT_VW; i++) {
        dst[2 * i] = y[0][i];
        dst[2 * i + 1] = y[1][i];
    }
}

static inline __attribute__((always_inline)) void output(const int m, const float *s, int64_t step, int64_t n,
                                                         float bias, float *dst, int64_t dst_step)
{
    const int e = m + 2;
    for (int64_t j = 0; j < n; j += GOPT_VW) {
        vf in[6], h[24], y[4];
        for (int i = 0; i < e; i++) { /* columns of sums, down */
            for (int k = 0; k < e; k++)
                in[k] = v_load(s + (k * e + i) * step + j);
            v_winograd_out(m, in, 1, y);
            for (int k = 0; k < m; k++)
                h[k * e + i] = y[k];
        }
        for (int k = 0; k < m; k++) {
            v_winograd_out(m, h + k * e, 1, y);
            for (int i = 0; i < m; i++)
                y[i] += bias;
            m == 2 ? interleave2(y, dst + k * dst_step + 2 * j) : interleave4(y, dst + k * dst_step + 4 * j);
        }
    }
}

void GOPT_LEVEL(gopt_winograd_output)(int m, const float *s, int64_t step, int64_t n, float bias, float *dst,
                                      int64_t dst_step)
{
    if (m == 2)
        output(2, s, step, n, bias, dst, dst_step);
    else
        output(4, s, step, n, bias, dst, dst_step);
}
