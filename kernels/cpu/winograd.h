/* winograd.h: Winograd's method for 3x3 convolutions of stride 1: tiles of m x m results from (m + 2)^2 products per
 * pair of channel and filter, instead of 9 m^2. Pixels and sums are transformed by simd/winograd.h. */
#ifndef GOPT_CPU_WINOGRAD_H
#define GOPT_CPU_WINOGRAD_H

enum { GOPT_WINOGRAD_MAX = 36 /* products of a tile */ };

/* Row i < m + 2 of G, 3 numbers: G filter G^T is a transformed filter. */
const double *gopt_winograd_row(int m, int i);
/* u[(m + 2)^2], row by row, of a filter[3][3]; m is 2 or 4. */
void gopt_winograd_filter(int m, const float *filter, float *u);

#endif
