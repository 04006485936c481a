/* move.h: elements of any whole-byte type from where they lie to a dense output: what transposing, slicing, expanding
 * and their like have in common. */
#ifndef GOPT_CPU_MOVE_H
#define GOPT_CPU_MOVE_H

#include "cpu/group.h"
#include "cpu/post.h"

/* Element i of the output, in row-major order over dim, is source element at + sum of index * stride. */
typedef struct gopt_move {
    int bytes; /* of an element: 1, 2, 4, 8 or 16 */
    int rank;  /* >= 1 after gopt_move_merge */
    int64_t dim[GOPT_RANK_MAX], stride[GOPT_RANK_MAX], at;
    const gopt_simd *simd;
} gopt_move;

/* 0 when elements are no whole 1, 2, 4, 8 or 16 bytes. */
int gopt_element_bytes(gopt_dtype d);
/* Drops dimensions of 1, joins neighbours that the source walks through alike. */
void gopt_move_merge(gopt_move *m);
/* Output elements [lo, hi); dst is that of element lo. */
void gopt_move_run(const gopt_move *m, const void *src, void *dst, int64_t lo, int64_t hi);

/* ---- whole kernels that produce any piece [lo, hi) of their output by themselves ---- */
typedef struct gopt_producer {
    gopt_post post;
    int bytes;
    int64_t count; /* elements of out[0] */
    int64_t chunk; /* elements after which post runs */
} gopt_producer;

/* Output elements [lo, hi); dst is that of element lo. */
typedef void gopt_produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi);

/* One output, of the type of operand `like`, and post can follow. */
bool gopt_producer_fits(const gopt_group *g, int like);
double gopt_producer_cost(const gopt_group *g, const int64_t *knob, const gopt_target *t);
gopt_work gopt_producer_work(const gopt_group *g, const int64_t *knob, const gopt_target *t);
void gopt_producer_prepare(gopt_producer *p, const gopt_group *g, const gopt_target *t);
/* This part's share of the output, followed by post. */
void gopt_producer_run(const gopt_producer *p, const gopt_task *t, gopt_produce *produce);

#endif
