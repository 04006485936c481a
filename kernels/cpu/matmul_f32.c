/* matmul_f32: products of matrices through packed panels, or straight from memory where one side is a single vector. */
#include "cpu/group.h"
#include "cpu/matmul.h"
#include "cpu/post.h"

#include <string.h>

enum { BLOCK_M, BLOCK_N, BLOCK_K };

static const gopt_knob knobs[] = {
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 32, 512, 128, 0, NULL, "rows of the result computed before moving on"},
    [BLOCK_N] = {"block_n", GOPT_KNOB_POW2, 64, 2048, 512, 0, NULL, "columns of the result computed before moving on"},
    [BLOCK_K] = {"block_k", GOPT_KNOB_POW2, 64, 2048, 256, 0, NULL, "depth of one pass over a block"},
    {0}};

typedef enum way {
    PANELS,
    ROW_TIMES_ROWS,    /* m == 1, b by rows */
    ROW_TIMES_COLUMNS, /* m == 1, b by columns */
    ROWS_TIMES_COLUMN, /* n == 1, a by rows */
    COLUMNS_TIMES_COLUMN
} way;

typedef struct spec {
    gopt_matmul mm;
    const gopt_simd *simd;
    way way;
    bool pack_a, pack_b;       /* at run time, in phase 0 */
    bool b_in_place;           /* but for the last panel, when it is not whole */
    int64_t a_tiles, b_panels; /* of one matrix */
    int64_t a_size, b_size;    /* floats of one packed matrix */
    size_t b_at;               /* floats from the workspace's begin to packed b */
    int64_t block_m, block_n, block_k, blocks_m, blocks_n;
    int phases;
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_matmul mm;
    (void)knob, (void)t;
    return gopt_matmul_of(g, &mm) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    gopt_matmul mm;
    gopt_matmul_of(g, &mm);
    return gopt_matmul_flops(&mm) + 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static way choose_way(const gopt_group *g, const gopt_matmul *mm)
{
    if (g->in[0].packed || g->in[1].packed)
        return PANELS;
    if (mm->m == 1 && mm->b_col == 1)
        return ROW_TIMES_ROWS;
    if (mm->m == 1 && mm->b_row == 1 && mm->a_col == 1)
        return ROW_TIMES_COLUMNS;
    if (mm->n == 1 && mm->a_col == 1 && mm->b_row == 1)
        return ROWS_TIMES_COLUMN;
    if (mm->n == 1 && mm->a_row == 1 && mm->b_row == 1)
        return COLUMNS_TIMES_COLUMN;
    return PANELS;
}

/* Smaller blocks until every part has some. */
static void choose_blocks(spec *s, const int64_t *knob, int parts)
{
    int mr = s->simd->mr, nr = s->simd->nr;
    s->block_m = gopt_ceil_div(knob[BLOCK_M], mr) * mr;
    s->block_n = gopt_ceil_div(knob[BLOCK_N], nr) * nr;
    s->block_k = knob[BLOCK_K];
    for (;;) {
        s->blocks_m = gopt_ceil_div(s->mm.m, s->block_m);
        s->blocks_n = gopt_ceil_div(s->mm.n, s->block_n);
        int64_t blocks = s->mm.batch * s->blocks_m * s->blocks_n;
        bool wide = s->block_n > nr, tall = s->block_m > mr && (s->block_m * 2 > s->block_n || !wide);
        if (blocks == 0 || blocks >= 2 * parts || parts == 1 || (!tall && !wide))
            return;
        if (tall)
            s->block_m = gopt_ceil_div(GOPT_MIN(s->block_m, s->mm.m), 2 * mr) * mr;
        else
            s->block_n = gopt_ceil_div(GOPT_MIN(s->block_n, s->mm.n), 2 * nr) * nr;
    }
}

static void plan(spec *s, const gopt_group *g, const int64_t *knob, const gopt_target *t, int parts)
{
    memset(s, 0, sizeof *s);
    gopt_matmul *mm = &s->mm;
    gopt_matmul_of(g, mm);
    s->simd = gopt_simd_for(t->isa);
    s->way = choose_way(g, mm);
    s->phases = 1;
    if (s->way != PANELS)
        return;
    s->a_tiles = gopt_ceil_div(mm->m, s->simd->mr);
    s->b_panels = gopt_ceil_div(mm->n, s->simd->nr);
    s->a_size = s->a_tiles * s->simd->mr * mm->k;
    s->b_size = s->b_panels * s->simd->nr * mm->k;
    s->pack_a = !g->in[0].packed;
    s->pack_b = !g->in[1].packed;
    s->b_in_place = s->pack_b && mm->b_col == 1 && (mm->m <= 32 || mm->b_row <= 512);
    if (s->b_in_place && mm->n % s->simd->nr)
        s->b_size = s->simd->nr * mm->k; /* the last panel: reading it in place would pass the matrix's end */
    else if (s->b_in_place)
        s->b_size = 0;
    s->b_at = s->pack_a ? (size_t)(s->a_size * (mm->a_single ? 1 : mm->batch)) : 0;
    s->b_at = (s->b_at + 15) / 16 * 16;
    s->phases = s->pack_a || (s->pack_b && s->b_size) ? 2 : 1;
    choose_blocks(s, knob, parts);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    plan(&s, g, knob, t, parts);
    size_t b = s.pack_b ? (size_t)(s.b_size * (s.mm.b_single ? 1 : s.mm.batch)) : 0;
    return (gopt_work){.parts = parts, .phases = s.phases, .workspace = (s.b_at + b) * sizeof(float)};
}

/* Only a matrix that all products share; a single vector gains nothing. */
static bool packs(const gopt_group *g, int k, gopt_matmul *mm)
{
    if (k > 1 || !g->in[k].constant || !gopt_matmul_of(g, mm) || mm->batch == 0)
        return false;
    return k == 0 ? mm->a_single && mm->m > 1 && mm->n > 1 : mm->b_single && mm->n > 1;
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_matmul mm;
    (void)knob;
    if (!packs(g, k, &mm))
        return 0;
    const gopt_simd *simd = gopt_simd_for(t->isa);
    int unit = k == 0 ? simd->mr : simd->nr;
    return (size_t)(gopt_ceil_div(k == 0 ? mm.m : mm.n, unit) * unit * mm.k) * sizeof(float);
}

static gopt_packing packing_a(const gopt_matmul *mm, const gopt_simd *simd, const float *src, float *dst)
{
    return (gopt_packing){.src = src,
                          .n = mm->m,
                          .k = mm->k,
                          .step = mm->a_row,
                          .depth = mm->a_col,
                          .unit = simd->mr,
                          .scale = mm->alpha,
                          .dst = dst,
                          .last = gopt_ceil_div(mm->m, simd->mr)};
}

static gopt_packing packing_b(const gopt_matmul *mm, const gopt_simd *simd, const float *src, float *dst)
{
    return (gopt_packing){.src = src,
                          .n = mm->n,
                          .k = mm->k,
                          .step = mm->b_col,
                          .depth = mm->b_row,
                          .unit = simd->nr,
                          .scale = 1,
                          .dst = dst,
                          .last = gopt_ceil_div(mm->n, simd->nr)};
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    gopt_matmul mm;
    (void)knob;
    gopt_matmul_of(g, &mm);
    const gopt_simd *simd = gopt_simd_for(t->isa);
    gopt_packing p =
        k == 0 ? packing_a(&mm, simd, g->in[0].constant, dst) : packing_b(&mm, simd, g->in[1].constant, dst);
    gopt_matmul_pack(simd, p, g->in[k].spent);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    plan(s, g, knob, t, work(g, knob, t).parts);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* Tiles of `count` matrices are shared by all parts. */
static void pack_share(const spec *s, const gopt_task *t, gopt_packing p, int64_t count, bool left)
{
    int64_t lo, hi, tiles = p.last, size = tiles * p.unit * p.k;
    const float *src = p.src;
    float *dst = p.dst;
    gopt_share(count * tiles, 1, t->part, t->parts, &lo, &hi);
    while (lo < hi) {
        int64_t i = lo / tiles;
        p.first = lo % tiles;
        p.last = GOPT_MIN(tiles, p.first + hi - lo);
        p.src = src + (left ? gopt_matmul_a(&s->mm, i) : gopt_matmul_b(&s->mm, i));
        p.dst = dst + i * size;
        s->simd->pack(&p);
        lo += p.last - p.first;
    }
}

static void run_packing(const spec *s, const gopt_task *t)
{
    float *room = t->workspace;
    if (s->mm.batch == 0) /* an operand of its own has elements all the same */
        return;
    if (s->pack_a)
        pack_share(s, t, packing_a(&s->mm, s->simd, t->in[0], room), s->mm.a_single ? 1 : s->mm.batch, true);
    if (!s->pack_b || !s->b_size)
        return;
    gopt_packing p = packing_b(&s->mm, s->simd, t->in[1], room + s->b_at);
    if (s->b_in_place) {
        p.src += (p.last - 1) * p.unit;
        p.n -= (p.last - 1) * p.unit;
        p.last = 1;
    }
    pack_share(s, t, p, s->mm.b_single ? 1 : s->mm.batch, false);
}

/* Result rows begin as beta * c. */
static void begin_with_c(const spec *s, const float *c, float *out, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    const gopt_matmul *mm = &s->mm;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = c + (i + r) * mm->c_row + j * mm->c_col;
        for (int64_t q = 0; q < cols; q++)
            out[r * mm->n + q] = mm->beta * row[q * mm->c_col];
    }
}

/* Columns [j, j + cols) of b, from depth p on; false for the rest that lies packed apart. */
static void point_to_b(const spec *s, const gopt_task *t, int64_t batch, int64_t j, int64_t p, gopt_gemm *g)
{
    const gopt_matmul *mm = &s->mm;
    int64_t panel = j / s->simd->nr, which = mm->b_single ? 0 : batch;
    bool whole = j + s->simd->nr <= mm->n;
    if (s->b_in_place && whole) {
        g->b = (const float *)t->in[1] + gopt_matmul_b(mm, batch) + p * mm->b_row + j;
        g->b_panel = s->simd->nr;
        g->b_row = mm->b_row;
        return;
    }
    const float *packed = s->pack_b ? (const float *)t->workspace + s->b_at : t->in[1];
    g->b_row = s->simd->nr;
    g->b_panel = mm->k * s->simd->nr;
    g->b = packed + which * s->b_size + (s->b_in_place ? 0 : panel * g->b_panel) + p * s->simd->nr;
}

static void multiply(const spec *s, const gopt_task *t, int64_t batch, int64_t i, int64_t j, int64_t rows, int64_t cols,
                     float *out)
{
    const gopt_matmul *mm = &s->mm;
    int64_t tail = s->b_in_place && j + cols == mm->n ? mm->n % s->simd->nr : 0; /* columns packed apart */
    const float *a = s->pack_a ? (const float *)t->workspace + (mm->a_single ? 0 : batch) * s->a_size : t->in[0];
    bool begun = mm->beta != 0;
    int64_t p = 0;
    do {
        gopt_gemm g = {.m = rows, .n = cols - tail, .k = GOPT_MIN(s->block_k, mm->k - p), .c_row = mm->n};
        g.a = a + i * mm->k + p * s->simd->mr;
        g.a_tile = mm->k * s->simd->mr;
        g.c = out;
        g.accumulate = begun || p > 0;
        point_to_b(s, t, batch, j, p, &g);
        s->simd->gemm(&g);
        if (tail) {
            point_to_b(s, t, batch, j + cols - tail, p, &g);
            g.c = out + cols - tail;
            g.n = tail;
            s->simd->gemm(&g);
        }
        p += s->block_k;
    } while (p < mm->k);
}

static void finish(const spec *s, const gopt_task *t, int64_t first, int64_t rows, int64_t cols)
{
    float *out = t->out[0];
    if (cols == s->mm.n) {
        gopt_post_run(&s->post, t->in, out + first, out + first, first, rows * cols);
        return;
    }
    for (int64_t r = 0; r < rows; r++, first += s->mm.n)
        gopt_post_run(&s->post, t->in, out + first, out + first, first, cols);
}

static void run_panels(const spec *s, const gopt_task *t)
{
    const gopt_matmul *mm = &s->mm;
    int64_t lo, hi;
    gopt_share(mm->batch * s->blocks_m * s->blocks_n, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t j = lo % s->blocks_n * s->block_n, i = lo / s->blocks_n % s->blocks_m * s->block_m;
        int64_t batch = lo / s->blocks_n / s->blocks_m, first = (batch * mm->m + i) * mm->n + j;
        int64_t rows = GOPT_MIN(s->block_m, mm->m - i), cols = GOPT_MIN(s->block_n, mm->n - j);
        float *out = (float *)t->out[0] + first;
        if (mm->beta != 0)
            begin_with_c(s, t->in[2], out, i, j, rows, cols);
        multiply(s, t, batch, i, j, rows, cols, out);
        finish(s, t, first, rows, cols);
    }
}

/* One column or row of the result: [lo, hi) of it. */
static void run_vector(const spec *s, const gopt_task *t, int64_t batch, int64_t lo, int64_t hi)
{
    const gopt_matmul *mm = &s->mm;
    const float *a = (const float *)t->in[0] + gopt_matmul_a(mm, batch);
    const float *b = (const float *)t->in[1] + gopt_matmul_b(mm, batch);
    bool row = mm->m == 1 && s->way <= ROW_TIMES_COLUMNS;
    int64_t first = batch * mm->m * mm->n + lo, c_step = row ? mm->c_col : mm->c_row;
    float *out = (float *)t->out[0] + first;
    if (s->way == ROW_TIMES_ROWS)
        s->simd->gemv(hi - lo, mm->k, a, mm->a_col, b + lo, mm->b_row, out);
    else if (s->way == COLUMNS_TIMES_COLUMN)
        s->simd->gemv(hi - lo, mm->k, b, 1, a + lo, mm->a_col, out);
    else
        for (int64_t i = lo; i < hi; i++)
            out[i - lo] = row ? s->simd->dot(mm->k, a, b + i * mm->b_col) : s->simd->dot(mm->k, a + i * mm->a_row, b);
    for (int64_t i = lo; i < hi && (mm->alpha != 1 || mm->beta != 0); i++) {
        float c = mm->beta != 0 ? mm->beta * ((const float *)t->in[2])[i * c_step] : 0;
        out[i - lo] = mm->alpha * out[i - lo] + c;
    }
    gopt_post_run(&s->post, t->in, out, out, first, hi - lo);
}

static void run_vectors(const spec *s, const gopt_task *t)
{
    int64_t lo, hi, length = s->mm.m * s->mm.n;
    gopt_share(s->mm.batch * length, 16, t->part, t->parts, &lo, &hi);
    while (lo < hi) {
        int64_t batch = lo / length, from = lo % length, to = GOPT_MIN(length, from + hi - lo);
        run_vector(s, t, batch, from, to);
        lo += to - from;
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    if (s->way != PANELS)
        run_vectors(s, t);
    else if (t->phase < s->phases - 1)
        run_packing(s, t);
    else
        run_panels(s, t);
}

const gopt_kernel gopt_kernel_matmul_f32 = {
    .name = "matmul_f32",
    .doc = "products of matrices through packed panels, one pass per block",
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
