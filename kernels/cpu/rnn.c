#include "cpu/rnn.h"

#include <string.h>
#include <strings.h>

enum { X, W, R, B, LENS, FIRST_H, FIRST_C, PEEPHOLE };

static bool default_activations(const gopt_group *g, const gopt_rnn_kind *kind, int dirs)
{
    const gopt_attr *a = gopt_attr_find(g->attrs, "activations");
    for (int64_t i = 0; a && i < a->n; i++)
        if (i >= (int64_t)kind->activations * dirs ||
            strcasecmp(a->strings[i], kind->activation[i % kind->activations]))
            return false;
    return !a || a->n == 0 || a->n == (int64_t)kind->activations * dirs;
}

static bool plain(const gopt_group *g, const gopt_rnn_kind *kind, int dirs)
{
    for (int k = X; k < g->n_anchor; k++)
        if (k != LENS && !gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    return !gopt_group_has(g, LENS) && !gopt_group_has(g, PEEPHOLE) && !g->post &&
           gopt_attr_int(g->attrs, "layout", 0) == 0 && gopt_attr_int(g->attrs, "input_forget", 0) == 0 &&
           !(gopt_attr_float(g->attrs, "clip", 0) > 0) && default_activations(g, kind, dirs);
}

static bool wanted(const gopt_group *g, int k)
{
    return k < g->n_out && g->out[k].dtype != GOPT_DTYPE_NONE;
}

static int64_t aligned(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

static int64_t packed_w(const gopt_rnn *n)
{
    return n->dirs * n->panels_w * n->simd->nr * n->input;
}

static int64_t packed_r(const gopt_rnn *n)
{
    return n->dirs * n->kind.gates * n->panels_r * n->simd->nr * n->hidden;
}

static void lay_out(gopt_rnn *n, int parts)
{
    gopt_rnn_room *r = &n->at;
    int64_t state = n->dirs * n->batch * n->hidden;
    r->w = aligned(gopt_ceil_div(n->seq * n->batch, n->simd->mr) * n->simd->mr * n->input);
    r->r = r->w + aligned(n->pack_w ? packed_w(n) : 0);
    r->sums = r->r + aligned(n->pack_r ? packed_r(n) : 0);
    r->h = r->sums + aligned(n->seq * n->batch * n->dirs * n->kind.gates * n->hidden);
    r->c = r->h + aligned(2 * state);
    r->z = r->c + aligned(state);
    r->parts = r->z + aligned(state);
    r->gates = aligned(gopt_ceil_div(n->batch, n->simd->mr) * n->simd->mr * n->hidden);
    r->part = r->gates + aligned(GOPT_RNN_GATES * n->batch * n->simd->nr);
    r->total = r->parts + parts * r->part;
}

bool gopt_rnn_of(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t)
{
    const char *direction = gopt_attr_string(g->attrs, "direction", "forward");
    *n = (gopt_rnn){.simd = gopt_simd_for(t->isa), .kind = *kind, .dirs = strcmp(direction, "bidirectional") ? 1 : 2};
    if (!gopt_group_is(g, "", kind->op) || g->n_anchor <= R || !plain(g, kind, n->dirs) || g->in[X].rank != 3)
        return false;
    n->reverse = !strcmp(direction, "reverse");
    n->seq = g->in[X].dim[0];
    n->batch = g->in[X].dim[1];
    n->input = g->in[X].dim[2];
    n->hidden = g->in[R].dim[2];
    n->bias = gopt_group_has(g, B);
    n->first_h = gopt_group_has(g, FIRST_H);
    n->first_c = kind->cell && gopt_group_has(g, FIRST_C);
    n->y = wanted(g, 0);
    n->y_h = wanted(g, 1);
    n->y_c = kind->cell && wanted(g, 2);
    n->pack_w = !g->in[W].packed;
    n->pack_r = !g->in[R].packed;
    n->reset_after = gopt_attr_int(g->attrs, "linear_before_reset", 0);
    n->steps_phases = kind->cell || n->reset_after ? 1 : 2;
    n->panels_w = gopt_ceil_div(kind->gates * n->hidden, n->simd->nr);
    n->panels_r = gopt_ceil_div(n->hidden, n->simd->nr);
    return n->seq > 0 && n->batch > 0 && n->input > 0 && n->hidden > 0;
}

double gopt_rnn_flops(const gopt_rnn *n)
{
    double gates = (double)(n->dirs * n->seq * n->batch * n->kind.gates * n->hidden);
    return gates * (2.0 * (double)(n->input + n->hidden) + 40);
}

gopt_work gopt_rnn_work(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t)
{
    gopt_rnn n;
    gopt_rnn_of(&n, g, kind, t);
    int phases = 2 + n.steps_phases * (int)n.seq;
    /* Every phase ends in a barrier: what counts is the work of one. */
    int parts = gopt_parts(t, gopt_rnn_flops(&n) / phases * 2, 0);
    lay_out(&n, parts);
    return (gopt_work){.parts = parts, .phases = phases, .workspace = (size_t)n.at.total * sizeof(float)};
}

void gopt_rnn_prepare(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t)
{
    gopt_rnn_of(n, g, kind, t);
    lay_out(n, gopt_rnn_work(g, kind, t).parts);
}

size_t gopt_rnn_packed_bytes(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k)
{
    gopt_rnn n;
    if ((k != W && k != R) || !g->in[k].constant || !gopt_rnn_of(&n, g, kind, t))
        return 0;
    return (size_t)(k == W ? packed_w(&n) : packed_r(&n)) * sizeof(float);
}

/* All gates of a direction as one matrix. */
static gopt_packing packing_w(const gopt_rnn *n, const float *src, float *dst, int64_t dir)
{
    int64_t rows = n->kind.gates * n->hidden;
    return (gopt_packing){.src = src + dir * rows * n->input,
                          .n = rows,
                          .k = n->input,
                          .step = n->input,
                          .depth = 1,
                          .unit = n->simd->nr,
                          .scale = 1,
                          .dst = dst + dir * n->panels_w * n->simd->nr * n->input,
                          .last = n->panels_w};
}

/* One gate of a direction: i counts both. */
static gopt_packing packing_r(const gopt_rnn *n, const float *src, float *dst, int64_t i)
{
    return (gopt_packing){.src = src + i * n->hidden * n->hidden,
                          .n = n->hidden,
                          .k = n->hidden,
                          .step = n->hidden,
                          .depth = 1,
                          .unit = n->simd->nr,
                          .scale = 1,
                          .dst = dst + i * n->panels_r * n->simd->nr * n->hidden,
                          .last = n->panels_r};
}

void gopt_rnn_pack(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k, void *dst)
{
    gopt_rnn n;
    gopt_rnn_of(&n, g, kind, t);
    for (int64_t i = 0; i < n.dirs * (k == W ? 1 : n.kind.gates); i++) {
        gopt_packing p = k == W ? packing_w(&n, g->in[W].constant, dst, i) : packing_r(&n, g->in[R].constant, dst, i);
        n.simd->pack(&p);
    }
}

static void pack_share(const gopt_rnn *n, const gopt_task *t, gopt_packing p)
{
    gopt_share(p.last, 1, t->part, t->parts, &p.first, &p.last);
    n->simd->pack(&p);
}

/* Phase 0: everything packed, and the states before the first step. */
static void begin(const gopt_rnn *n, const gopt_task *t)
{
    float *room = t->workspace;
    int64_t state = n->dirs * n->batch * n->hidden, rows = n->seq * n->batch;
    gopt_packing x = {.src = t->in[X],
                      .n = rows,
                      .k = n->input,
                      .step = n->input,
                      .depth = 1,
                      .unit = n->simd->mr,
                      .scale = 1,
                      .dst = room + n->at.x,
                      .last = gopt_ceil_div(rows, n->simd->mr)};
    pack_share(n, t, x);
    for (int64_t i = 0; n->pack_w && i < n->dirs; i++)
        pack_share(n, t, packing_w(n, t->in[W], room + n->at.w, i));
    for (int64_t i = 0; n->pack_r && i < n->dirs * n->kind.gates; i++)
        pack_share(n, t, packing_r(n, t->in[R], room + n->at.r, i));
    if (t->part > 0)
        return;
    memset(room + n->at.h, 0, (size_t)(2 * state) * sizeof *room);
    memset(room + n->at.c, 0, (size_t)state * sizeof *room);
    if (n->first_h)
        memcpy(room + n->at.h, t->in[FIRST_H], (size_t)state * sizeof *room);
    if (n->first_c)
        memcpy(room + n->at.c, t->in[FIRST_C], (size_t)state * sizeof *room);
}

/* The bias of gate column i: the recurrent one too, but where the reset gate comes between. */
static float bias_at(const gopt_rnn *n, const float *bias, int64_t dir, int64_t i)
{
    int64_t all = n->kind.gates * n->hidden;
    bool apart = !n->kind.cell && n->reset_after && i >= 2 * n->hidden;
    bias += dir * 2 * all;
    return bias[i] + (apart ? 0 : bias[all + i]);
}

/* Phase 1: the input's part of all gates, for every step at once. */
static void project(const gopt_rnn *n, const gopt_task *t)
{
    float *room = t->workspace;
    int64_t lo, hi, rows = n->seq * n->batch, all = n->kind.gates * n->hidden, nr = n->simd->nr;
    const float *w = n->pack_w ? room + n->at.w : t->in[W];
    gopt_share(n->dirs * n->panels_w, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t dir = lo / n->panels_w, j = lo % n->panels_w * nr, cols = GOPT_MIN(nr, all - j);
        float *sums = room + n->at.sums + dir * rows * all + j;
        for (int64_t i = 0; i < cols && n->bias; i++)
            sums[i] = bias_at(n, t->in[B], dir, j + i);
        for (int64_t row = 1; row < rows && n->bias; row++)
            memcpy(sums + row * all, sums, (size_t)cols * sizeof *sums);
        gopt_gemm g = {.m = rows,
                       .n = cols,
                       .k = n->input,
                       .a = room + n->at.x,
                       .a_tile = n->input * n->simd->mr,
                       .b = w + lo * nr * n->input,
                       .b_row = nr,
                       .c = sums,
                       .c_row = all,
                       .accumulate = n->bias};
        n->simd->gemm(&g);
    }
}

const float *gopt_rnn_input(const gopt_rnn_step *s, int gate, int64_t b)
{
    const gopt_rnn *n = s->n;
    int64_t all = n->kind.gates * n->hidden, row = (s->dir * n->seq + s->time) * n->batch + b;
    return (const float *)s->t->workspace + n->at.sums + row * all + gate * n->hidden + s->first;
}

float *gopt_rnn_gate(const gopt_rnn_step *s, int gate)
{
    return s->room + s->n->at.gates + gate * s->n->batch * s->n->simd->nr;
}

void gopt_rnn_multiply(const gopt_rnn_step *s, const float *vectors, int first_gate, int last_gate)
{
    const gopt_rnn *n = s->n;
    int64_t nr = n->simd->nr;
    const float *r = n->pack_r ? (const float *)s->t->workspace + n->at.r : s->t->in[R];
    gopt_packing p = {.src = vectors,
                      .n = n->batch,
                      .k = n->hidden,
                      .step = n->hidden,
                      .depth = 1,
                      .unit = n->simd->mr,
                      .scale = 1,
                      .dst = s->room,
                      .last = gopt_ceil_div(n->batch, n->simd->mr)};
    n->simd->pack(&p);
    for (int gate = first_gate; gate <= last_gate; gate++) {
        int64_t panel = (s->dir * n->kind.gates + gate) * n->panels_r + s->panel;
        gopt_gemm g = {.m = n->batch,
                       .n = s->cols,
                       .k = n->hidden,
                       .a = s->room,
                       .a_tile = n->hidden * n->simd->mr,
                       .b = r + panel * nr * n->hidden,
                       .b_row = nr,
                       .c = gopt_rnn_gate(s, gate),
                       .c_row = nr,
                       .accumulate = true};
        n->simd->gemm(&g);
    }
}

void gopt_rnn_finish(const gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    size_t bytes = (size_t)s->cols * sizeof(float);
    bool last = s->step == n->seq - 1;
    for (int64_t b = 0; b < n->batch; b++) {
        const float *h = s->next + b * n->hidden + s->first;
        int64_t state = (s->dir * n->batch + b) * n->hidden + s->first;
        if (n->y)
            memcpy((float *)s->t->out[0] + s->time * n->dirs * n->batch * n->hidden + state, h, bytes);
        if (n->y_h && last)
            memcpy((float *)s->t->out[1] + state, h, bytes);
        if (n->y_c && last)
            memcpy((float *)s->t->out[2] + state, (const float *)s->t->workspace + n->at.c + state, bytes);
    }
}

void gopt_rnn_run(const gopt_rnn *n, const gopt_task *t, void (*panel)(const gopt_rnn_step *s, int phase))
{
    float *room = t->workspace;
    int64_t lo, hi, state = n->batch * n->hidden;
    if (t->phase < 2) {
        (t->phase == 0 ? begin : project)(n, t);
        return;
    }
    gopt_rnn_step s = {.n = n, .t = t, .step = (t->phase - 2) / n->steps_phases};
    s.room = room + n->at.parts + t->part * n->at.part;
    gopt_share(n->dirs * n->panels_r, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        s.dir = lo / n->panels_r;
        s.panel = lo % n->panels_r;
        s.first = s.panel * n->simd->nr;
        s.cols = GOPT_MIN(n->simd->nr, n->hidden - s.first);
        s.time = n->reverse || s.dir == 1 ? n->seq - 1 - s.step : s.step;
        s.h = room + n->at.h + (s.step % 2 * n->dirs + s.dir) * state;
        s.next = room + n->at.h + ((s.step + 1) % 2 * n->dirs + s.dir) * state;
        panel(&s, (t->phase - 2) % n->steps_phases);
    }
}
