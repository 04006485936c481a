/* conv_f32: convolution as a product of filters with taps read where they lie: images are laid out in planes (planes.h)
 * once, so nothing is copied per tap; 1x1 and unpadded ones are read in place. */
#include "cpu/group.h"
#include "cpu/planes.h"
#include "cpu/post.h"

#include <string.h>

enum { BLOCK_M, BLOCK_N, BLOCK_K };

static const gopt_knob knobs[] = {
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 8, 512, 64, 0, NULL, "filters computed before moving on"},
    [BLOCK_N] = {"block_n", GOPT_KNOB_POW2, 64, 2048, 512, 0, NULL, "pixels computed before moving on"},
    [BLOCK_K] = {"block_k", GOPT_KNOB_POW2, 64, 2048, 256, 0, NULL, "taps of one pass over a block"},
    {0}};

/* Floats from the workspace's begin. */
typedef struct layout {
    int64_t filters, image, offsets, parts, total; /* offsets are int64_t */
    int64_t part, tail;                            /* size of one part's block of results; where in it the tail lies */
} layout;

typedef struct spec {
    gopt_conv2d c;
    gopt_planes planes;
    const gopt_simd *simd;
    bool in_place;               /* the image is read where it is */
    bool dense;                  /* all numbers of a plane are output pixels */
    bool pack;                   /* filters are packed at run time */
    int64_t taps, tiles, pixels; /* k of the product; tiles of a group's filters; numbers of a plane that count */
    int64_t block_m, block_n, block_k, blocks_m, blocks_n;
    int phases;
    layout at;
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    gopt_planes p;
    (void)knob, (void)t;
    return gopt_conv2d_of(g, &c) && gopt_planes_of(&p, &c) && gopt_conv2d_post_fits(g);
}

static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv2d_of(g, &c);
    return gopt_conv2d_flops(&c) + 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void choose_blocks(spec *s, const int64_t *knob, int parts)
{
    const gopt_conv2d *c = &s->c;
    int mr = s->simd->mr, nr = s->simd->nr;
    s->block_m = GOPT_MIN(gopt_ceil_div(knob[BLOCK_M], mr), GOPT_MAX(s->tiles, 1)) * mr;
    s->block_n = GOPT_MIN(gopt_ceil_div(knob[BLOCK_N], nr), GOPT_MAX(gopt_ceil_div(s->pixels, nr), 1)) * nr;
    s->block_k = knob[BLOCK_K];
    for (;;) {
        s->blocks_m = gopt_ceil_div(c->filters, s->block_m);
        s->blocks_n = gopt_ceil_div(s->pixels, s->block_n);
        bool enough = c->batch * c->groups * s->blocks_m * s->blocks_n >= 2 * parts || parts == 1;
        if (enough || s->pixels == 0 || (s->block_n <= 2 * nr && s->block_m <= mr))
            return;
        if (s->block_n > 2 * nr && s->block_n >= s->block_m)
            s->block_n = gopt_ceil_div(s->block_n, 2 * nr) * nr;
        else if (s->block_m > mr)
            s->block_m = gopt_ceil_div(s->block_m, 2 * mr) * mr;
        else
            s->block_n = gopt_ceil_div(s->block_n, 2 * nr) * nr;
    }
}

static void lay_out(spec *s, int parts)
{
    const gopt_conv2d *c = &s->c;
    layout *r = &s->at;
    int64_t filters = s->pack ? c->groups * s->tiles * s->simd->mr * s->taps : 0;
    int64_t image = s->in_place ? 0 : c->batch * c->groups * c->channels * s->planes.size + 16;
    r->image = gopt_whole_vectors(filters);
    r->offsets = r->image + gopt_whole_vectors(image);
    r->parts = r->offsets + gopt_whole_vectors(2 * s->taps);
    r->tail = s->dense ? 0 : gopt_whole_vectors(s->block_m * s->block_n) + 16;
    r->part = r->tail + (s->in_place ? gopt_whole_vectors(s->simd->nr * GOPT_MIN(s->block_k, s->taps)) : 0);
    r->total = r->parts + parts * r->part;
}

static void plan(spec *s, const gopt_group *g, const int64_t *knob, const gopt_target *t, int parts)
{
    memset(s, 0, sizeof *s);
    gopt_conv2d *c = &s->c;
    gopt_conv2d_of(g, c);
    gopt_planes_of(&s->planes, c);
    s->simd = gopt_simd_for(t->isa);
    s->taps = c->channels * c->kh * c->kw;
    s->tiles = gopt_ceil_div(c->filters, s->simd->mr);
    /* Without strides and padding the planes are the image. */
    s->in_place = c->stride_h == 1 && c->stride_w == 1 && c->pad_h == 0 && c->pad_w == 0 && s->planes.cols == c->iw &&
                  s->planes.rows == c->ih;
    if (s->in_place)
        s->planes.size = c->ih * c->iw;
    s->dense = s->planes.cols == c->ow;
    s->pixels = c->oh > 0 && c->ow > 0 ? (c->oh - 1) * s->planes.cols + c->ow : 0;
    s->pack = !g->in[1].packed;
    s->phases = 2;
    choose_blocks(s, knob, parts);
    lay_out(s, parts);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, knob, t, parts);
    return (gopt_work){.parts = parts, .phases = s.phases, .workspace = (size_t)s.at.total * sizeof(float)};
}

static gopt_packing packing(const gopt_conv2d *c, const gopt_simd *simd, const float *src, float *dst, int64_t group)
{
    int64_t taps = c->channels * c->kh * c->kw, tiles = gopt_ceil_div(c->filters, simd->mr);
    return (gopt_packing){.src = src + group * c->filters * taps,
                          .n = c->filters,
                          .k = taps,
                          .step = taps,
                          .depth = 1,
                          .unit = simd->mr,
                          .scale = 1,
                          .dst = dst + group * tiles * simd->mr * taps,
                          .last = tiles};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_conv2d c;
    (void)knob;
    if (k != 1 || !g->in[1].constant)
        return 0;
    gopt_conv2d_of(g, &c);
    int mr = gopt_simd_for(t->isa)->mr;
    return (size_t)(c.groups * gopt_ceil_div(c.filters, mr) * mr * c.channels * c.kh * c.kw) * sizeof(float);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    gopt_conv2d c;
    (void)knob, (void)k;
    gopt_conv2d_of(g, &c);
    const gopt_simd *simd = gopt_simd_for(t->isa);
    for (int64_t i = 0; i < c.groups; i++) {
        gopt_packing p = packing(&c, simd, g->in[1].constant, dst, i);
        simd->pack(&p);
    }
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    plan(s, g, knob, t, work(g, knob, t).parts);
    gopt_conv2d_post_prepare(&s->post, g, s->simd);
}

static void pack_share(const spec *s, const gopt_task *t)
{
    int64_t lo, hi;
    gopt_share(s->c.groups * s->tiles, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        gopt_packing p = packing(&s->c, s->simd, t->in[1], t->workspace, lo / s->tiles);
        p.first = lo % s->tiles;
        p.last = p.first + 1;
        s->simd->pack(&p);
    }
}

static void write_offsets(const spec *s, int64_t *offset)
{
    for (int64_t i = 0; i < s->c.channels; i++)
        for (int64_t y = 0; y < s->c.kh; y++)
            for (int64_t x = 0; x < s->c.kw; x++)
                *offset++ = i * s->planes.size + gopt_planes_tap(&s->planes, &s->c, y, x);
}

static void begin(const spec *s, const gopt_task *t)
{
    float *room = t->workspace, *image = room + s->at.image;
    const gopt_conv2d *c = &s->c;
    int64_t lo, hi, all = c->batch * c->groups * c->channels;
    if (s->pack)
        pack_share(s, t);
    if (t->part == 0)
        write_offsets(s, (int64_t *)(void *)(room + s->at.offsets));
    if (s->in_place)
        return;
    if (t->part == 0)
        memset(image + all * s->planes.size, 0, 16 * sizeof *image); /* whole vectors are read at the end */
    gopt_share(all, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        s->simd->spread(&s->planes, (const float *)t->in[0] + lo * c->ih * c->iw, image + lo * s->planes.size);
}

typedef struct block {
    const gopt_task *t;
    int64_t image, group, i, j, rows, cols; /* filters [i, i + rows) of the group, pixels [j, j + cols) */
    const float *taps;                      /* the group's channels */
    float *result;
    int64_t row; /* from one filter's results to the next */
    float *own;  /* this part's room */
} block;

/* The last columns of an image that is read in place, copied apart: whole vectors would reach past its end. */
static void multiply_tail(const spec *s, const block *b, gopt_gemm *g, int64_t j)
{
    float *tail = b->own + s->at.tail;
    int64_t width = (g->n + s->simd->width - 1) / s->simd->width * s->simd->width;
    for (int64_t p = 0; p < g->k; p++) {
        memcpy(tail + p * width, b->taps + g->b_offset[p] + j, (size_t)g->n * sizeof *tail);
        memset(tail + p * width + g->n, 0, (size_t)(width - g->n) * sizeof *tail);
    }
    g->b = tail;
    g->b_row = width;
    g->b_offset = NULL;
    s->simd->gemm(g);
}

static void multiply(const spec *s, const block *b)
{
    const gopt_task *t = b->t;
    const float *filters = s->pack ? t->workspace : t->in[1];
    const int64_t *offset = (const int64_t *)(const void *)((const float *)t->workspace + s->at.offsets);
    bool last = b->j + b->cols == s->pixels;
    int64_t tail = s->in_place && last && b->cols % s->simd->width ? b->cols % s->simd->nr : 0, p = 0;
    filters += (b->group * s->tiles + b->i / s->simd->mr) * s->simd->mr * s->taps;
    do {
        gopt_gemm g = {.m = b->rows, .n = b->cols - tail, .k = GOPT_MIN(s->block_k, s->taps - p)};
        g.a = filters + p * s->simd->mr;
        g.a_tile = s->simd->mr * s->taps;
        g.b = b->taps + b->j;
        g.b_panel = s->simd->nr;
        g.b_offset = offset + p;
        g.c = b->result;
        g.c_row = b->row;
        g.accumulate = s->c.bias || p > 0;
        s->simd->gemm(&g);
        if (tail) {
            g.c += g.n;
            g.n = tail;
            multiply_tail(s, b, &g, b->j + b->cols - tail);
        }
        p += s->block_k;
    } while (p < s->taps);
}

/* Output pixels before number j of a plane. */
static int64_t pixels_before(const spec *s, int64_t j)
{
    int64_t x = j % s->planes.cols;
    return j / s->planes.cols * s->c.ow + GOPT_MIN(x, s->c.ow);
}

static void run_block(const spec *s, block *b)
{
    const gopt_conv2d *c = &s->c;
    const gopt_task *t = b->t;
    int64_t filter = b->group * c->filters + b->i, from = pixels_before(s, b->j),
            n = pixels_before(s, b->j + b->cols) - from;
    int64_t first = (b->image * c->groups * c->filters + filter) * c->oh * c->ow + from;
    float *out = (float *)t->out[0] + first;
    b->result = s->dense ? out : b->own;
    b->row = s->dense ? c->oh * c->ow : b->cols;
    for (int64_t r = 0; c->bias && r < b->rows; r++)
        s->simd->fill(b->result + r * b->row, ((const float *)t->in[2])[filter + r], b->cols);
    multiply(s, b);
    for (int64_t r = 0; r < b->rows; r++, first += c->oh * c->ow, out += c->oh * c->ow) {
        if (!s->dense)
            s->simd->compact(out, b->result + r * b->row, b->j, b->cols, s->planes.cols, c->ow);
        gopt_post_run(&s->post, t->in, out, out, first, n);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_conv2d *c = &s->c;
    int64_t lo, hi;
    if (t->phase == 0) {
        begin(s, t);
        return;
    }
    const float *image = s->in_place ? t->in[0] : (const float *)t->workspace + s->at.image;
    gopt_share(c->batch * c->groups * s->blocks_n * s->blocks_m, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        block b = {.t = t, .own = (float *)t->workspace + s->at.parts + t->part * s->at.part};
        int64_t rest = lo / s->blocks_m / s->blocks_n;
        b.i = lo % s->blocks_m * s->block_m;
        b.j = lo / s->blocks_m % s->blocks_n * s->block_n;
        b.group = rest % c->groups;
        b.image = rest / c->groups;
        b.rows = GOPT_MIN(s->block_m, c->filters - b.i);
        b.cols = GOPT_MIN(s->block_n, s->pixels - b.j);
        b.taps = image + rest * c->channels * s->planes.size;
        run_block(s, &b);
    }
}

const gopt_kernel gopt_kernel_conv_f32 = {
    .name = "conv_f32",
    .doc = "convolution in one or two dimensions as a product of filters with taps where they lie",
    .revision = 2,
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
