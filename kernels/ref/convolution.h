/* convolution.h: what Conv, FusedConv, ConvInteger and QLinearConv share. */
#ifndef GOPT_REF_CONVOLUTION_H
#define GOPT_REF_CONVOLUTION_H

#include "ref/operand.h"
#include "ref/window.h"

typedef struct gopt_conv {
    gopt_window w;
    int64_t batch, channels, filters, groups;
} gopt_conv;

/* Takes the kernel from the filters' spatial dimensions where these are known; EINPUT when kernel_shape differs. */
gopt_status gopt_conv_read_kernel(gopt_window *w, const gopt_fact *weight, gopt_err *e);
/* Infers out[0], of type `out`, of a convolution of input xi (N x C x D...) with filters wi (M x C/group x K...), and
 * checks that they go together. */
gopt_status gopt_conv_infer(gopt_infer *x, int xi, int wi, gopt_dtype out, gopt_err *e);
/* The geometry for the real inputs, which inference has accepted. */
gopt_status gopt_conv_bind(gopt_exec *x, int xi, int wi, gopt_conv *c, gopt_err *e);
/* y = in * weight (+ bias unless NULL), all dense arrays of double; y has room for the output, in any state. */
gopt_status gopt_conv_run(gopt_exec *x, const gopt_conv *c, const double *in, const double *weight, const double *bias,
                          double *y, gopt_err *e);

#endif
