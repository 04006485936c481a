/* expr_tile.h: one instruction of an expression over a tile of elements; between expr_eval.c and the arithmetic. */
#ifndef GOPT_EXPR_TILE_H
#define GOPT_EXPR_TILE_H

#include "expr.h"

typedef struct gopt_expr_tile {
    gopt_expr_code code;
    gopt_expr_class class;        /* of the operands */
    const gopt_scalar *a, *b, *c; /* n elements each; unused ones NULL */
    gopt_scalar *d;               /* n results; tests give 0 or 1 */
    int n;
} gopt_expr_tile;

void gopt_expr_tile_float(const gopt_expr_tile *t); /* any code with float operands, but SELECT and CAST */
void gopt_expr_tile_int(const gopt_expr_tile *t);   /* likewise for integers and bools; results not yet wrapped */

#endif
