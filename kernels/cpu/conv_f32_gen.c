/* conv_f32_gen: convolution as code made for the shape: like conv_f32, with all distances of taps written into the
 * loop. */
#include <math.h>
#include <stdio.h>

#include "cpu/emit.h"
#include "cpu/emit_planes.h"
#include "cpu/emit_tile.h"
#include "cpu/group.h"

enum { TILE_M, TILE_N, BLOCK_M, BLOCK_N, UNROLL };

static const gopt_knob knobs[] = {
    [TILE_M] = {"tile_m", GOPT_KNOB_LINEAR, 0, 14, 0, 1, NULL, "filters held in registers; 0: what divides them best"},
    [TILE_N] = {"tile_n", GOPT_KNOB_LINEAR, 0, 4, 0, 1, NULL,
                "vectors of pixels held in registers; 0: what fits the image best"},
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 16, 512, 64, 0, NULL, "filters computed before moving on"},
    [BLOCK_N] = {"block_n", GOPT_KNOB_POW2, 64, 2048, 256, 0, NULL, "pixels computed before moving on"},
    [UNROLL] = {"unroll", GOPT_KNOB_POW2, 1, 4, 2, 0, NULL, "channels in one turn of the loop (1x1 only)"},
    {0}};

enum { MAX_TAPS = 25, SLACK = 64 /* floats read past the last one */ };

typedef struct plan {
    const char *symbol;
    gopt_conv2d c;
    gopt_planes planes;
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_expr e;
    gopt_isa isa;
    bool packed, in_place;
    int tm, nv, nr, taps, steps;
    int64_t rows, cols, used;           /* of a plane's output: rows of `cols` numbers, of which `used` are pixels */
    int64_t unit;                       /* rows of a block */
    int64_t blocks;                     /* the last one takes what is left over */
    int64_t tiles, chunks, chunk_tiles; /* of a group's filters */
    int64_t width;                      /* sums of one filter in a block */
    int64_t image_at;                   /* floats into the workspace */
} plan;

/* Of those that fit registers, the number of rows that leaves least undone in the last tile. */
static int best_rows(gopt_isa isa, int nv, int64_t filters)
{
    int most = GOPT_MIN(gopt_emit_tile_rows(isa, nv), 14), best = most;
    for (int r = most; r > most / 2; r--)
        if (gopt_ceil_div(filters, r) * r < gopt_ceil_div(filters, best) * best)
            best = r;
    return best;
}

/* An unpadded 1x1 convolution reads the image where it is, as one long row. */
static void choose_layout(plan *p, int width)
{
    const gopt_conv2d *c = &p->c;
    int64_t pixels = c->oh * c->ow;
    p->in_place = p->taps == 1 && c->stride_h == 1 && c->stride_w == 1 && c->pad_h == 0 && c->pad_w == 0 &&
                  c->oh == c->ih && c->ow == c->iw && pixels >= width;
    p->rows = c->oh;
    p->used = c->ow;
    p->cols = p->planes.cols;
    if (!p->in_place)
        return;
    p->planes.size = pixels;
    p->rows = pixels; /* of one pixel: blocks may end anywhere */
    p->cols = p->used = 1;
    p->nv = (int)GOPT_MIN(p->nv, pixels / width);
}

static void choose_blocks(plan *p, const int64_t *knob)
{
    int64_t columns = p->cols;
    p->unit = GOPT_MAX(knob[BLOCK_N] / columns, 1);
    if (p->in_place)
        p->unit = GOPT_MAX(p->unit / p->nr, 1) * p->nr;
    p->unit = GOPT_MIN(p->unit, p->rows);
    p->blocks = GOPT_MAX(p->rows / p->unit, 1);
    int64_t longest = (p->rows - (p->blocks - 1) * p->unit) * columns;
    p->width = gopt_ceil_div(longest, p->nr) * p->nr;
    p->tiles = gopt_ceil_div(p->c.filters, p->tm);
    p->chunk_tiles = GOPT_MIN(gopt_ceil_div(knob[BLOCK_M], p->tm), p->tiles);
    p->chunks = gopt_ceil_div(p->tiles, p->chunk_tiles);
}

static void choose_tiles(plan *p, const int64_t *knob, int nv)
{
    int width = gopt_emit_tile_width(p->isa);
    p->nv = nv;
    choose_layout(p, width);
    p->nr = p->nv * width;
    p->tm = knob[TILE_M] ? (int)knob[TILE_M] : best_rows(p->isa, p->nv, p->c.filters);
    choose_blocks(p, knob);
}

/* What a filter's sums cost: numbers computed, those past the image's end too. */
static double tiles_cost(const plan *p)
{
    int64_t whole = gopt_ceil_div(p->unit * p->cols, p->nr) * p->nr;
    return (double)((p->blocks - 1) * whole + p->width) * gopt_emit_tile_effort(p->tm, p->nv);
}

static void choose_best_tiles(plan *p, const int64_t *knob)
{
    enum { MOST = 3 };
    int best = MOST;
    double least = HUGE_VAL;
    for (int nv = MOST; nv >= 1; nv--) {
        plan one = *p;
        choose_tiles(&one, knob, nv);
        if (tiles_cost(&one) < least) {
            least = tiles_cost(&one);
            best = nv;
        }
    }
    choose_tiles(p, knob, best);
}

/* Where all pixels are one row of numbers, operands of the expression must go on along it. */
static bool follows(const plan *p)
{
    const gopt_walk *w = &p->e.walk;
    return !p->in_place || w->dim[w->rank - 1] % (p->c.oh * p->c.ow) == 0;
}

static bool plan_init(plan *p, const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    *p = (plan){.isa = t->isa};
    gopt_conv2d *c = &p->c;
    if (t->isa < GOPT_ISA_AVX2 || !gopt_conv2d_of(g, c) || !gopt_planes_of(&p->planes, c) || !g->in[1].constant ||
        c->channels < 2 || c->kh * c->kw > MAX_TAPS || gopt_operand_count(&g->out[0]) == 0 || c->channels == 0)
        return false;
    p->taps = (int)(c->kh * c->kw);
    if (knob[TILE_N])
        choose_tiles(p, knob, (int)knob[TILE_N]);
    else
        choose_best_tiles(p, knob);
    if (!gopt_emit_tile_fits(t->isa, p->tm, p->nv) || p->planes.size > INT32_MAX / 256)
        return false;
    p->packed = g->in[1].packed;
    p->steps = p->taps > 1 ? p->taps : (int)knob[UNROLL];
    while (p->taps == 1 && c->channels % p->steps)
        p->steps /= 2;
    p->image_at = p->packed ? 0 : gopt_whole_vectors(c->groups * p->tiles * p->tm * c->channels * p->taps);
    p->x = gopt_expr_new(&p->arena);
    if (!gopt_conv2d_expr(g, &p->x))
        return false;
    if (p->x.result < 0)
        p->x.result = gopt_expr_acc(&p->x, GOPT_DTYPE_F32);
    return p->tm * p->width <= 1 << 16 && gopt_emit_expr_of(&p->e, g, &p->x) && follows(p);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    bool ok = plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    return ok;
}

static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv2d_of(g, &c);
    double per_element = g->post ? gopt_expr_cost(g->post) : 0;
    return gopt_conv2d_flops(&c) + 2 * per_element * (double)gopt_operand_count(&g->out[0]);
}

/* Numbers computed for every one that is wanted. */
static double waste(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    double w = 1;
    if (plan_init(&p, g, knob, t))
        w = tiles_cost(&p) / (double)(p.c.oh * p.c.ow) * (double)(p.tiles * p.tm) / (double)p.c.filters;
    gopt_arena_fini(&p.arena);
    return w;
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    return gopt_roofline(t, flops(g) * waste(g, knob, t), gopt_group_bytes(g));
}

static size_t filter_bytes(const plan *p)
{
    return (size_t)(p->c.groups * p->tiles * p->tm * p->c.channels * p->taps) * sizeof(float);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    const gopt_conv2d *c = &p.c;
    int64_t image = p.in_place ? 0 : c->batch * c->groups * c->channels * p.planes.size + SLACK;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)),
                       .phases = p.packed && p.in_place ? 1 : 2,
                       .workspace = (size_t)(p.image_at + image) * sizeof(float)};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    plan p;
    if (k != 1)
        return 0;
    bool ok = plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    return ok ? filter_bytes(&p) : 0;
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    plan p;
    (void)k;
    plan_init(&p, g, knob, t);
    int64_t taps = p.c.channels * p.taps;
    for (int64_t i = 0; i < p.c.groups; i++) {
        gopt_packing one = {.src = (const float *)g->in[1].constant + i * p.c.filters * taps,
                            .n = p.c.filters,
                            .k = taps,
                            .step = taps,
                            .depth = 1,
                            .unit = p.tm,
                            .scale = 1,
                            .dst = (float *)dst + i * p.tiles * p.tm * taps,
                            .last = p.tiles};
        gopt_simd_for(t->isa)->pack(&one);
    }
    gopt_arena_fini(&p.arena);
}

static void put_tile(const plan *p, gopt_text *t)
{
    char name[96];
    int64_t b[MAX_TAPS];
    for (int s = 0; s < p->steps; s++)
        b[s] = p->taps == 1 ? s * p->planes.size : gopt_planes_tap(&p->planes, &p->c, s / p->c.kw, s % p->c.kw);
    gopt_emit_tile e = {.isa = p->isa,
                        .rows = p->tm,
                        .nv = p->nv,
                        .steps = p->steps,
                        .a_row = 1,
                        .a_step = p->tm,
                        .b = b,
                        .a_turn = (int64_t)p->steps * p->tm,
                        .c_row = p->width};
    e.b_turn = p->taps == 1 ? p->steps * p->planes.size : p->planes.size;
    snprintf(name, sizeof name, "%s_tile", p->symbol);
    gopt_emit_tile_function(&e, name, t);
}

static void put_filter_packing(const plan *p, gopt_text *t)
{
    long long taps = p->c.channels * p->taps, tiles = p->tiles, all = p->c.groups * p->tiles;
    gopt_text_add(t,
                  "        for (int64_t i = %lldLL * t->part / t->parts; i < %lldLL * (t->part + 1) / t->parts; i++)\n",
                  all, all);
    gopt_text_add(
        t, "            for (int64_t k = 0; k < %lld; k++)\n                for (int64_t f = 0; f < %d; f++) {\n", taps,
        p->tm);
    gopt_text_add(t, "                    int64_t own = i %% %lld * %d + f, all = i / %lld * %lld + own;\n", tiles,
                  p->tm, tiles, (long long)p->c.filters);
    gopt_text_add(
        t,
        "                    room[(i * %lld + k) * %d + f] = own < %lld ? ((const float *)t->in[1])[all * %lld + k] "
        ": 0;\n                }\n",
        taps, p->tm, (long long)p->c.filters, taps);
}

/* Phase 0: filters packed, unless they are, and the image laid out. */
static void put_begin(const plan *p, gopt_text *t)
{
    const gopt_conv2d *c = &p->c;
    long long all = c->batch * c->groups * c->channels;
    if (p->packed && p->in_place)
        return;
    gopt_text_put(t, "    if (t->phase == 0) {\n");
    if (!p->packed)
        put_filter_packing(p, t);
    if (!p->in_place) {
        gopt_text_add(t, "        float *image = room + %lld;\n", (long long)p->image_at);
        gopt_text_add(
            t,
            "        for (int64_t i = %lldLL * t->part / t->parts; i < %lldLL * (t->part + 1) / t->parts; i++)\n"
            "            %s_spread((const float *)t->in[0] + i * %lld, image + i * %lld);\n",
            all, all, p->symbol, (long long)(c->ih * c->iw), (long long)p->planes.size);
        gopt_text_add(t,
                      "        for (int64_t i = 0; i < %d && t->part == 0; i++)\n            image[%lldLL + i] = 0;\n",
                      SLACK, (long long)(all * p->planes.size));
    }
    gopt_text_put(t, "        return;\n    }\n");
}

/* What the sums of a tile's filters begin as. */
static void put_bias(const plan *p, gopt_text *t)
{
    gopt_text_add(t, "            float begin[%d] = {0};\n", p->tm);
    if (p->c.bias)
        gopt_text_add(t,
                      "            for (int f = 0; f < %d && filter + f < %lld; f++)\n"
                      "                begin[f] = ((const float *)t->in[2])[group * %lld + filter + f];\n",
                      p->tm, (long long)p->c.filters, (long long)p->c.filters);
}

/* Sums of one tile of filters over a block of n numbers. */
static void put_sums(const plan *p, gopt_text *t)
{
    long long taps = p->c.channels * p->taps;
    gopt_text_add(t, "            for (int64_t j = 0; j < n; j += %d) {\n", p->nr);
    gopt_text_add(t, "                int64_t at = j;\n");
    if (p->in_place) /* the last panel overlaps the one before: nothing past the image is read */
        gopt_text_add(t, "                at = j + %d > n ? n - %d : j;\n", p->nr, p->nr);
    gopt_text_add(t,
                  "                %s_tile(%lld, filters + (group * %lld + tile) * %lld, taps + at, begin, sum + at,\n"
                  "                        (void *)0);\n",
                  p->symbol, taps / p->steps, (long long)p->tiles, taps * p->tm);
    gopt_text_put(t, "            }\n");
}

static void put_results(const plan *p, gopt_text *t)
{
    char name[96];
    bool flat = p->in_place;
    long long pixels = p->c.oh * p->c.ow, used = p->used;
    snprintf(name, sizeof name, "%s_result", p->symbol);
    gopt_text_add(t, "            for (int64_t f = 0; f < %d && filter + f < %lld; f++)\n", p->tm,
                  (long long)p->c.filters);
    gopt_text_add(t, "                for (int64_t y = 0; y < %s; y++) {\n", flat ? "1" : "rows");
    gopt_text_add(t, "                    int64_t i = 0, end = %s;\n", flat ? "n" : "0");
    gopt_text_add(t, "                    int64_t at = (which * %lld + filter + f) * %lld + (first + y) * %lld;\n",
                  (long long)p->c.filters, pixels, used);
    gopt_text_add(t, "                    const float *s = sum + f * %lld + y * %lld;\n", (long long)p->width,
                  (long long)p->cols);
    gopt_text_put(t, "                    float *o = (float *)t->out[0] + at;\n");
    if (!flat)
        gopt_text_add(t, "                    end = %lld;\n", used);
    gopt_emit_expr_row(&p->e, "at", "                    ", t);
    gopt_emit_expr_finish(&p->e, name, "end", "                    ", t);
    gopt_text_put(t, "                }\n");
}

static void put_main(const plan *p, gopt_text *t)
{
    const gopt_conv2d *c = &p->c;
    long long items = c->batch * c->groups * p->blocks * p->chunks, blocks = p->blocks, chunks = p->chunks;
    gopt_text_add(t, "void %s(const gopt_task *t)\n{\n    float *room = t->workspace;\n", p->symbol);
    put_begin(p, t);
    gopt_text_add(t, "    const float *filters = %s;\n", p->packed ? "t->in[1]" : "room");
    if (p->in_place)
        gopt_text_put(t, "    const float *image = t->in[0];\n");
    else
        gopt_text_add(t, "    const float *image = room + %lld;\n", (long long)p->image_at);
    gopt_text_add(t, "    _Alignas(64) float sum[%lld];\n", (long long)(p->tm * p->width));
    gopt_emit_expr_pointers(&p->e, t);
    gopt_text_add(
        t, "    for (int64_t item = %lldLL * t->part / t->parts; item < %lldLL * (t->part + 1) / t->parts; item++) {\n",
        items, items);
    gopt_text_add(t, "        int64_t chunk = item %% %lld, block = item / %lld %% %lld, which = item / %lld;\n",
                  chunks, chunks, blocks, chunks * blocks);
    gopt_text_add(t, "        int64_t group = which %% %lld, first = block * %lld;\n", (long long)c->groups,
                  (long long)p->unit);
    gopt_text_add(t, "        int64_t rows = block == %lld ? %lld - first : %lld, n = rows * %lld;\n", blocks - 1,
                  (long long)p->rows, (long long)p->unit, (long long)p->cols);
    gopt_text_add(t, "        const float *taps = image + which * %lld + first * %lld;\n",
                  (long long)(c->channels * p->planes.size), (long long)p->cols);
    gopt_text_add(t, "        for (int64_t tile = chunk * %lld; tile < (chunk + 1) * %lld && tile < %lld; tile++) {\n",
                  (long long)p->chunk_tiles, (long long)p->chunk_tiles, (long long)p->tiles);
    gopt_text_add(t, "            int64_t filter = tile * %d;\n", p->tm);
    put_bias(p, t);
    put_sums(p, t);
    put_results(p, t);
    gopt_text_put(t, "        }\n    }\n}\n");
}

static gopt_status emit(const gopt_group *g, const int64_t *knob, const gopt_target *target, const char *symbol,
                        gopt_text *t, gopt_err *e)
{
    plan p;
    char name[96];
    bool ok = plan_init(&p, g, knob, target);
    p.symbol = symbol;
    if (ok) {
        snprintf(name, sizeof name, "%s_result", symbol);
        gopt_emit_expr_function(&p.e, name, t);
        snprintf(name, sizeof name, "%s_spread", symbol);
        if (!p.in_place)
            gopt_emit_planes_function(&p.planes, name, t);
        put_tile(&p, t);
        put_main(&p, t);
    }
    gopt_arena_fini(&p.arena);
    return ok ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
}

const gopt_kernel gopt_kernel_conv_f32_gen = {
    .name = "conv_f32_gen",
    .doc = "convolution, code made for the shape",
    .revision = 5,
    .knobs = knobs,
    .generated = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .emit = emit,
};
