#include "cpu/bytes.h"

#include <math.h>
#include <string.h>

bool gopt_is_bytes(const gopt_group *g, int k)
{
    return gopt_group_has(g, k) && (g->in[k].dtype == GOPT_DTYPE_U8 || g->in[k].dtype == GOPT_DTYPE_I8);
}

bool gopt_zero_fits(const gopt_group *g, int k, int of)
{
    return !gopt_group_has(g, k) || (g->in[k].dtype == g->in[of].dtype && gopt_operand_count(&g->in[k]) == 1);
}

int gopt_byte_at(const void *data, bool is_signed, int64_t i)
{
    if (!data)
        return 0;
    return is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

bool gopt_conv_integer_of(const gopt_group *g, gopt_conv2d *c)
{
    enum { X, W, X_ZERO, W_ZERO };
    return gopt_group_is(g, "", "ConvInteger") && gopt_is_bytes(g, X) && gopt_is_bytes(g, W) &&
           gopt_zero_fits(g, X_ZERO, X) && gopt_zero_fits(g, W_ZERO, W) && gopt_conv2d_plain(g, c);
}

int64_t gopt_wide_row(int64_t k)
{
    return gopt_ceil_div(k, 32) * 32;
}

void gopt_widen_row(const gopt_simd *simd, int16_t *dst, const void *src, bool is_signed, int64_t k, int64_t step,
                    int zero)
{
    if (step == 1)
        simd->widen(dst, src, is_signed, k, zero);
    else
        for (int64_t i = 0; i < k; i++)
            dst[i] = (int16_t)(gopt_byte_at(src, is_signed, i * step) - zero);
    memset(dst + k, 0, (size_t)(gopt_wide_row(k) - k) * sizeof *dst);
}

bool gopt_finish_fits(const gopt_group *g, gopt_dtype sum)
{
    if (g->n_out != 1 || !g->post)
        return g->n_out == 1 && g->out[0].dtype == sum;
    return gopt_post_fits_any(g, g->post);
}

void gopt_finish_prepare(gopt_finish *f, const gopt_group *g, const gopt_simd *simd)
{
    f->size = gopt_dtype_bits(g->out[0].dtype) / 8;
    f->integers = g->out[0].dtype == GOPT_DTYPE_I32;
    if (g->post)
        gopt_post_prepare(&f->post, g, g->post, simd);
}

void gopt_finish_run(const gopt_finish *f, const gopt_simd *simd, const gopt_task *t, const int32_t *sums, float scale,
                     int64_t first, int64_t n)
{
    _Alignas(64) float acc[GOPT_SUMS];
    char *out = (char *)t->out[0] + first * f->size;
    if (f->integers) {
        memcpy(out, sums, (size_t)(n * f->size));
        return;
    }
    simd->from_integers(GOPT_DTYPE_I32, sums, acc, n);
    if (scale != 1)
        simd->affine(acc, acc, n, 0, scale, 0);
    if (f->post.active)
        gopt_post_run(&f->post, t->in, acc, out, first, n);
    else
        memcpy(out, acc, (size_t)(n * f->size));
}

void gopt_finish_floats(const gopt_finish *f, const gopt_task *t, const float *sums, int64_t first, int64_t n)
{
    char *out = (char *)t->out[0] + first * f->size;
    if (f->post.active)
        gopt_post_run(&f->post, t->in, sums, out, first, n);
    else
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)(void *)out)[i] = (int32_t)sums[i];
}

void gopt_range_find(const gopt_simd *simd, const gopt_task *t, const float *x, int64_t count, float *range)
{
    int64_t lo, hi;
    gopt_share(count, 64, t->part, t->parts, &lo, &hi);
    simd->extremes(x + lo, hi - lo, &range[2 * t->part], &range[2 * t->part + 1]);
}

float gopt_range_scale(const gopt_simd *simd, const gopt_task *t, const float *range, uint8_t *zero)
{
    float low = 0, high = 0;
    for (int i = 0; i < t->parts; i++) {
        low = fminf(low, range[2 * i]);
        high = fmaxf(high, range[2 * i + 1]);
    }
    float scale = high == low ? 1 : (high - low) / 255;
    simd->quantize(zero, &(float){-low}, 1, scale, 0);
    return scale;
}
