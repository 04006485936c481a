/* conv2d.h: the geometry of float convolutions in one or two dimensions (one has height 1). */
#ifndef GOPT_CPU_CONV2D_H
#define GOPT_CPU_CONV2D_H

#include "kernel.h"

typedef struct gopt_conv2d {
    int64_t batch, groups;
    int64_t channels, filters; /* of one group */
    int64_t ih, iw, oh, ow, kh, kw;
    int64_t stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w; /* above, left */
    bool bias;            /* operand 2 */
} gopt_conv2d;

/* False when the group is no float32 Conv over one or two dimensions. */
bool gopt_conv2d_of(const gopt_group *g, gopt_conv2d *c);
double gopt_conv2d_flops(const gopt_conv2d *c);

#endif
