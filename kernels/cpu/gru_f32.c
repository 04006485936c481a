/* gru_f32: GRU with its usual activations. */
#include <string.h>

#include "cpu/rnn.h"

static const gopt_rnn_kind kind = {.op = "GRU", .gates = 3, .activation = {"Sigmoid", "Tanh"}, .activations = 2};

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_rnn n;
    (void)knob;
    return gopt_rnn_of(&n, g, &kind, t);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_rnn n;
    (void)knob;
    gopt_rnn_of(&n, g, &kind, t);
    return gopt_roofline(t, gopt_rnn_flops(&n), gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_rnn_work(g, &kind, t);
}

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    (void)knob;
    return gopt_rnn_packed_bytes(g, &kind, t, k);
}

static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    (void)knob;
    gopt_rnn_pack(g, &kind, t, k, dst);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *spec)
{
    (void)knob;
    gopt_rnn_prepare(spec, g, &kind, t);
}

static void load_gates(const gopt_rnn_step *s, int first, int last)
{
    for (int gate = first; gate <= last; gate++)
        for (int64_t b = 0; b < s->n->batch; b++)
            memcpy(gopt_rnn_gate(s, gate) + b * s->n->simd->nr, gopt_rnn_input(s, gate, b),
                   (size_t)s->cols * sizeof(float));
}

/* The recurrent bias of the hidden gate, which the reset gate scales too. */
static void load_bias(const gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    const float *bias = n->bias ? (const float *)s->t->in[3] + s->dir * 6 * n->hidden + 5 * n->hidden + s->first : NULL;
    for (int64_t b = 0; b < n->batch; b++)
        for (int64_t i = 0; i < s->cols; i++)
            gopt_rnn_gate(s, 2)[b * n->simd->nr + i] = bias ? bias[i] : 0;
}

/* Where the panel's units of sequence b lie in a batch x hidden state. */
static int64_t place(const gopt_rnn_step *s, int64_t b)
{
    return b * s->n->hidden + s->first;
}

static void reset_after(const gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    load_gates(s, 0, 1);
    load_bias(s);
    gopt_rnn_multiply(s, s->h, 0, 2);
    for (int64_t b = 0; b < n->batch; b++) {
        const float *gate[3];
        for (int i = 0; i < 3; i++)
            gate[i] = gopt_rnn_gate(s, i) + b * n->simd->nr;
        n->simd->gru_cell(s->cols, gate, gopt_rnn_input(s, 2, b), s->h + place(s, b), s->next + place(s, b));
    }
}

/* The first of two phases: every part must see all of r * h before the product with it. */
static void reset_first(const gopt_rnn_step *s, float *z, float *reset)
{
    const gopt_rnn *n = s->n;
    load_gates(s, 0, 1);
    gopt_rnn_multiply(s, s->h, 0, 1);
    for (int64_t b = 0; b < n->batch; b++) {
        const float *gate[] = {gopt_rnn_gate(s, 0) + b * n->simd->nr, gopt_rnn_gate(s, 1) + b * n->simd->nr};
        n->simd->gru_reset(s->cols, gate, s->h + place(s, b), z + place(s, b), reset + place(s, b));
    }
}

static void update(const gopt_rnn_step *s, const float *z, const float *reset)
{
    const gopt_rnn *n = s->n;
    load_gates(s, 2, 2);
    gopt_rnn_multiply(s, reset, 2, 2);
    for (int64_t b = 0; b < n->batch; b++)
        n->simd->gru_update(s->cols, z + place(s, b), gopt_rnn_gate(s, 2) + b * n->simd->nr, s->h + place(s, b),
                            s->next + place(s, b));
}

/* The room of a cell state, which there is none of, holds r * h. */
static void panel(const gopt_rnn_step *s, int phase)
{
    const gopt_rnn *n = s->n;
    float *room = (float *)s->t->workspace + s->dir * n->batch * n->hidden;
    if (n->reset_after)
        reset_after(s);
    else if (phase == 0)
        reset_first(s, room + n->at.z, room + n->at.c);
    else
        update(s, room + n->at.z, room + n->at.c);
    if (n->reset_after || phase == 1)
        gopt_rnn_finish(s);
}

static void run(const gopt_task *t)
{
    gopt_rnn_run(t->spec, t, panel);
}

const gopt_kernel gopt_kernel_gru_f32 = {
    .name = "gru_f32",
    .doc = "GRU, a phase for each time step",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(gopt_rnn),
    .prepare = prepare,
    .run = run,
};
