/* planes.c: one channel of an image into its planes. */
#include "cpu/simd/parts.h"

static void copy_strided(float *dst, const float *src, int64_t stride, int64_t n)
{
    int64_t i = 0;
    if (stride == 2) { /* of the last vector, an element past the last one would be read */
        for (; i + GOPT_VW < n; i += GOPT_VW)
            v_store(dst + i, v_even(v_load(src + 2 * i), v_load(src + 2 * i + GOPT_VW)));
        if (i < n)
            v_store_part(dst + i, v_load_even(src + 2 * i, (int)(n - i)), (int)(n - i));
        return;
    }
    for (; i < n; i++)
        dst[i] = src[stride * i];
}

static void copy_row(const gopt_planes *p, const float *src, int remainder, float *dst)
{
    int64_t stride = p->stride_w, x = remainder - p->pad_w; /* the first column's place in the image */
    int64_t lo = x < 0 ? (-x + stride - 1) / stride : 0, hi = p->iw > x ? (p->iw - x + stride - 1) / stride : 0;
    hi = hi < p->cols ? hi : p->cols;
    lo = lo < hi ? lo : hi;
    GOPT_LEVEL(gopt_fill)(dst, 0, lo);
    src += x + lo * stride;
    if (stride == 1)
        memcpy(dst + lo, src, (size_t)(hi - lo) * sizeof *dst);
    else
        copy_strided(dst + lo, src, stride, hi - lo);
    GOPT_LEVEL(gopt_fill)(dst + hi, 0, p->cols - hi);
}

void GOPT_LEVEL(gopt_spread)(const gopt_planes *p, const float *src, float *dst)
{
    float *begin = dst;
    for (int i = 0; i < p->n_y; i++)
        for (int j = 0; j < p->n_x; j++)
            for (int64_t row = 0; row < p->rows; row++, dst += p->cols) {
                int64_t y = row * p->stride_h + p->y[i] - p->pad_h;
                if (y < 0 || y >= p->ih)
                    GOPT_LEVEL(gopt_fill)(dst, 0, p->cols);
                else
                    copy_row(p, src + y * p->iw, p->x[j], dst);
            }
    GOPT_LEVEL(gopt_fill)(dst, 0, p->size - (dst - begin));
}
