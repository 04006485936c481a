/* tile.h: float expressions as programs over tiles: each instruction works on a few hundred elements at once, all of
 * which stay in the first cache. Compiled from an expression once per kernel, run by the instruction set level's
 * interpreter. */
#ifndef GOPT_CPU_TILE_H
#define GOPT_CPU_TILE_H

#include "expr.h"

enum {
    GOPT_TILE_OPS = 96,  /* instructions of one program */
    GOPT_TILE_REGS = 48, /* registers, each a tile: ACC, operands, constants, intermediate values */
    GOPT_TILE_CONSTS = 24,
    GOPT_TILE_FLOATS = 8192, /* of all registers together; a tile is this divided by their number */
    GOPT_TILE_MAX = 512,     /* elements of a tile at most */
    GOPT_TILE_UNIT = 16      /* tiles are multiples of the widest vector */
};

/* After the codes of expressions: casts that round; one to an integer, whose value the number has: NaN to 0. */
enum { GOPT_TILE_TO_F16 = GOPT_EXPR_CODE_COUNT, GOPT_TILE_TO_BF16, GOPT_TILE_NUMBER };

typedef struct gopt_tile_op {
    unsigned char code; /* gopt_expr_code, of which CAST copies, or one of these */
    unsigned char dst, arg[3];
} gopt_tile_op;

typedef struct gopt_tile {
    int n_op, n_in, n_const;
    int n_reg; /* register 0 is ACC, then operands, constants (from first_const), intermediate values (from first_temp)
                */
    int first_const, first_temp;
    int result; /* register, written by the last instruction only */
    gopt_tile_op op[GOPT_TILE_OPS];
    float constant[GOPT_TILE_CONSTS];
} gopt_tile;

/* False when the expression has instructions, types or a size that tiles do not serve. Operand numbers are mapped:
 * operand[k] is the one that register 1 + k loads, as floats, up to max of them. An integer result is left as floats
 * that have its value. t may be NULL: only the question. */
bool gopt_tile_compile(gopt_tile *t, const gopt_expr *x, int *operand, int max);
int gopt_tile_length(const gopt_tile *t); /* elements per tile, a multiple of GOPT_TILE_UNIT */

#endif
