/* coverage.h: which operators of a model run by kernels of ours and which by the reference, and what memory its plan
 * without any optimization takes. */
#ifndef GOPT_COVERAGE_H
#define GOPT_COVERAGE_H

#include "cli.h"
#include "graph.h"

enum { GOPT_COVERAGE_OPERATORS = 512 };

typedef struct gopt_coverage {
    int count[GOPT_COVERAGE_OPERATORS];     /* nodes, by index in gopt_ops */
    int native[GOPT_COVERAGE_OPERATORS];    /* of them, run by a precompiled kernel at these shapes */
    int reference[GOPT_COVERAGE_OPERATORS]; /* by the reference, or by whatever fits the shapes seen at run time */
    int nodes, total_native, total_reference;
    size_t weights, arena, workspace;
    char shape[256]; /* "batch=1,seq=32"; empty: the model has no symbolic dimension */
    int made_up;     /* sizes in it that were not given */
    bool known;      /* there is a plan: all above holds */
} gopt_coverage;

/* Compiles an image of the imported graph in a process of its own; the graph stays as it is. On failure the counts of
 * nodes are there all the same. EUSAGE: a size was given that the model does not have. */
gopt_status gopt_coverage_find(gopt_coverage *out, const gopt_graph *g, const gopt_shapes *shapes, gopt_err *e);

#endif
