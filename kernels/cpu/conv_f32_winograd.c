/* conv_f32_winograd: 3x3 convolutions of stride 1 by Winograd's method: tiles of m x m results from (m + 2)^2 products
 * per pair of channel and filter, instead of 9 m^2: a quarter for m = 4. Errors grow to some 1e-5 of the largest
 * result. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/planes.h"
#include "cpu/winograd.h"

enum { TILE, BLOCK_M, BLOCK_KB };

static const gopt_knob knobs[] = {
    [TILE] = {"tile", GOPT_KNOB_POW2, 2, 4, 4, 0, NULL, "side of a tile of results; 2 is more exact, 4 faster"},
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 16, 256, 32, 0, NULL, "filters computed before moving on"},
    [BLOCK_KB] = {"block_kb", GOPT_KNOB_POW2, 128, 4096, 512, 0, NULL, "KiB of transformed pixels at a time"},
    {0}};

enum { SLACK = 16 /* floats read past the last one */ };

/* Floats from the workspace's begin; u: transformed filters; image: planes; then each part's v, sums and rows. */
typedef struct layout {
    int64_t image, parts, part, sums, rows;
} layout;

typedef struct spec {
    gopt_conv2d c, tiles_of; /* the second: tiles as a convolution of stride m */
    gopt_planes planes;
    const gopt_simd *simd;
    int m, e2; /* side of a tile's results; its products */
    bool pack;
    int64_t filter_tiles, block_m;
    int64_t tile_rows, blocks; /* of a block; of an image */
    int64_t width;             /* numbers of a block, in whole vectors */
    int64_t offset[GOPT_WINOGRAD_MAX];
    layout at;
    gopt_post post;
} spec;

static bool shape_of(const gopt_group *g, gopt_conv2d *c)
{
    return gopt_conv2d_of(g, c) && c->kh == 3 && c->kw == 3 && c->stride_h == 1 && c->stride_w == 1 &&
           c->dilation_h == 1 && c->dilation_w == 1 && c->channels >= 4 && c->oh > 0 && c->ow > 0;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    (void)knob, (void)t;
    return shape_of(g, &c) && gopt_conv2d_post_fits(g);
}

static double flops(const gopt_group *g, const int64_t *knob)
{
    gopt_conv2d c;
    shape_of(g, &c);
    double e = (double)knob[TILE] + 2, m = (double)knob[TILE];
    double tiles = (double)(gopt_ceil_div(c.oh, knob[TILE]) * gopt_ceil_div(c.ow, knob[TILE]));
    double products = 2 * e * e * (double)(c.batch * c.groups * c.channels * c.filters) * tiles;
    double transforms = 30 * m * m * (double)(c.batch * c.groups * (c.channels + c.filters)) * tiles;
    return products + transforms + 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
}

/* Transformed filters are larger than the filters are. */
static double bytes(const gopt_group *g, const int64_t *knob)
{
    double e = (double)knob[TILE] + 2, filters = (double)gopt_operand_count(&g->in[1]) * sizeof(float);
    return gopt_group_bytes(g) + filters * (e * e / 9 - 1);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    return gopt_roofline(t, flops(g, knob), bytes(g, knob));
}

static int64_t u_floats(const spec *s)
{
    return s->c.groups * s->e2 * s->filter_tiles * s->simd->mr * s->c.channels;
}

/* As many rows of tiles as the knob has room for, but enough blocks for all parts. */
static void choose_blocks(spec *s, const int64_t *knob, int parts)
{
    const gopt_conv2d *t = &s->tiles_of;
    int64_t room = knob[BLOCK_KB] * 256 / (s->e2 * s->c.channels * s->planes.cols);
    int64_t share = gopt_ceil_div(t->oh * s->c.batch * s->c.groups, parts);
    s->tile_rows = GOPT_MAX(GOPT_MIN(GOPT_MIN(room, share), t->oh), 1);
    s->blocks = gopt_ceil_div(t->oh, s->tile_rows);
    s->width = gopt_whole_vectors(s->tile_rows * s->planes.cols);
    s->block_m = GOPT_MIN(gopt_ceil_div(knob[BLOCK_M], s->simd->mr), s->filter_tiles) * s->simd->mr;
}

static void plan(spec *s, const gopt_group *g, const int64_t *knob, const gopt_target *t, int parts)
{
    memset(s, 0, sizeof *s);
    gopt_conv2d *c = &s->c, *tiles = &s->tiles_of;
    shape_of(g, c);
    s->simd = gopt_simd_for(t->isa);
    s->m = (int)knob[TILE];
    s->e2 = (s->m + 2) * (s->m + 2);
    s->pack = !g->in[1].packed;
    *tiles = *c;
    tiles->kh = tiles->kw = s->m + 2;
    tiles->stride_h = tiles->stride_w = s->m;
    tiles->oh = gopt_ceil_div(c->oh, s->m);
    tiles->ow = gopt_ceil_div(c->ow, s->m);
    gopt_planes_of(&s->planes, tiles);
    gopt_planes_taps(&s->planes, tiles, s->offset);
    s->filter_tiles = gopt_ceil_div(c->filters, s->simd->mr);
    choose_blocks(s, knob, parts);
    layout *l = &s->at;
    l->image = s->pack ? gopt_whole_vectors(u_floats(s)) : 0;
    l->parts = l->image + gopt_whole_vectors(c->batch * c->groups * c->channels * s->planes.size + SLACK);
    l->sums = s->e2 * c->channels * s->width;
    l->rows = l->sums + s->e2 * s->block_m * s->width;
    l->part = l->rows + s->m * s->m * s->width + SLACK;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    int parts = gopt_parts(t, flops(g, knob), bytes(g, knob));
    plan(&s, g, knob, t, parts);
    return (gopt_work){
        .parts = parts, .phases = 2, .workspace = (size_t)(s.at.parts + parts * s.at.part) * sizeof(float)};
}

/* Filters of tile `tile` of a group, to [element][tile][channel][row]. */
static void pack_tile(const spec *s, const float *filters, float *u, int64_t group, int64_t tile)
{
    const gopt_conv2d *c = &s->c;
    int mr = s->simd->mr;
    int64_t element = s->filter_tiles * mr * c->channels;
    float one[GOPT_WINOGRAD_MAX], *dst = u + (group * s->e2 * s->filter_tiles + tile) * mr * c->channels;
    for (int64_t i = 0; i < c->channels * mr; i++) {
        int64_t f = tile * mr + i % mr;
        memset(one, 0, sizeof one);
        if (f < c->filters)
            gopt_winograd_filter(s->m, filters + ((group * c->filters + f) * c->channels + i / mr) * 9, one);
        for (int k = 0; k < s->e2; k++)
            dst[k * element + i] = one[k];
    }
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_conv2d c;
    if (k != 1 || !g->in[1].constant || !shape_of(g, &c))
        return 0;
    int64_t e = knob[TILE] + 2, mr = gopt_simd_for(t->isa)->mr;
    return (size_t)(c.groups * e * e * gopt_ceil_div(c.filters, mr) * mr * c.channels) * sizeof(float);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)k;
    plan(&s, g, knob, t, 1);
    for (int64_t i = 0; i < s.c.groups * s.filter_tiles; i++)
        pack_tile(&s, g->in[1].constant, dst, i / s.filter_tiles, i % s.filter_tiles);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    plan(s, g, knob, t, work(g, knob, t).parts);
    gopt_conv2d_post_prepare(&s->post, g, s->simd);
}

static void begin(const spec *s, const gopt_task *t)
{
    const gopt_conv2d *c = &s->c;
    float *room = t->workspace, *image = room + s->at.image;
    int64_t lo, hi, all = c->batch * c->groups * c->channels;
    gopt_share(s->pack ? c->groups * s->filter_tiles : 0, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        pack_tile(s, t->in[1], room, lo / s->filter_tiles, lo % s->filter_tiles);
    if (t->part == 0)
        memset(image + all * s->planes.size, 0, SLACK * sizeof *image);
    gopt_share(all, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        s->simd->spread(&s->planes, (const float *)t->in[0] + lo * c->ih * c->iw, image + lo * s->planes.size);
}

/* Some rows of tiles of one image and group. */
typedef struct block {
    const gopt_task *t;
    int64_t which, row, rows, n; /* image and group; tile rows [row, row + rows); their numbers */
    float *room;
} block;

static void transform_pixels(const spec *s, const block *b)
{
    const float *image = (const float *)b->t->workspace + s->at.image + b->which * s->c.channels * s->planes.size;
    for (int64_t i = 0; i < s->c.channels; i++) {
        gopt_taps taps = {.src = image + i * s->planes.size + b->row * s->planes.cols, .offset = s->offset};
        s->simd->winograd_input(s->m, &taps, b->n, b->room + i * s->width, s->c.channels * s->width);
    }
}

/* Rows of results of one filter, cut to the image. */
static void write_filter(const spec *s, const block *b, int64_t filter, const float *sums)
{
    const gopt_conv2d *c = &s->c;
    const gopt_task *t = b->t;
    int64_t group = b->which % c->groups, row_step = s->m * s->width;
    float *rows = b->room + s->at.rows, bias = c->bias ? ((const float *)t->in[2])[group * c->filters + filter] : 0;
    int64_t y = b->row * s->m, last = GOPT_MIN(y + b->rows * s->m, c->oh);
    int64_t first = ((b->which * c->filters + filter) * c->oh + y) * c->ow;
    float *out = (float *)t->out[0] + first;
    s->simd->winograd_output(s->m, sums, s->block_m * s->width, b->n, bias, rows, row_step);
    for (int64_t r = 0; r < last - y; r++)
        memcpy(out + r * c->ow, rows + r % s->m * row_step + r / s->m * s->m * s->planes.cols,
               (size_t)c->ow * sizeof *out);
    gopt_post_run(&s->post, t->in, out, out, first, (last - y) * c->ow);
}

static void run_block(const spec *s, const block *b)
{
    const gopt_conv2d *c = &s->c;
    int64_t mr = s->simd->mr, group = b->which % c->groups;
    const float *u = s->pack ? b->t->workspace : b->t->in[1];
    float *sums = b->room + s->at.sums;
    transform_pixels(s, b);
    for (int64_t i = 0; i < c->filters; i += s->block_m) {
        int64_t n = GOPT_MIN(s->block_m, c->filters - i);
        for (int k = 0; k < s->e2; k++) {
            gopt_gemm g = {.m = n, .n = b->n, .k = c->channels, .a_tile = mr * c->channels, .b_panel = s->simd->nr};
            g.a = u + ((group * s->e2 + k) * s->filter_tiles + i / mr) * mr * c->channels;
            g.b = b->room + k * c->channels * s->width;
            g.b_row = g.c_row = s->width;
            g.c = sums + k * s->block_m * s->width;
            s->simd->gemm(&g);
        }
        for (int64_t f = 0; f < n; f++)
            write_filter(s, b, i + f, sums + f * s->width);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    if (t->phase == 0) {
        begin(s, t);
        return;
    }
    gopt_share(s->c.batch * s->c.groups * s->blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        block b = {.t = t, .which = lo / s->blocks, .row = lo % s->blocks * s->tile_rows};
        b.rows = GOPT_MIN(s->tile_rows, s->tiles_of.oh - b.row);
        b.n = (b.rows - 1) * s->planes.cols + s->tiles_of.ow;
        b.room = (float *)t->workspace + s->at.parts + t->part * s->at.part;
        run_block(s, &b);
    }
}

const gopt_kernel gopt_kernel_conv_f32_winograd = {
    .name = "conv_f32_winograd",
    .doc = "3x3 convolution with a quarter of the products, at some loss of accuracy",
    .revision = 1,
    .knobs = knobs,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
