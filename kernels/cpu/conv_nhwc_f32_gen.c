/* conv_nhwc_f32_gen: convolution with the channels innermost as code made for the shape: a tile of pixels, which read
 * the image where it is, times a panel of filters. */
#include <stdio.h>

#include "cpu/conv_nhwc.h"
#include "cpu/emit.h"
#include "cpu/emit_tile.h"
#include "cpu/group.h"

enum { TILE_M, TILE_N, BLOCK_M, BLOCK_K, UNROLL, ORDER };

enum { ORDER_AUTO, ORDER_FILTERS, ORDER_PIXELS };

static const char *const orders[] = {"auto", "filters", "pixels", NULL};

static const gopt_knob knobs[] = {
    [TILE_M] = {"tile_m", GOPT_KNOB_LINEAR, 0, 14, 0, 1, NULL, "pixels held in registers; 0: what divides a row best"},
    [TILE_N] = {"tile_n", GOPT_KNOB_LINEAR, 0, 4, 0, 1, NULL,
                "vectors of filters held in registers; 0: what divides them best"},
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 16, 512, 64, 0, NULL, "pixels computed before moving on"},
    [BLOCK_K] = {"block_k", GOPT_KNOB_POW2, 64, 4096, 1024, 0, NULL, "depth of one block"},
    [UNROLL] = {"unroll", GOPT_KNOB_POW2, 1, 8, 2, 0, NULL, "steps of depth in one turn of the loop"},
    [ORDER] = {"order", GOPT_KNOB_CHOICE, 0, 2, ORDER_AUTO, 0, orders,
               "what is walked in the outer loop; auto: pixels when the second cache has room for all filters"},
    {0}};

typedef struct plan {
    const char *symbol;
    gopt_conv_nhwc c;
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_expr e;
    gopt_isa isa;
    bool packed;
    int tm, nv, nr;
    int64_t bk, steps, depth;
    int64_t panels, by, bx, blocks_y, blocks_x; /* a block: by rows of bx pixels */
    int64_t image_at;                           /* floats into the workspace */
    bool pixels_outside;                        /* walked in the outer loop, panels in the inner one */
    int ahead; /* cache lines of filters asked for in a turn, well before they are read */
} plan;

/* Tiles as equal as can be. */
static int equal_tiles(int64_t row, int most)
{
    return (int)gopt_ceil_div(row, gopt_ceil_div(row, most));
}

static void choose_tile(plan *p, const int64_t *knob, int nv)
{
    int most = GOPT_MIN(gopt_emit_tile_rows(p->isa, nv), 14);
    p->nv = nv;
    p->tm = (int)GOPT_MIN(knob[TILE_M] ? knob[TILE_M] : equal_tiles(p->c.ow, most), p->c.ow);
    p->nr = nv * gopt_emit_tile_width(p->isa);
    p->panels = gopt_ceil_div(p->c.filters, p->nr);
}

/* What a pixel's sums cost: those of filters that only fill a panel, too. */
static double tile_cost(const plan *p)
{
    return (double)(p->panels * p->nr) * gopt_emit_tile_effort(p->tm, p->nv);
}

static void choose_best_tile(plan *p, const int64_t *knob)
{
    enum { MOST = 3 };
    int best = MOST;
    choose_tile(p, knob, best);
    double least = tile_cost(p);
    for (int nv = MOST - 1; nv >= 1; nv--) {
        choose_tile(p, knob, nv);
        if (tile_cost(p) < least) {
            least = tile_cost(p);
            best = nv;
        }
    }
    choose_tile(p, knob, best);
}

static void choose_blocks(plan *p, const int64_t *knob)
{
    const gopt_conv_nhwc *c = &p->c;
    int64_t most = gopt_ceil_div(knob[BLOCK_M], p->tm) * p->tm;
    p->bx = GOPT_MIN(most, c->ow);
    p->by = GOPT_MIN(GOPT_MAX(knob[BLOCK_M] / c->ow, (int64_t)1), c->batch * c->oh);
    p->blocks_x = gopt_ceil_div(c->ow, p->bx);
    p->blocks_y = gopt_ceil_div(c->batch * c->oh, p->by);
    p->bk = GOPT_MIN(knob[BLOCK_K], c->run);
    p->steps = knob[UNROLL];
    while (p->bk % p->steps || c->run % p->bk % p->steps)
        p->steps /= 2;
}

static size_t filter_bytes(const plan *p)
{
    return (size_t)(p->panels * p->nr * p->depth) * sizeof(float);
}

/* Filters that outer pixels read again and again should stay in the second cache; else each panel is read by all pixels
 * before the next one, which comes from memory meanwhile: each tile asks for its share of it. */
static void choose_order(plan *p, const int64_t *knob, const gopt_target *t)
{
    bool stay = filter_bytes(p) <= t->l2 / 2;
    p->pixels_outside = knob[ORDER] == ORDER_PIXELS || (knob[ORDER] == ORDER_AUTO && stay);
    if (!p->pixels_outside)
        p->ahead = gopt_emit_tile_ahead(p->bk * p->nr, p->blocks_x * p->blocks_y, p->by * gopt_ceil_div(p->bx, p->tm),
                                        p->bk / p->steps);
}

static bool plan_init(plan *p, const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    *p = (plan){.isa = t->isa};
    if (t->isa < GOPT_ISA_AVX2 || !gopt_conv_nhwc_of(g, &p->c) || p->c.filters < 8)
        return false;
    if (knob[TILE_N])
        choose_tile(p, knob, (int)knob[TILE_N]);
    else
        choose_best_tile(p, knob);
    if (!gopt_emit_tile_fits(t->isa, p->tm, p->nv))
        return false;
    choose_blocks(p, knob);
    p->packed = g->in[1].packed;
    p->depth = p->c.run * p->c.runs;
    choose_order(p, knob, t);
    p->image_at = p->packed ? 0 : gopt_whole_vectors(p->panels * p->nr * p->depth);
    p->x = gopt_expr_new(&p->arena);
    return gopt_conv_nhwc_expr(g, &p->c, &p->x) && gopt_emit_expr_of(&p->e, g, &p->x);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    bool ok = plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    return ok;
}

static double flops(const gopt_group *g, const gopt_conv_nhwc *c)
{
    double per_element = g->post ? gopt_expr_cost(g->post) : 0;
    return gopt_conv_nhwc_flops(c) + 2 * per_element * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    bool ok = plan_init(&p, g, knob, t);
    double waste = ok ? tile_cost(&p) / (double)p.c.filters : 1, work = flops(g, &p.c);
    gopt_arena_fini(&p.arena);
    return gopt_roofline(t, work * waste, gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    const gopt_conv_nhwc *c = &p.c;
    int64_t image = c->padded ? c->batch * c->rows * c->cols * c->channels : 0;
    return (gopt_work){.parts = gopt_parts(t, flops(g, c), gopt_group_bytes(g)),
                       .phases = p.packed && !c->padded ? 1 : 2,
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
    plan_init(&p, g, knob, t);
    gopt_conv_nhwc_pack(&p.c, gopt_simd_for(t->isa), p.nr, g->in[k].constant, dst, 0, p.panels);
    gopt_arena_fini(&p.arena);
}

static void put_tile(const plan *p, int rows, const char *name, gopt_text *t)
{
    gopt_emit_tile e = {.isa = p->isa,
                        .rows = rows,
                        .nv = p->nv,
                        .steps = (int)p->steps,
                        .a_row = p->c.stride_w * p->c.channels,
                        .ahead = p->ahead};
    gopt_emit_tile_panel(e, p->symbol, name, t);
}

static void put_filter_packing(const plan *p, gopt_text *t)
{
    long long panels = p->panels, depth = p->depth, channels = p->c.channels, taps = p->c.kh * p->c.kw;
    gopt_text_add(t,
                  "        for (int64_t j = %lldLL * t->part / t->parts; j < %lldLL * (t->part + 1) / t->parts; j++)\n"
                  "            for (int64_t k = 0; k < %lld; k++)\n"
                  "                for (int64_t c = 0; c < %d; c++)\n",
                  panels, panels, depth, p->nr);
    gopt_text_add(
        t,
        "                    room[(j * %lld + k) * %d + c] = j * %d + c < %lld\n"
        "                        ? ((const float *)t->in[1])[((j * %d + c) * %lld + k %% %lld) * %lld + k / %lld]"
        " : 0;\n",
        depth, p->nr, p->nr, (long long)p->c.filters, p->nr, channels, channels, taps, channels);
}

/* Rows of the padded images. */
static void put_image_copy(const plan *p, gopt_text *t)
{
    const gopt_conv_nhwc *c = &p->c;
    long long rows = c->batch * c->rows, row = c->cols * c->channels, pad = c->pad_w * c->channels;
    long long own = GOPT_MAX(GOPT_MIN(c->iw, c->cols - c->pad_w), (int64_t)0) * c->channels;
    gopt_text_add(
        t,
        "        for (int64_t i = %lldLL * t->part / t->parts; i < %lldLL * (t->part + 1) / t->parts; i++) {\n"
        "            int64_t y = i %% %lld - %lld;\n"
        "            float *to = room + %lld + i * %lld;\n",
        rows, rows, (long long)c->rows, (long long)c->pad_h, (long long)p->image_at, row);
    gopt_text_add(t,
                  "            const float *from = (const float *)t->in[0] + (i / %lld * %lld + y) * %lld;\n"
                  "            if (y < 0 || y >= %lld) {\n"
                  "                __builtin_memset(to, 0, %lld);\n                continue;\n            }\n",
                  (long long)c->rows, (long long)c->ih, (long long)(c->iw * c->channels), (long long)c->ih, 4 * row);
    gopt_text_add(t,
                  "            __builtin_memset(to, 0, %lld);\n            __builtin_memcpy(to + %lld, from, %lld);\n"
                  "            __builtin_memset(to + %lld, 0, %lld);\n        }\n",
                  4 * pad, pad, 4 * own, pad + own, 4 * (row - pad - own));
}

static void put_begin(const plan *p, gopt_text *t)
{
    if (p->packed && !p->c.padded)
        return;
    gopt_text_put(t, "    if (t->phase == 0) {\n");
    if (!p->packed)
        put_filter_packing(p, t);
    if (p->c.padded)
        put_image_copy(p, t);
    gopt_text_put(t, "        return;\n    }\n");
}

/* Sums of a block's pixels and one panel, run by run, so that a piece of the panel serves all pixels. */
static void put_sums(const plan *p, gopt_text *t)
{
    const gopt_conv_nhwc *c = &p->c;
    int64_t rest = c->ow % p->tm;
    gopt_text_add(t, "        for (int64_t r = 0; r < %lld; r++)\n", (long long)c->runs);
    gopt_text_add(t, "        for (int64_t k = 0; k < %lld; k += %lld) {\n", (long long)c->run, (long long)p->bk);
    gopt_text_add(t, "            int64_t turns = (%lld - k < %lld ? %lld - k : %lld) / %lld;\n", (long long)c->run,
                  (long long)p->bk, (long long)c->run, (long long)p->bk, (long long)p->steps);
    gopt_text_put(t, "            const float *begin = r + k == 0 ? zeros : (void *)0;\n");
    gopt_text_add(t, "            const float *b = panel + (r * %lld + k) * %d;\n", (long long)c->run, p->nr);
    gopt_text_add(t, "            const float *later = b + %lld;\n", (long long)(p->bk * p->nr));
    gopt_text_put(t, "            for (int64_t y = y0; y < y1; y++) {\n");
    gopt_text_add(t,
                  "                const float *a = images + ((y / %lld * %lld + y %% %lld * %lld) * %lld) * %lld + "
                  "tap[r] + k;\n",
                  (long long)c->oh, (long long)c->rows, (long long)c->oh, (long long)c->stride_h, (long long)c->cols,
                  (long long)c->channels);
    gopt_text_add(t, "                float *s = sum + (y - y0) * %lld;\n", (long long)(p->bx * p->nr));
    gopt_text_add(t, "                for (int64_t x = x0; x < x1; x += %d, later += turns * %d) {\n", p->tm,
                  p->ahead * GOPT_EMIT_TILE_LINE / (int)sizeof(float));
    long long step = c->stride_w * c->channels;
    if (rest)
        gopt_text_add(t,
                      "                    if (x + %d > %lld)\n"
                      "                        %s_rest(turns, a + x * %lld, b, begin, s + (x - x0) * %d, later);\n"
                      "                    else\n",
                      p->tm, (long long)c->ow, p->symbol, step, p->nr);
    gopt_text_add(t, "                        %s_tile(turns, a + x * %lld, b, begin, s + (x - x0) * %d, later);\n",
                  p->symbol, step, p->nr);
    gopt_text_put(t, "                }\n            }\n        }\n");
}

static void put_results(const plan *p, gopt_text *t)
{
    char name[96];
    long long filters = p->c.filters;
    snprintf(name, sizeof name, "%s_result", p->symbol);
    gopt_text_add(t, "        int64_t cols = %lld - j * %d < %d ? %lld - j * %d : %d;\n", filters, p->nr, p->nr,
                  filters, p->nr, p->nr);
    gopt_text_add(t,
                  "        for (int64_t y = y0; y < y1; y++)\n        for (int64_t x = x0; x < x1; x++) {\n"
                  "            const float *s = sum + ((y - y0) * %lld + x - x0) * %d;\n"
                  "            int64_t at = (y * %lld + x) * %lld + j * %d, i = 0;\n"
                  "            float *o = (float *)t->out[0] + at;\n",
                  (long long)p->bx, p->nr, (long long)p->c.ow, filters, p->nr);
    gopt_emit_expr_row(&p->e, "at", "            ", t);
    gopt_emit_expr_finish(&p->e, name, "cols", "            ", t);
    gopt_text_put(t, "        }\n");
}

static void put_taps(const plan *p, gopt_text *t)
{
    gopt_text_add(t, "    static const int64_t tap[] = {");
    for (int64_t r = 0; r < p->c.runs; r++)
        gopt_text_add(t, "%s%lld", r ? ", " : "", (long long)gopt_conv_nhwc_tap(&p->c, r));
    gopt_text_put(t, "};\n");
}

static void put_main(const plan *p, gopt_text *t)
{
    long long panels = p->panels, blocks = p->blocks_y * p->blocks_x, items = panels * blocks, by = p->by, bx = p->bx;
    gopt_text_add(t, "void %s(const gopt_task *t)\n{\n    float *room = t->workspace;\n    (void)room;\n", p->symbol);
    put_begin(p, t);
    put_taps(p, t);
    gopt_text_add(t, "    const float *filters = %s;\n", p->packed ? "t->in[1]" : "room");
    if (p->c.padded)
        gopt_text_add(t, "    const float *images = room + %lld;\n", (long long)p->image_at);
    else
        gopt_text_put(t, "    const float *images = t->in[0];\n");
    gopt_text_add(t, "    static const float zeros[%d];\n    _Alignas(64) float sum[%lld];\n", p->tm,
                  (long long)(p->by * p->bx * p->nr));
    gopt_emit_expr_pointers(&p->e, t);
    gopt_text_add(t,
                  "    for (int64_t n = %lldLL * t->part / t->parts; n < %lldLL * (t->part + 1) / t->parts; n++) {\n",
                  items, items);
    if (p->pixels_outside)
        gopt_text_add(t, "        int64_t j = n %% %lld, block = n / %lld;\n", panels, panels);
    else
        gopt_text_add(t, "        int64_t j = n / %lld, block = n %% %lld;\n", blocks, blocks);
    gopt_text_add(t, "        int64_t y0 = block / %lld * %lld, x0 = block %% %lld * %lld;\n", (long long)p->blocks_x,
                  by, (long long)p->blocks_x, bx);
    gopt_text_add(t, "        int64_t y1 = y0 + %lld < %lld ? y0 + %lld : %lld;\n", by,
                  (long long)(p->c.batch * p->c.oh), by, (long long)(p->c.batch * p->c.oh));
    gopt_text_add(t, "        int64_t x1 = x0 + %lld < %lld ? x0 + %lld : %lld;\n", bx, (long long)p->c.ow, bx,
                  (long long)p->c.ow);
    gopt_text_add(t, "        const float *panel = filters + j * %lld;\n", (long long)(p->nr * p->depth));
    put_sums(p, t);
    put_results(p, t);
    gopt_text_put(t, "    }\n}\n");
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
        put_tile(&p, p.tm, "tile", t);
        if (p.c.ow % p.tm)
            put_tile(&p, (int)(p.c.ow % p.tm), "rest", t);
        put_main(&p, t);
    }
    gopt_arena_fini(&p.arena);
    return ok ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
}

const gopt_kernel gopt_kernel_conv_nhwc_f32_gen = {
    .name = "conv_nhwc_f32_gen",
    .doc = "convolution with the channels innermost, code made for the shape",
    .revision = 2,
    .knobs = knobs,
    .generated = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .emit = emit,
};
