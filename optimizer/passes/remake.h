/* remake.h: what a graph's peak of live bytes would be if some values were made again for a later use instead of being
 * kept; for recompute. Nothing is changed here: remakes are planned, and what they free and take is added up. */
#ifndef GOPT_REMAKE_H
#define GOPT_REMAKE_H

#include "passes/liveness.h"

enum { GOPT_REMAKE_NODES = 8, GOPT_REMAKE_OPERANDS = 24 }; /* of one remake, and what they read from outside */

/* A value that lives on after step `step` of the order, because a remake reads it there. */
typedef struct gopt_pin {
    int root, step;
    bool extended; /* it would have been dead */
} gopt_pin;

/* Memory `root` is free from after step `from` until right before step `to`, where the cone makes it again. */
typedef struct gopt_remake {
    int root, from, to;
    gopt_node *cone[GOPT_REMAKE_NODES]; /* operands first */
    int n;
    gopt_pin pins[GOPT_REMAKE_OPERANDS];
    int n_pins;
    double cost;
    size_t making; /* alive while the cone runs */
} gopt_remake;

typedef struct gopt_remaking {
    gopt_graph *g;
    gopt_liveness live;
    int ids;
    int *born, *last; /* by root: steps; before the first and after the last one for inputs and results */
    int *next_of, *first_of, *steps; /* readers of root r: steps[first_of[r]..next_of[r]), ascending */
    size_t *level, *across;          /* by step: alive at it, and before it */
    size_t *making;                  /* by step: alive at the most while cones before it run */
    gopt_remake *made;               /* of this round */
    size_t n_made, cap_made;
    size_t target;
    double allowed; /* cost */
} gopt_remaking;

/* Lives as they are; *peak is the most that is alive at a step. Free it with gopt_remaking_fini whatever the status;
 * ENOMEM only. */
gopt_status gopt_remaking_init(gopt_remaking *w, gopt_graph *g, size_t *peak, gopt_err *e);
void gopt_remaking_fini(gopt_remaking *w);
int gopt_remaking_root(const gopt_remaking *w, const gopt_value *v); /* -1: v is newer */
/* The gap in the life of `root` round step i, and how to make it again behind it; false: there is none, no way, or it
 * costs more than is allowed, or lifts a step above the target. */
bool gopt_remake_plan(const gopt_remaking *w, int root, int i, gopt_remake *x);
bool gopt_remake_commit(gopt_remaking *w, const gopt_remake *x); /* false without memory */
/* Bytes moved, or the flops that take as long. */
double gopt_remake_cost(const gopt_node *n);

#endif
