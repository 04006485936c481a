/* conv_transpose_f32: transposed convolution in one or two dimensions: one product gives what every input pixel adds
 * through every tap, and rows of that are added to where they belong. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"
#include "ref/window.h"

enum { BLOCK = 1 << 16 /* floats of products at a time, about */ };

typedef struct shape {
    int64_t batch, groups, channels, filters; /* of a group */
    int64_t ih, iw, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
    bool bias;
} shape;

typedef struct spec {
    shape c;
    const gopt_simd *simd;
    bool pack;
    int64_t taps, tiles;          /* rows of the product: filters times taps, in tiles */
    int64_t filter_tiles;         /* blocks of filters whose rows are whole tiles */
    int64_t rows;                 /* of the image, at a time */
    int64_t at_parts, part, tail; /* floats: of the workspace; of a part's room; in it, where the last columns lie */
    int phases;
    gopt_post post;
} spec;

static bool floats(const gopt_group *g)
{
    for (int k = 0; k < 3; k++)
        if (!gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    return gopt_group_has(g, 0) && gopt_group_has(g, 1) && g->n_out == 1 && g->out[0].dtype == GOPT_DTYPE_F32;
}

/* Padding before the first pixel of an axis, as the output's size has it. */
static int64_t pad_before(const gopt_window *w, gopt_attrs a, int axis, int64_t in, int64_t out)
{
    int64_t n;
    const int64_t *extra = gopt_attr_ints(a, "output_padding", &n);
    bool same = w->mode == GOPT_PAD_SAME_UPPER || w->mode == GOPT_PAD_SAME_LOWER;
    if (!gopt_attr_ints(a, "output_shape", &n) && !same)
        return w->pad[axis];
    int64_t full = (in - 1) * w->stride[axis] + gopt_window_extent(w, axis) + (extra ? extra[axis] : 0);
    int64_t total = GOPT_MAX(full - out, 0);
    return w->mode == GOPT_PAD_SAME_UPPER ? total / 2 : total - total / 2;
}

static bool shape_of(const gopt_group *g, shape *c)
{
    gopt_window w;
    *c = (shape){0};
    if (!gopt_group_is(g, "", "ConvTranspose") || !floats(g))
        return false;
    const gopt_operand *x = &g->in[0], *f = &g->in[1], *out = &g->out[0];
    int n = x->rank - 2, last = n - 1;
    if (n < 1 || n > 2 || f->rank != x->rank || gopt_window_read(&w, g->attrs, n, NULL))
        return false;
    for (int i = 0; i < n; i++)
        w.kernel[i] = f->dim[2 + i];
    c->batch = x->dim[0];
    c->groups = gopt_attr_int(g->attrs, "group", 1);
    if (c->groups < 1 || f->dim[0] % c->groups || f->dim[0] != x->dim[1])
        return false;
    c->channels = f->dim[0] / c->groups;
    c->filters = f->dim[1];
    c->ih = n == 2 ? x->dim[2] : 1;
    c->iw = x->dim[2 + last];
    c->oh = n == 2 ? out->dim[2] : 1;
    c->ow = out->dim[2 + last];
    c->kh = n == 2 ? f->dim[2] : 1;
    c->kw = f->dim[2 + last];
    c->stride_h = n == 2 ? w.stride[0] : 1;
    c->stride_w = w.stride[last];
    c->dilation_h = n == 2 ? w.dilation[0] : 1;
    c->dilation_w = w.dilation[last];
    c->pad_h = n == 2 ? pad_before(&w, g->attrs, 0, c->ih, c->oh) : 0;
    c->pad_w = pad_before(&w, g->attrs, last, c->iw, c->ow);
    c->bias = gopt_group_has(g, 2);
    return true;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    shape c;
    (void)knob, (void)t;
    return shape_of(g, &c) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    shape c;
    shape_of(g, &c);
    double products = (double)(c.batch * c.groups * c.channels * c.ih * c.iw) * (double)(c.filters * c.kh * c.kw);
    return 2 * products + 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    memset(s, 0, sizeof *s);
    shape *c = &s->c;
    shape_of(g, c);
    s->simd = gopt_simd_for(t->isa);
    s->pack = !g->in[1].packed;
    s->taps = c->kh * c->kw;
    s->filter_tiles = gopt_ceil_div(c->filters, s->simd->mr);
    s->tiles = gopt_ceil_div(c->filters * s->taps, s->simd->mr);
    s->rows = BLOCK / GOPT_MAX(s->simd->mr * s->taps * c->iw, 1);
    s->rows = GOPT_MIN(GOPT_MAX(s->rows, 1), c->ih);
    s->at_parts = s->pack ? gopt_whole_vectors(c->groups * s->tiles * s->simd->mr * c->channels) : 0;
    s->tail = gopt_whole_vectors(s->simd->mr * s->taps * s->rows * c->iw);
    s->part = s->tail + gopt_whole_vectors(s->simd->nr * c->channels);
    s->phases = s->pack ? 2 : 1;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, t);
    size_t floats_needed = (size_t)(s.at_parts + parts * s.part);
    return (gopt_work){.parts = parts, .phases = s.phases, .workspace = floats_needed * sizeof(float)};
}

/* Filters of a group as a matrix of filters and taps by channels. */
static gopt_packing packing(const shape *c, const gopt_simd *simd, const float *src, float *dst, int64_t group)
{
    int64_t rows = c->filters * c->kh * c->kw, tiles = gopt_ceil_div(rows, simd->mr);
    return (gopt_packing){.src = src + group * c->channels * rows,
                          .n = rows,
                          .k = c->channels,
                          .step = 1,
                          .depth = rows,
                          .unit = simd->mr,
                          .scale = 1,
                          .dst = dst + group * tiles * simd->mr * c->channels,
                          .last = tiles};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    shape c;
    (void)knob;
    if (k != 1 || !g->in[1].constant || !shape_of(g, &c))
        return 0;
    int mr = gopt_simd_for(t->isa)->mr;
    return (size_t)(c.groups * gopt_ceil_div(c.filters * c.kh * c.kw, mr) * mr * c.channels) * sizeof(float);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    shape c;
    (void)knob, (void)k;
    shape_of(g, &c);
    for (int64_t i = 0; i < c.groups; i++) {
        gopt_packing p = packing(&c, gopt_simd_for(t->isa), g->in[1].constant, dst, i);
        gopt_simd_for(t->isa)->pack(&p);
    }
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* products[row][pixel] of `rows` rows of the matrix from `first` on, pixels [j, j + n) of the group's image. */
static void multiply(const spec *s, const float *filters, const float *image, int64_t j, int64_t n, int64_t rows,
                     float *room)
{
    const shape *c = &s->c;
    int64_t size = c->ih * c->iw, tail = j + n == size && n % s->simd->width ? n % s->simd->nr : 0;
    gopt_gemm g = {.m = rows,
                   .n = n - tail,
                   .k = c->channels,
                   .a = filters,
                   .a_tile = s->simd->mr * c->channels,
                   .b = image + j,
                   .b_panel = s->simd->nr,
                   .b_row = size,
                   .c = room,
                   .c_row = n};
    s->simd->gemm(&g);
    if (!tail) /* else whole vectors would reach past the image's end */
        return;
    float *own = room + s->tail;
    for (int64_t k = 0; k < c->channels; k++) {
        memcpy(own + k * s->simd->nr, image + k * size + j + n - tail, (size_t)tail * sizeof *own);
        memset(own + k * s->simd->nr + tail, 0, (size_t)(s->simd->nr - tail) * sizeof *own);
    }
    g.b = own;
    g.b_row = s->simd->nr;
    g.c = room + n - tail;
    g.n = tail;
    s->simd->gemm(&g);
}

/* One row of products of a tap, from input row y, to output row oy. */
static void add_row(const spec *s, const float *products, int64_t kx, float *out)
{
    const shape *c = &s->c;
    int64_t x = kx * c->dilation_w - c->pad_w, stride = c->stride_w; /* where input pixel 0 goes */
    int64_t lo = x < 0 ? gopt_ceil_div(-x, stride) : 0, hi = c->ow > x ? gopt_ceil_div(c->ow - x, stride) : 0;
    hi = GOPT_MIN(hi, c->iw);
    if (lo < hi)
        s->simd->add_strided(out + x + lo * stride, stride, products + lo, hi - lo);
}

static void add_filter(const spec *s, const float *products, int64_t y, int64_t rows, float *out)
{
    const shape *c = &s->c;
    for (int64_t tap = 0; tap < s->taps; tap++)
        for (int64_t r = 0; r < rows; r++) {
            int64_t oy = (y + r) * c->stride_h + tap / c->kw * c->dilation_h - c->pad_h;
            if (oy >= 0 && oy < c->oh)
                add_row(s, products + (tap * rows + r) * c->iw, tap % c->kw, out + oy * c->ow);
        }
}

/* Filters [first, first + n) of image and group `which`. */
static void run_filters(const spec *s, const gopt_task *t, int64_t which, int64_t first, int64_t n)
{
    const shape *c = &s->c;
    int64_t group = which % c->groups, pixels = c->oh * c->ow, at = (which * c->filters + first) * pixels;
    float *room = (float *)t->workspace + s->at_parts + t->part * s->part, *out = (float *)t->out[0] + at;
    const float *filters = s->pack ? t->workspace : t->in[1];
    const float *image = (const float *)t->in[0] + which * c->channels * c->ih * c->iw;
    filters += (group * s->tiles * s->simd->mr + first * s->taps) * c->channels;
    for (int64_t f = 0; f < n; f++)
        s->simd->fill(out + f * pixels, c->bias ? ((const float *)t->in[2])[group * c->filters + first + f] : 0,
                      pixels);
    for (int64_t y = 0; y < c->ih; y += s->rows) {
        int64_t rows = GOPT_MIN(s->rows, c->ih - y);
        multiply(s, filters, image, y * c->iw, rows * c->iw, n * s->taps, room);
        for (int64_t f = 0; f < n; f++)
            add_filter(s, room + f * s->taps * rows * c->iw, y, rows, out + f * pixels);
    }
    gopt_post_run(&s->post, t->in, out, out, at, n * pixels);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const shape *c = &s->c;
    int64_t lo, hi, mr = s->simd->mr;
    if (t->phase < s->phases - 1) {
        gopt_share(c->groups, 1, t->part, t->parts, &lo, &hi);
        for (; lo < hi; lo++) {
            gopt_packing p = packing(c, s->simd, t->in[1], t->workspace, lo);
            s->simd->pack(&p);
        }
        return;
    }
    gopt_share(c->batch * c->groups * s->filter_tiles, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t first = lo % s->filter_tiles * mr;
        run_filters(s, t, lo / s->filter_tiles, first, GOPT_MIN(mr, c->filters - first));
    }
}

const gopt_kernel gopt_kernel_conv_transpose_f32 = {
    .name = "conv_transpose_f32",
    .doc = "transposed convolution in one or two dimensions",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
