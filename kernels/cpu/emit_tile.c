#include "cpu/emit_tile.h"

#include <stdio.h>

#include "cpu/group.h"

enum { REGISTERS_AVX2 = 16, REGISTERS_AVX512 = 32 };

int gopt_emit_tile_width(gopt_isa isa)
{
    return isa >= GOPT_ISA_AVX512 ? 16 : 8;
}

/* Accumulators, the vectors of b, one element of a. */
bool gopt_emit_tile_fits(gopt_isa isa, int rows, int nv)
{
    int registers = isa >= GOPT_ISA_AVX512 ? REGISTERS_AVX512 : REGISTERS_AVX2;
    return isa >= GOPT_ISA_AVX2 && rows >= 1 && nv >= 1 && rows * nv + nv + 1 <= registers;
}

int gopt_emit_tile_rows(gopt_isa isa, int nv)
{
    int rows = 0;
    while (gopt_emit_tile_fits(isa, rows + 1, nv))
        rows++;
    return rows;
}

double gopt_emit_tile_effort(int rows, int nv)
{
    double loads = (double)(nv + rows) / (double)(nv * rows); /* of a product */
    return 1 + 0.7 * GOPT_MAX(loads - 0.5, 0.0);
}

int gopt_emit_tile_ahead(int64_t floats, int64_t blocks, int64_t tiles, int64_t turns)
{
    enum { FEW = 8 };
    if (blocks > FEW)
        return 0;
    int64_t lines = gopt_ceil_div(floats * (int64_t)sizeof(float), GOPT_EMIT_TILE_LINE);
    return (int)gopt_ceil_div(lines, tiles * turns);
}

typedef struct names {
    const gopt_emit_tile *e;
    const char *reg; /* "zmm" */
} names;

static int accumulator(const gopt_emit_tile *e, int row, int v)
{
    return 1 + e->nv + row * e->nv + v;
}

static void put_step(const names *n, int s, gopt_text *t)
{
    const gopt_emit_tile *e = n->e;
    int width = gopt_emit_tile_width(e->isa);
    for (int v = 0; v < e->nv; v++)
        gopt_text_add(t, "        \"vmovups %lld(%%[b]), %%%%%s%d\\n\\t\"\n", (long long)(4 * (e->b[s] + v * width)),
                      n->reg, 1 + v);
    for (int row = 0; row < e->rows; row++) {
        gopt_text_add(t, "        \"vbroadcastss %lld(%%[a]), %%%%%s0\\n\\t\"\n",
                      (long long)(4 * (row * e->a_row + s * e->a_step)), n->reg);
        for (int v = 0; v < e->nv; v++)
            gopt_text_add(t, "        \"vfmadd231ps %%%%%s0, %%%%%s%d, %%%%%s%d\\n\\t\"\n", n->reg, n->reg, 1 + v,
                          n->reg, accumulator(e, row, v));
    }
}

/* One instruction per accumulator; `begin` gives each row of them one number. */
static void put_begin(const names *n, gopt_text *t)
{
    const gopt_emit_tile *e = n->e;
    for (int row = 0; row < e->rows; row++)
        for (int v = 0; v < e->nv; v++)
            if (v == 0)
                gopt_text_add(t, "        \"vbroadcastss %d(%%[begin]), %%%%%s%d\\n\\t\"\n", 4 * row, n->reg,
                              accumulator(e, row, 0));
            else
                gopt_text_add(t, "        \"vmovaps %%%%%s%d, %%%%%s%d\\n\\t\"\n", n->reg, accumulator(e, row, 0),
                              n->reg, accumulator(e, row, v));
}

static void put_moves(const names *n, bool load, gopt_text *t)
{
    const gopt_emit_tile *e = n->e;
    int width = gopt_emit_tile_width(e->isa);
    for (int row = 0; row < e->rows; row++)
        for (int v = 0; v < e->nv; v++) {
            long long at = 4 * (row * e->c_row + v * width);
            int r = accumulator(e, row, v);
            if (load)
                gopt_text_add(t, "        \"vmovups %lld(%%[c]), %%%%%s%d\\n\\t\"\n", at, n->reg, r);
            else
                gopt_text_add(t, "        \"vmovups %%%%%s%d, %lld(%%[c])\\n\\t\"\n", n->reg, r, at);
        }
}

static void put_ahead(const gopt_emit_tile *e, gopt_text *t)
{
    for (int k = 0; k < e->ahead; k++)
        gopt_text_add(t, "        \"prefetcht1 %d(%%[later])\\n\\t\"\n", k * GOPT_EMIT_TILE_LINE);
    if (e->ahead)
        gopt_text_add(t, "        \"add $%d, %%[later]\\n\\t\"\n", e->ahead * GOPT_EMIT_TILE_LINE);
}

void gopt_emit_tile_function(const gopt_emit_tile *e, const char *name, gopt_text *t)
{
    names n = {.e = e, .reg = e->isa >= GOPT_ISA_AVX512 ? "zmm" : "ymm"};
    gopt_text_add(t,
                  "static void %s(int64_t turns, const float *a, const float *b, const float *begin, float *c,\n"
                  "               const float *later)\n{\n",
                  name);
    gopt_text_put(t, "    __asm__ volatile(\n");
    gopt_text_put(t, "        \"test %[begin], %[begin]\\n\\tjz 2f\\n\\t\"\n");
    put_begin(&n, t);
    gopt_text_put(t, "        \"jmp 1f\\n2:\\n\\t\"\n");
    put_moves(&n, true, t);
    gopt_text_put(t, "        \".p2align 5\\n1:\\n\\t\"\n");
    for (int s = 0; s < e->steps; s++)
        put_step(&n, s, t);
    put_ahead(e, t);
    gopt_text_add(t, "        \"add $%lld, %%[a]\\n\\t\"\n", (long long)(4 * e->a_turn));
    gopt_text_add(t, "        \"add $%lld, %%[b]\\n\\t\"\n", (long long)(4 * e->b_turn));
    gopt_text_put(t, "        \"dec %[turns]\\n\\tjnz 1b\\n\\t\"\n");
    put_moves(&n, false, t);
    gopt_text_put(t, "        : [turns] \"+r\"(turns), [a] \"+r\"(a), [b] \"+r\"(b), [later] \"+r\"(later)\n"
                     "        : [begin] \"r\"(begin), [c] \"r\"(c)\n        : \"memory\", \"cc\"");
    for (int r = 0; r < accumulator(e, e->rows, 0); r++)
        gopt_text_add(t, ", \"xmm%d\"", r);
    gopt_text_put(t, ");\n}\n");
}

void gopt_emit_tile_panel(gopt_emit_tile e, const char *symbol, const char *name, gopt_text *t)
{
    char full[96];
    int64_t b[GOPT_EMIT_TILE_STEPS], width = e.nv * gopt_emit_tile_width(e.isa);
    for (int s = 0; s < e.steps; s++)
        b[s] = s * width;
    e.b = b;
    e.a_step = 1;
    e.a_turn = e.steps;
    e.b_turn = e.steps * width;
    e.c_row = width;
    snprintf(full, sizeof full, "%s_%s", symbol, name);
    gopt_emit_tile_function(&e, full, t);
}
