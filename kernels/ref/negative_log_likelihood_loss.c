/* negative_log_likelihood_loss.c: NegativeLogLikelihoodLoss. */
#include "ref/loss.h"

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *v;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &v, e));
    return gopt_loss_run(x, v, e);
}

const gopt_op gopt_op_NegativeLogLikelihoodLoss = {.name = "NegativeLogLikelihoodLoss",
                                                   .domain = "",
                                                   .in_min = 2,
                                                   .in_max = 3,
                                                   .out_min = 1,
                                                   .out_max = 1,
                                                   .infer = gopt_loss_infer,
                                                   .run = run};
