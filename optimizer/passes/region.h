/* region.h: pointwise nodes that can be computed as one expression: a sink, and producers that only the region reads,
 * all of one shape but for sums and products of scalars. */
#ifndef GOPT_REGION_H
#define GOPT_REGION_H

#include "passes/rewrite.h"

enum { GOPT_REGION_NODES = 64, GOPT_REGION_INPUTS = 12 };

typedef struct gopt_region {
    int n; /* nodes: the sink first, readers before what they read */
    gopt_node *node[GOPT_REGION_NODES];
    gopt_expr expr[GOPT_REGION_NODES]; /* of each node alone, over its operands */
    int ops;                           /* instructions that compute something */
    int n_in;
    gopt_value *in[GOPT_REGION_INPUTS]; /* what it reads from outside, scalar constants not counted */
    gopt_arena arena;                   /* of the expressions */
} gopt_region;

typedef struct gopt_region_limits {
    int ops, inputs;
    const gopt_value *root; /* not counted as an input; NULL: none */
    bool float_only;        /* only nodes on float32, float16, bfloat16 and bool */
    bool casts; /* of these, also casts between the first three, and small integers at the ends (gopt_expr_floats_at) */
} gopt_region_limits;

/* Grows the region of sink m as far as the limits allow. r is zeroed; r->n == 0 when m itself is none. Free it with
 * gopt_region_fini whatever the status; ENOMEM only. */
gopt_status gopt_region_grow(gopt_region *r, gopt_node *m, const gopt_region_limits *limits, gopt_err *e);
/* Keeps the nodes that depend on the root through the region, and scalars for them alone; true when they are all of its
 * readers. */
bool gopt_region_keep_root(gopt_region *r, const gopt_value *root);
/* Appends the whole region to x: in[k] is loaded as operand base + k, root is instruction acc of x (-1: no root). The
 * result, or -1 when it does not fit into one expression or has not the sink's type. */
int gopt_region_build(const gopt_region *r, gopt_expr *x, int base, const gopt_value *root, int acc);
/* Types of results that kernels compute in float32. */
bool gopt_region_is_quick(gopt_dtype d);
/* Instructions of x that compute something; 0 for an empty one. */
int gopt_region_ops(const gopt_expr *x);
void gopt_region_fini(gopt_region *r);

#endif
