/* quantized_conv.h: what ConvInteger and QLinearConv share: a convolution of elements counted from their zero points.
 */
#ifndef GOPT_REF_QUANTIZED_CONV_H
#define GOPT_REF_QUANTIZED_CONV_H

#include "ref/convolution.h"

/* Numbers of the node's inputs; zero points may be absent. */
typedef struct gopt_quantized_conv {
    int x, x_zero, w, w_zero;
} gopt_quantized_conv;

/* Infers out[0] of type `out` and checks the types and zero points. */
gopt_status gopt_quantized_conv_infer(gopt_infer *x, const gopt_quantized_conv *q, gopt_dtype out, gopt_err *e);
/* EINPUT unless input i, when known, is one value or one for each filter. */
gopt_status gopt_quantized_conv_check_filters(gopt_infer *x, const gopt_quantized_conv *q, int i, const char *name,
                                              gopt_err *e);
/* The sums, exact, in the scratch arena; bias (one for each filter) may be NULL. */
gopt_status gopt_quantized_conv_run(gopt_exec *x, const gopt_quantized_conv *q, const double *bias, double **sums,
                                    gopt_err *e);

#endif
