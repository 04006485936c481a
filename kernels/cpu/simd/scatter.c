/* scatter.c: adding results to where their taps belong (transposed convolution). */
#include "cpu/simd/parts.h"

void GOPT_LEVEL(gopt_add_strided)(float *dst, int64_t stride, const float *src, int64_t n)
{
    int64_t i = 0;
    if (stride == 1)
        for (; i + GOPT_VW <= n; i += GOPT_VW)
            v_store(dst + i, v_load(dst + i) + v_load(src + i));
    for (; i < n; i++)
        dst[i * stride] += src[i];
}
