/* window.h: the geometry of convolutions and poolings: where windows lie and how many there are. */
#ifndef GOPT_REF_WINDOW_H
#define GOPT_REF_WINDOW_H

#include "attr.h"
#include "dim.h"

#define GOPT_WINDOW_MAX (GOPT_RANK_MAX - 2) /* spatial axes */

typedef enum gopt_window_pad {
    GOPT_PAD_EXPLICIT,
    GOPT_PAD_VALID,
    GOPT_PAD_SAME_UPPER, /* an odd cell of padding goes to the end */
    GOPT_PAD_SAME_LOWER
} gopt_window_pad;

typedef struct gopt_window {
    int n; /* spatial axes */
    gopt_window_pad mode;
    bool ceil;
    int64_t kernel[GOPT_WINDOW_MAX]; /* 0 where not known */
    int64_t stride[GOPT_WINDOW_MAX], dilation[GOPT_WINDOW_MAX];
    int64_t pad[GOPT_WINDOW_MAX], pad_end[GOPT_WINDOW_MAX];
    int64_t in[GOPT_WINDOW_MAX], out[GOPT_WINDOW_MAX]; /* set by bind */
} gopt_window;

/* Reads kernel_shape (optional: kernel stays 0), strides, dilations, pads, auto_pad and ceil_mode for n axes. EINPUT on
 * wrong lengths, on values below 1 (pads: 0) and on values above 2^31 - 1. */
gopt_status gopt_window_read(gopt_window *w, gopt_attrs a, int n, gopt_err *e);
/* Number of windows along an axis of size `in`; unknown when the kernel is. */
gopt_dim gopt_window_out(gopt_dims *t, const gopt_window *w, int axis, gopt_dim in);
/* EINPUT when `out` is a constant that means that not even one window fits into `in` > 0. */
gopt_status gopt_window_check(const gopt_window *w, int axis, gopt_dim in, gopt_dim out, gopt_err *e);
/* Fixes in, out and the paddings for real sizes, which gopt_window_check has passed. */
void gopt_window_bind(gopt_window *w, const int64_t *in);
/* Cells that a dilated kernel spans. */
int64_t gopt_window_extent(const gopt_window *w, int axis);
/* Taps [lo, hi) of the window at output o that lie inside the input. */
void gopt_window_taps(const gopt_window *w, int axis, int64_t o, int64_t *lo, int64_t *hi);
/* Number of taps of that window inside input and padding. */
int64_t gopt_window_padded_taps(const gopt_window *w, int axis, int64_t o);

#endif
