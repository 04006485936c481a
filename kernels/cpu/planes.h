/* planes.h: images laid out so that every tap of a strided, padded convolution is one run of memory per output row:
 * with their padding, and split by the remainder of their coordinates modulo the stride. Output pixel (y, x) is number
 * y * cols + x of a plane, also for taps: a tap is a distance. */
#ifndef GOPT_CPU_PLANES_H
#define GOPT_CPU_PLANES_H

#include "cpu/conv2d.h"
#include "cpu/simd.h"

/* False when strides and kernel need too many planes. */
bool gopt_planes_of(gopt_planes *p, const gopt_conv2d *c);
int64_t gopt_planes_tap(const gopt_planes *p, const gopt_conv2d *c, int64_t ky, int64_t kx);
/* All of them, offset[kh * kw]. */
void gopt_planes_taps(const gopt_planes *p, const gopt_conv2d *c, int64_t *offset);

#endif
