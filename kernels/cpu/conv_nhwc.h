/* conv_nhwc.h: the geometry of gopt.ConvNhwc: a product of pixels' surroundings, runs of memory, with a matrix of
 * filters. One dimension has height 1. */
#ifndef GOPT_CPU_CONV_NHWC_H
#define GOPT_CPU_CONV_NHWC_H

#include "cpu/simd.h"
#include "kernel.h"

typedef struct gopt_conv_nhwc {
    int64_t batch, channels, filters;
    int64_t ih, iw, oh, ow, kh, kw;
    int64_t stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w; /* above, left */
    bool bias;            /* operand 2 */
    bool padded;          /* windows reach past the image: it is copied into a larger one of zeros, ... */
    int64_t rows, cols;   /* ... of so many rows of so many pixels; else those of the image */
    int64_t run, runs;    /* numbers side by side that a window reads at once, and how many such */
} gopt_conv_nhwc;

/* False when the group is no float32 ConvNhwc over one or two dimensions with constant filters. A convolution of single
 * pixels is one long row of them. */
bool gopt_conv_nhwc_of(const gopt_group *g, gopt_conv_nhwc *c);
/* Where run r begins, counted in floats from the first one of a window's. */
int64_t gopt_conv_nhwc_tap(const gopt_conv_nhwc *c, int64_t r);
/* acc (+ bias), then post. x is new. False: it does not fit into one expression. */
bool gopt_conv_nhwc_expr(const gopt_group *g, const gopt_conv_nhwc *c, gopt_expr *x);
double gopt_conv_nhwc_flops(const gopt_conv_nhwc *c);
/* Panels [first, last) of `unit` filters each, [tap][channel][filter] in a panel. */
void gopt_conv_nhwc_pack(const gopt_conv_nhwc *c, const gopt_simd *simd, int unit, const float *src, float *dst,
                         int64_t first, int64_t last);

#endif
