/* pool.h: what MaxPool, AveragePool, LpPool and the global poolings share. */
#ifndef GOPT_REF_POOL_H
#define GOPT_REF_POOL_H

#include "ref/operand.h"
#include "ref/window.h"

/* Infers output 0 as the pooled input 0 of type T; kernel_shape is required. */
gopt_status gopt_pool_infer(gopt_infer *x, gopt_err *e);
/* The geometry for the real input, which inference has accepted. */
gopt_status gopt_pool_bind(const gopt_exec *x, gopt_window *w, gopt_err *e);

/* One window: offsets of its taps inside the input, relative to a plane, in row-major order. */
typedef struct gopt_pool_window {
    const int64_t *tap;
    int64_t n;
    int64_t padded; /* taps inside input or padding */
    int64_t out;    /* the window's number in an output plane */
} gopt_pool_window;

/* Calls fn for every window and every plane (batch x channel). */
gopt_status gopt_pool_each(gopt_exec *x, const gopt_window *w,
                           void (*fn)(void *ctx, int64_t plane, const gopt_pool_window *p), void *ctx, gopt_err *e);

/* Global pooling: output N x C x 1...; fn maps the n values of a plane to one. */
gopt_status gopt_pool_global_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_pool_global_run(gopt_exec *x, double (*fn)(gopt_attrs a, const double *v, int64_t n), gopt_err *e);

#endif
