#include "cpu/conv_nhwc.h"

#include <string.h>

#include "cpu/group.h"
#include "ref/window.h"

static bool all_float(const gopt_group *g)
{
    for (int k = 0; k < 3; k++)
        if (!gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    return gopt_group_has(g, 0) && gopt_group_has(g, 1) && g->n_out == 1 && g->out[0].dtype == GOPT_DTYPE_F32;
}

static bool read_window(const gopt_group *g, gopt_conv_nhwc *c, int n)
{
    gopt_window w;
    const gopt_operand *x = &g->in[0], *f = &g->in[1];
    if (gopt_window_read(&w, g->attrs, n, NULL))
        return false;
    memcpy(w.kernel, f->dim + 2, (size_t)n * sizeof *w.kernel);
    gopt_window_bind(&w, x->dim + 1);
    int y = n == 2 ? 0 : -1, last = n - 1;
    c->ih = y < 0 ? 1 : w.in[y];
    c->oh = y < 0 ? 1 : w.out[y];
    c->kh = y < 0 ? 1 : w.kernel[y];
    c->stride_h = y < 0 ? 1 : w.stride[y];
    c->dilation_h = y < 0 ? 1 : w.dilation[y];
    c->pad_h = y < 0 ? 0 : w.pad[y];
    c->iw = w.in[last];
    c->ow = w.out[last];
    c->kw = w.kernel[last];
    c->stride_w = w.stride[last];
    c->dilation_w = w.dilation[last];
    c->pad_w = w.pad[last];
    return c->oh > 0 && c->ow > 0;
}

static void lay_out(gopt_conv_nhwc *c)
{
    c->rows = (c->oh - 1) * c->stride_h + (c->kh - 1) * c->dilation_h + 1;
    c->cols = (c->ow - 1) * c->stride_w + (c->kw - 1) * c->dilation_w + 1;
    c->padded = c->pad_h || c->pad_w || c->rows > c->ih || c->cols > c->iw;
    if (!c->padded) {
        c->rows = c->ih;
        c->cols = c->iw;
    }
    bool whole_rows = c->dilation_w == 1;
    c->run = (whole_rows ? c->kw : 1) * c->channels;
    c->runs = c->kh * (whole_rows ? 1 : c->kw);
    if (c->runs > 1 || c->run > c->channels || c->stride_h > 1 || c->stride_w > 1 || c->padded)
        return;
    c->ow *= c->oh * c->batch;
    c->iw = c->cols = c->ow;
    c->batch = c->oh = c->ih = c->rows = 1;
}

bool gopt_conv_nhwc_of(const gopt_group *g, gopt_conv_nhwc *c)
{
    *c = (gopt_conv_nhwc){0};
    if (!gopt_group_is(g, "gopt", "ConvNhwc") || !all_float(g))
        return false;
    if (!g->in[1].constant && !g->in[1].packed) /* a bundle keeps packed filters alone */
        return false;
    int n = g->in[0].rank - 2;
    if (n < 1 || n > 2 || g->in[1].rank != n + 2)
        return false;
    c->batch = g->in[0].dim[0];
    c->channels = g->in[1].dim[1];
    c->filters = g->in[1].dim[0];
    c->bias = gopt_group_has(g, 2);
    if (c->batch < 1 || c->channels < 1 || c->filters < 1 || !read_window(g, c, n))
        return false;
    lay_out(c);
    return c->rows * c->cols <= INT32_MAX / c->channels && c->stride_w * c->channels <= INT32_MAX / 64;
}

int64_t gopt_conv_nhwc_tap(const gopt_conv_nhwc *c, int64_t r)
{
    int64_t per_row = c->runs / c->kh;
    return (r / per_row * c->dilation_h * c->cols + r % per_row * c->dilation_w) * c->channels;
}

bool gopt_conv_nhwc_expr(const gopt_group *g, const gopt_conv_nhwc *c, gopt_expr *x)
{
    int load[GOPT_EXPR_LIMIT], sum = gopt_expr_acc(x, GOPT_DTYPE_F32);
    if (c->bias)
        sum = gopt_expr_op2(x, GOPT_EXPR_ADD, sum, gopt_expr_load(x, 2, GOPT_DTYPE_F32));
    if (g->post) {
        int n = gopt_group_loads(g, x, load);
        sum = gopt_expr_splice(x, g->post, load, n, sum);
    }
    x->result = sum;
    return sum >= 0;
}

double gopt_conv_nhwc_flops(const gopt_conv_nhwc *c)
{
    return 2.0 * (double)(c->batch * c->oh * c->ow * c->filters) * (double)(c->run * c->runs);
}

void gopt_conv_nhwc_pack(const gopt_conv_nhwc *c, const gopt_simd *simd, int unit, const float *src, float *dst,
                         int64_t first, int64_t last)
{
    int64_t taps = c->kh * c->kw, filter = c->channels * taps, piece = c->channels * unit;
    for (int64_t j = first; j < last; j++)
        for (int64_t tap = 0; tap < taps; tap++) {
            gopt_packing p = {.src = src + j * unit * filter + tap,
                              .n = GOPT_MIN((int64_t)unit, c->filters - j * unit),
                              .k = c->channels,
                              .step = filter,
                              .depth = taps,
                              .unit = unit,
                              .scale = 1,
                              .dst = dst + (j * taps + tap) * piece,
                              .last = 1};
            simd->pack(&p);
        }
}
