/* liveness.h: which memory is alive while the nodes of a graph run in their order, for passes that lower its peak.
 *
 * Sizes come from inference, rounded up as the arena does: a value of unknown size counts nothing, nor do constants and
 * inputs, which lie elsewhere. What a view shares (alias_views) is counted once, for the value that it is a view of:
 * its root. */
#ifndef GOPT_LIVENESS_H
#define GOPT_LIVENESS_H

#include "graph.h"

typedef struct gopt_buffer {
    size_t bytes;
    int readers;   /* nodes of the graph, bodies counted as theirs; inputs and results keep one for ever */
    int remaining; /* of them, not yet run */
} gopt_buffer;

typedef struct gopt_liveness {
    const gopt_graph *g;
    int n;           /* nodes */
    int *root;       /* by value id: the value whose memory it is */
    gopt_buffer *at; /* by value id; only those of roots count */
    int *reads;      /* what node i reads, each root once: reads[first[i]..first[i + 1]) */
    int *first;
    size_t n_reads, cap_reads;
    int *stamp; /* by value id: 1 + the node that has counted it */
    bool alias;
    gopt_arena arena;
} gopt_liveness;

/* Of g itself, its bodies are read by the nodes that have them. Free it with gopt_liveness_fini whatever the status;
 * ENOMEM only. */
gopt_status gopt_liveness_init(gopt_liveness *l, const gopt_graph *g, gopt_err *e);
void gopt_liveness_fini(gopt_liveness *l);

size_t gopt_liveness_takes(const gopt_liveness *l, int node); /* bytes of what the node makes */
/* What dies once the node has run: last reads, and outputs that nobody reads. Needs start and the steps before. */
size_t gopt_liveness_frees(const gopt_liveness *l, int node);
/* Running the nodes in some order: start, then a step for each; *now is alive after it, *peak the most at any step. */
void gopt_liveness_start(gopt_liveness *l);
void gopt_liveness_step(gopt_liveness *l, int node, size_t *now, size_t *peak);
size_t gopt_liveness_peak(gopt_liveness *l); /* in the order of the graph */

#endif
