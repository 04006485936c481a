/* simd.c: which levels there are. */
#include "cpu/simd.h"

extern const gopt_simd gopt_simd_base;
#if defined(__x86_64__)
extern const gopt_simd gopt_simd_avx2, gopt_simd_avx512;
#endif

const gopt_simd *gopt_simd_for(gopt_isa isa)
{
#if defined(__x86_64__)
    if (isa >= GOPT_ISA_AVX512)
        return &gopt_simd_avx512;
    if (isa >= GOPT_ISA_AVX2)
        return &gopt_simd_avx2;
#endif
    (void)isa;
    return &gopt_simd_base;
}
