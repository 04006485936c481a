/* reduce.h: the one loop of all Reduce* operators; a leaf says what happens to one value. */
#ifndef GOPT_REF_REDUCE_H
#define GOPT_REF_REDUCE_H

#include "ref/operand.h"

typedef struct gopt_reduce {
    unsigned types;
    double init; /* result of nothing */
    double (*step)(double sum, double v);
    double (*finish)(double sum, int64_t n); /* NULL: the sum itself */
    bool shifted;                            /* works on v - max(v), and max(v) is added at the end */
    /* Integers, modulo 2^64; NULL: they go through double. */
    uint64_t (*init_int)(gopt_dtype d);
    uint64_t (*step_int)(uint64_t sum, uint64_t v);
    uint64_t (*finish_int)(uint64_t sum, int64_t n, bool is_signed); /* NULL: the sum itself */
    bool ordered;                                                    /* step_int compares, as signed integers */
    /* What it does to dimensions that inference follows; NULL: it follows none. */
    gopt_dim (*step_dim)(gopt_dims *t, gopt_dim a, gopt_dim b);
} gopt_reduce;

/* Inputs: data, axes (optional); attributes keepdims, noop_with_empty_axes. */
gopt_status gopt_reduce_infer(gopt_infer *x, const gopt_reduce *r, gopt_err *e);
gopt_status gopt_reduce_run(gopt_exec *x, const gopt_reduce *r, gopt_err *e);

/* Pieces that several leaves share. */
uint64_t gopt_reduce_zero(gopt_dtype d);
double gopt_reduce_add(double sum, double v);
uint64_t gopt_reduce_add_int(uint64_t sum, uint64_t v);
double gopt_reduce_add_square(double sum, double v);
double gopt_reduce_log(double sum, int64_t n);
double gopt_reduce_max(double sum, double v); /* NaN wins */

#endif
