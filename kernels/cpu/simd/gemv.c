/* gemv.c: vector times matrix where it lies: bound by how fast the matrix comes from memory. */
#include "cpu/simd/parts.h"

enum { BLOCK = 1024 }; /* columns summed at a time: 4 KiB of y stay in the first cache */

static void add_rows4(int64_t n, const float *x, const float *b, int64_t row, float *y)
{
    const float *b1 = b + row, *b2 = b1 + row, *b3 = b2 + row;
    vf x0 = v_splat(x[0]), x1 = v_splat(x[1]), x2 = v_splat(x[2]), x3 = v_splat(x[3]);
    int64_t j = 0;
    for (; j + GOPT_VW <= n; j += GOPT_VW) {
        vf s = v_load(y + j) + x0 * v_load(b + j) + x1 * v_load(b1 + j);
        v_store(y + j, s + (x2 * v_load(b2 + j) + x3 * v_load(b3 + j)));
    }
    for (; j < n; j++)
        y[j] += x[0] * b[j] + x[1] * b1[j] + x[2] * b2[j] + x[3] * b3[j];
}

static void add_row(int64_t n, float x, const float *b, float *y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] += x * b[j];
}

void GOPT_LEVEL(gopt_gemv)(int64_t n, int64_t k, const float *x, int64_t x_step, const float *b, int64_t b_row,
                           float *y)
{
    for (int64_t j = 0; j < n; j += BLOCK) {
        int64_t cols = n - j < BLOCK ? n - j : BLOCK, p = 0;
        memset(y + j, 0, (size_t)cols * sizeof *y);
        for (; p + 4 <= k; p += 4) {
            const float *s = x + p * x_step;
            float four[4] = {s[0], s[x_step], s[2 * x_step], s[3 * x_step]};
            add_rows4(cols, four, b + p * b_row + j, b_row, y + j);
        }
        for (; p < k; p++)
            add_row(cols, x[p * x_step], b + p * b_row + j, y + j);
    }
}

float GOPT_LEVEL(gopt_dot)(int64_t n, const float *a, const float *b)
{
    vf s[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * GOPT_VW <= n; i += 4 * GOPT_VW)
        for (int u = 0; u < 4; u++)
            s[u] += v_load(a + i + u * GOPT_VW) * v_load(b + i + u * GOPT_VW);
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        s[0] += v_load(a + i) * v_load(b + i);
    float r = v_sum((s[0] + s[1]) + (s[2] + s[3]));
    for (; i < n; i++)
        r += a[i] * b[i];
    return r;
}
