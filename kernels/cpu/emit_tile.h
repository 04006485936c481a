/* emit_tile.h: the innermost loop of products as one block of assembly: compilers fold loads into products or spill,
 * which costs a third of the speed; this is what they would have to write. */
#ifndef GOPT_CPU_EMIT_TILE_H
#define GOPT_CPU_EMIT_TILE_H

#include "kernel.h"

enum {
    GOPT_EMIT_TILE_LINE = 64, /* bytes of a cache line */
    GOPT_EMIT_TILE_STEPS = 8  /* of one turn at most, on panels */
};

/* c[rows][nv vectors] = begin[row] + sum over steps of a(row, step) * b(step). Offsets in floats. */
typedef struct gopt_emit_tile {
    gopt_isa isa; /* AVX2 or AVX512 */
    int rows, nv;
    int steps;              /* of one turn of the loop */
    int64_t a_row, a_step;  /* from one row of a, and one step, to the next */
    const int64_t *b;       /* where each step of a turn reads */
    int64_t a_turn, b_turn; /* from one turn to the next */
    int64_t c_row;
    int ahead; /* cache lines that each turn asks the second cache for, for later; 0: none */
} gopt_emit_tile;

int gopt_emit_tile_width(gopt_isa isa); /* floats of a vector */
/* Whether registers suffice; isa has such tiles at all. */
bool gopt_emit_tile_fits(gopt_isa isa, int rows, int nv);
/* As many rows as registers allow for nv vectors. */
int gopt_emit_tile_rows(gopt_isa isa, int nv);
/* How long one sum takes in such a tile, 1 in a large one: few sums leave the multipliers waiting for loads, of which
 * today's cores do two at a time. Fitted to 3x3 and 1x1 convolutions in tiles of one to three vectors. */
double gopt_emit_tile_effort(int rows, int nv);
/* Cache lines to ask for in each turn so that `tiles` tiles of so many turns, which is what one block of rows has,
 * together ask for so many floats; 0 when more than a few blocks read them: they are there then. */
int gopt_emit_tile_ahead(int64_t floats, int64_t blocks, int64_t tiles, int64_t turns);
/* static void NAME(int64_t turns, const float *a, const float *b, const float *begin, float *c, const float *later);
 * turns >= 1. Without begin the sums go on from what c holds. The lines asked for lie one after the other from
 * `later` on, which need not be readable. */
void gopt_emit_tile_function(const gopt_emit_tile *e, const char *name, gopt_text *t);
/* The function SYMBOL_NAME for rows of a, one number after the other, times a panel of nv vectors packed one step after
 * the other, into rows of sums as wide: e has the rest, isa, rows, nv, steps <= GOPT_EMIT_TILE_STEPS, a_row, ahead. */
void gopt_emit_tile_panel(gopt_emit_tile e, const char *symbol, const char *name, gopt_text *t);

#endif
