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

/* Steps of 1 and 2, the common ones, as loops of their own. */
static inline __attribute__((always_inline)) void add_unsigned(int32_t *sums, const uint8_t *src, int flip,
                                                               int64_t step, int zero, int weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] += weight * ((src[i * step] ^ flip) - zero);
}

void GOPT_LEVEL(gopt_add_bytes)(int32_t *sums, const void *src, bool is_signed, int64_t step, int zero, int weight,
                                int64_t n)
{
    int flip = is_signed ? 128 : 0; /* signed bytes count as unsigned ones, 128 higher */
    if (step == 1)
        add_unsigned(sums, src, flip, 1, zero + flip, weight, n);
    else if (step == 2)
        add_unsigned(sums, src, flip, 2, zero + flip, weight, n);
    else
        add_unsigned(sums, src, flip, step, zero + flip, weight, n);
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
