/* lstm_f32: LSTM with its usual activations. */
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

static void advance(const gopt_rnn_step *s, int phase)
{
    const gopt_rnn *n = s->n;
    (void)phase;
    gopt_rnn_multiply(s, s->h, 0, 4, s->sums);
    for (int64_t b = 0; b < s->rows; b++)
        n->simd->lstm_cell(s->units, s->sums + b * n->columns,
                           (float *)s->t->workspace + n->at.c + gopt_rnn_state(s) + b * n->hidden,
                           s->next + b * n->hidden + s->first);
}

static void run(const gopt_task *t)
{
    gopt_rnn_run(t->spec, t, advance);
}

const gopt_kernel gopt_kernel_lstm_f32 = {
    .name = "lstm_f32",
    .doc = "LSTM with its usual activations",
    .revision = 3,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .spec_bytes = sizeof(gopt_rnn),
    .prepare = prepare,
    .run = run,
};
