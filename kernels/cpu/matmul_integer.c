/* matmul_integer: MatMulInteger: rows of both sides widened, then products of rows, scaled and quantized by post.
 * DynamicMatMul: the left side is made bytes by its range first. */
#include <string.h>

#include "cpu/bytes.h"
#include "cpu/matmul.h"

enum { A, B, A_ZERO, B_ZERO };
enum { ROWS = 8, COLUMNS = 64 /* of a block: its rows of b stay in the second cache */ };

typedef struct spec {
    gopt_matmul mm;
    const gopt_simd *simd;
    bool dynamic, a_signed, b_signed, a_zero, b_zero, pack;
    int64_t count; /* elements of a */
    size_t room;   /* bytes of the workspace before the rows: ranges of the parts */
    gopt_finish finish;
    int64_t row, b_at; /* int16_t: of a widened row; from the workspace's begin to those of b */
} spec;

static bool is_dynamic(const gopt_group *g)
{
    return gopt_group_is(g, "gopt", "DynamicMatMul");
}

static bool shape_of(const gopt_group *g, gopt_matmul *mm)
{
    bool left =
        is_dynamic(g) ? g->in[A].dtype == GOPT_DTYPE_F32 : gopt_group_is(g, "", "MatMulInteger") && gopt_is_bytes(g, A);
    return left && gopt_is_bytes(g, B) && gopt_zero_fits(g, A_ZERO, A) && gopt_zero_fits(g, B_ZERO, B) &&
           gopt_matmul_plain(g, mm);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_matmul mm;
    (void)knob, (void)t;
    return g->op && shape_of(g, &mm) && gopt_finish_fits(g, is_dynamic(g) ? GOPT_DTYPE_F32 : GOPT_DTYPE_I32);
}

static double flops(const gopt_group *g)
{
    gopt_matmul mm;
    shape_of(g, &mm);
    return 2 * gopt_matmul_flops(&mm); /* half as fast as products of floats */
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static void plan(spec *s, const gopt_group *g, const gopt_target *t)
{
    *s = (spec){.simd = gopt_simd_for(t->isa)};
    shape_of(g, &s->mm);
    s->a_signed = g->in[A].dtype == GOPT_DTYPE_I8;
    s->b_signed = g->in[B].dtype == GOPT_DTYPE_I8;
    s->a_zero = gopt_group_has(g, A_ZERO);
    s->b_zero = gopt_group_has(g, B_ZERO);
    s->pack = !g->in[B].packed;
    s->row = gopt_wide_row(s->mm.k);
    s->dynamic = is_dynamic(g);
    s->count = gopt_operand_count(&g->in[A]);
    s->room = s->dynamic ? (size_t)(gopt_ceil_div(t->threads, 8) * 64) : 0;
    s->b_at = (s->mm.a_single ? 1 : s->mm.batch) * s->mm.m * s->row;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    (void)knob;
    plan(&s, g, t);
    int64_t b = s.pack ? (s.mm.b_single ? 1 : s.mm.batch) * s.mm.n * s.row : 0;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)),
                       .phases = s.dynamic ? 3 : 2,
                       .workspace = s.room + (size_t)(s.b_at + b) * sizeof(int16_t)};
}

/* A constant b whose zero point is known. */
static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    gopt_matmul mm;
    (void)knob, (void)t;
    bool known = !gopt_group_has(g, B_ZERO) || g->in[B_ZERO].constant;
    if (k != B || !g->in[B].constant || !known || !shape_of(g, &mm) || !mm.b_single)
        return 0;
    return (size_t)(mm.n * gopt_wide_row(mm.k)) * sizeof(int16_t);
}

static void widen_column(const spec *s, const void *b, int zero, int64_t j, int16_t *dst)
{
    gopt_widen_row(s->simd, dst, (const uint8_t *)b + j * s->mm.b_col, s->b_signed, s->mm.k, s->mm.b_row, zero);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    spec s;
    (void)knob, (void)k;
    plan(&s, g, t);
    int zero = gopt_byte_at(s.b_zero ? g->in[B_ZERO].constant : NULL, s.b_signed, 0);
    for (int64_t j = 0; j < s.mm.n; j++)
        widen_column(&s, g->in[B].constant, zero, j, (int16_t *)dst + j * s.row);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    plan(s, g, t);
    gopt_finish_prepare(&s->finish, g, s->simd);
}

/* A row of a, quantized a piece at a time. */
static void quantize_row(const spec *s, const float *a, float scale, uint8_t zero, int16_t *dst)
{
    uint8_t q[256];
    for (int64_t i = 0; i < s->mm.k; i += GOPT_COUNT(q)) {
        int64_t n = GOPT_MIN(GOPT_COUNT(q), s->mm.k - i);
        s->simd->quantize(q, a + i, n, scale, zero);
        s->simd->widen(dst + i, q, false, n, zero);
    }
    memset(dst + s->mm.k, 0, (size_t)(s->row - s->mm.k) * sizeof *dst);
}

static void widen(const spec *s, const gopt_task *t)
{
    const gopt_matmul *mm = &s->mm;
    int16_t *room = (int16_t *)(void *)((char *)t->workspace + s->room);
    uint8_t zero = 0;
    float scale = s->dynamic ? gopt_range_scale(s->simd, t, t->workspace, &zero) : 1;
    int zero_a = gopt_byte_at(s->a_zero ? t->in[A_ZERO] : NULL, s->a_signed, 0);
    int zero_b = gopt_byte_at(s->b_zero ? t->in[B_ZERO] : NULL, s->b_signed, 0);
    int64_t lo, hi;
    gopt_share((mm->a_single ? 1 : mm->batch) * mm->m, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t at = gopt_matmul_a(mm, lo / mm->m) + lo % mm->m * mm->a_row;
        if (s->dynamic)
            quantize_row(s, (const float *)t->in[A] + at, scale, zero, room + lo * s->row);
        else
            gopt_widen_row(s->simd, room + lo * s->row, (const uint8_t *)t->in[A] + at, s->a_signed, mm->k, mm->a_col,
                           zero_a);
    }
    gopt_share(s->pack ? (mm->b_single ? 1 : mm->batch) * mm->n : 0, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        widen_column(s, (const uint8_t *)t->in[B] + gopt_matmul_b(mm, lo / mm->n), zero_b, lo % mm->n,
                     room + s->b_at + lo * s->row);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const gopt_matmul *mm = &s->mm;
    if (s->dynamic && t->phase == 0) {
        gopt_range_find(s->simd, t, t->in[A], s->count, t->workspace);
        return;
    }
    if (t->phase == s->dynamic) {
        widen(s, t);
        return;
    }
    uint8_t zero;
    float scale = s->dynamic ? gopt_range_scale(s->simd, t, t->workspace, &zero) : 1;
    const int16_t *a = (const int16_t *)(const void *)((const char *)t->workspace + s->room),
                  *b = s->pack ? a + s->b_at : t->in[B];
    int64_t lo, hi, blocks = gopt_ceil_div(mm->n, COLUMNS);
    gopt_share(mm->batch * blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t batch = lo / blocks, j = lo % blocks * COLUMNS, n = GOPT_MIN(COLUMNS, mm->n - j);
        const int16_t *rows = a + (mm->a_single ? 0 : batch * mm->m) * s->row;
        const int16_t *columns = b + ((mm->b_single ? 0 : batch * mm->n) + j) * s->row;
        for (int64_t i = 0; i < mm->m; i += ROWS) {
            int32_t sums[ROWS * COLUMNS];
            gopt_dots d = {.m = GOPT_MIN(ROWS, mm->m - i), .n = n, .k = s->row, .a_step = s->row, .b_step = s->row};
            d.a = rows + i * s->row;
            d.b = columns;
            d.out = sums;
            d.out_step = COLUMNS;
            s->simd->dots(&d);
            for (int64_t r = 0; r < d.m; r++)
                gopt_finish_run(&s->finish, s->simd, t, sums + r * COLUMNS, scale, (batch * mm->m + i + r) * mm->n + j,
                                n);
        }
    }
}

const gopt_kernel gopt_kernel_matmul_integer = {
    .name = "matmul_integer",
    .doc = "products of matrices of 8-bit integers, and what becomes of them",
    .revision = 3,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
