/* memory.h: places values of one plan in one arena. */
#ifndef GOPT_MEMORY_H
#define GOPT_MEMORY_H

#include "base/arena.h"
#include "base/err.h"

/* A buffer is alive from the step that writes it to the last step that reads it, both included. */
typedef struct gopt_interval {
    size_t bytes;
    int first, last;
    size_t offset; /* the answer: a multiple of GOPT_ARENA_ALIGN */
} gopt_interval;

#define GOPT_ARENA_ALIGN 64

/* Planners, by the value of gopt_decisions.reuse. */
typedef enum gopt_planner {
    GOPT_PLANNER_NONE,        /* no reuse: every buffer its own place */
    GOPT_PLANNER_BEST,        /* of all below, lowest hole and tightest hole each, the one that needs least */
    GOPT_PLANNER_BY_SIZE,     /* largest first, at the lowest offset free over its life (greedy by size, Pisarchyk & Lee
                                 2020) */
    GOPT_PLANNER_BY_LIFETIME, /* in order of birth, into the smallest hole that fits */
    GOPT_PLANNER_BY_AREA      /* largest product of bytes and life first, at the lowest offset */
} gopt_planner;

/* Fills the offsets; *arena_bytes is the size of the arena. */
gopt_status gopt_memory_plan(gopt_interval *at, int n, gopt_planner planner, size_t *arena_bytes, gopt_err *e);
/* Largest sum of bytes alive at one step: no plan can need less. */
size_t gopt_memory_bound(const gopt_interval *at, int n);

#endif
