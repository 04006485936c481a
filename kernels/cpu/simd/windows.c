/* windows.c: the largest or the sum of what lies in each window: first its rows together, then along the row. */
#include "cpu/simd/parts.h"

static inline __attribute__((always_inline)) vf fold(bool max, vf a, vf b)
{
    return max ? v_max(a, b) : a + b;
}

/* The input rows of output row y, element by element, into row + pad_w. */
static inline __attribute__((always_inline)) void fold_rows(const gopt_windows *w, bool max, float begin,
                                                            const float *src, int64_t y, float *row)
{
    int64_t top = y * w->stride_h - w->pad_h, lo = 0, hi = w->kh;
    while (lo < hi && top + lo * w->dilation_h < 0)
        lo++;
    while (lo < hi && top + (hi - 1) * w->dilation_h >= w->ih)
        hi--;
    for (int64_t x = 0; x < w->iw; x += GOPT_VW) {
        int n = w->iw - x < GOPT_VW ? (int)(w->iw - x) : GOPT_VW;
        vf v = v_splat(begin);
        for (int64_t k = lo; k < hi; k++)
            v = fold(max, v, v_load_part(src + (top + k * w->dilation_h) * w->iw + x, n, begin));
        v_store(row + w->pad_w + x, v);
    }
}

/* Every stride-th element at p. */
static inline __attribute__((always_inline)) vf load_strided(const float *p, int64_t stride)
{
    if (stride == 1)
        return v_load(p);
    if (stride == 2)
        return v_even(v_load(p), v_load(p + GOPT_VW));
    vf v;
    for (int i = 0; i < GOPT_VW; i++)
        v[i] = p[i * stride];
    return v;
}

static inline __attribute__((always_inline)) void fold_along(const gopt_windows *w, bool max, float begin,
                                                             const float *row, float *dst)
{
    for (int64_t x = 0; x < w->ow; x += GOPT_VW) {
        vf v = v_splat(begin);
        for (int64_t k = 0; k < w->kw; k++)
            v = fold(max, v, load_strided(row + x * w->stride_w + k * w->dilation_w, w->stride_w));
        v_store_part(dst + x, v, w->ow - x < GOPT_VW ? (int)(w->ow - x) : GOPT_VW);
    }
}

static inline __attribute__((always_inline)) void run(const gopt_windows *w, bool max, float begin, const float *src,
                                                      float *dst, float *row)
{
    GOPT_LEVEL(gopt_fill)(row, begin, w->room);
    for (int64_t y = 0; y < w->oh; y++) {
        fold_rows(w, max, begin, src, y, row);
        fold_along(w, max, begin, row, dst + y * w->ow);
    }
}

void GOPT_LEVEL(gopt_windows_max)(const gopt_windows *w, const float *src, float *dst, float *row)
{
    run(w, true, -__builtin_inff(), src, dst, row);
}

void GOPT_LEVEL(gopt_windows_sum)(const gopt_windows *w, const float *src, float *dst, float *row)
{
    run(w, false, 0, src, dst, row);
}
