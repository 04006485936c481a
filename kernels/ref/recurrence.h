/* recurrence.h: what RNN, GRU and LSTM share: shapes, directions, sequence lengths and the walk through time. */
#ifndef GOPT_REF_RECURRENCE_H
#define GOPT_REF_RECURRENCE_H

#include "ref/activation.h"
#include "ref/operand.h"

#define GOPT_RECURRENCE_FUNCTIONS 3 /* activation functions of one direction, at most */

/* What is special about an operator. */
typedef struct gopt_recurrence_kind {
    int gates;
    bool cell;     /* has a cell state and peepholes: inputs 6 and 7, output 2 */
    int functions; /* of one direction */
    const char *defaults[GOPT_RECURRENCE_FUNCTIONS];
} gopt_recurrence_kind;

/* One direction of a node, while it runs. All arrays are dense doubles. */
typedef struct gopt_recurrence {
    int64_t hidden;
    const double *r;        /* hidden x (gates * hidden): the recurrence weights, transposed */
    const double *r_bias;   /* gates * hidden */
    const double *peephole; /* 3 * hidden (i, o, f) */
    gopt_activation f[GOPT_RECURRENCE_FUNCTIONS];
    double clip; /* bound of what the gates' activations read */
    bool couple; /* input_forget */
    bool linear_before_reset;
    double *tmp; /* 2 * hidden */
} gopt_recurrence;

/* One time step of one sequence: x is the input's part of the gates (its bias included), h_r = h R^T; updates the
 * hidden state h and the cell state c. */
typedef void gopt_recurrence_step(const gopt_recurrence *n, const double *x, const double *h_r, double *h, double *c);

gopt_status gopt_recurrence_infer(gopt_infer *x, const gopt_recurrence_kind *kind, gopt_err *e);
gopt_status gopt_recurrence_run(gopt_exec *x, const gopt_recurrence_kind *kind, gopt_recurrence_step *step,
                                gopt_err *e);
/* Activation number i of the clipped value. */
double gopt_recurrence_apply(const gopt_recurrence *n, int i, double v);

#endif
