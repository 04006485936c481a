/* lstm_f32: LSTM with its usual activations. */
#include <string.h>

#include "cpu/rnn.h"

static const gopt_rnn_kind kind = {
    .op = "LSTM", .gates = 4, .cell = true, .activation = {"Sigmoid", "Tanh", "Tanh"}, .activations = 3};

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

static void panel(const gopt_rnn_step *s, int phase)
{
    const gopt_rnn *n = s->n;
    (void)phase;
    for (int gate = 0; gate < 4; gate++)
        for (int64_t b = 0; b < n->batch; b++)
            memcpy(gopt_rnn_gate(s, gate) + b * n->simd->nr, gopt_rnn_input(s, gate, b),
                   (size_t)s->cols * sizeof(float));
    gopt_rnn_multiply(s, s->h, 0, 3);
    for (int64_t b = 0; b < n->batch; b++) {
        const float *gate[4];
        for (int i = 0; i < 4; i++)
            gate[i] = gopt_rnn_gate(s, i) + b * n->simd->nr;
        float *c = (float *)s->t->workspace + n->at.c + (s->dir * n->batch + b) * n->hidden + s->first;
        n->simd->lstm_cell(s->cols, gate, c, s->next + b * n->hidden + s->first);
    }
    gopt_rnn_finish(s);
}

static void run(const gopt_task *t)
{
    gopt_rnn_run(t->spec, t, panel);
}

const gopt_kernel gopt_kernel_lstm_f32 = {
    .name = "lstm_f32",
    .doc = "LSTM, a phase for each time step",
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
