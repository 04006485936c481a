/* conv2d.h: the geometry of float convolutions in one or two dimensions (one has height 1, and so
 * has an image of width 1: it is taken as a row). */
#ifndef GOPT_CPU_CONV2D_H
#define GOPT_CPU_CONV2D_H

#include "cpu/post.h"

typedef struct gopt_conv2d {
    int64_t batch, groups;
    int64_t channels, filters; /* of one group */
    int64_t ih, iw, oh, ow, kh, kw;
    int64_t stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w; /* above, left */
    bool bias;            /* operand 2 */
} gopt_conv2d;

/* False when the group is no float32 Conv or FusedConv over one or two dimensions. */
bool gopt_conv2d_of(const gopt_group *g, gopt_conv2d *c);
/* The geometry of operands 0 and 1 as an image and filters, whatever their types; bias is false. */
bool gopt_conv2d_plain(const gopt_group *g, gopt_conv2d *c);
/* What follows the sums: FusedConv's addend and activation, then post. x is new; x->result stays -1 when nothing
 * follows. False: an activation that expressions do not have. */
bool gopt_conv2d_expr(const gopt_group *g, gopt_expr *x);
/* Whether tiles can compute that; and the tile program for it (see post.h). */
bool gopt_conv2d_post_fits(const gopt_group *g);
void gopt_conv2d_post_prepare(gopt_post *p, const gopt_group *g, const gopt_simd *simd);
double gopt_conv2d_flops(const gopt_conv2d *c);

#endif
