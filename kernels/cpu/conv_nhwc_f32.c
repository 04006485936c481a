/* conv_nhwc_f32: convolution with the channels innermost (gopt.ConvNhwc): the surroundings of a block of pixels are
 * packed and multiplied with all filters. */
#include <string.h>

#include "cpu/conv_nhwc.h"
#include "cpu/group.h"
#include "cpu/post.h"

enum { BLOCK = 96 /* pixels */ };

typedef struct spec {
    const gopt_simd *simd;
    gopt_conv_nhwc c;
    gopt_post post;
    bool packed;
    int64_t panel;             /* floats of a panel of filters */
    int64_t image_at, room_at; /* floats into the workspace, after the filters; room: of each part */
    int64_t image, room;
    int64_t blocks; /* of a row of pixels */
} spec;

static bool with_expression(const gopt_group *g, spec *s)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    bool ok = gopt_conv_nhwc_expr(g, &s->c, &x) && gopt_post_fits(g, &x);
    if (ok && s->simd)
        gopt_post_prepare(&s->post, g, &x, s->simd);
    gopt_arena_fini(&a);
    return ok;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob, (void)t;
    return gopt_conv_nhwc_of(g, &s.c) && with_expression(g, &s);
}

static double flops(const gopt_group *g, const gopt_conv_nhwc *c)
{
    return gopt_conv_nhwc_flops(c) + 2 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
}

/* Pixels are packed anew for every window, and panels of filters are whole. */
static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv_nhwc c;
    int nr = gopt_simd_for(t->isa)->nr;
    (void)knob;
    gopt_conv_nhwc_of(g, &c);
    double packing = 16.0 * (double)(c.batch * c.oh * c.ow) * (double)(c.run * c.runs);
    double waste = (double)(gopt_ceil_div(c.filters, nr) * nr) / (double)c.filters;
    return gopt_roofline(t, flops(g, &c) * waste + packing, gopt_group_bytes(g));
}

static void lay_out(spec *s, const gopt_group *g, const gopt_target *t)
{
    gopt_conv_nhwc_of(g, &s->c);
    const gopt_conv_nhwc *c = &s->c;
    const gopt_simd *simd = gopt_simd_for(t->isa);
    s->packed = g->in[1].packed;
    s->panel = c->run * c->runs * simd->nr;
    s->image_at = s->packed ? 0 : gopt_ceil_div(c->filters, simd->nr) * s->panel;
    s->image = c->padded ? c->batch * c->rows * c->cols * c->channels : 0;
    s->room_at = s->image_at + gopt_whole_vectors(s->image);
    s->room = gopt_whole_vectors(gopt_ceil_div(BLOCK, simd->mr) * simd->mr * c->run);
    s->blocks = gopt_ceil_div(c->ow, BLOCK);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob;
    lay_out(&s, g, t);
    int parts = gopt_parts(t, flops(g, &s.c), gopt_group_bytes(g));
    return (gopt_work){.parts = parts,
                       .phases = s.packed && !s.c.padded ? 1 : 2,
                       .workspace = (size_t)(s.room_at + parts * s.room) * sizeof(float)};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_conv_nhwc c;
    (void)knob;
    if (k != 1 || !gopt_conv_nhwc_of(g, &c))
        return 0;
    int nr = gopt_simd_for(t->isa)->nr;
    return (size_t)(gopt_ceil_div(c.filters, nr) * nr * c.run * c.runs) * sizeof(float);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    gopt_conv_nhwc c;
    const gopt_simd *simd = gopt_simd_for(t->isa);
    (void)knob;
    gopt_conv_nhwc_of(g, &c);
    gopt_conv_nhwc_pack(&c, simd, simd->nr, g->in[k].constant, dst, 0, gopt_ceil_div(c.filters, simd->nr));
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    lay_out(s, g, t);
    s->simd = gopt_simd_for(t->isa);
    with_expression(g, s);
}

/* Rows [lo, hi) of all padded images. */
static void copy_rows(const gopt_conv_nhwc *c, const float *src, float *dst, int64_t lo, int64_t hi)
{
    int64_t row = c->cols * c->channels, own = GOPT_MIN(c->iw, c->cols - c->pad_w) * c->channels;
    for (int64_t i = lo; i < hi; i++) {
        int64_t image = i / c->rows, y = i % c->rows - c->pad_h;
        float *to = dst + i * row;
        memset(to, 0, (size_t)row * sizeof *to);
        if (y >= 0 && y < c->ih && own > 0)
            memcpy(to + c->pad_w * c->channels, src + (image * c->ih + y) * c->iw * c->channels,
                   (size_t)own * sizeof *to);
    }
}

static void begin(const spec *s, const gopt_task *t)
{
    int64_t lo, hi;
    float *room = t->workspace;
    if (!s->packed) {
        gopt_share(gopt_ceil_div(s->c.filters, s->simd->nr), 1, t->part, t->parts, &lo, &hi);
        gopt_conv_nhwc_pack(&s->c, s->simd, s->simd->nr, t->in[1], room, lo, hi);
    }
    if (!s->c.padded)
        return;
    gopt_share(s->c.batch * s->c.rows, 1, t->part, t->parts, &lo, &hi);
    copy_rows(&s->c, t->in[0], room + s->image_at, lo, hi);
}

/* n pixels of an output row; src: where the first one's window begins. */
static void run_pixels(const spec *s, const gopt_task *t, const float *src, int64_t pixel, int64_t n)
{
    const gopt_conv_nhwc *c = &s->c;
    const float *filters = s->packed ? t->in[1] : t->workspace;
    float *room = (float *)t->workspace + s->room_at + t->part * s->room;
    float *out = (float *)t->out[0] + pixel * c->filters;
    gopt_packing p = {.n = n, .k = c->run, .step = c->stride_w * c->channels, .depth = 1, .unit = s->simd->mr};
    p.scale = 1;
    p.dst = room;
    p.last = gopt_ceil_div(n, p.unit);
    for (int64_t r = 0; r < c->runs; r++) {
        p.src = src + gopt_conv_nhwc_tap(c, r);
        s->simd->pack(&p);
        gopt_gemm g = {.m = n, .n = c->filters, .k = c->run, .a = room, .a_tile = c->run * p.unit};
        g.b = filters + r * c->run * s->simd->nr;
        g.b_panel = s->panel;
        g.b_row = s->simd->nr;
        g.c = out;
        g.c_row = c->filters;
        g.accumulate = r > 0;
        s->simd->gemm(&g);
    }
    gopt_post_run(&s->post, t->in, out, out, pixel * c->filters, n * c->filters);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_conv_nhwc *c = &s->c;
    int64_t lo, hi;
    if (t->phase == 0 && (!s->packed || c->padded)) {
        begin(s, t);
        return;
    }
    const float *images = c->padded ? (const float *)t->workspace + s->image_at : t->in[0];
    gopt_share(c->batch * c->oh * s->blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t row = lo / s->blocks, x = lo % s->blocks * BLOCK;
        int64_t from = (row / c->oh * c->rows + row % c->oh * c->stride_h) * c->cols + x * c->stride_w;
        run_pixels(s, t, images + from * c->channels, row * c->ow + x, GOPT_MIN(c->ow - x, (int64_t)BLOCK));
    }
}

const gopt_kernel gopt_kernel_conv_nhwc_f32 = {
    .name = "conv_nhwc_f32",
    .doc = "convolution, channels innermost",
    .revision = 2,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
