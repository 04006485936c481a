/* lstm.c: LSTM. */
#include "ref/recurrence.h"

static const gopt_recurrence_kind kind = {
    .gates = 4, .cell = true, .functions = 3, .defaults = {"Sigmoid", "Tanh", "Tanh"}};

/* Gates lie in the order i, o, f, c; peepholes i, o, f. The clip bounds the gates, not the cell state. */
static void step(const gopt_recurrence *n, const double *x, const double *h_r, double *h, double *c)
{
    int64_t size = n->hidden;
    const double *p = n->peephole;
    for (int64_t k = 0; k < size; k++) {
        int64_t at_i = k, at_o = size + k, at_f = 2 * size + k, at_c = 3 * size + k;
        double in = x[at_i] + h_r[at_i] + n->r_bias[at_i] + p[at_i] * c[k];
        double forget = x[at_f] + h_r[at_f] + n->r_bias[at_f] + p[at_f] * c[k];
        in = gopt_recurrence_apply(n, 0, in);
        forget = n->couple ? 1 - in : gopt_recurrence_apply(n, 0, forget);
        c[k] = forget * c[k] + in * gopt_recurrence_apply(n, 1, x[at_c] + h_r[at_c] + n->r_bias[at_c]);
        double out = x[at_o] + h_r[at_o] + n->r_bias[at_o] + p[at_o] * c[k];
        h[k] = gopt_recurrence_apply(n, 0, out) * n->f[2].f(c[k], n->f[2].alpha, n->f[2].beta);
    }
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    return gopt_recurrence_infer(x, &kind, e);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_recurrence_run(x, &kind, step, e);
}

const gopt_op gopt_op_LSTM = {.name = "LSTM",
                              .domain = "",
                              .in_min = 3,
                              .in_max = 8,
                              .out_min = 0,
                              .out_max = 3,
                              .traits = GOPT_TRAIT_HEAVY,
                              .infer = infer,
                              .run = run};
