/* pass.h: optimizations. A pass is one file under passes/ that ends in its descriptor; passes.def lists them in the
 * order of the default pipeline. */
#ifndef GOPT_PASS_H
#define GOPT_PASS_H

#include "graph.h"
#include "knob.h"

typedef struct gopt_pass_run {
    const int64_t *knob; /* values of the pass's knobs, in their order */
    int64_t deadline;    /* gopt_now() by which it must have ended; 0: none */
    int changed;         /* rewrites made; the pass counts them */
} gopt_pass_run;

typedef struct gopt_pass {
    const char *name;
    const char *doc;        /* one line */
    int revision;           /* raise when its result changes: part of cache keys */
    const gopt_knob *knobs; /* NULL: none */
    bool decides;           /* leaves a decision for the compiler instead of rewriting nodes */
    gopt_status (*run)(gopt_graph *g, gopt_pass_run *r, gopt_err *e);
} gopt_pass;

extern const gopt_pass *const gopt_passes[]; /* NULL at the end */
int gopt_pass_count(void);
int gopt_pass_find(const char *name); /* index, -1 when unknown */

/* What one pass did. */
typedef struct gopt_pass_record {
    const gopt_pass *pass;
    int changed;
    int nodes_before, nodes_after;
    int64_t ns;
    unsigned char *touched; /* by origin id; lies in the arena given to gopt_pass_apply */
} gopt_pass_record;

/* Runs one pass over g and its bodies, then compacts, sorts, and checks the invariants (EBUG naming the pass on a
 * breach). */
gopt_status gopt_pass_apply(const gopt_pass *p, const int64_t *knob, gopt_graph *g, int64_t deadline, gopt_arena *a,
                            gopt_pass_record *record, gopt_err *e);

#endif
