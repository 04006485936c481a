/* dim.h: dimensions as exact integer expressions over named symbols ("2*seq+1").
 *
 * A gopt_dim is a value, free to copy: a constant needs no table; expressions live in a gopt_dims table, hash-consed in
 * a canonical form (sum of integer multiples of products of atoms; an atom is a symbol or an opaque floor-division,
 * modulo, min or max), so that equal polynomials are equal dims. Anything unknown is GOPT_DIM_UNKNOWN and absorbing. */
#ifndef GOPT_DIM_H
#define GOPT_DIM_H

#include "base/arena.h"
#include "base/err.h"

typedef struct gopt_dim {
    int64_t k; /* the constant when e == 0, else 0 */
    int32_t e; /* 0: constant; > 0: expression of the table; -1: unknown */
} gopt_dim;

typedef struct gopt_dims gopt_dims; /* the table */

#define GOPT_DIM_UNKNOWN ((gopt_dim){.e = -1})
static inline gopt_dim gopt_dim_of(int64_t k)
{
    return (gopt_dim){.k = k};
}
static inline bool gopt_dim_is_const(gopt_dim d)
{
    return d.e == 0;
}
static inline bool gopt_dim_is_known(gopt_dim d)
{
    return d.e >= 0;
}

gopt_dims *gopt_dims_new(gopt_arena *a); /* NULL when out of memory; lives in the arena */
/* Arithmetic. On overflow or lack of memory the result is unknown. The table may be NULL when all operands are constant
 * or unknown. div is floor division (unknown by a constant 0), mod takes the sign of the divisor. */
gopt_dim gopt_dim_add(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_sub(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_mul(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_div(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_ceil_div(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_mod(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_min(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_max(gopt_dims *t, gopt_dim a, gopt_dim b);
gopt_dim gopt_dim_symbol(gopt_dims *t, const char *name); /* the same name gives the same dim */
/* Reads "7", "batch", "cache+seq", "2*seq+1", "0+cache_length+cache+seq", "(h+1)/2" (integer division), "a - b", "a%2",
 * "max(a, 1)"; a text that is no such expression becomes a symbol of that very name, and so does "batch-size" with a
 * hyphen between letters. "" and "?" are unknown. */
gopt_dim gopt_dim_parse(gopt_dims *t, const char *text);
bool gopt_dim_equal(gopt_dim a, gopt_dim b); /* provably equal: unknown equals nothing */
/* The largest proven lower bound, sizes (symbols) being at least 0; INT64_MIN when there is none. */
int64_t gopt_dim_lower(const gopt_dims *t, gopt_dim d);
/* Substitutes symbols: values[i] for the symbol names[i]; others stay. */
gopt_dim gopt_dim_bind(gopt_dims *t, gopt_dim d, const char *const *names, const int64_t *values, int n);
/* "2*seq + 1", "?" when unknown; into buf. */
char *gopt_dim_print(const gopt_dims *t, gopt_dim d, char *buf, size_t size);
/* Names of all plain symbols that occur in d, appended to names (up to max, no doubles); returns the new count. */
int gopt_dim_symbols(const gopt_dims *t, gopt_dim d, const char **names, int n, int max);

#endif
