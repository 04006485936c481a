/* bytes.c: products of 8-bit integers, widened to 16 bits so that zero points can be taken away; and their making. */
#include "cpu/simd/parts.h"
#include "cpu/simd/vmath.h"

void GOPT_LEVEL(gopt_widen)(int16_t *dst, const void *src, bool is_signed, int64_t n, int zero)
{
    const uint8_t *u = src;
    const int8_t *s = src;
    if (is_signed)
        for (int64_t i = 0; i < n; i++)
            dst[i] = (int16_t)(s[i] - zero);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = (int16_t)(u[i] - zero);
}

/* Written so that compilers find the instruction that multiplies 16-bit pairs and adds them. */
static void dot4(int64_t k, const int16_t *a, const int16_t *b, int64_t step, int32_t *out)
{
    const int16_t *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t i = 0; i < k; i++) {
        s0 += a[i] * b[i];
        s1 += a[i] * b1[i];
        s2 += a[i] * b2[i];
        s3 += a[i] * b3[i];
    }
    out[0] = s0;
    out[1] = s1;
    out[2] = s2;
    out[3] = s3;
}

void GOPT_LEVEL(gopt_dots)(int64_t k, const int16_t *a, const int16_t *b, int64_t step, int64_t n, int32_t *out)
{
    int64_t j = 0;
    for (; j + 4 <= n; j += 4)
        dot4(k, a, b + j * step, step, out + j);
    for (; j < n; j++) {
        int32_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += a[i] * b[j * step + i];
        out[j] = sum;
    }
}

#define FROM(type)                                                                                                     \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        dst[i] = (float)((const type *)src)[i];

void GOPT_LEVEL(gopt_from_integers)(gopt_dtype d, const void *src, float *dst, int64_t n)
{
    switch (d) {
    case GOPT_DTYPE_U8:
        FROM(uint8_t)
        break;
    case GOPT_DTYPE_I8:
        FROM(int8_t)
        break;
    case GOPT_DTYPE_U16:
        FROM(uint16_t)
        break;
    case GOPT_DTYPE_I16:
        FROM(int16_t)
        break;
    default:
        FROM(int32_t)
        break;
    }
}

#define TO(type)                                                                                                       \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        ((type *)dst)[i] = (type)(int32_t)src[i];

void GOPT_LEVEL(gopt_to_integers)(gopt_dtype d, const float *src, void *dst, int64_t n)
{
    switch (d) {
    case GOPT_DTYPE_U8:
        TO(uint8_t)
        break;
    case GOPT_DTYPE_I8:
        TO(int8_t)
        break;
    case GOPT_DTYPE_U16:
        TO(uint16_t)
        break;
    default:
        TO(int16_t)
        break;
    }
}

/* Division, not a product with the inverse: the rounding that the definition asks for depends on it. */
void GOPT_LEVEL(gopt_quantize)(uint8_t *dst, const float *x, int64_t n, float scale, float zero)
{
    for (int64_t i = 0; i < n; i += GOPT_VW) {
        int m = n - i < GOPT_VW ? (int)(n - i) : GOPT_VW;
        vf v = v_round(v_load_part(x + i, m, 0) / scale) + zero;
        v = v_select(v > 0.0f, v, v_splat(0)); /* NaN too */
        v = v_select(v < 255.0f, v, v_splat(255));
        vi q = __builtin_convertvector(v, vi);
        for (int j = 0; j < m; j++)
            dst[i + j] = (uint8_t)q[j];
    }
}
