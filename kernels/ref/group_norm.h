/* group_norm.h: normalization over groups of channels of one image: InstanceNormalization and GroupNormalization. */
#ifndef GOPT_REF_GROUP_NORM_H
#define GOPT_REF_GROUP_NORM_H

#include "ref/operand.h"

/* Inputs X (N x C x D...), scale and bias; `groups` is 0 when every channel is a group. Scale and bias have one value
 * for each channel, or for each group. */
gopt_status gopt_group_norm_infer(gopt_infer *x, int64_t groups, gopt_err *e);
gopt_status gopt_group_norm_run(gopt_exec *x, int64_t groups, gopt_err *e);

#endif
