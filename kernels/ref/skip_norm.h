/* skip_norm.h: com.microsoft's normalization of a sum: SkipLayerNormalization and SkipSimplifiedLayerNormalization. */
#ifndef GOPT_REF_SKIP_NORM_H
#define GOPT_REF_SKIP_NORM_H

#include "ref/operand.h"

/* Inputs input, skip, gamma, (unless rms) beta, bias; outputs the normalized sum, mean and 1 / deviation of every row,
 * and the sum. skip is like input, or lacks its batch, or has a batch of 1. */
gopt_status gopt_skip_norm_infer(gopt_infer *x, bool rms, gopt_err *e);
gopt_status gopt_skip_norm_run(gopt_exec *x, bool rms, gopt_err *e);

#endif
