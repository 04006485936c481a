/* half.c: float16 and bfloat16 to float32 and back, rounded to nearest even. */
#include "cpu/simd/parts.h"

typedef short vh __attribute__((vector_size(2 * GOPT_VW)));
typedef short vh_memory __attribute__((vector_size(2 * GOPT_VW), aligned(2), may_alias));

static inline vf widen_bf16(const vh_memory *p)
{
    return (vf)(__builtin_convertvector((vh)*p, vi) << 16);
}

static inline void narrow_bf16(vh_memory *p, vf x)
{
    vu u = (vu)x, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, nan = u >> 16 | 0x40;
    *p = __builtin_convertvector((vi)v_select(x != x, (vf)nan, (vf)rounded), vh);
}

#if defined(__F16C__) || defined(__AVX512F__)
static inline vf widen_f16(const vh_memory *p)
{
    vf r;
    __asm__("vcvtph2ps %1, %0" : "=v"(r) : "m"(*p));
    return r;
}

static inline void narrow_f16(vh_memory *p, vf x)
{
    __asm__("vcvtps2ph $0, %1, %0" : "=m"(*p) : "v"(x));
}
#else
static inline vf widen_f16(const vh_memory *p)
{
    vi h = __builtin_convertvector((vh)*p, vi), sign = (h & 0x8000) << 16, rest = (h & 0x7fff) << 13;
    vf finite = (vf)rest * 0x1p112f, special = (vf)(rest | 0x7f800000);
    return (vf)((vi)v_select(rest >= 0x7c00 << 13, special, finite) | sign);
}

/* As gopt_f32_to_f16 does it. */
static inline void narrow_f16(vh_memory *p, vf x)
{
    vi u = (vi)x, sign = (vi)((vu)u >> 16 & 0x8000), rest = u & 0x7fffffff;
    vi normal = (rest + 0xfff + (rest >> 13 & 1) - (112 << 23)) >> 13;
    vi small = (vi)((vf)rest + 0.5f) - 0x3f000000;
    vi nan = 0x7e00 | (rest >> 13 & 0x1ff);
    vf r = v_select(rest < 0x38800000, (vf)small, (vf)normal);
    r = v_select(rest >= 0x477ff000, (vf)vi_splat(0x7c00), r);
    r = v_select(rest > 0x7f800000, (vf)nan, r);
    *p = __builtin_convertvector((vi)r | sign, vh);
}
#endif

/* The rest that is no whole vector goes through own memory. */
void GOPT_LEVEL(gopt_half_widen)(float *dst, const uint16_t *src, int64_t n, bool brain)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        v_store(dst + i, brain ? widen_bf16((const vh_memory *)(src + i)) : widen_f16((const vh_memory *)(src + i)));
    vh part = {0};
    memcpy(&part, src + i, (size_t)(n - i) * sizeof *src);
    vf last = brain ? widen_bf16((const vh_memory *)&part) : widen_f16((const vh_memory *)&part);
    memcpy(dst + i, &last, (size_t)(n - i) * sizeof *dst);
}

void GOPT_LEVEL(gopt_half_narrow)(uint16_t *dst, const float *src, int64_t n, bool brain)
{
    int64_t i = 0;
    for (; i + GOPT_VW <= n; i += GOPT_VW)
        if (brain)
            narrow_bf16((vh_memory *)(dst + i), v_load(src + i));
        else
            narrow_f16((vh_memory *)(dst + i), v_load(src + i));
    vh part;
    vf last = v_load_part(src + i, (int)(n - i), 0);
    if (brain)
        narrow_bf16((vh_memory *)&part, last);
    else
        narrow_f16((vh_memory *)&part, last);
    memcpy(dst + i, &part, (size_t)(n - i) * sizeof *dst);
}

typedef signed char vb_memory __attribute__((vector_size(GOPT_VW), aligned(1), may_alias));

/* Compilers take the widening of short vectors apart where they are not told the instruction. */
#if defined(__AVX2__)
#define WIDEN(name, instruction, type)                                                                                 \
    static inline vi name(const type *p)                                                                               \
    {                                                                                                                  \
        vi r;                                                                                                          \
        __asm__(instruction " %1, %0" : "=v"(r) : "m"(*p));                                                            \
        return r;                                                                                                      \
    }
WIDEN(widen_signed, "vpmovsxbd", vb_memory)
WIDEN(widen_unsigned, "vpmovzxbd", vb_memory)
WIDEN(widen_words, "vpmovzxwd", vh_memory)
#else
static inline vi widen_signed(const vb_memory *p)
{
    return __builtin_convertvector(*p, vi);
}

static inline vi widen_unsigned(const vb_memory *p)
{
    return widen_signed(p) & 0xff;
}

static inline vi widen_words(const vh_memory *p)
{
    return __builtin_convertvector((vh)*p, vi) & 0xffff;
}
#endif

static inline vf wide_f16(const void *p, int64_t i)
{
    return widen_f16((const vh_memory *)((const uint16_t *)p + i));
}

static inline vf wide_bf16(const void *p, int64_t i)
{
    return (vf)(widen_words((const vh_memory *)((const uint16_t *)p + i)) << 16);
}

static inline vf wide_i8(const void *p, int64_t i)
{
    return __builtin_convertvector(widen_signed((const vb_memory *)((const int8_t *)p + i)), vf);
}

static inline vf wide_u8(const void *p, int64_t i)
{
    return __builtin_convertvector(widen_unsigned((const vb_memory *)((const uint8_t *)p + i)), vf);
}

/* Inlined with a known function each. Two rows at once, to have more sums in flight. */
static inline __attribute__((always_inline)) void panel_row(int64_t k, const float *x, const void *panel, float *y,
                                                            vf (*wide)(const void *, int64_t))
{
    vf s[2][GOPT_NV];
    for (int v = 0; v < GOPT_NV; v++)
        s[0][v] = s[1][v] = v_splat(0);
    int64_t p = 0;
    for (; p + 2 <= k; p += 2)
        for (int v = 0; v < GOPT_NV; v++) {
            s[0][v] += x[p] * wide(panel, p * GOPT_NR + v * GOPT_VW);
            s[1][v] += x[p + 1] * wide(panel, (p + 1) * GOPT_NR + v * GOPT_VW);
        }
    for (int v = 0; v < GOPT_NV; v++) {
        if (p < k)
            s[0][v] += x[p] * wide(panel, p * GOPT_NR + v * GOPT_VW);
        v_store(y + v * GOPT_VW, s[0][v] + s[1][v]);
    }
}

void GOPT_LEVEL(gopt_narrow_row)(gopt_dtype d, int64_t k, const float *x, const void *panel, float *y)
{
    switch (d) {
    case GOPT_DTYPE_F16:
        panel_row(k, x, panel, y, wide_f16);
        break;
    case GOPT_DTYPE_BF16:
        panel_row(k, x, panel, y, wide_bf16);
        break;
    case GOPT_DTYPE_I8:
        panel_row(k, x, panel, y, wide_i8);
        break;
    default:
        panel_row(k, x, panel, y, wide_u8);
        break;
    }
}
