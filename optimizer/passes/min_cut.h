/* min_cut.h: the cheapest way to part a directed network between a source and a sink. */
#ifndef GOPT_MIN_CUT_H
#define GOPT_MIN_CUT_H

#include <stdint.h>

#include "base/arena.h"

enum { GOPT_CUT_SOURCE, GOPT_CUT_SINK }; /* nodes that every network has */
#define GOPT_CUT_NEVER (INT64_MAX / 4)   /* of an edge that must not be cut */

typedef struct gopt_cut {
    gopt_arena arena;
    struct gopt_cut_arc *edge; /* edge i and i ^ 1 run in opposite directions */
    int *first;                /* by node: its edges are a list; -1 at the end */
    int *label;                /* by node; work space of the search */
    int n, n_edges;
    size_t cap_nodes, cap_labels, cap_edges;
} gopt_cut; /* {0} is an empty network; a failed allocation shows as arena.failed */

int gopt_cut_node(gopt_cut *c); /* a new node, 2 and up; 0 without memory */
/* Costs `cost` when u ends on the source's side and v on the sink's. */
void gopt_cut_edge(gopt_cut *c, int u, int v, int64_t cost);
/* Cost of the cheapest cut; by shortest augmenting paths (Edmonds and Karp 1972). Once per network, with memory. */
int64_t gopt_cut_solve(gopt_cut *c);
/* After solve: whether the node is on the sink's side, in the cut that has fewest there. */
bool gopt_cut_is_beyond(const gopt_cut *c, int node);
void gopt_cut_fini(gopt_cut *c);

#endif
