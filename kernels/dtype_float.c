/* dtype_float.c: float formats narrower than 32 bits, by the ONNX tables. All rounding is to nearest even. */
#include "tensor.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float gopt_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) /* infinity, NaN with its payload */
        return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest < 0x400) /* zero and subnormals: multiples of 2^-24 */
        return float_of(sign | bits_of((float)rest * 0x1p-24f));
    return float_of(sign | ((rest << 13) + (112U << 23)));
}

uint16_t gopt_f32_to_f16(float f)
{
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, rest = u & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
    if (rest >= 0x477ff000) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) /* below 2^-14: adding 0.5 leaves units of 2^-24, rounded by the processor */
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | (rest - (112U << 23)) >> 13);
}

float gopt_bf16_to_f32(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

uint16_t gopt_f32_to_bf16(float f)
{
    uint32_t u = bits_of(f);
    if (isnan(f))
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

typedef struct format {
    int mantissa, bias;
    uint8_t sign, max; /* the sign bit; the code of the largest finite value */
    uint8_t nan, over; /* codes of NaN and, without saturation, of what is too large */
    bool unsigned_zero;
} format;

static const format *format_of(gopt_dtype d)
{
    static const format e4m3fn = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
    static const format e4m3fnuz = {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
    static const format e5m2 = {2, 15, 0x80, 0x7b, 0x7e, 0x7c, false};
    static const format e5m2fnuz = {2, 16, 0x80, 0x7f, 0x80, 0x80, true};
    static const format e2m1 = {1, 1, 0x8, 0x7, 0x8, 0x7, false}; /* no NaN: ONNX writes -0 */
    switch (d) {
    case GOPT_DTYPE_F8E4M3FN:
        return &e4m3fn;
    case GOPT_DTYPE_F8E4M3FNUZ:
        return &e4m3fnuz;
    case GOPT_DTYPE_F8E5M2:
        return &e5m2;
    case GOPT_DTYPE_F8E5M2FNUZ:
        return &e5m2fnuz;
    default:
        return &e2m1;
    }
}

/* A power of two, rounded up as ONNX does by default; the sign is lost. */
static uint8_t to_e8m0(float f, bool saturate)
{
    uint32_t rest = bits_of(f) & 0x7fffffff, exponent = rest >> 23;
    uint32_t whole = exponent ? 0 : 0x400000; /* the fraction of a power of two; code 0 is 2^-127, a subnormal */
    bool up = (rest & 0x7fffff) > whole && exponent < (saturate ? 0xfe : 0xff);
    return (uint8_t)(exponent + up);
}

uint8_t gopt_f32_to_small(gopt_dtype d, float f, bool saturate)
{
    const format *m = format_of(d);
    if (d == GOPT_DTYPE_F8E8M0)
        return to_e8m0(f, saturate);
    if (isnan(f))
        return m->nan;
    uint8_t sign = signbit(f) ? m->sign : 0;
    double a = fabs((double)f);
    int exponent = GOPT_MAX(isinf(f) ? 128 : ilogb(a), 1 - m->bias); /* that of subnormals at least */
    double units = rint(ldexp(isinf(f) ? 0 : a, m->mantissa - exponent));
    int code = ((exponent + m->bias - 1) << m->mantissa) + (int)units;
    if (code > m->max && !saturate)
        return m->unsigned_zero ? m->over : m->over | sign;
    if (code == 0 && m->unsigned_zero)
        return 0;
    return (uint8_t)(GOPT_MIN(code, m->max) | sign);
}

float gopt_small_to_f32(gopt_dtype d, uint8_t code)
{
    const format *m = format_of(d);
    int rest = code & (m->sign - 1), exponent = rest >> m->mantissa, units = rest & ((1 << m->mantissa) - 1);
    if (d == GOPT_DTYPE_F8E8M0)
        return code == 0xff ? NAN : ldexpf(1, code - 127);
    if (m->unsigned_zero ? code == m->nan : rest > m->max)
        return d == GOPT_DTYPE_F8E5M2 && rest == m->over ? (code & m->sign ? -INFINITY : INFINITY) : NAN;
    if (exponent > 0)
        units += 1 << m->mantissa;
    float a = ldexpf((float)units, GOPT_MAX(exponent, 1) - m->bias - m->mantissa);
    return code & m->sign ? -a : a;
}
