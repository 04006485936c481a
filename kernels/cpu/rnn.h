/* rnn.h: what lstm_f32 and gru_f32 share: the input's part of all gates as one product, then a phase for each time
 * step, in which parts share panels of hidden units. */
#ifndef GOPT_CPU_RNN_H
#define GOPT_CPU_RNN_H

#include "cpu/group.h"
#include "cpu/simd.h"

enum { GOPT_RNN_GATES = 4 };

typedef struct gopt_rnn_kind {
    const char *op;
    int gates;
    bool cell; /* has a cell state: input 6, output 2 */
    const char *activation[3];
    int activations; /* of one direction */
} gopt_rnn_kind;

/* Floats from the workspace's begin. */
typedef struct gopt_rnn_room {
    int64_t x, w, r, sums, h, c, z, parts, part, gates, total; /* gates: within a part's room */
} gopt_rnn_room;

typedef struct gopt_rnn {
    const gopt_simd *simd;
    gopt_rnn_kind kind;
    int64_t seq, batch, input, hidden;
    int dirs;
    bool reverse; /* the only direction is backwards */
    bool bias, first_h, first_c;
    bool y, y_h, y_c; /* outputs that are wanted */
    bool pack_w, pack_r;
    bool reset_after;           /* linear_before_reset: the reset gate applies to the product */
    int steps_phases;           /* phases of one step */
    int64_t panels_w, panels_r; /* of a direction; of a gate */
    gopt_rnn_room at;
} gopt_rnn;

/* One panel of hidden units in one step of one direction. */
typedef struct gopt_rnn_step {
    const gopt_rnn *n;
    const gopt_task *t;
    int64_t dir, panel, time, step;
    int64_t first, cols; /* units */
    float *room;         /* this part's */
    const float *h;      /* batch x hidden: before the step */
    float *next;         /* after it */
} gopt_rnn_step;

bool gopt_rnn_of(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
double gopt_rnn_flops(const gopt_rnn *n);
gopt_work gopt_rnn_work(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
void gopt_rnn_prepare(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
size_t gopt_rnn_packed_bytes(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k);
void gopt_rnn_pack(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k, void *dst);
/* Phases before the steps, and the step phases by panel. */
void gopt_rnn_run(const gopt_rnn *n, const gopt_task *t, void (*panel)(const gopt_rnn_step *s, int phase));

/* The input's part of gate `gate` for sequence b, at the panel's first unit. */
const float *gopt_rnn_input(const gopt_rnn_step *s, int gate, int64_t b);
/* Room for the sums of a gate, batch rows of nr floats. */
float *gopt_rnn_gate(const gopt_rnn_step *s, int gate);
/* Adds the products of all sequences' vectors (batch x hidden) with the panel of a gate to its sums. */
void gopt_rnn_multiply(const gopt_rnn_step *s, const float *vectors, int first_gate, int last_gate);
/* Hands the panel's new states out. */
void gopt_rnn_finish(const gopt_rnn_step *s);

#endif
