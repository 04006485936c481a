/* match.h: a set of nodes that together compute something an operator of its own can do. */
#ifndef GOPT_MATCH_H
#define GOPT_MATCH_H

#include "passes/rewrite.h"

enum { GOPT_MATCH_NODES = 24 };

typedef struct gopt_match {
    gopt_node *node[GOPT_MATCH_NODES];
    int n;
    bool full; /* more nodes than there is room for */
} gopt_match;

void gopt_match_add(gopt_match *m, gopt_node *n); /* once */
/* Whether all nodes lie in one graph, and nothing else reads what those before `last` compute. */
bool gopt_match_closed(const gopt_match *m, const gopt_node *last);
/* Puts a node of operator op in the place of `last`; it does the work of all. The others are removed. */
bool gopt_match_replace(const gopt_match *m, gopt_node *last, const gopt_op *op, gopt_attrs attrs,
                        gopt_value *const *in, int n_in);

#endif
