/* rnn.h: what lstm_f32 and gru_f32 share: the input's part of all gates as one product, then the steps. Gates of one
 * panel of units (a vector of them) lie side by side, in weights and in sums.
 *
 * Steps run in one of two ways. Chained: a part runs all steps of its chain, some sequences in one direction, without
 * waiting for the others; where sequences have lengths, each is a chain. Else a step is a phase, or two, and parts
 * share its panels. */
#ifndef GOPT_CPU_RNN_H
#define GOPT_CPU_RNN_H

#include "cpu/group.h"
#include "cpu/simd.h"

typedef struct gopt_rnn_kind {
    const char *op;
    int gates;
    bool cell; /* has a cell state: input 6, output 2 */
    const char *activation[3];
    int activations; /* of one direction */
} gopt_rnn_kind;

/* Floats from the workspace's begin. */
typedef struct gopt_rnn_room {
    int64_t x, w, r, sums, bias, apart, h, c, z, parts, part, gates, total; /* gates: within a part's room */
} gopt_rnn_room;

typedef struct gopt_rnn {
    const gopt_simd *simd;
    gopt_rnn_kind kind;
    int64_t seq, batch, input, hidden;
    int dirs;
    bool reverse; /* the only direction is backwards */
    bool bias, first_h, first_c;
    bool lengths, wide_lengths; /* sequence_lens, of 64 bits */
    bool y, y_h, y_c;           /* outputs that are wanted */
    bool pack_w, pack_r;
    bool reset_after; /* linear_before_reset: the reset gate applies to the product */
    bool chained;
    int splits;       /* of the batch, into chains */
    int steps_phases; /* phases of one step */
    int parts;
    int64_t panels, columns; /* of a direction: panels of units; floats of all their gates */
    gopt_rnn_room at;
} gopt_rnn;

/* Some panels of units in one step of some sequences in one direction. */
typedef struct gopt_rnn_step {
    const gopt_rnn *n;
    const gopt_task *t;
    int64_t dir, time, step, steps;      /* steps: of this chain */
    int64_t panel, panels, first, units; /* the first one and how many; the same in units */
    int64_t row, rows;                   /* sequences: likewise */
    float *room;                         /* this part's */
    float *sums;                         /* of gates, at the first panel and sequence; n->columns from row to row */
    const float *h;                      /* rows x hidden: before the step */
    float *next;                         /* after it */
} gopt_rnn_step;

bool gopt_rnn_of(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
double gopt_rnn_flops(const gopt_rnn *n);
gopt_work gopt_rnn_work(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
void gopt_rnn_prepare(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t);
size_t gopt_rnn_packed_bytes(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k);
void gopt_rnn_pack(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k, void *dst);
/* Phases before the steps, and the steps: advance makes the new states. */
void gopt_rnn_run(const gopt_rnn *n, const gopt_task *t, void (*advance)(const gopt_rnn_step *s, int phase));

/* Adds to sums (as s->sums lies, of the step's panels and sequences) the products of vectors (rows x hidden) with some
 * gates. */
void gopt_rnn_multiply(const gopt_rnn_step *s, const float *vectors, int gate, int gates, float *sums);
/* Floats from the begin of a dirs x batch x hidden state to the step's first sequence and unit. */
int64_t gopt_rnn_state(const gopt_rnn_step *s);

#endif
