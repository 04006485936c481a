/* attention_f32: scaled dot-product attention, a block of queries of one head against blocks of keys: products, online
 * softmax (Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022), products. A row's largest score and sum are
 * carried from block to block; what was summed before is rescaled, and divided by the sum at the end. Keys that no
 * query of a block may see are left out where all numbers are so small that their products with 0 are 0. */
#include <math.h>
#include <string.h>

#include "cpu/attention.h"
#include "cpu/group.h"
#include "cpu/post.h"

enum { BLOCK_Q, BLOCK_K };

static const gopt_knob knobs[] = {
    [BLOCK_Q] = {"block_q", GOPT_KNOB_POW2, 8, 256, 64, 0, NULL, "queries that are treated together"},
    [BLOCK_K] = {"block_k", GOPT_KNOB_POW2, 64, 4096, 512, 0, NULL, "keys that are treated together"},
    {0}};

enum { FEW = 4 }; /* queries for which it does not pay to lay out keys and values */

typedef struct spec {
    gopt_attention a;
    const gopt_simd *simd;
    bool pack;                                        /* keys and values are laid out in panels, in phase 0 */
    bool skips;                                       /* keys that no query of a block sees, where that is the same */
    bool join;                                        /* past and present are brought together, in phase 0 */
    int64_t block_q, blocks;                          /* blocks of queries of a head */
    int64_t block_k;                                  /* a multiple of the width of a panel */
    int64_t k_size, v_size;                           /* floats of a head's panels */
    int64_t joined[2];                                /* where in the workspace keys and values are brought together */
    int64_t tame_at, k_at, v_at, scratch_at;          /* in the workspace, in floats */
    int64_t q_size, score_size, weight_size, scratch; /* of one part */
    gopt_post post;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    gopt_attention a;
    (void)knob, (void)t;
    return g->op && gopt_attention_of(g, &a) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    gopt_attention a;
    gopt_attention_of(g, &a);
    double scores = (double)a.batch * (double)a.heads * (double)a.queries * (double)a.keys;
    return scores * (2 * (double)(a.d + a.dv) + 40) + 4 * gopt_post_cost(g->post) * (double)gopt_operand_count(g->out);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static int64_t reserve(int64_t *at, int64_t floats)
{
    int64_t first = *at;
    *at += gopt_whole_vectors(floats);
    return first;
}

/* Whether what hides a key makes its weight 0: the lowest float does, where a query sees other keys. */
static bool hides_for_good(const gopt_attention *a)
{
    return a->hidden == -INFINITY || (a->hidden <= -3e38F && a->left < 0 && a->keep.operand < 0);
}

/* The workspace's size in floats. */
static int64_t plan(spec *s, const gopt_group *g, const int64_t *knob, const gopt_target *t, int parts)
{
    memset(s, 0, sizeof *s);
    gopt_attention *a = &s->a;
    gopt_attention_of(g, a);
    s->simd = gopt_simd_for(t->isa);
    int mr = s->simd->mr, nr = s->simd->nr;
    int64_t at = 0, shared = a->batch * a->kv_heads;
    s->pack = a->queries > FEW;
    s->join = a->past > 0 || a->present[0] || a->present[1];
    for (int i = 0; i < 2 && s->join; i++)
        s->joined[i] = a->present[i] ? -1 : reserve(&at, shared * a->keys * (i ? a->dv : a->d));
    s->block_k = gopt_ceil_div(GOPT_MIN(knob[BLOCK_K], GOPT_MAX(a->keys, 1)), nr) * nr;
    s->block_q = GOPT_MIN(knob[BLOCK_Q], GOPT_MAX(a->queries, 1));
    while (s->block_q > mr && a->batch * a->heads * gopt_ceil_div(a->queries, s->block_q) < 2 * parts && parts > 1)
        s->block_q = gopt_ceil_div(s->block_q, 2 * mr) * mr;
    s->blocks = gopt_ceil_div(a->queries, s->block_q);
    int64_t rows = gopt_ceil_div(s->block_q, mr) * mr;
    s->skips = s->pack && (a->left >= 0 || a->right >= 0 || a->mask_keys < a->keys) && hides_for_good(a);
    if (s->skips)
        s->tame_at = reserve(&at, shared);
    if (s->pack) {
        s->k_size = gopt_ceil_div(a->keys, nr) * nr * a->d;
        s->v_size = gopt_ceil_div(a->dv, nr) * nr * a->keys;
        s->k_at = reserve(&at, shared * s->k_size);
        s->v_at = reserve(&at, shared * s->v_size);
    }
    s->q_size = rows * a->d;
    s->score_size = rows * s->block_k;
    s->weight_size = GOPT_MAX(s->score_size, a->dv);
    reserve(&s->scratch, s->q_size);
    reserve(&s->scratch, s->score_size);
    reserve(&s->scratch, s->weight_size);
    reserve(&s->scratch, 2 * rows);
    s->scratch_at = reserve(&at, s->scratch * parts);
    return at;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s;
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    size_t floats = (size_t)plan(&s, g, knob, t, parts);
    return (gopt_work){.parts = parts, .phases = s.pack || s.join ? 2 : 1, .workspace = floats * sizeof(float)};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    plan(s, g, knob, t, work(g, knob, t).parts);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* ---- phase 0: keys (0) and values (1) ---- */

/* A head's keys or values with the past in front: their begin, and how far rows lie apart. */
static float *side(const spec *s, const gopt_task *t, int which, int64_t b, int64_t h, int64_t *row)
{
    const gopt_attention *a = &s->a;
    const gopt_heads *lie = which ? &a->v : &a->k;
    int64_t size = which ? a->dv : a->d;
    if (!s->join) {
        *row = lie->of_row;
        return (float *)t->in[GOPT_ATTENTION_K + which] + gopt_heads_at(lie, b, h, 0);
    }
    float *all = s->joined[which] < 0 ? t->out[1 + which] : (float *)t->workspace + s->joined[which];
    *row = size;
    return all + (b * a->kv_heads + h) * a->keys * size;
}

static void join(const spec *s, const gopt_task *t, int which, int64_t b, int64_t h)
{
    const gopt_attention *a = &s->a;
    const gopt_heads *lie = which ? &a->v : &a->k;
    int64_t size = which ? a->dv : a->d, row, old = a->past * size;
    float *to = side(s, t, which, b, h, &row);
    const float *from = t->in[GOPT_ATTENTION_K + which];
    if (old)
        memcpy(to,
               (const float *)t->in[GOPT_ATTENTION_PAST + which] + a->past_first[which] + (b * a->kv_heads + h) * old,
               (size_t)old * sizeof *to);
    for (int64_t i = 0; i < a->keys - a->past; i++)
        memcpy(to + old + i * size, from + gopt_heads_at(lie, b, h, i), (size_t)size * sizeof *to);
}

static void lay_out(const spec *s, const gopt_task *t, int64_t b, int64_t h)
{
    const gopt_attention *a = &s->a;
    int nr = s->simd->nr;
    int64_t k_row, v_row, i = b * a->kv_heads + h;
    float *room = t->workspace;
    const float *keys = side(s, t, 0, b, h, &k_row), *values = side(s, t, 1, b, h, &v_row);
    s->simd->pack(&(gopt_packing){.src = keys,
                                  .n = a->keys,
                                  .k = a->d,
                                  .step = k_row,
                                  .depth = 1,
                                  .unit = nr,
                                  .scale = 1,
                                  .dst = room + s->k_at + i * s->k_size,
                                  .last = gopt_ceil_div(a->keys, nr)});
    s->simd->pack(&(gopt_packing){.src = values,
                                  .n = a->dv,
                                  .k = a->keys,
                                  .step = 1,
                                  .depth = v_row,
                                  .unit = nr,
                                  .scale = 1,
                                  .dst = room + s->v_at + i * s->v_size,
                                  .last = gopt_ceil_div(a->dv, nr)});
}

/* Of sums of squares: products of two such rows hide no infinity, and nothing that a mask could not outweigh. */
static float most_of(const spec *s)
{
    return s->a.rounds && !s->a.brain ? 6e4F : 1e36F;
}

/* Notes whether nothing that is skipped would show. */
static void find_tame(const spec *s, const gopt_task *t, int64_t b, int64_t h)
{
    const gopt_attention *a = &s->a;
    int64_t i = b * a->kv_heads + h;
    float *room = t->workspace;
    gopt_rows k = {
        .packed = room + s->k_at + i * s->k_size, .count = a->keys, .n = a->d, .n_packed = s->k_size, .square = 1};
    gopt_rows v = {
        .packed = room + s->v_at + i * s->v_size, .count = a->keys, .n = a->dv, .n_packed = s->v_size, .square = 1};
    k.row = side(s, t, 0, b, h, &k.step);
    v.row = side(s, t, 1, b, h, &v.step);
    room[s->tame_at + i] = gopt_rows_are_below(s->simd, &k, most_of(s)) && gopt_rows_are_below(s->simd, &v, INFINITY);
}

static void run_sides(const spec *s, const gopt_task *t)
{
    int64_t lo, hi;
    gopt_share(s->a.batch * s->a.kv_heads, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t b = lo / s->a.kv_heads, h = lo % s->a.kv_heads;
        for (int which = 0; which < 2 && s->join; which++)
            join(s, t, which, b, h);
        if (s->pack)
            lay_out(s, t, b, h);
        if (s->skips)
            find_tame(s, t, b, h);
    }
}

/* ---- scores ---- */

/* Queries [first, first + rows) of one head. */
typedef struct block {
    const spec *s;
    const gopt_task *t;
    int64_t b, h, kv, first, rows;
    float *q, *score, *weight, *most, *sum; /* scratch */
    float *out;
} block;

static gopt_scores scores_of(const block *c, int64_t r, int64_t key, int64_t n, float *row)
{
    return (gopt_scores){.simd = c->s->simd,
                         .in = c->t->in,
                         .batch = c->b,
                         .head = c->h,
                         .query = c->first + r,
                         .key = key,
                         .n = n,
                         .row = row,
                         .room = (uint16_t *)c->weight};
}

/* Scores of keys [key, key + n), as products, to weights, before their division by the sum; what the query's row held
 * so far is rescaled. */
static void weigh(const block *c, int64_t r, int64_t key, int64_t n, bool begun, float *row)
{
    const gopt_simd *simd = c->s->simd;
    gopt_scores scores = scores_of(c, r, key, n, row);
    gopt_scores_finish(&c->s->a, &scores);
    float old = c->most[r], new = simd->reduce_row(GOPT_REDUCE_MAX, row, n, 0);
    float *out = c->out + r * c->s->a.out.of_row;
    if (begun && !(new > old) && new == new)
        new = old;
    c->most[r] = new;
    if (new == -INFINITY) {
        simd->fill(row, 0, n);
        return;
    }
    float sum = simd->exp_row(row, row, n, new);
    if (begun && old != new) {
        float factor = expf(old - new);
        simd->affine(out, out, c->s->a.dv, 0, factor, 0);
        sum += c->sum[r] * factor;
    } else if (begun) {
        sum += c->sum[r];
    }
    c->sum[r] = sum;
    if (c->s->a.rounds && c->s->a.keys <= c->s->block_k && sum > 0) { /* they are all known: as Softmax stores them */
        simd->affine(row, row, n, 0, 1 / sum, 0);
        gopt_scores_round(&c->s->a, &scores);
        c->sum[r] = 1;
    }
}

static void begin_rows(const block *c)
{
    for (int64_t r = 0; r < c->rows; r++) {
        c->most[r] = -INFINITY;
        c->sum[r] = 0;
    }
}

/* Whether all weights of a query are 0. */
static bool weighs_nothing(const block *c, int64_t r)
{
    const gopt_attention *a = &c->s->a;
    if (c->sum[r] > 0 && a->keys > 0)
        return false;
    bool zero = a->keys == 0 || a->zero_nan || (c->sum[r] == 0 && !a->like_softmax);
    return zero || (!a->like_softmax && gopt_attention_sees_nothing(a, c->t->in, c->b, c->h, c->first + r));
}

/* Values times 0, which is not 0 for all. */
static void multiply_by_nothing(const block *c, float *out)
{
    const spec *s = c->s;
    int64_t row, keys = s->a.keys;
    const float *values = side(s, c->t, 1, c->b, c->kv % s->a.kv_heads, &row);
    s->simd->fill(out, 0, s->a.dv);
    s->simd->fill(c->score, 0, s->block_k);
    for (int64_t key = 0; key < keys; key += s->block_k) {
        s->simd->gemv(s->a.dv, GOPT_MIN(s->block_k, keys - key), c->score, 1, values + key * row, row, c->weight);
        s->simd->add(out, out, c->weight, s->a.dv);
    }
}

static void end_rows(const block *c)
{
    const gopt_attention *a = &c->s->a;
    for (int64_t r = 0; r < c->rows; r++) {
        float *row = c->out + r * a->out.of_row;
        if (weighs_nothing(c, r))
            multiply_by_nothing(c, row);
        else if (c->sum[r] == 0)
            c->s->simd->fill(row, NAN, a->dv);
        else
            c->s->simd->affine(row, row, a->dv, 0, 1 / c->sum[r], 0);
        gopt_post_run(&c->s->post, c->t->in, row, row, row - (float *)c->t->out[0], a->dv);
    }
}

/* ---- many queries: by tiles ---- */

static void multiply_keys(const block *c, int64_t key, int64_t n)
{
    const spec *s = c->s;
    s->simd->gemm(&(gopt_gemm){.m = c->rows,
                               .n = n,
                               .k = s->a.d,
                               .a = c->q,
                               .a_tile = s->a.d * s->simd->mr,
                               .b = (const float *)c->t->workspace + s->k_at + c->kv * s->k_size + key * s->a.d,
                               .b_panel = s->a.d * s->simd->nr,
                               .b_row = s->simd->nr,
                               .c = c->score,
                               .c_row = s->block_k});
}

static void multiply_values(const block *c, int64_t key, int64_t n, bool begun)
{
    const spec *s = c->s;
    int mr = s->simd->mr, nr = s->simd->nr;
    s->simd->pack(&(gopt_packing){.src = c->score,
                                  .n = c->rows,
                                  .k = n,
                                  .step = s->block_k,
                                  .depth = 1,
                                  .unit = mr,
                                  .scale = 1,
                                  .dst = c->weight,
                                  .last = gopt_ceil_div(c->rows, mr)});
    s->simd->gemm(&(gopt_gemm){.m = c->rows,
                               .n = s->a.dv,
                               .k = n,
                               .a = c->weight,
                               .a_tile = n * mr,
                               .b = (const float *)c->t->workspace + s->v_at + c->kv * s->v_size + key * nr,
                               .b_panel = s->a.keys * nr,
                               .b_row = nr,
                               .c = c->out,
                               .c_row = s->a.out.of_row,
                               .accumulate = begun});
}

/* Whether weights of 0 make 0 of all that no query of the block sees. */
static bool can_skip(const block *c, const gopt_rows *q)
{
    const spec *s = c->s;
    float by = s->a.scale * GOPT_MAX(1, fabsf(s->a.factor));
    if (!s->skips || ((const float *)c->t->workspace)[s->tame_at + c->kv] == 0 ||
        !gopt_rows_are_below(s->simd, q, most_of(s) / GOPT_MAX(by * by, 1)))
        return false;
    for (int64_t r = 0; r < c->rows; r++) {
        gopt_scores scores = scores_of(c, r, 0, s->a.keys, NULL);
        if (!gopt_attention_mask_is_tame(&s->a, &scores))
            return false;
    }
    return true;
}

/* Lays the queries out; keys [*lo, *hi) are what they need. */
static void begin_tiles(const block *c, int64_t *lo, int64_t *hi)
{
    const gopt_attention *a = &c->s->a;
    int64_t tiles = gopt_ceil_div(c->rows, c->s->simd->mr), unused;
    gopt_rows q = {.row = (const float *)c->t->in[GOPT_ATTENTION_Q] + gopt_heads_at(&a->q, c->b, c->h, c->first),
                   .packed = c->q,
                   .count = c->rows,
                   .n = a->d,
                   .step = a->q.of_row,
                   .n_packed = tiles * c->s->simd->mr * a->d,
                   .square = a->scale * a->scale};
    c->s->simd->pack(&(gopt_packing){.src = q.row,
                                     .n = c->rows,
                                     .k = a->d,
                                     .step = q.step,
                                     .depth = 1,
                                     .unit = c->s->simd->mr,
                                     .scale = a->scale,
                                     .dst = c->q,
                                     .last = tiles});
    *lo = 0;
    *hi = a->keys;
    if (!can_skip(c, &q))
        return;
    gopt_attention_seen(a, c->first, lo, &unused);
    gopt_attention_seen(a, c->first + c->rows - 1, &unused, hi);
}

static void run_tiles(const block *c)
{
    const spec *s = c->s;
    const gopt_attention *a = &s->a;
    int64_t lo, hi;
    begin_tiles(c, &lo, &hi);
    bool begun = false;
    for (int64_t key = lo / s->block_k * s->block_k; key < hi; key += s->block_k, begun = true) {
        int64_t n = GOPT_MIN(s->block_k, GOPT_MIN(a->keys, hi) - key);
        multiply_keys(c, key, n);
        for (int64_t r = 0; r < c->rows; r++)
            weigh(c, r, key, n, begun, c->score + r * s->block_k);
        multiply_values(c, key, n, begun);
    }
}

/* ---- few queries: keys and values are read where they lie ---- */

static void run_row(const block *c, int64_t r)
{
    const spec *s = c->s;
    const gopt_attention *a = &s->a;
    const float *q = (const float *)c->t->in[GOPT_ATTENTION_Q] + gopt_heads_at(&a->q, c->b, c->h, c->first + r);
    int64_t k_row, v_row;
    const float *keys = side(s, c->t, 0, c->kv / a->kv_heads, c->kv % a->kv_heads, &k_row);
    const float *values = side(s, c->t, 1, c->kv / a->kv_heads, c->kv % a->kv_heads, &v_row);
    float *out = c->out + r * a->out.of_row;
    for (int64_t key = 0; key < a->keys; key += s->block_k) {
        int64_t n = GOPT_MIN(s->block_k, a->keys - key);
        for (int64_t j = 0; j < n; j++)
            c->score[j] = a->scale * s->simd->dot(a->d, q, keys + (key + j) * k_row);
        weigh(c, r, key, n, key > 0, c->score);
        float *part = key ? c->weight : out;
        s->simd->gemv(a->dv, n, c->score, 1, values + key * v_row, v_row, part);
        if (key)
            s->simd->add(out, out, part, a->dv);
    }
}

static void run_block(const spec *s, const gopt_task *t, int64_t i)
{
    const gopt_attention *a = &s->a;
    block c = {.s = s, .t = t, .b = i / s->blocks / a->heads, .h = i / s->blocks % a->heads};
    float *room = (float *)t->workspace + s->scratch_at + t->part * s->scratch;
    int64_t at = 0;
    c.kv = c.b * a->kv_heads + c.h / (a->heads / a->kv_heads);
    c.first = i % s->blocks * s->block_q;
    c.rows = GOPT_MIN(s->block_q, a->queries - c.first);
    c.q = room + reserve(&at, s->q_size);
    c.score = room + reserve(&at, s->score_size);
    c.weight = room + reserve(&at, s->weight_size);
    c.most = room + at;
    c.sum = c.most + c.rows;
    c.out = (float *)t->out[0] + gopt_heads_at(&a->out, c.b, c.h, c.first);
    begin_rows(&c);
    for (int64_t r = 0; r < c.rows && !s->pack; r++)
        run_row(&c, r);
    if (s->pack)
        run_tiles(&c);
    end_rows(&c);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    if (t->phase == 0 && (s->pack || s->join)) {
        run_sides(s, t);
        return;
    }
    gopt_share(s->a.batch * s->a.heads * s->blocks, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        run_block(s, t, lo);
}

const gopt_kernel gopt_kernel_attention_f32 = {
    .name = "attention_f32",
    .doc = "attention in one pass over keys and values: products, masks, softmax, products",
    .revision = 2,
    .knobs = knobs,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
