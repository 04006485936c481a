/* dim_table.h: the table behind dim.h; private to the dim*.c files.
 *
 * An expression is a polynomial: terms in descending order, no two with the same atoms, none with coefficient 0. Atoms
 * are numbered in the order they were made, so an atom's operands only hold earlier atoms. */
#ifndef GOPT_DIM_TABLE_H
#define GOPT_DIM_TABLE_H

#include "dim.h"

#define GOPT_DIM_TERMS 48  /* a polynomial with more is unknown */
#define GOPT_DIM_DEGREE 8  /* likewise one of a higher degree */
#define GOPT_DIM_DEPTH 200 /* likewise one with atoms in atoms deeper than this: recursion over it stays small */
#define GOPT_DIM_BUCKETS 1024

typedef struct gopt_dim_term {
    int64_t k;
    int degree;
    int32_t atom[GOPT_DIM_DEGREE]; /* ascending, with repetitions; 0 after the first `degree` */
} gopt_dim_term;

typedef struct gopt_dim_poly {
    int n;
    bool failed; /* sticky: overflow, or too many terms */
    gopt_dim_term at[GOPT_DIM_TERMS];
} gopt_dim_poly;

typedef enum gopt_dim_kind { GOPT_DIM_SYMBOL, GOPT_DIM_DIV, GOPT_DIM_MOD, GOPT_DIM_MIN, GOPT_DIM_MAX } gopt_dim_kind;

typedef struct gopt_dim_atom {
    gopt_dim_kind kind;
    const char *name; /* SYMBOL */
    gopt_dim a, b;    /* the others' operands */
    int64_t lo, hi;   /* bounds; INT64_MIN and INT64_MAX when there are none */
    int depth;        /* atoms within: 1 for a symbol */
    int32_t next;     /* in its bucket; -1 at the end */
    uint32_t mark;    /* the visit that last came here */
    gopt_dim bound;   /* its value in that visit */
} gopt_dim_atom;

typedef struct gopt_dim_entry {
    const gopt_dim_term *at;
    int n;
    int32_t next;
} gopt_dim_entry;

struct gopt_dims {
    gopt_arena *arena;
    gopt_dim_atom *atoms;
    gopt_dim_entry *entries; /* entry k is the dim with e = k + 1 */
    size_t n_atoms, cap_atoms, n_entries, cap_entries;
    uint32_t *visit; /* number of the last visit */
    int32_t atom_bucket[GOPT_DIM_BUCKETS], entry_bucket[GOPT_DIM_BUCKETS];
};

/* The polynomial of a known dim. */
void gopt_dim_poly_of(const gopt_dims *t, gopt_dim d, gopt_dim_poly *p);
/* p += term. */
void gopt_dim_poly_add(gopt_dim_poly *p, const gopt_dim_term *term);
/* The product of two terms; false on overflow. */
bool gopt_dim_term_mul(const gopt_dim_term *a, const gopt_dim_term *b, gopt_dim_term *out);
/* The dim of a polynomial; unknown when it failed or memory is short. */
gopt_dim gopt_dim_of_poly(gopt_dims *t, const gopt_dim_poly *p);
/* The dim that is one atom; name is copied. */
gopt_dim gopt_dim_of_atom(gopt_dims *t, gopt_dim_kind kind, const char *name, gopt_dim a, gopt_dim b);
/* Bounds of a known dim; fills those of an atom from its operands'. */
void gopt_dim_bounds(const gopt_dims *t, gopt_dim d, int64_t *lo, int64_t *hi);
void gopt_dim_atom_bounds(const gopt_dims *t, gopt_dim_atom *atom);

#endif
