/* vmath.h: elementary functions over vectors of floats, by own polynomials, within about 2 ulp unless said; infinities,
 * zeros and NaN as in C. Needs no header but vector.h: generated code starts with the text of both. */
#ifndef GOPT_CPU_SIMD_VMATH_H
#define GOPT_CPU_SIMD_VMATH_H

#include "cpu/simd/vector.h"

#define GOPT_V static inline __attribute__((always_inline, unused))

GOPT_V vf v_sqrt(vf x)
{
#if defined(__AVX__)
    vf r;
    __asm__("vsqrtps %1, %0" : "=v"(r) : "v"(x));
    return r;
#elif defined(__SSE__)
    vf r;
    __asm__("sqrtps %1, %0" : "=x"(r) : "x"(x));
    return r;
#else
    for (int i = 0; i < GOPT_VW; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

/* To nearest, ties to even. Adding 2^23 leaves no place for fractions. */
GOPT_V vf v_round(vf x)
{
    vf magic = v_splat(8388608.0f), r = (v_abs(x) + magic) - magic;
    return v_select(v_abs(x) < 8388608.0f, v_copysign(r, x), x);
}

/* To float16 and back: to nearest, ties to even. */
GOPT_V vf v_round_f16(vf x)
{
#if defined(__F16C__) || defined(__AVX512F__)
    short half __attribute__((vector_size(2 * GOPT_VW)));
    __asm__("vcvtps2ph $0, %1, %0" : "=v"(half) : "v"(x));
    __asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(half));
    return x;
#else
    vf size = v_abs(x), small = (size + 0.5f) - 0.5f; /* below 2^-14 numbers lie 2^-24 apart, as floats at 0.5 do */
    vu u = (vu)size;
    vf r = v_select(size < 0x1p-14f, small, (vf)((u + 0xfffu + (u >> 13 & 1u)) & ~0x1fffu));
    r = v_select(size >= 65520.0f, v_splat(__builtin_inff()), r);
    return v_select(x == x, v_copysign(r, x), x);
#endif
}

/* To bfloat16 and back. */
GOPT_V vf v_round_bf16(vf x)
{
    vu u = (vu)x;
    return v_select(x == x, (vf)((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u), x);
}

GOPT_V vf v_floor(vf x)
{
    vf r = v_round(x);
    return v_select(r > x, v_copysign(r - 1.0f, x), r);
}

GOPT_V vf v_ceil(vf x)
{
    vf r = v_round(x);
    return v_select(r < x, v_copysign(r + 1.0f, x), r);
}

/* x * 2^n for n in [-252, 254]: in two steps, as 2^n need not be a normal number. */
GOPT_V vf v_scale(vf x, vi n)
{
    vi half = n >> 1;
    return x * (vf)((half + 127) << 23) * (vf)((n - half + 127) << 23);
}

/* e^r - 1 - r over r^2, for |r| <= ln(2) / 2. */
GOPT_V vf v_exp_tail(vf r)
{
    vf p = 1.3950629e-3f * r + 8.3689699e-3f;
    p = p * r + 4.1666202e-2f;
    p = p * r + 1.6666518e-1f;
    return p * r + 0.5f;
}

/* x = n ln(2) + r. Returns r; n also as a float. */
GOPT_V vf v_exp_reduce(vf x, vi *n)
{
    vf magic = v_splat(12582912.0f), t = x * 1.44269504f + magic, f = t - magic;
    *n = (vi)t - (vi)magic;
    return (x - f * 0.693145752f) - f * 1.42860677e-6f;
}

/* For x in [-87, 88]: the result is a normal number. */
GOPT_V vf v_exp_normal(vf x)
{
    vi n;
    vf r = v_exp_reduce(x, &n);
    return (v_exp_tail(r) * (r * r) + r + 1.0f) * (vf)((n + 127) << 23);
}

GOPT_V vf v_exp(vf x)
{
    vi n;
    x = v_select(x > 89.0f, v_splat(89.0f), x);
    x = v_select(x < -104.0f, v_splat(-104.0f), x);
    vf r = v_exp_reduce(x, &n);
    return v_scale(v_exp_tail(r) * (r * r) + r + 1.0f, n);
}

GOPT_V vf v_log(vf x)
{
    vi small = x < 1.17549435e-38f;
    vf y = v_select(small, x * 8388608.0f, x);
    vi n = ((vi)y - 0x3f3504f3) >> 23; /* mantissa in [sqrt(1/2), sqrt(2)) */
    vf f = (vf)((vi)y - (n << 23)) - 1.0f, e = __builtin_convertvector(n - (small & 23), vf), z = f * f;
    vf p = 6.9169641e-2f * f - 1.1791913e-1f;
    p = p * f + 1.1873402e-1f;
    p = p * f - 1.2384044e-1f;
    p = p * f + 1.4218566e-1f;
    p = p * f - 1.6669264e-1f;
    p = p * f + 2.0002231e-1f;
    p = p * f - 2.4999987e-1f;
    p = p * f + 3.3333310e-1f;
    vf r = (p * f * z - 0.5f * z + e * -2.12194440e-4f) + f + e * 0.693359375f;
    r = v_select((x < __builtin_inff()) & (x > 0.0f), r, x); /* +inf and NaN stay */
    r = v_select(x == 0.0f, v_splat(-__builtin_inff()), r);
    return v_select(x < 0.0f, v_splat(__builtin_nanf("")), r);
}

/* A quotient of polynomials in x^2, for |x| <= 9: what is above, returned, and below. */
GOPT_V vf v_tanh_parts(vf x, vf *below)
{
    vf s = x * x;
    vf p = 1.3177538e-8f * s + 2.0481199e-5f;
    p = p * s + 3.4878119e-3f;
    p = p * s + 1.3374476e-1f;
    vf q = 7.7040528e-7f * s + 3.2729216e-4f;
    q = q * s + 2.5847392e-2f;
    q = q * s + 4.6707791e-1f;
    *below = q * s + 1.0f;
    return p * s * x + x;
}

GOPT_V vf v_tanh(vf x)
{
    vf below, above = v_tanh_parts(x, &below);
    return v_select(v_abs(x) > 9.0f, v_copysign(v_splat(1.0f), x), above / below);
}

/* What is above, returned, and below, in [1, 2]. */
GOPT_V vf v_sigmoid_parts(vf x, vf *below)
{
    vf t = v_abs(x), z = v_exp_normal(-v_select(t > 87.0f, v_splat(87.0f), t));
    *below = 1.0f + z;
    return v_select(x < 0.0f, z, v_splat(1.0f));
}

GOPT_V vf v_sigmoid(vf x)
{
    vf below, above = v_sigmoid_parts(x, &below);
    return above / below;
}

/* Near 0 an odd polynomial, else 1 - e^p(|x|). */
GOPT_V vf v_erf(vf x)
{
    vf t = v_abs(x), s = x * x;
    vf p = -5.9768936e-4f * s + 4.9909800e-3f;
    p = p * s - 2.6765566e-2f;
    p = p * s + 1.1281803e-1f;
    p = p * s - 3.7612495e-1f;
    p = p * s + 1.2837915e-1f;
    vf u = v_select(t > 4.0f, v_splat(4.0f), t), q = -1.1231471e-5f * u + 3.2280543e-4f;
    q = q * u - 3.6424652e-3f;
    q = q * u + 2.3762075e-2f;
    q = q * u - 1.0623689e-1f;
    q = q * u - 6.3515133e-1f;
    q = q * u - 1.2864849e-1f;
    return v_select(t > 0.92f, v_copysign(1.0f - v_exp_normal(q * u - u), x), p * x + x);
}

/* sin(x + quarter * pi / 2) for |x| <= 8192: the quadrant picks one of two polynomials. */
GOPT_V vf v_sine(vf x, int quarter)
{
    vf magic = v_splat(12582912.0f), t = x * 0.636619772f + magic, f = t - magic;
    vi n = (vi)t - (vi)magic + quarter;
    vf r = ((x - f * 1.5703125f) - f * 4.83751297e-4f) - f * 7.54953362e-8f;
    r = r - f * 2.56334407e-12f;
    vf s = r * r;
    vf a = ((-1.9586727e-4f * s + 8.3327433e-3f) * s - 1.6666664e-1f) * s * r + r;
    vf b = ((2.4546753e-5f * s - 1.3888298e-3f) * s + 4.1666664e-2f) * s * s - 0.5f * s + 1.0f;
    vf y = v_select(-(n & 1), b, a);
    return (vf)((vi)y ^ ((n & 2) << 30));
}

GOPT_V vf v_sign(vf x)
{
    vf one = v_copysign(v_splat(1.0f), x);
    return v_select((x > 0.0f) | (x < 0.0f), one, x); /* zeros and NaN stay */
}

/* Truth as 1 or 0. */
GOPT_V vf v_truth(vi m)
{
    return (vf)(m & 0x3f800000);
}

/* x^y for finite x > 0 and finite y, in double precision inside: |y log x| multiplies the error of the logarithm. */
GOPT_V vf v_pow_positive(vf x, vf y)
{
    vi small = x < 1.17549435e-38f;
    vf scaled = v_select(small, x * 8388608.0f, x);
    vi n = ((vi)scaled - 0x3f3504f3) >> 23;
    vd m = __builtin_convertvector((vf)((vi)scaled - (n << 23)), vd);
    vd s = (m - 1.0) / (m + 1.0), z = s * s;
    vd p = (((0.1937106406512957 * z + 0.2219095464735526) * z + 0.285717618386811) * z + 0.3999999875970983) * z +
           0.6666666666740476;
    vd l = p * z * s + 2.0 * s + __builtin_convertvector(n - (small & 23), vd) * 0.6931471805599453;
    vd w = l * __builtin_convertvector(y, vd);
    w = (vd)(((vl)w & (vl)(w < 89.0)) | ((vl)(89.0 - (vd){0}) & ~(vl)(w < 89.0)));
    w = (vd)(((vl)w & (vl)(w > -104.0)) | ((vl)(-104.0 - (vd){0}) & ~(vl)(w > -104.0)));
    vd t = w * 1.4426950408889634 + 6755399441055744.0, f = t - 6755399441055744.0;
    vd r = w - f * 0.6931471805599453;
    vd e =
        ((2.76434010514159e-06 * r + 2.488247836183032e-05) * r + 0.00019841164058193993) * r + 0.0013888807167702496;
    e = ((e * r + 0.008333333387623688) * r + 0.04166666699156889) * r + 0.16666666666570903;
    e = (e * r + 0.49999999999599715) * r * r + r + 1.0;
    vl k = (vl)t - (vl)(6755399441055744.0 - (vd){0});
    return __builtin_convertvector(e * (vd)((k + 1023) << 52), vf);
}

#endif
