/* conv_integer_dw: ConvInteger of single channels (depthwise): products of bytes and their sums are whole numbers that
 * floats hold exactly, so a channel becomes floats in planes, and every output row a sum of shifted runs. */
#include <string.h>

#include "cpu/bytes.h"
#include "cpu/planes.h"

enum { X, W, X_ZERO, W_ZERO };
enum {
    MAX_TAPS = 64, /* far below 258, from which on sums could reach 2^24 */
    SLACK = 16,    /* floats read past the last one */
    RESULTS = 1024 /* about as many are finished at once */
};

typedef struct spec {
    gopt_conv2d c;
    gopt_planes planes;
    const gopt_simd *simd;
    bool x_zero, w_zero, pack, x_signed, w_signed;
    bool flat;                  /* rows are short: all are computed as one, then those over the edge dropped */
    int64_t pixels;             /* numbers of a plane that count */
    int64_t together;           /* channels */
    int64_t w_size;             /* floats of all filters in the workspace */
    int64_t own, results, part; /* floats: places within a part's room, and its size */
    int64_t offset[MAX_TAPS];
    gopt_finish finish;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_conv2d c;
    gopt_planes p;
    (void)knob, (void)t;
    return g->op && gopt_conv_integer_of(g, &c) && c.channels == 1 && c.kh * c.kw <= MAX_TAPS &&
           gopt_planes_of(&p, &c) && gopt_finish_fits(g, GOPT_DTYPE_I32);
}

/* Bound by the first cache, not by products. */
static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv_integer_of(g, &c);
    return 4 * gopt_conv2d_flops(&c) + 16 * (double)gopt_operand_count(&g->in[X]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    memset(s, 0, sizeof *s);
    gopt_conv2d *c = &s->c;
    gopt_conv_integer_of(g, c);
    gopt_planes_of(&s->planes, c);
    s->simd = gopt_simd_for(t->isa);
    s->x_signed = g->in[X].dtype == GOPT_DTYPE_I8;
    s->w_signed = g->in[W].dtype == GOPT_DTYPE_I8;
    s->x_zero = gopt_group_has(g, X_ZERO);
    s->w_zero = gopt_group_has(g, W_ZERO);
    s->pack = !g->in[W].packed;
    s->flat = c->ow < 3 * s->simd->width;
    s->pixels = c->oh > 0 && c->ow > 0 ? (c->oh - 1) * s->planes.cols + c->ow : 0;
    int64_t results = c->filters * c->oh * c->ow;
    s->together = GOPT_MIN(GOPT_MAX(1, RESULTS / GOPT_MAX(1, results)), c->groups * c->batch);
    s->w_size = s->pack ? gopt_whole_vectors(c->groups * c->filters * c->kh * c->kw) : 0;
    s->own = gopt_whole_vectors(s->planes.size + SLACK);
    s->results = s->own + (s->flat ? gopt_whole_vectors(s->pixels + SLACK) : 0);
    s->part = s->results + gopt_whole_vectors(s->together * results + SLACK);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, t);
    return (gopt_work){
        .parts = parts, .phases = s.pack ? 2 : 1, .workspace = (size_t)(s.w_size + parts * s.part) * sizeof(float)};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    (void)knob, (void)t;
    bool known = !gopt_group_has(g, W_ZERO) || g->in[W_ZERO].constant;
    return k == W && g->in[W].constant && known ? (size_t)gopt_operand_count(&g->in[W]) * sizeof(float) : 0;
}

/* Weights less their zero point as floats. */
static void widen(const spec *s, const uint8_t *src, int zero, float *dst, int64_t n)
{
    s->simd->from_integers(s->w_signed ? GOPT_DTYPE_I8 : GOPT_DTYPE_U8, src, dst, n);
    s->simd->affine(dst, dst, n, (float)zero, 1, 0);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)knob, (void)k;
    plan(&s, g, t);
    int zero = gopt_byte_at(s.w_zero ? g->in[W_ZERO].constant : NULL, s.w_signed, 0);
    widen(&s, g->in[W].constant, zero, dst, gopt_operand_count(&g->in[W]));
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    plan(s, g, t);
    gopt_planes_taps(&s->planes, &s->c, s->offset);
    gopt_finish_prepare(&s->finish, g, s->simd);
}

static void run_filter(const spec *s, const float *plane, const float *weight, float *own, float *out)
{
    const gopt_conv2d *c = &s->c;
    gopt_taps taps = {.src = plane, .weight = weight, .offset = s->offset, .n = c->kh * c->kw};
    if (s->flat) {
        s->simd->taps(&taps, own, s->pixels);
        s->simd->compact(out, own, 0, s->pixels, s->planes.cols, c->ow);
        return;
    }
    for (int64_t y = 0; y < c->oh; y++, taps.src += s->planes.cols)
        s->simd->taps(&taps, out + y * c->ow, c->ow);
}

/* Channel `at` of all images. */
static void run_channel(const spec *s, const gopt_task *t, int64_t at, float *room, float *out)
{
    const gopt_conv2d *c = &s->c;
    int64_t size = c->ih * c->iw, taps = c->kh * c->kw;
    int zero = gopt_byte_at(s->x_zero ? t->in[X_ZERO] : NULL, s->x_signed, 0);
    const float *w = s->pack ? t->workspace : t->in[W];
    w += at % c->groups * c->filters * taps;
    s->simd->spread_bytes(&s->planes, (const uint8_t *)t->in[X] + at * size, s->x_signed, zero, room);
    memset(room + s->planes.size, 0, SLACK * sizeof *room);
    for (int64_t f = 0; f < c->filters; f++)
        run_filter(s, room, w + f * taps, room + s->own, out + f * c->oh * c->ow);
}

static void widen_filters(const spec *s, const gopt_task *t)
{
    int64_t lo, hi;
    int zero = gopt_byte_at(s->w_zero ? t->in[W_ZERO] : NULL, s->w_signed, 0);
    gopt_share(s->c.groups * s->c.filters * s->c.kh * s->c.kw, 16, t->part, t->parts, &lo, &hi);
    widen(s, (const uint8_t *)t->in[W] + lo, zero, (float *)t->workspace + lo, hi - lo);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi, results = s->c.filters * s->c.oh * s->c.ow;
    float *room = (float *)t->workspace + s->w_size + t->part * s->part;
    if (s->pack && t->phase == 0) {
        widen_filters(s, t);
        return;
    }
    gopt_share(s->c.batch * s->c.groups, 1, t->part, t->parts, &lo, &hi);
    for (int64_t n; lo < hi; lo += n) {
        n = GOPT_MIN(s->together, hi - lo);
        for (int64_t i = 0; i < n; i++)
            run_channel(s, t, lo + i, room, room + s->results + i * results);
        gopt_finish_floats(&s->finish, t, room + s->results, lo * results, n * results);
    }
}

const gopt_kernel gopt_kernel_conv_integer_dw = {
    .name = "conv_integer_dw",
    .doc = "convolution of each channel of 8-bit integers by itself, and what becomes of it",
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
