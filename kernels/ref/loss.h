/* loss.h: what NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss share. */
#ifndef GOPT_REF_LOSS_H
#define GOPT_REF_LOSS_H

#include "ref/operand.h"

/* Inputs (N x C x D...), targets (N x D...), weights (C, optional); output 0 is the loss. */
gopt_status gopt_loss_infer(gopt_infer *x, gopt_err *e);
/* Stores the loss of these log-probabilities. */
gopt_status gopt_loss_run(gopt_exec *x, const double *log_prob, gopt_err *e);

#endif
