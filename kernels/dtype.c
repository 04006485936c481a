/* dtype.c: element types, and arrays of them read and written as doubles or 64-bit integers. Any type goes through its
 * bit pattern, little-endian; those that are common have loops of their own, which compilers vectorize. */
#include "tensor.h"

#include <math.h>
#include <string.h>

#define CHUNK 256 /* elements that pass through a buffer at a time */

typedef enum kind { OTHER, REAL, SIGNED, UNSIGNED, BOOLEAN } kind;

static const struct {
    const char *name;
    int bits;
    kind kind;
} types[GOPT_DTYPE_COUNT] = {
    [GOPT_DTYPE_NONE] = {"undefined", 0, OTHER},
    [GOPT_DTYPE_F32] = {"float32", 32, REAL},
    [GOPT_DTYPE_U8] = {"uint8", 8, UNSIGNED},
    [GOPT_DTYPE_I8] = {"int8", 8, SIGNED},
    [GOPT_DTYPE_U16] = {"uint16", 16, UNSIGNED},
    [GOPT_DTYPE_I16] = {"int16", 16, SIGNED},
    [GOPT_DTYPE_I32] = {"int32", 32, SIGNED},
    [GOPT_DTYPE_I64] = {"int64", 64, SIGNED},
    [GOPT_DTYPE_STRING] = {"string", 0, OTHER},
    [GOPT_DTYPE_BOOL] = {"bool", 8, BOOLEAN},
    [GOPT_DTYPE_F16] = {"float16", 16, REAL},
    [GOPT_DTYPE_F64] = {"float64", 64, REAL},
    [GOPT_DTYPE_U32] = {"uint32", 32, UNSIGNED},
    [GOPT_DTYPE_U64] = {"uint64", 64, UNSIGNED},
    [GOPT_DTYPE_C64] = {"complex64", 64, OTHER},
    [GOPT_DTYPE_C128] = {"complex128", 128, OTHER},
    [GOPT_DTYPE_BF16] = {"bfloat16", 16, REAL},
    [GOPT_DTYPE_F8E4M3FN] = {"float8e4m3fn", 8, REAL},
    [GOPT_DTYPE_F8E4M3FNUZ] = {"float8e4m3fnuz", 8, REAL},
    [GOPT_DTYPE_F8E5M2] = {"float8e5m2", 8, REAL},
    [GOPT_DTYPE_F8E5M2FNUZ] = {"float8e5m2fnuz", 8, REAL},
    [GOPT_DTYPE_U4] = {"uint4", 4, UNSIGNED},
    [GOPT_DTYPE_I4] = {"int4", 4, SIGNED},
    [GOPT_DTYPE_F4E2M1] = {"float4e2m1", 4, REAL},
    [GOPT_DTYPE_F8E8M0] = {"float8e8m0", 8, REAL},
    [GOPT_DTYPE_U2] = {"uint2", 2, UNSIGNED},
    [GOPT_DTYPE_I2] = {"int2", 2, SIGNED},
};

static bool known(gopt_dtype d)
{
    return (int)d > GOPT_DTYPE_NONE && d < GOPT_DTYPE_COUNT;
}

const char *gopt_dtype_name(gopt_dtype d)
{
    return types[known(d) ? d : GOPT_DTYPE_NONE].name;
}

gopt_dtype gopt_dtype_find(const char *name)
{
    for (int d = GOPT_DTYPE_NONE + 1; d < GOPT_DTYPE_COUNT; d++)
        if (!strcmp(types[d].name, name))
            return (gopt_dtype)d;
    return GOPT_DTYPE_NONE;
}

int gopt_dtype_bits(gopt_dtype d)
{
    return known(d) ? types[d].bits : 0;
}

bool gopt_dtype_is_float(gopt_dtype d)
{
    return known(d) && types[d].kind == REAL;
}

bool gopt_dtype_is_half(gopt_dtype d)
{
    return d == GOPT_DTYPE_F16 || d == GOPT_DTYPE_BF16;
}

bool gopt_dtype_is_int(gopt_dtype d)
{
    return known(d) && (types[d].kind == SIGNED || types[d].kind == UNSIGNED);
}

bool gopt_dtype_is_signed(gopt_dtype d)
{
    return known(d) && types[d].kind == SIGNED;
}

size_t gopt_dtype_bytes(gopt_dtype d, int64_t count)
{
    size_t bits = (size_t)gopt_dtype_bits(d), n = (size_t)count;
    if (d == GOPT_DTYPE_STRING)
        return n * sizeof(char *);
    if (bits == 0 || bits >= 8)
        return n * (bits / 8);
    size_t per_byte = 8 / bits;
    return n / per_byte + (n % per_byte != 0);
}

int64_t gopt_dtype_wrap(gopt_dtype d, int64_t v)
{
    int free_bits = 64 - gopt_dtype_bits(d);
    uint64_t high = (uint64_t)v << (free_bits & 63);
    if (d == GOPT_DTYPE_BOOL)
        return v != 0;
    return gopt_dtype_is_signed(d) ? (int64_t)high >> free_bits : (int64_t)(high >> (free_bits & 63));
}

int64_t gopt_dtype_trunc(gopt_dtype d, double v)
{
    if (d == GOPT_DTYPE_BOOL)
        return v != 0;
    if (!isfinite(v))
        return 0;
    double m = fabs(v) < 0x1p63 ? v : fmod(v, 0x1p64); /* both casts below are then defined */
    return gopt_dtype_wrap(d, (int64_t)(m < 0 ? 0 - (uint64_t)-m : (uint64_t)m));
}

/* To float32 with the last bit telling that something was cut off: a second rounding to a narrower type is then exact.
 */
static float round_odd(double v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if (isnan(v) || (double)f == v || u & 1)
        return f;
    u += fabs((double)f) < fabs(v) ? 1U : ~0U; /* the neighbour on the other side of v, which is odd */
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint64_t encode(gopt_dtype d, double v)
{
    uint64_t u = 0;
    float f = (float)v;
    switch (d) {
    case GOPT_DTYPE_F64:
        memcpy(&u, &v, sizeof v);
        return u;
    case GOPT_DTYPE_F32:
        memcpy(&u, &f, sizeof f);
        return u;
    case GOPT_DTYPE_F16:
        return gopt_f32_to_f16(round_odd(v));
    case GOPT_DTYPE_BF16:
        return gopt_f32_to_bf16(round_odd(v));
    default:
        return gopt_f32_to_small(d, round_odd(v), true);
    }
}

static double decode(gopt_dtype d, uint64_t u)
{
    double v;
    float f;
    switch (d) {
    case GOPT_DTYPE_F64:
        memcpy(&v, &u, sizeof v);
        return v;
    case GOPT_DTYPE_F32:
        memcpy(&f, &u, sizeof f);
        return f;
    case GOPT_DTYPE_F16:
        return gopt_f16_to_f32((uint16_t)u);
    case GOPT_DTYPE_BF16:
        return gopt_bf16_to_f32((uint16_t)u);
    default:
        return gopt_small_to_f32(d, (uint8_t)u);
    }
}

double gopt_dtype_round(gopt_dtype d, double v)
{
    return decode(d, encode(d, v));
}

/* ---- arrays of bit patterns ---- */

static void load_packed(int bits, const uint8_t *src, int64_t first, int64_t n, int64_t *dst)
{
    for (int64_t i = 0, at = first * bits; i < n; i++, at += bits)
        dst[i] = (src[at / 8] >> at % 8) & ((1 << bits) - 1);
}

static void load_bits(int bits, const void *src, int64_t first, int64_t n, int64_t *dst)
{
    const uint8_t *u8 = src;
    const uint16_t *u16 = src;
    const uint32_t *u32 = src;
    switch (bits) {
    case 8:
        for (int64_t i = 0; i < n; i++)
            dst[i] = u8[first + i];
        break;
    case 16:
        for (int64_t i = 0; i < n; i++)
            dst[i] = u16[first + i];
        break;
    case 32:
        for (int64_t i = 0; i < n; i++)
            dst[i] = u32[first + i];
        break;
    case 64:
        memcpy(dst, (const int64_t *)src + first, (size_t)n * sizeof *dst);
        break;
    default:
        load_packed(bits, src, first, n, dst);
    }
}

static void store_packed(int bits, uint8_t *dst, int64_t first, int64_t n, const int64_t *src)
{
    unsigned mask = (1U << bits) - 1;
    for (int64_t i = 0, at = first * bits; i < n; i++, at += bits) {
        unsigned shift = (unsigned)(at % 8);
        dst[at / 8] = (uint8_t)((dst[at / 8] & ~(mask << shift)) | (((unsigned)src[i] & mask) << shift));
    }
}

static void store_bits(int bits, void *dst, int64_t first, int64_t n, const int64_t *src)
{
    uint8_t *u8 = dst;
    uint16_t *u16 = dst;
    uint32_t *u32 = dst;
    switch (bits) {
    case 8:
        for (int64_t i = 0; i < n; i++)
            u8[first + i] = (uint8_t)src[i];
        break;
    case 16:
        for (int64_t i = 0; i < n; i++)
            u16[first + i] = (uint16_t)src[i];
        break;
    case 32:
        for (int64_t i = 0; i < n; i++)
            u32[first + i] = (uint32_t)src[i];
        break;
    case 64:
        memcpy((int64_t *)dst + first, src, (size_t)n * sizeof *src);
        break;
    default:
        store_packed(bits, dst, first, n, src);
    }
}

/* ---- arrays of values ---- */

static bool is_number(gopt_dtype d)
{
    return known(d) && types[d].kind != OTHER;
}

void gopt_dtype_load_int(gopt_dtype d, const void *src, int64_t first, int64_t n, int64_t *dst)
{
    if (!is_number(d)) {
        memset(dst, 0, (size_t)n * sizeof *dst);
        return;
    }
    int bits = types[d].bits, shift = 64 - bits;
    load_bits(bits, src, first, n, dst);
    if (types[d].kind == SIGNED)
        for (int64_t i = 0; i < n; i++)
            dst[i] = (int64_t)((uint64_t)dst[i] << shift) >> shift;
    else if (types[d].kind == BOOLEAN)
        for (int64_t i = 0; i < n; i++)
            dst[i] = dst[i] != 0;
    else if (types[d].kind == REAL)
        for (int64_t i = 0; i < n; i++)
            dst[i] = gopt_dtype_trunc(GOPT_DTYPE_I64, decode(d, (uint64_t)dst[i]));
}

static void load_chunk(gopt_dtype d, const void *src, int64_t first, int64_t n, double *dst)
{
    int64_t bits[CHUNK];
    if (types[d].kind == REAL) {
        load_bits(types[d].bits, src, first, n, bits);
        for (int64_t i = 0; i < n; i++)
            dst[i] = decode(d, (uint64_t)bits[i]);
        return;
    }
    gopt_dtype_load_int(d, src, first, n, bits);
    for (int64_t i = 0; i < n; i++)
        dst[i] = (double)bits[i];
    for (int64_t i = 0; d == GOPT_DTYPE_U64 && i < n; i++)
        dst[i] = (double)(uint64_t)bits[i];
}

void gopt_dtype_load(gopt_dtype d, const void *src, int64_t first, int64_t n, double *dst)
{
    const float *f32 = src;
    const uint16_t *f16 = src;
    switch (d) {
    case GOPT_DTYPE_F32:
        for (int64_t i = 0; i < n; i++)
            dst[i] = f32[first + i];
        break;
    case GOPT_DTYPE_F64:
        memcpy(dst, (const double *)src + first, (size_t)n * sizeof *dst);
        break;
    case GOPT_DTYPE_F16:
        for (int64_t i = 0; i < n; i++)
            dst[i] = gopt_f16_to_f32(f16[first + i]);
        break;
    default:
        for (int64_t i = 0; i < n; i += CHUNK)
            load_chunk(d, src, first + i, GOPT_MIN(CHUNK, n - i), dst + i);
    }
}

static void store_chunk(gopt_dtype d, void *dst, int64_t first, int64_t n, const double *src)
{
    int64_t bits[CHUNK];
    if (types[d].kind == REAL)
        for (int64_t i = 0; i < n; i++)
            bits[i] = (int64_t)encode(d, src[i]);
    else if (types[d].kind == BOOLEAN)
        for (int64_t i = 0; i < n; i++)
            bits[i] = src[i] != 0;
    else
        for (int64_t i = 0; i < n; i++)
            bits[i] = fabs(src[i]) < 0x1p62 ? (int64_t)src[i] : gopt_dtype_trunc(d, src[i]);
    store_bits(types[d].bits, dst, first, n, bits);
}

void gopt_dtype_store(gopt_dtype d, void *dst, int64_t first, int64_t n, const double *src)
{
    float *f32 = dst;
    switch (d) {
    case GOPT_DTYPE_F32:
        for (int64_t i = 0; i < n; i++)
            f32[first + i] = (float)src[i];
        break;
    case GOPT_DTYPE_F64:
        memcpy((double *)dst + first, src, (size_t)n * sizeof *src);
        break;
    default:
        for (int64_t i = 0; is_number(d) && i < n; i += CHUNK)
            store_chunk(d, dst, first + i, GOPT_MIN(CHUNK, n - i), src + i);
    }
}

static void store_int_chunk(gopt_dtype d, void *dst, int64_t first, int64_t n, const int64_t *src)
{
    int64_t bits[CHUNK];
    for (int64_t i = 0; i < n; i++)
        if (types[d].kind == REAL) /* straight to float32, to round once */
            bits[i] = (int64_t)encode(d, d == GOPT_DTYPE_F32 ? (double)(float)src[i] : (double)src[i]);
        else
            bits[i] = src[i] != 0;
    store_bits(types[d].bits, dst, first, n, bits);
}

void gopt_dtype_store_int(gopt_dtype d, void *dst, int64_t first, int64_t n, const int64_t *src)
{
    if (!is_number(d))
        return;
    if (types[d].kind == SIGNED || types[d].kind == UNSIGNED) {
        store_bits(types[d].bits, dst, first, n, src);
        return;
    }
    for (int64_t i = 0; i < n; i += CHUNK)
        store_int_chunk(d, dst, first + i, GOPT_MIN(CHUNK, n - i), src + i);
}
