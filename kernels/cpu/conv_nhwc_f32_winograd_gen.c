/* conv_nhwc_f32_winograd_gen: 3x3 convolutions of stride 1 with the channels innermost by Winograd's method, as code
 * made for the shape. In rounds that the second cache has room for: first pixels are transformed, a vector of channels
 * at a time, then every panel of filters is multiplied with groups of as many tiles as registers hold. One infinity or
 * NaN among a tile's pixels, or a sum beyond the largest float, spoils results that it has nothing to do with: tiles
 * that are not finite are computed again tap by tap, for which panels end in the filters as they are. */
#include <stdio.h>
#include <string.h>

#include "cpu/conv_nhwc.h"
#include "cpu/emit.h"
#include "cpu/emit_tile.h"
#include "cpu/group.h"
#include "cpu/winograd.h"

enum { TILE, WHERE, TILE_M, TILE_N, BLOCK_KB, UNROLL };

enum { TILE_AUTO, TILE_2, TILE_4 };
enum { WHERE_FASTER, WHERE_ALL };

static const char *const tiles[] = {"auto", "2", "4", NULL};
static const char *const wheres[] = {"faster", "all", NULL};

static const gopt_knob knobs[] = {
    [TILE] = {"tile", GOPT_KNOB_CHOICE, 0, 2, TILE_AUTO, 0, tiles,
              "side of a tile of results; 2 is more exact and has smaller filters, 4 has fewer products"},
    [WHERE] = {"where", GOPT_KNOB_CHOICE, 0, 1, WHERE_FASTER, 0, wheres,
               "convolutions that it computes: those that it should be faster for, or all"},
    [TILE_M] = {"tile_m", GOPT_KNOB_LINEAR, 0, 14, 0, 1, NULL, "tiles held in registers; 0: what divides them best"},
    [TILE_N] = {"tile_n", GOPT_KNOB_LINEAR, 0, 4, 0, 1, NULL,
                "vectors of filters held in registers; 0: what divides them best"},
    [BLOCK_KB] = {"block_kb", GOPT_KNOB_POW2, 128, 4096, 512, 0, NULL, "KiB of transformed pixels of a round"},
    [UNROLL] = {"unroll", GOPT_KNOB_POW2, 1, 8, 2, 0, NULL, "steps of depth in one turn of the loop"},
    {0}};

typedef struct plan {
    const char *symbol;
    gopt_conv_nhwc c;
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_expr e;
    gopt_isa isa;
    bool packed;
    int m, e2;      /* side of a tile of results, products of a tile */
    int tm, nv, nr; /* tiles and vectors of filters in registers; filters of a panel */
    int width;      /* of a vector */
    int64_t ty, tx, tiles;
    int64_t panels, groups; /* groups of tm tiles */
    int64_t rounds, round;  /* groups of a round */
    int64_t row;            /* floats from one transformed tile to the next */
    int64_t steps, turns;   /* turns of so many channels each */
    int64_t pixels_at;      /* floats into the workspace */
} plan;

enum { TAPS = 9 };
enum { SPARE = 16 /* floats after a tile's channels, so that the tiles of a group do not share a set of the cache */ };

static void choose_tile(plan *p, const int64_t *knob, int nv)
{
    int most = GOPT_MIN(gopt_emit_tile_rows(p->isa, nv), 14);
    p->nv = nv;
    p->tm =
        (int)(knob[TILE_M] ? GOPT_MIN(knob[TILE_M], p->tiles) : gopt_ceil_div(p->tiles, gopt_ceil_div(p->tiles, most)));
    p->nr = nv * p->width;
    p->panels = gopt_ceil_div(p->c.filters, p->nr);
    p->groups = gopt_ceil_div(p->tiles, p->tm);
}

static double products(const plan *p)
{
    double sums = (double)(p->groups * p->tm * p->panels * p->nr * p->e2) * gopt_emit_tile_effort(p->tm, p->nv);
    return 2 * sums * (double)p->c.channels;
}

static void choose_best_tile(plan *p, const int64_t *knob)
{
    enum { MOST = 3 };
    int best = MOST;
    choose_tile(p, knob, best);
    double least = products(p);
    for (int nv = MOST - 1; nv >= 1; nv--) {
        choose_tile(p, knob, nv);
        if (products(p) < least) {
            least = products(p);
            best = nv;
        }
    }
    choose_tile(p, knob, best);
}

static void divide(plan *p, const int64_t *knob, int m)
{
    p->m = m;
    p->e2 = (m + 2) * (m + 2);
    p->ty = gopt_ceil_div(p->c.oh, m);
    p->tx = gopt_ceil_div(p->c.ow, m);
    p->tiles = p->c.batch * p->ty * p->tx;
    if (knob[TILE_N])
        choose_tile(p, knob, (int)knob[TILE_N]);
    else
        choose_best_tile(p, knob);
}

/* Floats of a panel: transformed filters, then plain ones. */
static int64_t panel_floats(const plan *p)
{
    return (p->e2 + TAPS) * p->c.channels * p->nr;
}

static double plain_filter_bytes(const plan *p)
{
    return (double)(TAPS * p->c.filters * p->c.channels) * sizeof(float);
}

static double transformed_filter_bytes(const plan *p)
{
    return (double)(p->panels * p->nr * p->e2 * p->c.channels) * sizeof(float);
}

/* Transforms: some 30 operations per result, pixel and channel or filter. */
static double operations(const plan *p)
{
    return products(p) + 30.0 * p->m * p->m * (double)(p->tiles * (p->c.channels + p->c.filters));
}

/* Filters come from memory. */
static double seconds(const plan *p, const gopt_target *t)
{
    return gopt_roofline(t, operations(p), 0) + gopt_roofline(t, 0, transformed_filter_bytes(p));
}

static double direct_seconds(const plan *p, const gopt_target *t)
{
    return gopt_roofline(t, gopt_conv_nhwc_flops(&p->c), 0) + gopt_roofline(t, 0, plain_filter_bytes(p));
}

static void choose_division(plan *p, const int64_t *knob, const gopt_target *t)
{
    divide(p, knob, knob[TILE] == TILE_2 ? 2 : 4);
    double four = seconds(p, t);
    if (knob[TILE] != TILE_AUTO)
        return;
    divide(p, knob, 2);
    if (four <= seconds(p, t))
        divide(p, knob, 4);
}

static void choose_rounds(plan *p, const int64_t *knob)
{
    p->row = p->c.channels + SPARE;
    int64_t group = p->e2 * p->tm * p->row * (int64_t)sizeof(float);
    int64_t most = GOPT_MAX(knob[BLOCK_KB] * 1024 / group, (int64_t)1);
    p->rounds = gopt_ceil_div(p->groups, most);
    p->round = gopt_ceil_div(p->groups, p->rounds);
    p->rounds = gopt_ceil_div(p->groups, p->round);
}

static bool suits(const gopt_conv_nhwc *c, int width)
{
    return c->kh == 3 && c->kw == 3 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h == 1 &&
           c->dilation_w == 1 && c->channels % width == 0 && c->filters >= width;
}

static bool plan_init(plan *p, const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const double worth = 0.9;
    *p = (plan){.isa = t->isa};
    if (t->isa < GOPT_ISA_AVX2 || !gopt_conv_nhwc_of(g, &p->c))
        return false;
    p->width = gopt_emit_tile_width(t->isa);
    if (!suits(&p->c, p->width))
        return false;
    choose_division(p, knob, t);
    if (!gopt_emit_tile_fits(t->isa, p->tm, p->nv) ||
        (knob[WHERE] == WHERE_FASTER && seconds(p, t) > worth * direct_seconds(p, t)))
        return false;
    choose_rounds(p, knob);
    p->steps = GOPT_MIN(knob[UNROLL], (int64_t)p->width);
    p->turns = p->c.channels / p->steps;
    p->packed = g->in[1].packed;
    p->pixels_at = p->packed ? 0 : p->panels * panel_floats(p);
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

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    bool ok = plan_init(&p, g, knob, t);
    double per_element = g->post ? gopt_expr_cost(g->post) : 0;
    double flops = 2 * per_element * (double)gopt_operand_count(&g->out[0]), bytes = gopt_group_bytes(g);
    if (ok) {
        flops += operations(&p);
        bytes += transformed_filter_bytes(&p) - plain_filter_bytes(&p);
    }
    gopt_arena_fini(&p.arena);
    return gopt_roofline(t, flops, bytes);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    int64_t pixels = p.round * p.e2 * p.tm * p.row;
    return (gopt_work){.parts = gopt_parts(t, products(&p), gopt_group_bytes(g)),
                       .phases = (int)(2 * p.rounds) + (p.packed ? 0 : 1),
                       .workspace = (size_t)(p.pixels_at + pixels) * sizeof(float)};
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    plan p;
    if (k != 1)
        return 0;
    bool ok = plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    return ok ? (size_t)(p.panels * panel_floats(&p)) * sizeof(float) : 0;
}

/* To [panel][product, then tap][channel][filter]. */
static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    const float *filters = g->in[k].constant;
    int64_t channels = p.c.channels, product = channels * p.nr;
    memset(dst, 0, (size_t)(p.panels * panel_floats(&p)) * sizeof(float));
    for (int64_t f = 0; f < p.c.filters; f++)
        for (int64_t c = 0; c < channels; c++) {
            const float *filter = filters + (f * channels + c) * TAPS;
            float u[GOPT_WINOGRAD_MAX], *to = (float *)dst + f / p.nr * panel_floats(&p) + c * p.nr + f % p.nr;
            gopt_winograd_filter(p.m, filter, u);
            for (int e = 0; e < p.e2 + TAPS; e++)
                to[e * product] = e < p.e2 ? u[e] : filter[e - p.e2];
        }
}

static void put_tile(const plan *p, gopt_text *t)
{
    gopt_emit_tile e = {.isa = p->isa,
                        .rows = p->tm,
                        .nv = p->nv,
                        .steps = (int)p->steps,
                        .a_row = p->row,
                        .ahead = gopt_emit_tile_ahead(p->c.channels * p->nr, 1, p->round, p->turns)};
    gopt_emit_tile_panel(e, p->symbol, "tile", t);
}

/* Filters that were not transformed before: panels are shared by the parts of phase 0. */
static void put_filter_packing(const plan *p, gopt_text *t)
{
    long long channels = p->c.channels, product = channels * p->nr;
    gopt_text_add(t, "    if (phase-- == 0) {\n        static const double g[%d][3] = {", p->m + 2);
    for (int i = 0; i < p->m + 2; i++) {
        const double *g = gopt_winograd_row(p->m, i);
        gopt_text_add(t, "{%a, %a, %a}, ", g[0], g[1], g[2]);
    }
    gopt_text_add(t,
                  "};\n"
                  "        int64_t i = %lldLL * t->part / t->parts * %lld;\n"
                  "        int64_t end = %lldLL * (t->part + 1) / t->parts * %lld;\n"
                  "        for (; i < end; i++)\n            for (int k = 0; k < %d; k++) {\n"
                  "                int64_t j = i / %lld, in = i %% %lld, f = j * %d + in %% %d;\n"
                  "                const float *filter = (const float *)t->in[1] + (f * %lld + in / %d) * %d;\n"
                  "                double u = k < %d || f >= %lld ? 0 : filter[k - %d];\n",
                  (long long)p->panels, product, (long long)p->panels, product, p->e2 + TAPS, product, product, p->nr,
                  p->nr, channels, p->nr, TAPS, p->e2, (long long)p->c.filters, p->e2);
    gopt_text_add(t,
                  "                for (int q = 0; q < %d && k < %d && f < %lld; q++)\n"
                  "                    u += g[k / %d][q / 3] * g[k %% %d][q %% 3] * filter[q];\n"
                  "                room[(j * %d + k) * %lld + in] = (float)u;\n            }\n"
                  "        return;\n    }\n",
                  TAPS, p->e2, (long long)p->c.filters, p->m + 2, p->m + 2, p->e2 + TAPS, product);
}

/* One tile's pixels; those outside of the image are 0. */
static void put_pixels(const plan *p, gopt_text *t)
{
    const gopt_conv_nhwc *c = &p->c;
    int e = p->m + 2;
    gopt_text_add(t,
                  "static void %s_pixels(const float *images, int64_t tile, float *to)\n{\n"
                  "    static const float zeros[%lld];\n    const float *at[%d];\n",
                  p->symbol, (long long)c->channels, p->e2);
    gopt_text_add(t,
                  "    int64_t n = tile / %lld, y = tile / %lld %% %lld * %d - %lld, x = tile %% %lld * %d - %lld;\n"
                  "    for (int i = 0; i < %d; i++) {\n        int64_t row = y + i / %d, col = x + i %% %d;\n",
                  (long long)(p->ty * p->tx), (long long)p->tx, (long long)p->ty, p->m, (long long)c->pad_h,
                  (long long)p->tx, p->m, (long long)c->pad_w, p->e2, e, e);
    gopt_text_add(t,
                  "        at[i] = row >= 0 && row < %lld && col >= 0 && col < %lld\n"
                  "            ? images + ((n * %lld + row) * %lld + col) * %lld : zeros;\n    }\n",
                  (long long)c->ih, (long long)c->iw, (long long)c->ih, (long long)c->iw, (long long)c->channels);
    gopt_text_add(t,
                  "    for (int64_t c = 0; c < %lld; c += GOPT_VW) {\n        vf d[%d], h[%d], out[%d];\n"
                  "#pragma GCC unroll 36\n        for (int i = 0; i < %d; i++)\n"
                  "            d[i] = v_load(at[i] + c);\n",
                  (long long)c->channels, p->e2, p->e2, e, p->e2);
    gopt_text_add(t,
                  "#pragma GCC unroll 6\n        for (int i = 0; i < %d; i++)\n"
                  "            v_winograd_in(%d, d + i * %d, 1, h + i * %d);\n"
                  "#pragma GCC unroll 6\n        for (int i = 0; i < %d; i++) {\n"
                  "            v_winograd_in(%d, h + i, %d, out);\n"
                  "#pragma GCC unroll 6\n            for (int k = 0; k < %d; k++)\n"
                  "                v_store(to + (k * %d + i) * %lld + c, out[k]);\n        }\n    }\n}\n",
                  e, p->m, e, e, e, p->m, e, e, e, (long long)(p->tm * p->row));
}

/* One tile's sums of a vector of filters back to results; *check becomes NaN when one is not finite. */
static void put_sums(const plan *p, gopt_text *t)
{
    int e = p->m + 2;
    gopt_text_add(
        t,
        "static inline void %s_sums(const float *sum, float *row, vf *check)\n{\n    vf in[%d], h[%d], y[%d];\n"
        "#pragma GCC unroll 6\n    for (int i = 0; i < %d; i++) {\n"
        "#pragma GCC unroll 6\n        for (int k = 0; k < %d; k++)\n"
        "            in[k] = v_load(sum + (k * %d + i) * %d);\n",
        p->symbol, e, e * p->m, p->m, e, e, e, p->tm * p->nr);
    gopt_text_add(
        t,
        "        v_winograd_out(%d, in, 1, y);\n"
        "#pragma GCC unroll 4\n        for (int k = 0; k < %d; k++)\n            h[k * %d + i] = y[k];\n    }\n"
        "#pragma GCC unroll 4\n    for (int k = 0; k < %d; k++) {\n"
        "        v_winograd_out(%d, h + k * %d, 1, y);\n"
        "#pragma GCC unroll 4\n        for (int i = 0; i < %d; i++) {\n"
        "            v_store(row + (k * %d + i) * %d, y[i]);\n            *check += 0.0f * y[i];\n        }\n    "
        "}\n}\n",
        p->m, p->m, e, p->m, p->m, e, p->m, p->m, p->nr);
}

/* The same results of one tile and panel, tap by tap. */
static void put_taps(const plan *p, gopt_text *t)
{
    const gopt_conv_nhwc *c = &p->c;
    gopt_text_add(t,
                  "static __attribute__((noinline, cold)) void %s_taps(const float *images, const float *filters,\n"
                  "                                                  int64_t y, int64_t x, float *row)\n{\n"
                  "    for (int i = 0; i < %d; i++)\n    for (int v = 0; v < %d; v += GOPT_VW) {\n"
                  "        vf sum = {0};\n        for (int q = 0; q < %d; q++) {\n",
                  p->symbol, p->m * p->m, p->nr, TAPS);
    gopt_text_add(t,
                  "            int64_t at_y = y + i / %d + q / 3 - %lld, at_x = x + i %% %d + q %% 3 - %lld;\n"
                  "            if (at_y < 0 || at_y >= %lld || at_x < 0 || at_x >= %lld)\n                continue;\n",
                  p->m, (long long)c->pad_h, p->m, (long long)c->pad_w, (long long)c->ih, (long long)c->iw);
    gopt_text_add(t,
                  "            const float *pixel = images + (at_y * %lld + at_x) * %lld;\n"
                  "            for (int64_t c = 0; c < %lld; c++)\n"
                  "                sum += pixel[c] * v_load(filters + (q * %lld + c) * %d + v);\n"
                  "        }\n        v_store(row + i * %d + v, sum);\n    }\n}\n",
                  (long long)c->iw, (long long)c->channels, (long long)c->channels, (long long)c->channels, p->nr,
                  p->nr);
}

static void put_transforming(const plan *p, gopt_text *t)
{
    gopt_text_add(t,
                  "    int64_t first = phase / 2 * %lld, count = %lld - first < %lld ? %lld - first : %lld;\n"
                  "    if (phase %% 2 == 0) {\n        int64_t n = %lld - first * %d;\n"
                  "        n = n < count * %d ? n : count * %d;\n",
                  (long long)p->round, (long long)p->groups, (long long)p->round, (long long)p->groups,
                  (long long)p->round, (long long)p->tiles, p->tm, p->tm, p->tm);
    gopt_text_add(t,
                  "        for (int64_t i = n * t->part / t->parts; i < n * (t->part + 1) / t->parts; i++)\n"
                  "            %s_pixels(t->in[0], first * %d + i, pixels + i / %d * %lld + i %% %d * %lld);\n"
                  "        return;\n    }\n",
                  p->symbol, p->tm, p->tm, (long long)(p->e2 * p->tm * p->row), p->tm, (long long)p->row);
}

static void put_results(const plan *p, gopt_text *t)
{
    const gopt_conv_nhwc *c = &p->c;
    char name[96];
    snprintf(name, sizeof name, "%s_result", p->symbol);
    gopt_text_add(t,
                  "        int64_t cols = %lld - j * %d < %d ? %lld - j * %d : %d;\n"
                  "        for (int64_t r = 0, tile = (first + g) * %d; r < %d && tile < %lld; r++, tile++) {\n"
                  "            vf check = {0};\n            for (int v = 0; v < %d; v += GOPT_VW)\n"
                  "                %s_sums(sum + r * %d + v, row + v, &check);\n",
                  (long long)c->filters, p->nr, p->nr, (long long)c->filters, p->nr, p->nr, p->tm, p->tm,
                  (long long)p->tiles, p->nr, p->symbol, p->nr);
    gopt_text_add(t,
                  "            int64_t n = tile / %lld, y0 = tile / %lld %% %lld * %d, x0 = tile %% %lld * %d;\n"
                  "            if (v_sum(check) != 0)\n"
                  "                %s_taps((const float *)t->in[0] + n * %lld, b + %lld, y0, x0, row);\n"
                  "            for (int64_t y = y0; y < y0 + %d && y < %lld; y++)\n"
                  "            for (int64_t x = x0; x < x0 + %d && x < %lld; x++) {\n",
                  (long long)(p->ty * p->tx), (long long)p->tx, (long long)p->ty, p->m, (long long)p->tx, p->m,
                  p->symbol, (long long)(c->ih * c->iw * c->channels), (long long)(p->e2 * c->channels * p->nr), p->m,
                  (long long)c->oh, p->m, (long long)c->ow);
    gopt_text_add(t,
                  "                const float *s = row + ((y - y0) * %d + x - x0) * %d;\n"
                  "                int64_t at = ((n * %lld + y) * %lld + x) * %lld + j * %d, i = 0;\n"
                  "                float *o = (float *)t->out[0] + at;\n",
                  p->m, p->nr, (long long)c->oh, (long long)c->ow, (long long)c->filters, p->nr);
    gopt_emit_expr_row(&p->e, "at", "                ", t);
    gopt_emit_expr_finish(&p->e, name, "cols", "                ", t);
    gopt_text_put(t, "            }\n        }\n");
}

static void put_main(const plan *p, gopt_text *t)
{
    long long panels = p->panels, group = p->e2 * p->tm * p->row, panel = panel_floats(p);
    gopt_text_add(t,
                  "void %s(const gopt_task *t)\n{\n    int phase = t->phase;\n    float *room = t->workspace;\n"
                  "    float *pixels = room + %lld;\n",
                  p->symbol, (long long)p->pixels_at);
    if (!p->packed)
        put_filter_packing(p, t);
    put_transforming(p, t);
    gopt_text_add(t,
                  "    const float *filters = %s;\n    static const float zeros[%d];\n"
                  "    _Alignas(64) float sum[%d], row[%d];\n",
                  p->packed ? "t->in[1]" : "room", p->tm, p->e2 * p->tm * p->nr, p->m * p->m * p->nr);
    gopt_emit_expr_pointers(&p->e, t);
    gopt_text_add(t,
                  "    int64_t items = count * %lld, end = items * (t->part + 1) / t->parts;\n"
                  "    for (int64_t k = items * t->part / t->parts; k < end; k++) {\n"
                  "        int64_t j = k / count, g = k %% count;\n"
                  "        const float *a = pixels + g * %lld, *b = filters + j * %lld;\n",
                  panels, group, panel);
    gopt_text_add(t,
                  "        for (int64_t e = 0; e < %d; e++)\n"
                  "            %s_tile(%lld, a + e * %lld, b + e * %lld, zeros, sum + e * %d, b + (e + 1) * %lld);\n",
                  p->e2, p->symbol, (long long)p->turns, (long long)(p->tm * p->row),
                  (long long)(p->c.channels * p->nr), p->tm * p->nr, (long long)(p->c.channels * p->nr));
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
        put_tile(&p, t);
        put_pixels(&p, t);
        put_sums(&p, t);
        put_taps(&p, t);
        put_main(&p, t);
    }
    gopt_arena_fini(&p.arena);
    return ok ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
}

const gopt_kernel gopt_kernel_conv_nhwc_f32_winograd_gen = {
    .name = "conv_nhwc_f32_winograd_gen",
    .doc = "3x3 convolution with the channels innermost and few products, at some loss of accuracy; code made for it",
    .revision = 1,
    .knobs = knobs,
    .generated = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .emit = emit,
};
