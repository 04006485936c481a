/* bytes.c: products of 8-bit integers, widened to 16 bits so that zero points can be taken away; and their making. */
#include "cpu/simd/narrow.h"
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

#if defined(__AVX512F__)
typedef int vi_memory __attribute__((vector_size(64), aligned(2), may_alias));

/* sum and products of 16-bit pairs, in one instruction: for processors that have VNNI. */
static inline __attribute__((always_inline)) vi add_pairs(vi sum, vi a, vi b)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

/* The sums of four vectors' elements. */
static inline void add_up(const vi *s, int32_t *out)
{
    vi p = __builtin_shufflevector(s[0], s[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23) +
           __builtin_shufflevector(s[0], s[1], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    vi q = __builtin_shufflevector(s[2], s[3], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23) +
           __builtin_shufflevector(s[2], s[3], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    vi r = __builtin_shufflevector(p, q, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23) +
           __builtin_shufflevector(p, q, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
    for (int j = 0; j < 4; j++)
        out[j] = r[j] + r[4 + j] + r[8 + j] + r[12 + j];
}

/* One row of a with four of b: variables of their own, which arrays would keep in memory. */
#define SUMS(r) vi s##r##0 = {0}, s##r##1 = {0}, s##r##2 = {0}, s##r##3 = {0}
#define ADD(r)                                                                                                         \
    do {                                                                                                               \
        vi left = *(const vi_memory *)(a + r * a_step + i);                                                            \
        s##r##0 = add_pairs(s##r##0, left, b0);                                                                        \
        s##r##1 = add_pairs(s##r##1, left, b1);                                                                        \
        s##r##2 = add_pairs(s##r##2, left, b2);                                                                        \
        s##r##3 = add_pairs(s##r##3, left, b3);                                                                        \
    } while (0)
#define STORE(r) add_up((vi[4]){s##r##0, s##r##1, s##r##2, s##r##3}, out + r * out_step)

/* Four rows of a with four of b. k: a multiple of 32. */
static void dot16(int64_t k, const int16_t *a, int64_t a_step, const int16_t *b, int64_t b_step, int32_t *out,
                  int64_t out_step)
{
    SUMS(0);
    SUMS(1);
    SUMS(2);
    SUMS(3);
    for (int64_t i = 0; i < k; i += 2 * GOPT_VW) {
        vi b0 = *(const vi_memory *)(b + i), b1 = *(const vi_memory *)(b + b_step + i);
        vi b2 = *(const vi_memory *)(b + 2 * b_step + i), b3 = *(const vi_memory *)(b + 3 * b_step + i);
        ADD(0);
        ADD(1);
        ADD(2);
        ADD(3);
    }
    STORE(0);
    STORE(1);
    STORE(2);
    STORE(3);
}

/* As many whole fours of both sides as there are; *rows and *cols: how many. */
static void dots_by_pairs(const gopt_dots *d, int64_t *rows, int64_t *cols)
{
    *rows = *cols = 0;
    if (d->k % 32 || !__builtin_cpu_supports("avx512vnni"))
        return;
    *rows = d->m / 4 * 4;
    *cols = d->n / 4 * 4;
    for (int64_t j = 0; j < *cols; j += 4)
        for (int64_t i = 0; i < *rows; i += 4)
            dot16(d->k, d->a + i * d->a_step, d->a_step, d->b + j * d->b_step, d->b_step, d->out + i * d->out_step + j,
                  d->out_step);
}
#else
static void dots_by_pairs(const gopt_dots *d, int64_t *rows, int64_t *cols)
{
    (void)d;
    *rows = *cols = 0;
}
#endif

/* One row of a with rows [first, n) of b. */
static void dots_of_row(const gopt_dots *d, const int16_t *a, int64_t first, int32_t *out)
{
    int64_t j = first;
    for (; j + 4 <= d->n; j += 4)
        dot4(d->k, a, d->b + j * d->b_step, d->b_step, out + j);
    for (; j < d->n; j++) {
        int32_t sum = 0;
        for (int64_t i = 0; i < d->k; i++)
            sum += a[i] * d->b[j * d->b_step + i];
        out[j] = sum;
    }
}

void GOPT_LEVEL(gopt_dots_run)(const gopt_dots *d)
{
    int64_t rows, cols;
    dots_by_pairs(d, &rows, &cols);
    for (int64_t i = 0; i < d->m; i++)
        dots_of_row(d, d->a + i * d->a_step, i < rows ? cols : 0, d->out + i * d->out_step);
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

/* Division, not a product with the inverse: the rounding that the definition asks for depends on it. The zero point is
 * whole, so it is added after rounding; NaN becomes 0. */
static inline __attribute__((always_inline)) vi quantized(vf x, float scale, float zero)
{
    const vf magic = v_splat(12582912.0f); /* leaves no place for fractions */
    vf v = x / scale;
    v = v_select(v > -zero, v, v_splat(-zero));
    v = v_select(v < 255.0f - zero, v, v_splat(255.0f - zero)) + magic;
    return (vi)v - (vi)magic + (int)zero;
}

void GOPT_LEVEL(gopt_quantize)(uint8_t *dst, const float *x, int64_t n, float scale, float zero)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store_u8(dst + i, quantized(v_load(x + i), scale, zero));
    if (i < n) {
        uint8_t last[GOPT_VW];
        v_store_u8(last, quantized(v_load_part(x + i, (int)(n - i), 0), scale, zero));
        memcpy(dst + i, last, (size_t)(n - i));
    }
}

/* NaN is seen apart, so that extremes need no more than a comparison. */
void GOPT_LEVEL(gopt_extremes)(const float *x, int64_t n, float *low, float *high)
{
    enum { WIDE = 4 };
    vf least[WIDE], most[WIDE];
    vi nan = {0};
    for (int u = 0; u < WIDE; u++)
        least[u] = most[u] = v_splat(n > 0 ? x[0] : 0);
    int64_t i = 0;
    for (; i + WIDE * GOPT_VW <= n; i += WIDE * GOPT_VW)
        UNROLL for (int u = 0; u < WIDE; u++)
        {
            vf v = v_load(x + i + u * GOPT_VW);
            least[u] = v_select(v < least[u], v, least[u]);
            most[u] = v_select(v > most[u], v, most[u]);
            nan |= v != v;
        }
    for (; i < n; i += GOPT_VW) {
        vf v = v_load_part(x + i, n - i < GOPT_VW ? (int)(n - i) : GOPT_VW, x[0]);
        least[0] = v_select(v < least[0], v, least[0]);
        most[0] = v_select(v > most[0], v, most[0]);
        nan |= v != v;
    }
    vf a = v_min(v_min(least[0], least[1]), v_min(least[2], least[3]));
    vf b = v_max(v_max(most[0], most[1]), v_max(most[2], most[3])), poison = (vf)nan;
    *low = -v_hmax(-v_select(nan, poison, a));
    *high = v_hmax(v_select(nan, poison, b));
}

/* What a row of bytes takes to become one of a plane. */
typedef struct byte_row {
    int64_t step, begin, lo, hi, cols; /* first byte; columns of the plane that the row has, and all */
    int flip, zero;
} byte_row;

static inline __attribute__((always_inline)) void store_floats(const byte_row *r, float *dst, vi bytes, int n)
{
    v_store_part(dst, __builtin_convertvector((bytes ^ r->flip) - r->zero, vf), n);
}

/* Fewer bytes than a vector. */
static inline __attribute__((always_inline)) void few_floats(const byte_row *r, float *dst, const uint8_t *src, int n)
{
    uint8_t own[GOPT_VW] = {0};
    for (int i = 0; i < n; i++)
        own[i] = src[i * r->step];
    store_floats(r, dst, v_load_u8(own), n);
}

/* The last vector may overlap the one before it. */
static void floats_of(const byte_row *r, float *dst, const uint8_t *src, int64_t n)
{
    int64_t i = 0;
    if (r->step == 1 && n >= GOPT_VW) {
        for (; i + GOPT_VW < n; i += GOPT_VW)
            store_floats(r, dst + i, v_load_u8(src + i), GOPT_VW);
        store_floats(r, dst + n - GOPT_VW, v_load_u8(src + n - GOPT_VW), GOPT_VW);
        return;
    }
    if (r->step == 2 && n > GOPT_VW) { /* of the last pair, only one byte is there */
        for (; i + GOPT_VW < n; i += GOPT_VW)
            store_floats(r, dst + i, v_load_pairs_u8(src + 2 * i, false), GOPT_VW);
        store_floats(r, dst + n - GOPT_VW, v_load_pairs_u8(src + 2 * (n - GOPT_VW) - 1, true), GOPT_VW);
        return;
    }
    for (; i < n; i += GOPT_VW)
        few_floats(r, dst + i, src + i * r->step, n - i < GOPT_VW ? (int)(n - i) : GOPT_VW);
}

static void spread_row(const byte_row *r, const uint8_t *src, float *dst)
{
    for (int64_t i = 0; i < r->lo; i++)
        dst[i] = 0;
    floats_of(r, dst + r->lo, src + r->begin, r->hi - r->lo);
    for (int64_t i = r->hi; i < r->cols; i++)
        dst[i] = 0;
}

static byte_row row_of(const gopt_planes *p, int remainder)
{
    int64_t step = p->stride_w, x = remainder - p->pad_w; /* the first column's place in the image */
    int64_t lo = x < 0 ? (-x + step - 1) / step : 0, hi = p->iw > x ? (p->iw - x + step - 1) / step : 0;
    hi = hi < p->cols ? hi : p->cols;
    lo = lo < hi ? lo : hi;
    return (byte_row){.step = step, .begin = x + lo * step, .lo = lo, .hi = hi, .cols = p->cols};
}

void GOPT_LEVEL(gopt_spread_bytes)(const gopt_planes *p, const uint8_t *src, bool is_signed, int zero, float *dst)
{
    int flip = is_signed ? 128 : 0; /* signed bytes count as unsigned ones, 128 higher */
    float *begin = dst;
    for (int i = 0; i < p->n_y; i++)
        for (int j = 0; j < p->n_x; j++) {
            byte_row r = row_of(p, p->x[j]);
            r.flip = flip;
            r.zero = zero + flip;
            for (int64_t row = 0; row < p->rows; row++, dst += p->cols) {
                int64_t y = row * p->stride_h + p->y[i] - p->pad_h;
                if (y < 0 || y >= p->ih)
                    memset(dst, 0, (size_t)p->cols * sizeof *dst);
                else
                    spread_row(&r, src + y * p->iw, dst);
            }
        }
    GOPT_LEVEL(gopt_fill)(dst, 0, p->size - (dst - begin));
}
