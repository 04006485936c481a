/* rnn.c: RNN. */
#include "ref/recurrence.h"

static const gopt_recurrence_kind kind = {.gates = 1, .functions = 1, .defaults = {"Tanh"}};

static void step(const gopt_recurrence *n, const double *x, const double *h_r, double *h, double *c)
{
    (void)c;
    for (int64_t k = 0; k < n->hidden; k++)
        h[k] = gopt_recurrence_apply(n, 0, x[k] + h_r[k] + n->r_bias[k]);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_recurrence_infer(x, &kind, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_recurrence_run(x, &kind, step, e);
}

const gopt_op gopt_op_RNN = {.name = "RNN",
                             .domain = "",
                             .in_min = 3,
                             .in_max = 6,
                             .out_min = 0,
                             .out_max = 2,
                             .traits = GOPT_TRAIT_HEAVY,
                             .infer = infer,
                             .run = run};
