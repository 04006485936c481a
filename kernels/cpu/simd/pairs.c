/* pairs.c: products of pairs of 16-bit integers with sums of 32 bits, in register tiles as in gemm.c; and how bytes
 * become pairs. */
#include "cpu/simd/narrow.h"
#include "cpu/simd/parts.h"

typedef int vi_memory __attribute__((vector_size(4 * GOPT_VW), aligned(2), may_alias));

/* sum and, in each element, the products of two pairs. fused: the processor has VNNI. */
static inline __attribute__((always_inline)) vi add_pairs(vi sum, vi a, vi b, const bool fused)
{
#if defined(__AVX512BW__)
    vi product;
    if (fused) {
        __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
    __asm__("vpmaddwd %2, %1, %0" : "=v"(product) : "v"(a), "v"(b));
    return sum + product;
#elif defined(__AVX2__)
    vi product;
    (void)fused;
    __asm__("vpmaddwd %2, %1, %0" : "=x"(product) : "x"(a), "xm"(b));
    return sum + product;
#else
    (void)fused;
    return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

/* Tiles of a have rows for all; those not wanted are left out at the end. */
static inline __attribute__((always_inline)) void compute(const gopt_pairs *g, const int16_t *b, int32_t *sums,
                                                          const int nv, const bool fused)
{
    vi acc[GOPT_MR][GOPT_NV];
    UNROLL for (int i = 0; i < GOPT_MR; i++) UNROLL for (int j = 0; j < nv; j++) acc[i][j] = (vi){0};
    const int16_t *a = g->a;
    for (int64_t p = 0; p < g->k; p++, a += 2 * GOPT_MR, b += 2 * GOPT_NR) {
        vi bv[GOPT_NV];
        UNROLL for (int j = 0; j < nv; j++) bv[j] = *(const vi_memory *)(b + 2 * j * GOPT_VW);
        UNROLL for (int i = 0; i < GOPT_MR; i++)
        {
            int32_t pair;
            memcpy(&pair, a + 2 * i, sizeof pair);
            vi av = vi_splat(pair);
            UNROLL for (int j = 0; j < nv; j++) acc[i][j] = add_pairs(acc[i][j], av, bv[j], fused);
        }
    }
    UNROLL for (int i = 0; i < GOPT_MR; i++) if (i < g->rows) UNROLL for (int j = 0; j < nv; j++) *
        (vi_memory *)(sums + i * g->sums_row + j * GOPT_VW) = acc[i][j];
}

/* One function for each: gcc gives up allocating registers well in one that holds them all. */
#define VECTORS(nv)                                                                                                    \
    static __attribute__((noinline)) void separate##nv(const gopt_pairs *g, const int16_t *b, int32_t *sums)           \
    {                                                                                                                  \
        compute(g, b, sums, nv, false);                                                                                \
    }                                                                                                                  \
    static __attribute__((noinline)) void fused##nv(const gopt_pairs *g, const int16_t *b, int32_t *sums)              \
    {                                                                                                                  \
        compute(g, b, sums, nv, true);                                                                                 \
    }
VECTORS(1)
VECTORS(2)
#if GOPT_NV == 3
VECTORS(3)
#endif
#undef VECTORS

static void (*const by_vectors[][2])(const gopt_pairs *, const int16_t *, int32_t *) = {
    {separate1, fused1},
    {separate2, fused2},
#if GOPT_NV == 3
    {separate3, fused3},
#endif
};

void GOPT_LEVEL(gopt_pairs_run)(const gopt_pairs *g)
{
    bool fused = false;
#if defined(__AVX512BW__)
    fused = __builtin_cpu_supports("avx512vnni");
#endif
    for (int64_t j = 0, panel = 0; j < g->n; j += GOPT_NR, panel++) {
        int64_t cols = g->n - j < GOPT_NR ? g->n - j : GOPT_NR;
        by_vectors[(cols + GOPT_VW - 1) / GOPT_VW - 1][fused](g, g->b + panel * g->b_panel, g->sums + j);
    }
}

void GOPT_LEVEL(gopt_pair_bytes)(int16_t *dst, int unit, const uint8_t *a, const uint8_t *b, int64_t n, bool is_signed,
                                 int zero)
{
    int flip = is_signed ? 128 : 0; /* signed bytes count as unsigned ones, 128 higher */
    int64_t i = 0;
    zero += flip;
    for (; i + GOPT_VW <= n; i += GOPT_VW) {
        vi pair = ((v_load_u8(a + i) ^ flip) - zero) & 0xffff;
        if (b)
            pair |= ((v_load_u8(b + i) ^ flip) - zero) << 16;
        *(vi_memory *)(dst + 2 * i) = pair;
    }
    for (; i < n; i++) {
        dst[2 * i] = (int16_t)((a[i] ^ flip) - zero);
        dst[2 * i + 1] = (int16_t)(b ? (b[i] ^ flip) - zero : 0);
    }
    memset(dst + 2 * i, 0, (size_t)(2 * (unit - i)) * sizeof *dst);
}
