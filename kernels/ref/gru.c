/* gru.c: GRU. */
#include "ref/multiply.h"
#include "ref/recurrence.h"
static const gopt_recurrence_kind kind = {.gates = 3, .functions = 2, .defaults = {"Sigmoid", "Tanh"}};

/* The hidden gate that reads the reset state: tmp[size..) = (r . h) Rh^T. */
static void reset_first(const gopt_recurrence *n, const double *r, const double *h)
{
    int64_t size = n->hidden;
    double *gated = n->tmp, *product = n->tmp + size;
    for (int64_t k = 0; k < size; k++) {
        gated[k] = r[k] * h[k];
        product[k] = 0;
    }
    gopt_ref_multiply(1, size, size, gated, size, n->r + 2 * size, 3 * size, product, size);
}

/* Gates lie in the order z, r, h. */
static void step(const gopt_recurrence *n, const double *x, const double *h_r, double *h, double *c)
{
    int64_t size = n->hidden;
    double *reset = n->tmp;
    (void)c;
    for (int64_t k = 0; k < size; k++)
        reset[k] = gopt_recurrence_apply(n, 0, x[size + k] + h_r[size + k] + n->r_bias[size + k]);
    for (int64_t k = 0; k < size && n->linear_before_reset; k++)
        n->tmp[size + k] = reset[k] * (h_r[2 * size + k] + n->r_bias[2 * size + k]);
    if (!n->linear_before_reset)
        reset_first(n, reset, h);
    for (int64_t k = 0; k < size; k++) {
        double bias = n->linear_before_reset ? 0 : n->r_bias[2 * size + k];
        double z = gopt_recurrence_apply(n, 0, x[k] + h_r[k] + n->r_bias[k]);
        double next = gopt_recurrence_apply(n, 1, x[2 * size + k] + n->tmp[size + k] + bias);
        h[k] = (1 - z) * next + z * h[k];
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

const gopt_op gopt_op_GRU = {.name = "GRU",
                             .domain = "",
                             .in_min = 3,
                             .in_max = 6,
                             .out_min = 0,
                             .out_max = 2,
                             .traits = GOPT_TRAIT_HEAVY,
                             .infer = infer,
                             .run = run};
