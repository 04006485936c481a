/* matmul_f32_gen: products with a constant right side as code made for one shape: tiles in registers over the whole
 * depth or blocks of it, everything that follows computed while a tile is in the first cache. */
#include <stdio.h>

#include "cpu/emit.h"
#include "cpu/emit_tile.h"
#include "cpu/group.h"
#include "cpu/matmul.h"
#include "cpu/simd.h"

enum { TILE_M, TILE_N, BLOCK_M, BLOCK_K, UNROLL, ORDER };

enum { ORDER_COLUMNS, ORDER_ROWS };

static const char *const orders[] = {"columns", "rows", NULL};

static const gopt_knob knobs[] = {
    [TILE_M] = {"tile_m", GOPT_KNOB_LINEAR, 0, 14, 0, 1, NULL, "rows held in registers; 0: as many as fit"},
    [TILE_N] = {"tile_n", GOPT_KNOB_LINEAR, 1, 4, 3, 1, NULL, "vectors of columns held in registers"},
    [BLOCK_M] = {"block_m", GOPT_KNOB_POW2, 16, 256, 64, 0, NULL, "rows computed before the next depth block"},
    [BLOCK_K] = {"block_k", GOPT_KNOB_POW2, 64, 4096, 1024, 0, NULL, "depth of one block"},
    [UNROLL] = {"unroll", GOPT_KNOB_POW2, 1, 8, 2, 0, NULL, "steps of depth in one turn of the loop"},
    [ORDER] = {"order", GOPT_KNOB_CHOICE, 0, 1, 0, 0, orders, "what is walked in the outer loop"},
    {0}};

typedef struct plan {
    const char *symbol;
    gopt_matmul mm;
    gopt_arena arena;
    gopt_expr x; /* what becomes of a sum */
    gopt_emit_expr e;
    gopt_isa isa;
    bool packed;
    int tm, nv, nr; /* nr: columns of a panel */
    int64_t bm, bk, steps;
    int64_t panels, blocks; /* of columns, of rows */
    int ahead;              /* cache lines of columns asked for in a turn, well before they are read */
} plan;

/* alpha * acc + beta * c, then post. */
static bool build_expression(plan *p, const gopt_group *g)
{
    int load[GOPT_EXPR_LIMIT], sum = gopt_expr_acc(&p->x, GOPT_DTYPE_F32);
    if (p->mm.alpha != 1)
        sum = gopt_expr_op2(&p->x, GOPT_EXPR_MUL, sum, gopt_expr_float(&p->x, (double)p->mm.alpha));
    if (p->mm.beta != 0) {
        int c = gopt_expr_load(&p->x, 2, GOPT_DTYPE_F32);
        if (p->mm.beta != 1)
            c = gopt_expr_op2(&p->x, GOPT_EXPR_MUL, c, gopt_expr_float(&p->x, (double)p->mm.beta));
        sum = gopt_expr_op2(&p->x, GOPT_EXPR_ADD, sum, c);
    }
    p->x.result = sum;
    if (g->post) {
        int n = gopt_group_loads(g, &p->x, load);
        p->x.result = gopt_expr_splice(&p->x, g->post, load, n, sum);
    }
    return p->x.result >= 0;
}

static bool plan_init(plan *p, const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    *p = (plan){.isa = t->isa, .nv = (int)knob[TILE_N], .tm = (int)knob[TILE_M]};
    gopt_matmul *mm = &p->mm;
    if (t->isa < GOPT_ISA_AVX2 || !gopt_matmul_of(g, mm) || mm->batch != 1 || mm->a_col != 1 || g->in[0].packed ||
        !g->in[1].constant || mm->m < 1 || mm->n < 8 || mm->k < 1 || mm->k * mm->m > INT32_MAX / 8)
        return false;
    if (!p->tm)
        p->tm = GOPT_MIN(gopt_emit_tile_rows(t->isa, p->nv), 14);
    p->tm = (int)GOPT_MIN(p->tm, mm->m);
    if (!gopt_emit_tile_fits(t->isa, p->tm, p->nv))
        return false;
    p->packed = g->in[1].packed;
    p->nr = p->nv * gopt_emit_tile_width(t->isa);
    p->panels = gopt_ceil_div(mm->n, p->nr);
    p->bm = GOPT_MIN(gopt_ceil_div(knob[BLOCK_M], p->tm) * p->tm, gopt_ceil_div(mm->m, p->tm) * p->tm);
    p->blocks = gopt_ceil_div(mm->m, p->bm);
    p->bk = GOPT_MIN(knob[BLOCK_K], mm->k);
    p->steps = knob[UNROLL];
    while (p->bk % p->steps || mm->k % p->bk % p->steps)
        p->steps /= 2;
    if (knob[ORDER] == ORDER_COLUMNS)
        p->ahead = gopt_emit_tile_ahead(p->bk * p->nr, p->blocks, gopt_ceil_div(p->bm, p->tm), p->bk / p->steps);
    p->x = gopt_expr_new(&p->arena);
    return build_expression(p, g) && gopt_emit_expr_of(&p->e, g, &p->x);
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
    gopt_matmul mm;
    gopt_matmul_of(g, &mm);
    double per_element = g->post ? gopt_expr_cost(g->post) : 0;
    return gopt_matmul_flops(&mm) + 2 * per_element * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static size_t panel_bytes(const plan *p)
{
    return (size_t)(p->panels * p->nr * p->mm.k) * sizeof(float);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    gopt_work w = {.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)), .phases = p.packed ? 1 : 2};
    w.workspace = p.packed ? 0 : panel_bytes(&p);
    return w;
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    plan p;
    bool ok = k == 1 && plan_init(&p, g, knob, t);
    if (k == 1)
        gopt_arena_fini(&p.arena);
    return ok ? panel_bytes(&p) : 0;
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    plan p;
    (void)k;
    plan_init(&p, g, knob, t);
    gopt_packing packing = {.src = g->in[1].constant,
                            .n = p.mm.n,
                            .k = p.mm.k,
                            .step = p.mm.b_col,
                            .depth = p.mm.b_row,
                            .unit = p.nr,
                            .scale = 1,
                            .dst = dst,
                            .last = p.panels};
    gopt_matmul_pack(gopt_simd_for(t->isa), packing, g->in[1].spent);
    gopt_arena_fini(&p.arena);
}

static void put_tile(const plan *p, int rows, const char *name, gopt_text *t)
{
    gopt_emit_tile e = {
        .isa = p->isa, .rows = rows, .nv = p->nv, .steps = (int)p->steps, .a_row = p->mm.a_row, .ahead = p->ahead};
    gopt_emit_tile_panel(e, p->symbol, name, t);
}

/* Phase 0 when b has not been packed: panels are shared by the parts. */
static void put_packing(const plan *p, gopt_text *t)
{
    const gopt_matmul *mm = &p->mm;
    gopt_text_add(t,
                  "    if (t->phase == 0) {\n"
                  "        int64_t j = %lldLL * t->part / t->parts, end = %lldLL * (t->part + 1) / t->parts;\n"
                  "        const float *src = t->in[1];\n"
                  "        for (; j < end; j++)\n"
                  "            for (int64_t k = 0; k < %lld; k++)\n"
                  "                for (int64_t c = 0; c < %d; c++)\n"
                  "                    ((float *)t->workspace)[(j * %lld + k) * %d + c] =\n"
                  "                        j * %d + c < %lld ? src[k * %lld + (j * %d + c) * %lld] : 0;\n"
                  "        return;\n"
                  "    }\n",
                  (long long)p->panels, (long long)p->panels, (long long)mm->k, p->nr, (long long)mm->k, p->nr, p->nr,
                  (long long)mm->n, (long long)mm->b_row, p->nr, (long long)mm->b_col);
}

/* Tiles of one block of rows and one panel, all depth blocks. */
static void put_sums(const plan *p, gopt_text *t)
{
    const gopt_matmul *mm = &p->mm;
    int64_t rest = mm->m % p->tm;
    gopt_text_add(t, "        for (int64_t k = 0; k < %lld; k += %lld) {\n", (long long)mm->k, (long long)p->bk);
    gopt_text_add(t, "            int64_t turns = (%lld - k < %lld ? %lld - k : %lld) / %lld;\n", (long long)mm->k,
                  (long long)p->bk, (long long)mm->k, (long long)p->bk, (long long)p->steps);
    gopt_text_put(t, "            const float *begin = k == 0 ? zeros : (void *)0;\n");
    int64_t share = p->ahead * GOPT_EMIT_TILE_LINE / (int64_t)sizeof(float);
    gopt_text_add(t, "            const float *later = panel + (k + %lld) * %d;\n", (long long)p->bk, p->nr);
    gopt_text_add(t, "            for (int64_t i = first; i < last; i += %d, later += turns * %lld)\n", p->tm,
                  (long long)share);
    if (rest)
        gopt_text_add(t,
                      "                if (i + %d > %lld)\n                    %s_rest(turns, a + i * %lld + k, "
                      "panel + k * %d, begin, sum + (i - first) * %d, later);\n                else\n    ",
                      p->tm, (long long)mm->m, p->symbol, (long long)mm->a_row, p->nr, p->nr);
    gopt_text_add(
        t, "                %s_tile(turns, a + i * %lld + k, panel + k * %d, begin, sum + (i - first) * %d, later);\n",
        p->symbol, (long long)mm->a_row, p->nr, p->nr);
    gopt_text_put(t, "        }\n");
}

/* What becomes of the sums, row by row. */
static void put_results(const plan *p, gopt_text *t)
{
    char name[96];
    snprintf(name, sizeof name, "%s_result", p->symbol);
    gopt_text_add(t, "        int64_t cols = %lld - j * %d < %d ? %lld - j * %d : %d;\n", (long long)p->mm.n, p->nr,
                  p->nr, (long long)p->mm.n, p->nr, p->nr);
    gopt_text_add(t,
                  "        for (int64_t r = first; r < last; r++) {\n"
                  "            const float *s = sum + (r - first) * %d;\n"
                  "            int64_t at = r * %lld + j * %d, i = 0;\n"
                  "            float *o = (float *)t->out[0] + at;\n",
                  p->nr, (long long)p->mm.n, p->nr);
    gopt_emit_expr_row(&p->e, "at", "            ", t);
    gopt_emit_expr_finish(&p->e, name, "cols", "            ", t);
    gopt_text_put(t, "        }\n");
}

static void put_main(const plan *p, int64_t order, gopt_text *t)
{
    long long items = p->panels * p->blocks;
    gopt_text_add(t, "void %s(const gopt_task *t)\n{\n", p->symbol);
    if (!p->packed)
        put_packing(p, t);
    gopt_text_add(t, "    const float *a = t->in[0], *b = %s;\n", p->packed ? "t->in[1]" : "t->workspace");
    gopt_text_add(t, "    static const float zeros[%d];\n    _Alignas(64) float sum[%lld];\n", p->tm,
                  (long long)(p->bm * p->nr));
    gopt_emit_expr_pointers(&p->e, t);
    gopt_text_add(t,
                  "    for (int64_t n = %lldLL * t->part / t->parts; n < %lldLL * (t->part + 1) / t->parts; n++) {\n",
                  items, items);
    if (order == ORDER_COLUMNS)
        gopt_text_add(t, "        int64_t j = n / %lld, first = n %% %lld * %lld, last = first + %lld;\n",
                      (long long)p->blocks, (long long)p->blocks, (long long)p->bm, (long long)p->bm);
    else
        gopt_text_add(t, "        int64_t j = n %% %lld, first = n / %lld * %lld, last = first + %lld;\n",
                      (long long)p->panels, (long long)p->panels, (long long)p->bm, (long long)p->bm);
    gopt_text_add(t, "        const float *panel = b + j * %lld;\n", (long long)(p->nr * p->mm.k));
    gopt_text_add(t, "        last = last < %lld ? last : %lld;\n", (long long)p->mm.m, (long long)p->mm.m);
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
        if (p.mm.m >= p.tm)
            put_tile(&p, p.tm, "tile", t);
        if (p.mm.m % p.tm)
            put_tile(&p, (int)(p.mm.m % p.tm), "rest", t);
        put_main(&p, knob[ORDER], t);
    }
    gopt_arena_fini(&p.arena);
    return ok ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
}

const gopt_kernel gopt_kernel_matmul_f32_gen = {
    .name = "matmul_f32_gen",
    .doc = "products with a constant, code made for the shape",
    .revision = 3,
    .knobs = knobs,
    .generated = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .emit = emit,
};
