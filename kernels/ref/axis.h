/* axis.h: operators that rewrite every vector along one axis: Softmax, LogSoftmax, Hardmax, LpNormalization. */
#ifndef GOPT_REF_AXIS_H
#define GOPT_REF_AXIS_H

#include "ref/operand.h"

/* A tensor as outer x n x inner, n along the axis. */
typedef struct gopt_axis_split {
    int64_t outer, n, inner;
} gopt_axis_split;

/* `axis` lies in [0, rank), or rank is 0. */
gopt_axis_split gopt_axis_of(const gopt_tensor *t, int axis);
/* The largest of n >= 1 values; NaN when there is one. */
double gopt_axis_largest(const double *v, int64_t n);
/* Output 0 = input 0 with every vector along the axis attribute rewritten by fn. With attribute coerce_2d, the axes
 * from there on count as one (Softmax before opset 13). */
gopt_status gopt_axis_run(gopt_exec *x, void (*fn)(gopt_attrs a, double *v, int64_t n), gopt_err *e);

#endif
