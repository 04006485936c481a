/* window.c: attributes and arithmetic of convolution and pooling windows. */
#include "ref/window.h"

#include <string.h>

static gopt_status read_ints(gopt_attrs a, const char *name, int n, int64_t least, int64_t fallback, int64_t *out,
                             gopt_err *e)
{
    int64_t count;
    const int64_t *v = gopt_attr_ints(a, name, &count);
    if (count && count != n)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld values, %d expected", name, (long long)count, n);
    for (int i = 0; i < n; i++) {
        out[i] = count ? v[i] : fallback;
        if (count && (out[i] < least || out[i] > INT32_MAX))
            return gopt_fail(e, GOPT_EINPUT, "attribute %s: value %lld, %lld to %d expected", name, (long long)out[i],
                             (long long)least, INT32_MAX);
    }
    return GOPT_OK;
}

static gopt_status read_mode(gopt_window *w, gopt_attrs a, gopt_err *e)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const char *s = gopt_attr_string(a, "auto_pad", "NOTSET");
    for (int i = 0; i < GOPT_COUNT(names); i++)
        if (!strcmp(s, names[i])) {
            w->mode = (gopt_window_pad)i;
            return GOPT_OK;
        }
    return gopt_fail(e, GOPT_EINPUT, "attribute auto_pad: unknown value \"%s\"", s);
}

gopt_status gopt_window_read(gopt_window *w, gopt_attrs a, int n, gopt_err *e)
{
    *w = (gopt_window){.n = n, .ceil = gopt_attr_int(a, "ceil_mode", 0) != 0};
    if (n > GOPT_WINDOW_MAX)
        return gopt_fail(e, GOPT_EINPUT, "%d spatial axes, at most %d are possible", n, GOPT_WINDOW_MAX);
    GOPT_TRY(read_mode(w, a, e));
    GOPT_TRY(read_ints(a, "kernel_shape", n, 1, 0, w->kernel, e));
    GOPT_TRY(read_ints(a, "strides", n, 1, 1, w->stride, e));
    GOPT_TRY(read_ints(a, "dilations", n, 1, 1, w->dilation, e));
    int64_t pads[2 * GOPT_WINDOW_MAX];
    GOPT_TRY(read_ints(a, "pads", 2 * n, 0, 0, pads, e));
    for (int i = 0; i < n && w->mode == GOPT_PAD_EXPLICIT; i++) {
        w->pad[i] = pads[i];
        w->pad_end[i] = pads[n + i];
    }
    return GOPT_OK;
}

int64_t gopt_window_extent(const gopt_window *w, int axis)
{
    return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

gopt_dim gopt_window_out(gopt_dims *t, const gopt_window *w, int axis, gopt_dim in)
{
    if (!w->kernel[axis])
        return GOPT_DIM_UNKNOWN;
    gopt_dim stride = gopt_dim_of(w->stride[axis]), one = gopt_dim_of(1);
    if (w->mode == GOPT_PAD_SAME_UPPER || w->mode == GOPT_PAD_SAME_LOWER)
        return gopt_dim_ceil_div(t, in, stride);
    gopt_dim room = gopt_dim_add(t, in, gopt_dim_of(w->pad[axis] + w->pad_end[axis] - gopt_window_extent(w, axis)));
    gopt_dim last = gopt_dim_div(t, room, stride);
    if (w->ceil && w->mode == GOPT_PAD_EXPLICIT) { /* no window starts in the padding at the end */
        gopt_dim start = gopt_dim_add(t, in, gopt_dim_of(w->pad[axis] - 1));
        last = gopt_dim_min(t, gopt_dim_ceil_div(t, room, stride), gopt_dim_div(t, start, stride));
    }
    gopt_dim out = gopt_dim_add(t, last, one);
    if (gopt_dim_is_const(in) && in.k == 0 && gopt_dim_is_const(out) && out.k < 0)
        return gopt_dim_of(0);
    return out;
}

gopt_status gopt_window_check(const gopt_window *w, int axis, gopt_dim in, gopt_dim out, gopt_err *e)
{
    if (!gopt_dim_is_const(in) || !gopt_dim_is_const(out) || in.k == 0 || out.k > 0)
        return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "spatial axis %d: a kernel that spans %lld does not fit into %lld + %lld padding",
                     axis, (long long)gopt_window_extent(w, axis), (long long)in.k,
                     (long long)(w->pad[axis] + w->pad_end[axis]));
}

void gopt_window_bind(gopt_window *w, const int64_t *in)
{
    for (int i = 0; i < w->n; i++) {
        w->in[i] = in[i];
        w->out[i] = gopt_window_out(NULL, w, i, gopt_dim_of(in[i])).k;
        if (w->mode != GOPT_PAD_SAME_UPPER && w->mode != GOPT_PAD_SAME_LOWER)
            continue;
        int64_t total = (w->out[i] - 1) * w->stride[i] + gopt_window_extent(w, i) - in[i];
        total = GOPT_MAX(total, 0);
        w->pad[i] = w->mode == GOPT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        w->pad_end[i] = total - w->pad[i];
    }
}

/* Taps k in [0, kernel) with 0 <= start + k * dilation < size. */
static void clip(int64_t start, int64_t dilation, int64_t kernel, int64_t size, int64_t *lo, int64_t *hi)
{
    *lo = start < 0 ? (-start + dilation - 1) / dilation : 0;
    *hi = size > start ? (size - start + dilation - 1) / dilation : 0;
    *hi = GOPT_MIN(*hi, kernel);
    *lo = GOPT_MIN(*lo, *hi);
}

void gopt_window_taps(const gopt_window *w, int axis, int64_t o, int64_t *lo, int64_t *hi)
{
    int64_t start = o * w->stride[axis] - w->pad[axis];
    clip(start, w->dilation[axis], w->kernel[axis], w->in[axis], lo, hi);
}

int64_t gopt_window_padded_taps(const gopt_window *w, int axis, int64_t o)
{
    int64_t lo, hi, size = w->pad[axis] + w->in[axis] + w->pad_end[axis];
    clip(o * w->stride[axis], w->dilation[axis], w->kernel[axis], size, &lo, &hi);
    return hi - lo;
}
