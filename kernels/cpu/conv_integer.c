/* conv_integer: ConvInteger: what every pixel sees becomes a row, then products with the rows of the filters. */
#include <string.h>

#include "cpu/bytes.h"
#include "cpu/conv2d.h"

enum { X, W, X_ZERO, W_ZERO };
enum { ROWS = 8 /* filters */, PIXELS = GOPT_SUMS /* of a block */ };

typedef struct spec {
    gopt_conv2d c;
    const gopt_simd *simd;
    bool x_signed, w_signed, x_zero, w_zero, pack;
    gopt_finish finish;
    int64_t taps, row, w_size, part; /* int16_t: of a row, of all filters, of a part's room */
} spec;

static bool shape_of(const gopt_group *g, gopt_conv2d *c)
{
    return gopt_group_is(g, "", "ConvInteger") && gopt_is_bytes(g, X) && gopt_is_bytes(g, W) &&
           gopt_zero_fits(g, X_ZERO, X) && gopt_zero_fits(g, W_ZERO, W) && gopt_conv2d_plain(g, c);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    (void)knob, (void)t;
    return g->op && shape_of(g, &c) && gopt_finish_fits(g, GOPT_DTYPE_I32);
}

static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    shape_of(g, &c);
    double rows = (double)(c.batch * c.groups * c.oh * c.ow) * (double)(c.channels * c.kh * c.kw);
    return 2 * gopt_conv2d_flops(&c) + 64 * rows; /* half as fast as products of floats; and rows made one by one */
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    *s = (spec){.simd = gopt_simd_for(t->isa)};
    gopt_conv2d *c = &s->c;
    shape_of(g, c);
    s->x_signed = g->in[X].dtype == GOPT_DTYPE_I8;
    s->w_signed = g->in[W].dtype == GOPT_DTYPE_I8;
    s->x_zero = gopt_group_has(g, X_ZERO);
    s->w_zero = gopt_group_has(g, W_ZERO);
    s->pack = !g->in[W].packed;
    s->taps = c->channels * c->kh * c->kw;
    s->row = gopt_wide_row(s->taps);
    s->w_size = s->pack ? c->groups * c->filters * s->row : 0;
    s->part = PIXELS * s->row;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, t);
    return (gopt_work){
        .parts = parts, .phases = s.pack ? 2 : 1, .workspace = (size_t)(s.w_size + parts * s.part) * sizeof(int16_t)};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_conv2d c;
    (void)knob, (void)t;
    bool known = !gopt_group_has(g, W_ZERO) || g->in[W_ZERO].constant;
    if (k != W || !g->in[W].constant || !known || !shape_of(g, &c))
        return 0;
    return (size_t)(c.groups * c.filters * gopt_wide_row(c.channels * c.kh * c.kw)) * sizeof(int16_t);
}

static void widen_filter(const spec *s, const void *w, int zero, int64_t f, int16_t *dst)
{
    gopt_widen_row(s->simd, dst + f * s->row, (const uint8_t *)w + f * s->taps, s->w_signed, s->taps, 1, zero);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)knob, (void)k;
    plan(&s, g, t);
    int zero = gopt_byte_at(s.w_zero ? g->in[W_ZERO].constant : NULL, s.w_signed, 0);
    for (int64_t f = 0; f < s.c.groups * s.c.filters; f++)
        widen_filter(&s, g->in[W].constant, zero, f, dst);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    plan(s, g, t);
    gopt_finish_prepare(&s->finish, g, s->simd);
}

/* What output pixel (y, x) sees of a group's channels, 0 in the padding. */
static void read_edge(const spec *s, const uint8_t *image, int zero, int64_t top, int64_t left, int16_t *row)
{
    const gopt_conv2d *c = &s->c;
    for (int64_t i = 0; i < c->channels; i++, image += c->ih * c->iw)
        for (int64_t ky = 0; ky < c->kh; ky++) {
            int64_t iy = top + ky * c->dilation_h;
            const uint8_t *line = image + iy * c->iw;
            for (int64_t kx = 0; kx < c->kw; kx++) {
                int64_t ix = left + kx * c->dilation_w;
                bool inside = iy >= 0 && iy < c->ih && ix >= 0 && ix < c->iw;
                *row++ = (int16_t)(inside ? gopt_byte_at(line, s->x_signed, ix) - zero : 0);
            }
        }
}

/* The same where all of it lies in the image. flip: 128 for signed bytes, which then count as unsigned ones. */
static void read_inside(const gopt_conv2d *c, const uint8_t *first, int flip, int zero, int16_t *row)
{
    for (int64_t i = 0; i < c->channels; i++, first += c->ih * c->iw)
        for (int64_t ky = 0; ky < c->kh; ky++) {
            const uint8_t *line = first + ky * c->dilation_h * c->iw;
            for (int64_t kx = 0; kx < c->kw; kx++)
                *row++ = (int16_t)((line[kx * c->dilation_w] ^ flip) - zero);
        }
}

static void read_taps(const spec *s, const uint8_t *image, int zero, int64_t y, int64_t x, int16_t *row)
{
    const gopt_conv2d *c = &s->c;
    int64_t top = y * c->stride_h - c->pad_h, left = x * c->stride_w - c->pad_w;
    int flip = s->x_signed ? 128 : 0;
    bool inside = top >= 0 && left >= 0 && top + (c->kh - 1) * c->dilation_h < c->ih &&
                  left + (c->kw - 1) * c->dilation_w < c->iw;
    if (inside)
        read_inside(c, image + top * c->iw + left, flip, zero + flip, row);
    else
        read_edge(s, image, zero, top, left, row);
    memset(row + s->taps, 0, (size_t)(s->row - s->taps) * sizeof *row);
}

/* The sums of pixels [first, first + n) for one channel and filter, tap by tap. */
static void sum_taps(const spec *s, const uint8_t *image, int zero, const int16_t *w, int64_t first, int64_t n,
                     int32_t *sums)
{
    const gopt_conv2d *c = &s->c;
    int64_t m;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t at = 0; at < n; at += m) {
        int64_t y = (first + at) / c->ow, x = (first + at) % c->ow;
        m = GOPT_MIN(n - at, c->ow - x);
        for (int64_t k = 0; k < s->taps; k++) {
            int64_t iy = y * c->stride_h - c->pad_h + k / c->kw * c->dilation_h;
            int64_t ix = x * c->stride_w - c->pad_w + k % c->kw * c->dilation_w;
            int64_t lo = ix < 0 ? gopt_ceil_div(-ix, c->stride_w) : 0;
            int64_t hi = ix < c->iw ? GOPT_MIN(m, (c->iw - 1 - ix) / c->stride_w + 1) : 0;
            if (iy >= 0 && iy < c->ih && lo < hi)
                s->simd->add_bytes(sums + at + lo, image + iy * c->iw + ix + lo * c->stride_w, s->x_signed, c->stride_w,
                                   zero, w[k], hi - lo);
        }
    }
}

/* A block where each group has one channel: there is nothing to gain from rows. */
static void run_depthwise(const spec *s, const gopt_task *t, int64_t which, int64_t first, int64_t n)
{
    const gopt_conv2d *c = &s->c;
    const int16_t *filters = s->pack ? t->workspace : t->in[W];
    int zero = gopt_byte_at(s->x_zero ? t->in[X_ZERO] : NULL, s->x_signed, 0);
    const uint8_t *image = (const uint8_t *)t->in[X] + which * c->ih * c->iw;
    for (int64_t f = 0; f < c->filters; f++) {
        int32_t sums[PIXELS];
        sum_taps(s, image, zero, filters + (which % c->groups * c->filters + f) * s->row, first, n, sums);
        gopt_finish_run(&s->finish, s->simd, t, sums, 1, (which * c->filters + f) * c->oh * c->ow + first, n);
    }
}

/* Pixels [first, first + n) of image and group `which`. */
static void run_block(const spec *s, const gopt_task *t, int64_t which, int64_t first, int64_t n)
{
    const gopt_conv2d *c = &s->c;
    int16_t *room = (int16_t *)t->workspace + s->w_size + t->part * s->part;
    const int16_t *filters = s->pack ? t->workspace : t->in[W];
    int zero = gopt_byte_at(s->x_zero ? t->in[X_ZERO] : NULL, s->x_signed, 0);
    const uint8_t *image = (const uint8_t *)t->in[X] + which * c->channels * c->ih * c->iw;
    for (int64_t p = 0; p < n; p++)
        read_taps(s, image, zero, (first + p) / c->ow, (first + p) % c->ow, room + p * s->row);
    for (int64_t f = 0; f < c->filters; f += ROWS) {
        int32_t sums[ROWS * PIXELS];
        gopt_dots d = {.m = GOPT_MIN(ROWS, c->filters - f), .n = n, .k = s->row, .a_step = s->row, .b_step = s->row};
        d.a = filters + (which % c->groups * c->filters + f) * s->row;
        d.b = room;
        d.out = sums;
        d.out_step = PIXELS;
        s->simd->dots(&d);
        for (int64_t r = 0; r < d.m; r++)
            gopt_finish_run(&s->finish, s->simd, t, sums + r * PIXELS, 1,
                            (which * c->filters + f + r) * c->oh * c->ow + first, n);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_conv2d *c = &s->c;
    int64_t lo, hi, pixels = c->oh * c->ow, blocks = gopt_ceil_div(pixels, PIXELS);
    if (s->pack && t->phase == 0) {
        int zero = gopt_byte_at(s->w_zero ? t->in[W_ZERO] : NULL, s->w_signed, 0);
        gopt_share(c->groups * c->filters, 1, t->part, t->parts, &lo, &hi);
        for (; lo < hi; lo++)
            widen_filter(s, t->in[W], zero, lo, t->workspace);
        return;
    }
    gopt_share(c->batch * c->groups * blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t first = lo % blocks * PIXELS;
        (c->channels == 1 ? run_depthwise : run_block)(s, t, lo / blocks, first, GOPT_MIN(PIXELS, pixels - first));
    }
}

const gopt_kernel gopt_kernel_conv_integer = {
    .name = "conv_integer",
    .doc = "convolution of 8-bit integers, and what becomes of it",
    .revision = 4,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
