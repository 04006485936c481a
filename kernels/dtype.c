/* dtype.c: element types, and arrays of them read and written as doubles or 64-bit integers. Any type goes through its
 * bit pattern, little-endian; those that are common have loops of their own, which compilers vectorize. */
#include "tensor.h"

#include <math.h>
#include <string.h>

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

/* ---- one element by its bit pattern ---- */

static uint64_t bits_load(gopt_dtype d, const void *src, int64_t i)
{
    int bits = types[d].bits;
    const unsigned char *p = src;
    uint64_t u = 0;
    if (bits >= 8)
        memcpy(&u, p + i * (bits / 8), (size_t)bits / 8);
    else
        u = (unsigned)p[i * bits / 8] >> (i * bits % 8) & ((1U << bits) - 1);
    return u;
}

static void bits_store(gopt_dtype d, void *dst, int64_t i, uint64_t u)
{
    int bits = types[d].bits;
    unsigned char *p = dst;
    if (bits >= 8) {
        memcpy(p + i * (bits / 8), &u, (size_t)bits / 8);
        return;
    }
    unsigned mask = (1U << bits) - 1, shift = (unsigned)(i * bits % 8);
    unsigned char *byte = p + i * bits / 8;
    *byte = (unsigned char)((*byte & ~(mask << shift)) | (((unsigned)u & mask) << shift));
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

/* ---- arrays ---- */

static double load_one(gopt_dtype d, const void *src, int64_t i)
{
    uint64_t u = bits_load(d, src, i);
    if (types[d].kind == REAL)
        return decode(d, u);
    int64_t v = gopt_dtype_wrap(d, (int64_t)u);
    return d == GOPT_DTYPE_U64 ? (double)u : (double)v;
}

void gopt_dtype_load(gopt_dtype d, const void *src, int64_t first, int64_t n, double *dst)
{
    const float *f32 = src;
    const uint8_t *u8 = src;
    const int32_t *i32 = src;
    const int64_t *i64 = src;
    const uint16_t *u16 = src;
    bool number = known(d) && types[d].kind != OTHER;
    switch (d) {
    case GOPT_DTYPE_F32:
        for (int64_t i = 0; i < n; i++)
            dst[i] = f32[first + i];
        break;
    case GOPT_DTYPE_F64:
        memcpy(dst, (const double *)src + first, (size_t)n * sizeof *dst);
        break;
    case GOPT_DTYPE_U8:
        for (int64_t i = 0; i < n; i++)
            dst[i] = u8[first + i];
        break;
    case GOPT_DTYPE_I32:
        for (int64_t i = 0; i < n; i++)
            dst[i] = i32[first + i];
        break;
    case GOPT_DTYPE_I64:
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)i64[first + i];
        break;
    case GOPT_DTYPE_F16:
        for (int64_t i = 0; i < n; i++)
            dst[i] = gopt_f16_to_f32(u16[first + i]);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            dst[i] = number ? load_one(d, src, first + i) : 0;
    }
}

static uint64_t to_bits(gopt_dtype d, double v)
{
    return types[d].kind == REAL ? encode(d, v) : (uint64_t)gopt_dtype_trunc(d, v);
}

void gopt_dtype_store(gopt_dtype d, void *dst, int64_t first, int64_t n, const double *src)
{
    float *f32 = dst;
    bool number = known(d) && types[d].kind != OTHER;
    switch (d) {
    case GOPT_DTYPE_F32:
        for (int64_t i = 0; i < n; i++)
            f32[first + i] = (float)src[i];
        break;
    case GOPT_DTYPE_F64:
        memcpy((double *)dst + first, src, (size_t)n * sizeof *src);
        break;
    default:
        for (int64_t i = 0; number && i < n; i++)
            bits_store(d, dst, first + i, to_bits(d, src[i]));
    }
}

static int64_t load_one_int(gopt_dtype d, const void *src, int64_t i)
{
    uint64_t u = bits_load(d, src, i);
    return types[d].kind == REAL ? gopt_dtype_trunc(GOPT_DTYPE_I64, decode(d, u)) : gopt_dtype_wrap(d, (int64_t)u);
}

void gopt_dtype_load_int(gopt_dtype d, const void *src, int64_t first, int64_t n, int64_t *dst)
{
    const uint8_t *u8 = src;
    const int32_t *i32 = src;
    bool number = known(d) && types[d].kind != OTHER;
    switch (d) {
    case GOPT_DTYPE_I64:
    case GOPT_DTYPE_U64:
        memcpy(dst, (const int64_t *)src + first, (size_t)n * sizeof *dst);
        break;
    case GOPT_DTYPE_I32:
        for (int64_t i = 0; i < n; i++)
            dst[i] = i32[first + i];
        break;
    case GOPT_DTYPE_U8:
        for (int64_t i = 0; i < n; i++)
            dst[i] = u8[first + i];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            dst[i] = number ? load_one_int(d, src, first + i) : 0;
    }
}

static uint64_t int_to_bits(gopt_dtype d, int64_t v)
{
    if (types[d].kind != REAL)
        return (uint64_t)(d == GOPT_DTYPE_BOOL ? v != 0 : v);
    return encode(d, d == GOPT_DTYPE_F32 ? (double)(float)v : (double)v);
}

void gopt_dtype_store_int(gopt_dtype d, void *dst, int64_t first, int64_t n, const int64_t *src)
{
    int32_t *i32 = dst;
    uint8_t *u8 = dst;
    bool number = known(d) && types[d].kind != OTHER;
    switch (d) {
    case GOPT_DTYPE_I64:
    case GOPT_DTYPE_U64:
        memcpy((int64_t *)dst + first, src, (size_t)n * sizeof *src);
        break;
    case GOPT_DTYPE_I32:
        for (int64_t i = 0; i < n; i++)
            i32[first + i] = (int32_t)src[i];
        break;
    case GOPT_DTYPE_U8:
        for (int64_t i = 0; i < n; i++)
            u8[first + i] = (uint8_t)src[i];
        break;
    default:
        for (int64_t i = 0; number && i < n; i++)
            bits_store(d, dst, first + i, int_to_bits(d, src[i]));
    }
}
