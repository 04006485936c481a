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

/* The recurrent part of the hidden gate gathers apart from the input's, with its own bias. */
static void reset_after(const gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    int64_t width = n->simd->width;
    float *room = s->room + n->at.gates;
    const float *apart = (const float *)s->t->workspace + n->at.apart + (s->dir * n->panels + s->panel) * width;
    for (int64_t b = 0; b < s->rows; b++) {
        float *sums = room + b * n->columns;
        memcpy(sums, s->sums + b * n->columns, (size_t)(s->panels * 3 * width) * sizeof *sums);
        for (int64_t i = 0; i < s->panels; i++)
            memcpy(sums + (3 * i + 2) * width, apart + i * width, (size_t)width * sizeof *sums);
    }
    gopt_rnn_multiply(s, s->h, 0, 3, room);
    for (int64_t b = 0; b < s->rows; b++) {
        int64_t at = b * n->hidden + s->first;
        n->simd->gru_cell(s->units, room + b * n->columns, s->sums + b * n->columns, s->h + at, s->next + at);
    }
}

/* The first of two phases: every part must see all of r * h before the product with it. */
static void reset_first(const gopt_rnn_step *s, float *z, float *reset)
{
    const gopt_rnn *n = s->n;
    gopt_rnn_multiply(s, s->h, 0, 2, s->sums);
    for (int64_t b = 0; b < s->rows; b++) {
        int64_t at = b * n->hidden + s->first;
        n->simd->gru_reset(s->units, s->sums + b * n->columns, s->h + at, z + at, reset + at);
    }
}

static void update(const gopt_rnn_step *s, const float *z, const float *reset)
{
    const gopt_rnn *n = s->n;
    gopt_rnn_multiply(s, reset, 2, 1, s->sums);
    for (int64_t b = 0; b < s->rows; b++) {
        int64_t at = b * n->hidden + s->first;
        n->simd->gru_update(s->units, s->sums + b * n->columns, z + at, s->h + at, s->next + at);
    }
}

/* The room of a cell state, which there is none of, holds r * h. */
static void advance(const gopt_rnn_step *s, int phase)
{
    const gopt_rnn *n = s->n;
    float *room = (float *)s->t->workspace + gopt_rnn_state(s) - s->first;
    if (n->reset_after)
        reset_after(s);
    else if (phase == 0)
        reset_first(s, room + n->at.z, room + n->at.c);
    else
        update(s, room + n->at.z, room + n->at.c);
}

static void run(const gopt_task *t)
{
    gopt_rnn_run(t->spec, t, advance);
}

const gopt_kernel gopt_kernel_gru_f32 = {
    .name = "gru_f32",
    .doc = "GRU with its usual activations",
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
