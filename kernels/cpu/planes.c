#include "cpu/planes.h"

enum { MAX_STRIDE = 4096 }; /* every remainder is looked at */

/* Remainders modulo the stride that taps have, ascending; their number, 0 when over the limit. */
static int remainders(int64_t taps, int64_t dilation, int64_t stride, int *out)
{
    int n = 0;
    for (int64_t r = 0; r < stride; r++) {
        bool used = false;
        for (int64_t k = 0; k < taps && k < stride; k++)
            used |= k * dilation % stride == r;
        if (used && n == GOPT_PLANES_MAX)
            return 0;
        if (used)
            out[n++] = (int)r;
    }
    return n;
}

bool gopt_planes_of(gopt_planes *p, const gopt_conv2d *c)
{
    if (c->stride_h >= MAX_STRIDE || c->stride_w >= MAX_STRIDE)
        return false;
    *p = (gopt_planes){.ih = c->ih, .iw = c->iw, .pad_h = c->pad_h, .pad_w = c->pad_w};
    p->stride_h = c->stride_h;
    p->stride_w = c->stride_w;
    p->n_y = remainders(c->kh, c->dilation_h, c->stride_h, p->y);
    p->n_x = remainders(c->kw, c->dilation_w, c->stride_w, p->x);
    p->rows = c->oh + (c->kh - 1) * c->dilation_h / c->stride_h;
    p->cols = c->ow + (c->kw - 1) * c->dilation_w / c->stride_w;
    p->size = p->n_y * p->n_x * p->rows * p->cols;
    if (p->size % 1024 == 0)
        p->size += 16; /* or the channels would all meet in the same few lines of the first cache */
    return p->n_y && p->n_x;
}

static int64_t find(const int *list, int64_t r)
{
    int64_t i = 0;
    while (list[i] != r)
        i++;
    return i;
}

int64_t gopt_planes_tap(const gopt_planes *p, const gopt_conv2d *c, int64_t ky, int64_t kx)
{
    int64_t y = ky * c->dilation_h, x = kx * c->dilation_w;
    int64_t plane = find(p->y, y % c->stride_h) * p->n_x + find(p->x, x % c->stride_w);
    return (plane * p->rows + y / c->stride_h) * p->cols + x / c->stride_w;
}

void gopt_planes_taps(const gopt_planes *p, const gopt_conv2d *c, int64_t *offset)
{
    for (int64_t k = 0; k < c->kh * c->kw; k++)
        offset[k] = gopt_planes_tap(p, c, k / c->kw, k % c->kw);
}
