/* conv_integer: ConvInteger: a block of pixels with all that they see, widened to 16 bits, in panels; then products of
 * pairs with tiles of filters. */
#include <string.h>

#include "cpu/bytes.h"

enum { X, W, X_ZERO, W_ZERO };
enum {
    BLOCK_BYTES = 1 << 16, /* of a block's panels: with the sums they stay in the second cache */
    BLOCK_MAX = 512        /* pixels */
};

typedef struct spec {
    gopt_conv2d c;
    const gopt_simd *simd;
    bool x_signed, w_signed, x_zero, w_zero, pack;
    bool direct; /* pixels see just themselves: channels are read where they lie */
    gopt_finish finish;
    int64_t taps, pairs, tiles;         /* of a filter; of filters of a group */
    int64_t tile, panel, block;         /* int16_t of a tile, of a panel; pixels of a block */
    size_t w_bytes, panels, rows, part; /* bytes: of filters; places of a part's room, and its size */
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    (void)knob, (void)t;
    return g->op && gopt_conv_integer_of(g, &c) && gopt_finish_fits(g, GOPT_DTYPE_I32);
}

static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv_integer_of(g, &c);
    double rows = (double)(c.batch * c.groups * c.oh * c.ow) * (double)(c.channels * c.kh * c.kw);
    return gopt_conv2d_flops(&c) + 16 * rows;
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static size_t aligned(int64_t bytes)
{
    return (size_t)gopt_ceil_div(bytes, 64) * 64;
}

static void plan_blocks(spec *s, int parts)
{
    const gopt_conv2d *c = &s->c;
    int64_t nr = s->simd->nr, pixels = c->oh * c->ow, pair = 2 * (int64_t)sizeof(int16_t);
    int64_t most = GOPT_MIN(BLOCK_MAX, BLOCK_BYTES / GOPT_MAX(1, s->pairs * pair));
    int64_t fair = gopt_ceil_div(pixels * c->batch * c->groups, parts);
    s->block = gopt_ceil_div(GOPT_MAX(1, GOPT_MIN(GOPT_MIN(most, fair), pixels)), nr) * nr;
    s->tile = s->pairs * s->simd->mr * 2;
    s->panel = s->pairs * nr * 2;
    s->w_bytes = s->pack ? aligned(c->groups * s->tiles * s->tile * (int64_t)sizeof(int16_t)) : 0;
    s->panels = aligned(s->simd->mr * s->block * (int64_t)sizeof(int32_t));
    s->rows = s->panels + aligned(s->block * s->pairs * pair);
    s->part = s->rows + aligned(2 * s->block);
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    *s = (spec){.simd = gopt_simd_for(t->isa)};
    gopt_conv2d *c = &s->c;
    gopt_conv_integer_of(g, c);
    s->x_signed = g->in[X].dtype == GOPT_DTYPE_I8;
    s->w_signed = g->in[W].dtype == GOPT_DTYPE_I8;
    s->x_zero = gopt_group_has(g, X_ZERO);
    s->w_zero = gopt_group_has(g, W_ZERO);
    s->pack = !g->in[W].packed;
    s->direct = c->kh == 1 && c->kw == 1 && c->stride_h == 1 && c->stride_w == 1 && c->pad_h == 0 && c->pad_w == 0 &&
                c->oh == c->ih && c->ow == c->iw;
    s->taps = c->channels * c->kh * c->kw;
    s->pairs = gopt_ceil_div(s->taps, 2);
    s->tiles = gopt_ceil_div(c->filters, s->simd->mr);
    plan_blocks(s, gopt_parts(t, flops(g), gopt_group_bytes(g)));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, t);
    return (gopt_work){.parts = parts, .phases = s.pack ? 2 : 1, .workspace = s.w_bytes + (size_t)parts * s.part};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    spec s;
    (void)knob;
    bool known = !gopt_group_has(g, W_ZERO) || g->in[W_ZERO].constant;
    if (k != W || !g->in[W].constant || !known)
        return 0;
    plan(&s, g, t);
    return (size_t)(s.c.groups * s.tiles * s.tile) * sizeof(int16_t);
}

/* Tile `at` of all groups' filters: their taps in pairs, zeros for filters and taps that are not there. */
static void pack_tile(const spec *s, const void *w, int zero, int64_t at, int16_t *dst)
{
    int64_t mr = s->simd->mr, first = at % s->tiles * mr;
    const uint8_t *filter = (const uint8_t *)w + (at / s->tiles * s->c.filters + first) * s->taps;
    dst += at * s->tile;
    memset(dst, 0, (size_t)s->tile * sizeof *dst);
    for (int64_t i = 0; i < mr && first + i < s->c.filters; i++, filter += s->taps)
        for (int64_t k = 0; k < s->taps; k++)
            dst[(k / 2 * mr + i) * 2 + k % 2] = (int16_t)(gopt_byte_at(filter, s->w_signed, k) - zero);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)knob, (void)k;
    plan(&s, g, t);
    int zero = gopt_byte_at(s.w_zero ? g->in[W_ZERO].constant : NULL, s.w_signed, 0);
    for (int64_t i = 0; i < s.c.groups * s.tiles; i++)
        pack_tile(&s, g->in[W].constant, zero, i, dst);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    plan(s, g, t);
    gopt_finish_prepare(&s->finish, g, s->simd);
}

/* What pixels [first, first + n) see at tap k of a group's channels; `pad` in the padding. */
static void gather(const spec *s, const uint8_t *image, int pad, int64_t k, int64_t first, int64_t n, uint8_t *dst)
{
    const gopt_conv2d *c = &s->c;
    int64_t m, stride = c->stride_w, kernel = c->kh * c->kw;
    image += k / kernel * c->ih * c->iw;
    memset(dst, pad, (size_t)n);
    for (int64_t at = 0; at < n; at += m) {
        int64_t y = (first + at) / c->ow, x = (first + at) % c->ow;
        int64_t iy = y * c->stride_h - c->pad_h + k % kernel / c->kw * c->dilation_h;
        int64_t ix = x * stride - c->pad_w + k % c->kw * c->dilation_w;
        m = GOPT_MIN(n - at, c->ow - x);
        int64_t lo = ix < 0 ? gopt_ceil_div(-ix, stride) : 0;
        int64_t hi = ix < c->iw ? GOPT_MIN(m, (c->iw - 1 - ix) / stride + 1) : 0;
        if (iy < 0 || iy >= c->ih || lo >= hi)
            continue;
        const uint8_t *line = image + iy * c->iw + ix;
        if (stride == 1)
            memcpy(dst + at + lo, line + lo, (size_t)(hi - lo));
        else
            for (int64_t i = lo; i < hi; i++)
                dst[at + i] = line[i * stride];
    }
}

/* Where the bytes of tap k for the block's pixels are: in the image, or gathered. */
static const uint8_t *bytes_of(const spec *s, const uint8_t *image, int pad, int64_t k, int64_t first, int64_t n,
                               uint8_t *room)
{
    if (s->direct)
        return image + k * s->c.ih * s->c.iw + first;
    gather(s, image, pad, k, first, n, room);
    return room;
}

/* Pixels [first, first + n) with all that they see in panels. */
static void pack_block(const spec *s, const uint8_t *image, int zero, int64_t first, int64_t n, int16_t *panels,
                       uint8_t *room)
{
    int nr = s->simd->nr;
    for (int64_t pair = 0; pair < s->pairs; pair++) {
        const uint8_t *a = bytes_of(s, image, zero, 2 * pair, first, n, room), *b = NULL;
        if (2 * pair + 1 < s->taps)
            b = bytes_of(s, image, zero, 2 * pair + 1, first, n, room + s->block);
        for (int64_t at = 0; at < n; at += nr)
            s->simd->pair_bytes(panels + at / nr * s->panel + pair * nr * 2, nr, a + at, b ? b + at : NULL,
                                GOPT_MIN(nr, n - at), s->x_signed, zero);
    }
}

/* The sums of a tile's filters, whose first one is result `at`, for n pixels from `first` on. A small image's are
 * finished at once. */
static void finish(const spec *s, const gopt_task *t, int32_t *sums, int64_t row, int64_t rows, int64_t at,
                   int64_t first, int64_t n)
{
    int64_t pixels = s->c.oh * s->c.ow;
    if (n < pixels || rows * n > GOPT_SUMS) {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < n; j += GOPT_SUMS)
                gopt_finish_run(&s->finish, s->simd, t, sums + i * row + j, 1, (at + i) * pixels + first + j,
                                GOPT_MIN(GOPT_SUMS, n - j));
        return;
    }
    for (int64_t i = 1; i < rows; i++)
        memmove(sums + i * n, sums + i * row, (size_t)n * sizeof *sums);
    gopt_finish_run(&s->finish, s->simd, t, sums, 1, at * pixels, rows * n);
}

/* Pixels [first, first + n) of image and group `which`. */
static void run_block(const spec *s, const gopt_task *t, int64_t which, int64_t first, int64_t n)
{
    const gopt_conv2d *c = &s->c;
    char *room = (char *)t->workspace + s->w_bytes + (size_t)t->part * s->part;
    int32_t *sums = (int32_t *)(void *)room;
    int16_t *panels = (int16_t *)(void *)(room + s->panels);
    const int16_t *filters = s->pack ? t->workspace : t->in[W];
    int zero = gopt_byte_at(s->x_zero ? t->in[X_ZERO] : NULL, s->x_signed, 0);
    pack_block(s, (const uint8_t *)t->in[X] + which * c->channels * c->ih * c->iw, zero, first, n, panels,
               (uint8_t *)room + s->rows);
    for (int64_t i = 0; i < s->tiles; i++) {
        int64_t f = i * s->simd->mr, rows = GOPT_MIN(s->simd->mr, c->filters - f);
        gopt_pairs p = {.rows = (int)rows,
                        .n = n,
                        .k = s->pairs,
                        .a = filters + (which % c->groups * s->tiles + i) * s->tile,
                        .b = panels,
                        .b_panel = s->panel,
                        .sums = sums,
                        .sums_row = s->block};
        s->simd->pairs(&p);
        finish(s, t, sums, s->block, rows, which * c->filters + f, first, n);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_conv2d *c = &s->c;
    int64_t lo, hi, pixels = c->oh * c->ow, blocks = gopt_ceil_div(pixels, s->block);
    if (s->pack && t->phase == 0) {
        int zero = gopt_byte_at(s->w_zero ? t->in[W_ZERO] : NULL, s->w_signed, 0);
        gopt_share(c->groups * s->tiles, 1, t->part, t->parts, &lo, &hi);
        for (; lo < hi; lo++)
            pack_tile(s, t->in[W], zero, lo, t->workspace);
        return;
    }
    gopt_share(c->batch * c->groups * blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t first = lo % blocks * s->block;
        run_block(s, t, lo / blocks, first, GOPT_MIN(s->block, pixels - first));
    }
}

const gopt_kernel gopt_kernel_conv_integer = {
    .name = "conv_integer",
    .doc = "convolution of 8-bit integers, and what becomes of it",
    .revision = 5,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
