/* attention_f32: scaled dot-product attention, a block of queries of one head against blocks of keys: products, online
 * softmax (Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022), products. A row's largest score and sum are
 * carried from block to block; what was summed before is rescaled, and divided by the sum at the end. */
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
    bool join;                                        /* past and present are brought together, in phase 0 */
    int64_t block_q, blocks;                          /* blocks of queries of a head */
    int64_t block_k;                                  /* a multiple of the width of a panel */
    int64_t k_size, v_size;                           /* floats of a head's panels */
    int64_t joined[2];                                /* where in the workspace keys and values are brought together */
    int64_t k_at, v_at, scratch_at;                   /* in the workspace, in floats */
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
    *at += gopt_ceil_div(floats, 16) * 16;
    return first;
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

/* Keys that query i may see: [*lo, *hi). */
static void seen(const gopt_attention *a, int64_t i, int64_t *lo, int64_t *hi)
{
    int64_t at = a->past + i;
    *lo = a->left < 0 ? 0 : GOPT_MAX(0, at - a->left);
    *hi = a->right < 0 ? a->mask_keys : GOPT_MIN(a->mask_keys, at + a->right + 1);
}

static const void *mask_at(const block *c, const gopt_score_mask *m, int64_t i, int64_t key)
{
    int64_t at = c->b * m->stride[0] + c->h * m->stride[1] + i * m->stride[2] + key * m->stride[3];
    return (const char *)c->t->in[m->operand] + (m->is_bool ? at : at * (int64_t)sizeof(float));
}

static void replace(float *row, const bool *keep, int64_t step, int64_t n, float by)
{
    for (int64_t j = 0; j < n; j++)
        row[j] = keep[j * step] ? row[j] : by;
}

/* Scores of query i and keys [key, key + n), from products: cap, masks, windows. */
static void finish_scores(const block *c, int64_t i, int64_t key, int64_t n, float *row)
{
    const gopt_attention *a = &c->s->a;
    const gopt_simd *simd = c->s->simd;
    int64_t lo, hi;
    for (int64_t j = 0; j < n && a->softcap > 0; j++)
        row[j] = tanhf(row[j] / a->softcap) * a->softcap;
    if (a->keep.operand >= 0)
        replace(row, mask_at(c, &a->keep, i, key), a->keep.stride[3], n, a->fill);
    int64_t with = GOPT_MIN(n, GOPT_MAX(0, a->mask_keys - key));
    if (a->mask.operand >= 0 && with > 0) {
        const void *m = mask_at(c, &a->mask, i, key);
        if (a->mask.is_bool)
            replace(row, m, a->mask.stride[3], with, -INFINITY);
        else if (a->mask.stride[3])
            simd->add(row, row, m, with);
        else
            simd->affine(row, row, with, 0, 1, *(const float *)m);
    }
    seen(a, i, &lo, &hi);
    if (lo > key)
        simd->fill(row, -INFINITY, GOPT_MIN(n, lo - key));
    if (hi < key + n)
        simd->fill(row + GOPT_MAX(0, hi - key), -INFINITY, n - GOPT_MAX(0, hi - key));
}

/* Scores to weights, before their division by the sum; what the query's row held so far is rescaled. */
static void weigh(const block *c, int64_t r, int64_t n, bool begun, float *row)
{
    const gopt_simd *simd = c->s->simd;
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
}

static void begin_rows(const block *c)
{
    for (int64_t r = 0; r < c->rows; r++) {
        c->most[r] = -INFINITY;
        c->sum[r] = 0;
    }
}

static void end_rows(const block *c)
{
    const gopt_attention *a = &c->s->a;
    for (int64_t r = 0; r < c->rows; r++) {
        float *row = c->out + r * a->out.of_row;
        if (a->keys == 0 || (c->sum[r] == 0 && !a->like_softmax))
            c->s->simd->fill(row, 0, a->dv);
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

static void run_tiles(const block *c)
{
    const spec *s = c->s;
    const gopt_attention *a = &s->a;
    int64_t lo, hi, unused;
    seen(a, c->first, &lo, &unused);
    seen(a, c->first + c->rows - 1, &unused, &hi);
    s->simd->pack(
        &(gopt_packing){.src = (const float *)c->t->in[GOPT_ATTENTION_Q] + gopt_heads_at(&a->q, c->b, c->h, c->first),
                        .n = c->rows,
                        .k = a->d,
                        .step = a->q.of_row,
                        .depth = 1,
                        .unit = s->simd->mr,
                        .scale = a->scale,
                        .dst = c->q,
                        .last = gopt_ceil_div(c->rows, s->simd->mr)});
    bool begun = false;
    for (int64_t key = lo / s->block_k * s->block_k; key < hi; key += s->block_k, begun = true) {
        int64_t n = GOPT_MIN(s->block_k, GOPT_MIN(a->keys, hi) - key);
        multiply_keys(c, key, n);
        for (int64_t r = 0; r < c->rows; r++) {
            finish_scores(c, c->first + r, key, n, c->score + r * s->block_k);
            weigh(c, r, n, begun, c->score + r * s->block_k);
        }
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
        finish_scores(c, c->first + r, key, n, c->score);
        weigh(c, r, n, key > 0, c->score);
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
    .revision = 1,
    .knobs = knobs,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
