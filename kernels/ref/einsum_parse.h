/* einsum_parse.h: the equation of Einsum as label numbers. */
#ifndef GOPT_REF_EINSUM_PARSE_H
#define GOPT_REF_EINSUM_PARSE_H

#include "base/arena.h"
#include "base/err.h"

#define GOPT_EINSUM_LABELS (52 + GOPT_RANK_MAX) /* letters and the axes of an ellipsis */

typedef struct gopt_einsum_term {
    int rank;
    int label[GOPT_RANK_MAX]; /* of every axis, in [0, GOPT_EINSUM_LABELS) */
} gopt_einsum_term;

typedef struct gopt_einsum {
    int n; /* operands */
    gopt_einsum_term *in;
    gopt_einsum_term out;
} gopt_einsum;

/* rank[i] is operand i's. EINPUT, with the place, when the equation is malformed or does not fit the operands. */
gopt_status gopt_einsum_parse(gopt_einsum *q, gopt_arena *a, const char *equation, int n, const int *rank, gopt_err *e);

#endif
