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
    bool lengths = !gopt_group_has(g, LENS) || gopt_operand_is(&g->in[LENS], GOPT_DTYPE_I32) ||
                   gopt_operand_is(&g->in[LENS], GOPT_DTYPE_I64);
    return lengths && !gopt_group_has(g, PEEPHOLE) && !g->post && gopt_attr_int(g->attrs, "layout", 0) == 0 &&
           gopt_attr_int(g->attrs, "input_forget", 0) == 0 && !(gopt_attr_float(g->attrs, "clip", 0) > 0) &&
           default_activations(g, kind, dirs);
}

static bool wanted(const gopt_group *g, int k)
{
    return k < g->n_out && g->out[k].dtype != GOPT_DTYPE_NONE;
}

static int64_t packed_w(const gopt_rnn *n)
{
    return n->dirs * gopt_ceil_div(n->columns, n->simd->nr) * n->simd->nr * n->input;
}

static int64_t packed_r(const gopt_rnn *n)
{
    return n->dirs * n->columns * n->hidden;
}

/* Sequences of the longest chain. */
static int64_t rows_of(const gopt_rnn *n)
{
    return n->chained ? gopt_ceil_div(n->batch, n->splits) : n->batch;
}

static void lay_out(gopt_rnn *n)
{
    gopt_rnn_room *r = &n->at;
    int64_t state = n->dirs * n->batch * n->hidden, rows = rows_of(n);
    r->w = gopt_whole_vectors(gopt_ceil_div(n->seq * n->batch, n->simd->mr) * n->simd->mr * n->input);
    r->r = r->w + gopt_whole_vectors(n->pack_w ? packed_w(n) : 0);
    r->sums = r->r + gopt_whole_vectors(n->pack_r ? packed_r(n) : 0);
    r->bias = r->sums + gopt_whole_vectors(n->seq * n->batch * n->dirs * n->columns);
    r->apart = r->bias + gopt_whole_vectors(n->dirs * n->columns);
    r->h = r->apart + gopt_whole_vectors(n->dirs * n->panels * n->simd->width);
    r->c = r->h + gopt_whole_vectors(2 * state);
    r->z = r->c + gopt_whole_vectors(state);
    r->parts = r->z + gopt_whole_vectors(state);
    r->gates = gopt_whole_vectors(gopt_ceil_div(rows, n->simd->mr) * n->simd->mr * n->hidden);
    r->part = r->gates + gopt_whole_vectors(n->reset_after ? rows * n->columns : 0);
    r->total = r->parts + n->parts * r->part;
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
    n->lengths = gopt_group_has(g, LENS);
    n->wide_lengths = n->lengths && g->in[LENS].dtype == GOPT_DTYPE_I64;
    n->first_h = gopt_group_has(g, FIRST_H);
    n->first_c = kind->cell && gopt_group_has(g, FIRST_C);
    n->y = wanted(g, 0);
    n->y_h = wanted(g, 1);
    n->y_c = kind->cell && wanted(g, 2);
    n->pack_w = !g->in[W].packed;
    n->pack_r = !g->in[R].packed;
    n->reset_after = !kind->cell && gopt_attr_int(g->attrs, "linear_before_reset", 0);
    n->steps_phases = kind->cell || n->reset_after ? 1 : 2;
    n->panels = gopt_ceil_div(n->hidden, n->simd->width);
    n->columns = n->panels * kind->gates * n->simd->width;
    return n->seq > 0 && n->batch > 0 && n->input > 0 && n->hidden > 0;
}

double gopt_rnn_flops(const gopt_rnn *n)
{
    double gates = (double)(n->dirs * n->seq * n->batch * n->kind.gates * n->hidden);
    return gates * (2.0 * (double)(n->input + n->hidden) + 40);
}

/* Chains need no barriers, but each reads all weights of its direction in every step: where a batch would have to be
 * split for them, those must fit in the second cache. */
static void divide(gopt_rnn *n, const gopt_target *t)
{
    double flops = gopt_rnn_flops(n);
    int phases = n->steps_phases * (int)n->seq;
    n->parts = gopt_parts(t, flops, 0);
    n->splits = (int)GOPT_MIN(n->batch, GOPT_MAX(1, n->parts / n->dirs));
    /* Every phase ends in a barrier, between threads that are awake: worth it for a quarter of what else is. */
    bool barriers_pay = gopt_parts(t, 4 * flops / phases, 0) > 1;
    bool stays = n->columns * n->hidden * (int64_t)sizeof(float) <= (int64_t)(t->l2 / 2);
    if (n->lengths)
        n->splits = (int)n->batch;
    n->chained = n->lengths || !barriers_pay || (n->dirs * n->splits >= n->parts && (n->splits == 1 || stays));
    lay_out(n);
}

gopt_work gopt_rnn_work(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t)
{
    gopt_rnn n;
    gopt_rnn_prepare(&n, g, kind, t);
    return (gopt_work){.parts = n.parts,
                       .phases = 2 + (n.chained ? 1 : n.steps_phases * (int)n.seq),
                       .workspace = (size_t)n.at.total * sizeof(float)};
}

void gopt_rnn_prepare(gopt_rnn *n, const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t)
{
    gopt_rnn_of(n, g, kind, t);
    divide(n, t);
}

size_t gopt_rnn_packed_bytes(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k)
{
    gopt_rnn n;
    if ((k != W && k != R) || !g->in[k].constant || !gopt_rnn_of(&n, g, kind, t))
        return 0;
    return (size_t)(k == W ? packed_w(&n) : packed_r(&n)) * sizeof(float);
}

/* One vector of a gate's columns, of one direction's weights, in panels whose rows are `unit` floats. */
static void lay_column(const gopt_rnn *n, const float *src, int64_t k, int64_t unit, int64_t i, float *dst)
{
    int64_t width = n->simd->width, unit_of = i / n->kind.gates * width, at = i * width;
    int64_t cols = GOPT_MIN(width, n->hidden - unit_of);
    dst += at / unit * unit * k + at % unit;
    for (int64_t p = 0; p < k && cols < width; p++)
        memset(dst + p * unit + cols, 0, (size_t)(width - cols) * sizeof *dst);
    n->simd->transpose(dst, unit, src + (i % n->kind.gates * n->hidden + unit_of) * k, k, k, cols);
}

/* A share of the weights of all directions: W for gemm, R in panels that hold all gates of some units. */
static void lay_share(const gopt_rnn *n, int operand, const float *src, float *dst, int part, int parts)
{
    int64_t lo, hi, columns = n->columns / n->simd->width, k = operand == W ? n->input : n->hidden;
    int64_t unit = operand == W ? n->simd->nr : n->kind.gates * n->simd->width;
    gopt_share(n->dirs * columns, 1, part, parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t dir = lo / columns;
        lay_column(n, src + dir * n->kind.gates * n->hidden * k, k, unit, lo % columns,
                   dst + dir * gopt_ceil_div(n->columns, unit) * unit * k);
    }
}

void gopt_rnn_pack(const gopt_group *g, const gopt_rnn_kind *kind, const gopt_target *t, int k, void *dst)
{
    gopt_rnn n;
    gopt_rnn_of(&n, g, kind, t);
    memset(dst, 0, gopt_rnn_packed_bytes(g, kind, t, k)); /* a last panel may not be full */
    lay_share(&n, k, g->in[k].constant, dst, 0, 1);
}

/* Biases of a direction as the sums lie: the recurrent ones too, but where the reset gate comes between. */
static void lay_bias(const gopt_rnn *n, const float *bias, int64_t dir, float *dst, float *apart)
{
    int64_t all = n->kind.gates * n->hidden, width = n->simd->width;
    bias += dir * 2 * all;
    for (int64_t unit = 0; unit < n->hidden; unit += width)
        for (int gate = 0; gate < n->kind.gates; gate++, dst += width) {
            const float *from = bias + gate * n->hidden + unit;
            size_t units = (size_t)GOPT_MIN(width, n->hidden - unit);
            bool between = n->reset_after && gate == 2;
            if (between) {
                memcpy(dst, from, units * sizeof *dst);
                memcpy(apart + unit, from + all, units * sizeof *dst);
            } else {
                n->simd->add(dst, from, from + all, (int64_t)units);
            }
        }
}

static void begin_states(const gopt_rnn *n, const gopt_task *t)
{
    float *room = t->workspace;
    size_t state = (size_t)(n->dirs * n->batch * n->hidden) * sizeof *room;
    memset(room + n->at.bias, 0, (size_t)(n->at.h - n->at.bias) * sizeof *room);
    for (int64_t dir = 0; dir < n->dirs && n->bias; dir++)
        lay_bias(n, t->in[B], dir, room + n->at.bias + dir * n->columns,
                 room + n->at.apart + dir * n->panels * n->simd->width);
    memset(room + n->at.h, 0, state);
    memset(room + n->at.c, 0, state);
    if (n->first_h)
        memcpy(room + n->at.h, t->in[FIRST_H], state);
    if (n->first_c)
        memcpy(room + n->at.c, t->in[FIRST_C], state);
}

/* Phase 0: everything packed, and what is there before the first step. */
static void begin(const gopt_rnn *n, const gopt_task *t)
{
    float *room = t->workspace;
    int64_t rows = n->seq * n->batch;
    gopt_packing x = {.src = t->in[X],
                      .n = rows,
                      .k = n->input,
                      .step = n->input,
                      .depth = 1,
                      .unit = n->simd->mr,
                      .scale = 1,
                      .dst = room + n->at.x};
    gopt_share(gopt_ceil_div(rows, n->simd->mr), 1, t->part, t->parts, &x.first, &x.last);
    n->simd->pack(&x);
    if (n->pack_w)
        lay_share(n, W, t->in[W], room + n->at.w, t->part, t->parts);
    if (n->pack_r)
        lay_share(n, R, t->in[R], room + n->at.r, t->part, t->parts);
    if (t->part == 0)
        begin_states(n, t);
}

/* Phase 1: the input's part of all gates, for every step at once. */
static void project(const gopt_rnn *n, const gopt_task *t)
{
    float *room = t->workspace;
    int64_t lo, hi, rows = n->seq * n->batch, nr = n->simd->nr, panels = gopt_ceil_div(n->columns, nr);
    const float *w = n->pack_w ? room + n->at.w : t->in[W];
    gopt_share(n->dirs * panels, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t dir = lo / panels, j = lo % panels * nr, cols = GOPT_MIN(nr, n->columns - j);
        float *sums = room + n->at.sums + dir * rows * n->columns + j;
        for (int64_t row = 0; row < rows; row++)
            memcpy(sums + row * n->columns, room + n->at.bias + dir * n->columns + j, (size_t)cols * sizeof *sums);
        gopt_gemm g = {.m = rows,
                       .n = cols,
                       .k = n->input,
                       .a = room + n->at.x,
                       .a_tile = n->input * n->simd->mr,
                       .b = w + lo * nr * n->input,
                       .b_row = nr,
                       .c = sums,
                       .c_row = n->columns,
                       .accumulate = true};
        n->simd->gemm(&g);
    }
}

/* Several sequences: their vectors packed, then a product for each panel. */
static void multiply_rows(const gopt_rnn_step *s, const float *vectors, const float *weights, int64_t n, float *sums)
{
    const gopt_simd *simd = s->n->simd;
    int64_t k = s->n->hidden, row = s->n->kind.gates * simd->width;
    gopt_packing p = {.src = vectors,
                      .n = s->rows,
                      .k = k,
                      .step = k,
                      .depth = 1,
                      .unit = simd->mr,
                      .scale = 1,
                      .dst = s->room,
                      .last = gopt_ceil_div(s->rows, simd->mr)};
    simd->pack(&p);
    for (int64_t i = 0; i < s->panels; i++) {
        gopt_gemm g = {.m = s->rows,
                       .n = n,
                       .k = k,
                       .a = s->room,
                       .a_tile = k * simd->mr,
                       .b = weights + i * row * k,
                       .b_panel = simd->nr,
                       .b_row = row,
                       .c = sums + i * row,
                       .c_row = s->n->columns,
                       .accumulate = true};
        simd->gemm(&g);
    }
}

void gopt_rnn_multiply(const gopt_rnn_step *s, const float *vectors, int gate, int gates, float *sums)
{
    const gopt_rnn *n = s->n;
    int64_t width = n->simd->width, row = n->kind.gates * width;
    const float *r = n->pack_r ? (const float *)s->t->workspace + n->at.r : s->t->in[R];
    r += (s->dir * n->columns + s->panel * row) * n->hidden + gate * width;
    sums += gate * width;
    if (s->rows > 1) {
        multiply_rows(s, vectors, r, gates * width, sums);
        return;
    }
    /* Back and forth in turns: what the last step read at its end is still in the first cache. */
    gopt_state_product p = {.x = vectors,
                            .k = n->hidden,
                            .b = r,
                            .b_row = row,
                            .b_panel = row * n->hidden,
                            .vectors = gates,
                            .panels = s->panels,
                            .sums = sums,
                            .sums_panel = row,
                            .backwards = s->step % 2};
    n->simd->state_product(&p);
}

int64_t gopt_rnn_state(const gopt_rnn_step *s)
{
    return (s->dir * s->n->batch + s->row) * s->n->hidden + s->first;
}

/* Hands the last states out. */
static void finish(const gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    size_t bytes = (size_t)s->units * sizeof(float);
    for (int64_t b = 0; b < s->rows; b++) {
        int64_t state = gopt_rnn_state(s) + b * n->hidden;
        if (n->y_h)
            memcpy((float *)s->t->out[1] + state, s->next + b * n->hidden + s->first, bytes);
        if (n->y_c)
            memcpy((float *)s->t->out[2] + state, (const float *)s->t->workspace + n->at.c + state, bytes);
    }
}

/* States lie in output Y where there is one, else in two places in turns. */
static float *states(const gopt_rnn_step *s, int64_t step)
{
    const gopt_rnn *n = s->n;
    int64_t size = n->dirs * n->batch * n->hidden;
    bool back = n->reverse || s->dir == 1;
    float *at = n->y && step > 0 ? (float *)s->t->out[0] + (back ? s->steps - step : step - 1) * size
                                 : (float *)s->t->workspace + n->at.h + step % 2 * size;
    return at + (s->dir * n->batch + s->row) * n->hidden;
}

/* The step of the panels, sequences and direction that s names. */
static void run_step(gopt_rnn_step *s, int64_t step, int phase, void (*advance)(const gopt_rnn_step *s, int phase))
{
    const gopt_rnn *n = s->n;
    s->step = step;
    s->time = n->reverse || s->dir == 1 ? s->steps - 1 - step : step;
    s->first = s->panel * n->simd->width;
    s->units = GOPT_MIN(n->hidden - s->first, s->panels * n->simd->width);
    s->sums = (float *)s->t->workspace + n->at.sums + s->panel * n->kind.gates * n->simd->width;
    s->sums += ((s->dir * n->seq + s->time) * n->batch + s->row) * n->columns;
    s->h = states(s, step);
    s->next = states(s, step + 1);
    advance(s, phase);
    if (phase == n->steps_phases - 1 && step == s->steps - 1)
        finish(s);
}

/* How many steps sequence b lasts. */
static int64_t length_of(const gopt_rnn *n, const gopt_task *t, int64_t b)
{
    if (!n->lengths)
        return n->seq;
    int64_t length = n->wide_lengths ? ((const int64_t *)t->in[LENS])[b] : ((const int32_t *)t->in[LENS])[b];
    return length < 0 ? 0 : GOPT_MIN(length, n->seq);
}

/* What follows the last step of a sequence that ends early, or never begins. */
static void end_early(gopt_rnn_step *s)
{
    const gopt_rnn *n = s->n;
    int64_t size = n->dirs * n->batch * n->hidden;
    s->first = 0;
    s->units = n->hidden;
    for (int64_t time = s->steps; n->y && time < n->seq; time++)
        memset((float *)s->t->out[0] + time * size + gopt_rnn_state(s), 0, (size_t)n->hidden * sizeof(float));
    if (s->steps == 0) {
        s->next = states(s, 0);
        finish(s);
    }
}

static void run_chains(gopt_rnn_step *s, void (*advance)(const gopt_rnn_step *s, int phase))
{
    const gopt_rnn *n = s->n;
    int64_t lo, hi, end;
    gopt_share(n->dirs * n->splits, 1, s->t->part, s->t->parts, &lo, &hi);
    s->panel = 0;
    s->panels = n->panels;
    for (; lo < hi; lo++) {
        s->dir = lo / n->splits;
        gopt_share(n->batch, 1, (int)(lo % n->splits), n->splits, &s->row, &end);
        s->rows = end - s->row;
        s->steps = length_of(n, s->t, s->row);
        for (int64_t step = 0; step < s->steps; step++)
            for (int phase = 0; phase < n->steps_phases; phase++)
                run_step(s, step, phase, advance);
        if (s->steps < n->seq)
            end_early(s);
    }
}

/* One phase of one step: a share of the panels of all directions. */
static void run_phase(gopt_rnn_step *s, int phase, void (*advance)(const gopt_rnn_step *s, int phase))
{
    const gopt_rnn *n = s->n;
    int64_t lo, hi;
    gopt_share(n->dirs * n->panels, 1, s->t->part, s->t->parts, &lo, &hi);
    s->row = 0;
    s->rows = n->batch;
    s->steps = n->seq;
    for (; lo < hi; lo += s->panels) {
        s->dir = lo / n->panels;
        s->panel = lo % n->panels;
        s->panels = GOPT_MIN(hi - lo, n->panels - s->panel);
        run_step(s, phase / n->steps_phases, phase % n->steps_phases, advance);
    }
}

void gopt_rnn_run(const gopt_rnn *n, const gopt_task *t, void (*advance)(const gopt_rnn_step *s, int phase))
{
    gopt_rnn_step s = {.n = n, .t = t, .room = (float *)t->workspace + n->at.parts + t->part * n->at.part};
    if (t->phase < 2)
        (t->phase == 0 ? begin : project)(n, t);
    else if (n->chained)
        run_chains(&s, advance);
    else
        run_phase(&s, t->phase - 2, advance);
}
