/* carried.h: what Loop and Scan share: a body that is run again and again, state that it carries from one iteration to
 * the next, and outputs to which every iteration adds a row. */
#ifndef GOPT_REF_CARRIED_H
#define GOPT_REF_CARRIED_H

#include "ref/move.h"

/* How the operands of body 0 lie: state j is its input first_in + j and its output first_out + j; what comes after the
 * state among its outputs are rows. The node's outputs are the state, then the stacked rows. */
typedef struct gopt_carried_shape {
    int n_in, n_out; /* of the body */
    int first_in, first_out, n_state;
} gopt_carried_shape;

/* EINPUT when the node has no body or fewer outputs than state. Completes s->n_out from the node's n_out. */
gopt_status gopt_carried_check(gopt_carried_shape *s, int n_bodies, int n_out, gopt_err *e);

/* Infers the body for facts that hold in every iteration: in[] holds those of the first one, whose state loses what the
 * body changes; out[] is what the body then gives. Sets the node's outputs of state. */
gopt_status gopt_carried_infer(gopt_infer *x, const gopt_carried_shape *s, gopt_fact *in, gopt_fact *out, gopt_err *e);
/* Node output k is `n` rows of this fact, stacked along a new axis. EINPUT when there is no such axis. */
gopt_status gopt_carried_infer_rows(gopt_infer *x, int k, const gopt_fact *row, gopt_dim n, int64_t axis, gopt_err *e);

/* A run. All memory is scratch. */
typedef struct gopt_carried {
    gopt_exec *x;
    gopt_carried_shape shape;
    const gopt_tensor **in;   /* of the body: the caller sets what is no state before every step */
    gopt_tensor *state, *out; /* as they are; what the body gave last */
    gopt_tensor **rows;       /* by output after the state: one a step */
    size_t *cap;
    int64_t n; /* steps so far */
} gopt_carried;

/* The first state is in[0..n_state). EINPUT when one is missing. */
gopt_status gopt_carried_begin(gopt_carried *c, gopt_exec *x, gopt_carried_shape s, const gopt_tensor *const *in,
                               gopt_err *e);
/* Runs the body once and takes over state and rows. ELIMIT at the deadline, and after very many steps. */
gopt_status gopt_carried_step(gopt_carried *c, gopt_err *e);
/* Whether rows are wanted whose shape nobody knows because there was no step: the body then has to be probed. */
bool gopt_carried_is_blank(const gopt_carried *c);
/* Runs the body only for the shapes of its rows. */
gopt_status gopt_carried_probe(gopt_carried *c, gopt_err *e);
/* Writes the node's output of state, and that of the rows behind it, stacked along an axis, the last one first when
 * `reverse`. */
gopt_status gopt_carried_write_state(const gopt_carried *c, gopt_err *e);
gopt_status gopt_carried_write_rows(const gopt_carried *c, int j, int64_t axis, bool reverse, gopt_err *e);

#endif
