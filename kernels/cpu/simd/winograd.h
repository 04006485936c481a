/* winograd.h: F(2x2, 3x3) and F(4x4, 3x3) in one dimension, for vectors of tiles or of channels. Source: Lavin and
 * Gray, Fast Algorithms for Convolutional Neural Networks (2015), points 0, 1, -1, 2, -2. Generated code has the text
 * of this file. */
#ifndef GOPT_CPU_SIMD_WINOGRAD_H
#define GOPT_CPU_SIMD_WINOGRAD_H

#include "cpu/simd/vector.h"

/* One dimension: what the m + 2 pixels of a tile become. */
static inline __attribute__((always_inline, unused)) void v_winograd_in(const int m, const vf *d, int step, vf *t)
{
    if (m == 2) {
        t[0] = d[0] - d[2 * step];
        t[1] = d[step] + d[2 * step];
        t[2] = d[2 * step] - d[step];
        t[3] = d[step] - d[3 * step];
        return;
    }
    vf a = d[4 * step] - 4.0f * d[2 * step], b = d[3 * step] - 4.0f * d[step];
    vf e = d[4 * step] - d[2 * step], f = 2.0f * (d[3 * step] - d[step]);
    t[0] = 4.0f * d[0] - 5.0f * d[2 * step] + d[4 * step];
    t[1] = a + b;
    t[2] = a - b;
    t[3] = e + f;
    t[4] = e - f;
    t[5] = 4.0f * d[step] - 5.0f * d[3 * step] + d[5 * step];
}

/* And back: m pixels from m + 2 sums. */
static inline __attribute__((always_inline, unused)) void v_winograd_out(const int m, const vf *s, int step, vf *y)
{
    vf sum = s[step] + s[2 * step], difference = s[step] - s[2 * step];
    if (m == 2) {
        y[0] = s[0] + sum;
        y[1] = difference - s[3 * step];
        return;
    }
    vf outer = s[3 * step] + s[4 * step], slope = s[3 * step] - s[4 * step];
    y[0] = s[0] + sum + outer;
    y[1] = difference + 2.0f * slope;
    y[2] = sum + 4.0f * outer;
    y[3] = difference + 8.0f * slope + s[5 * step];
}

#endif
