/* layer_norm.h: normalization over the last axes: LayerNormalization, RMSNormalization and their relatives. */
#ifndef GOPT_REF_LAYER_NORM_H
#define GOPT_REF_LAYER_NORM_H

#include "ref/operand.h"

/* v becomes (v - mean) / sqrt(variance + epsilon); with rms, v / sqrt(mean of squares + epsilon), and mean is 0. inv is
 * what v was multiplied with. */
void gopt_layer_norm_row(bool rms, double epsilon, double *v, int64_t n, double *mean, double *inv);
/* Inputs X, Scale and (unless rms) B; outputs Y, (unless rms) Mean, InvStdDev; attributes axis, epsilon, stash_type.
 * Y has the type of Scale. */
gopt_status gopt_layer_norm_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_layer_norm_run(gopt_exec *x, bool rms, gopt_err *e);

#endif
