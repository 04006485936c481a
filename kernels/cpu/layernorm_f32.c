/* layernorm_f32: rows brought to mean 0 and variance 1, or to mean square 1, scaled and shifted; with the sum before it
 * where the operator has one (Skip forms, embeddings). Ids outside their table, which the reference refuses, read its
 * nearest end. */
#include <math.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"

typedef struct form {
    const char *domain, *op;
    bool rms;
    int skip, gamma, beta, bias; /* operands; -1: none */
    int inverse;                 /* output that wants 1 / deviation; mean is output 1 unless this is */
    int sum;                     /* output that wants what is normalized; -1 */
} form;

/* Operands and outputs of EmbedLayerNormalization. */
enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITION_IDS, MASK_INDEX = 1, EMBEDDINGS = 3 };

static const form forms[] = {
    {"", "LayerNormalization", false, -1, 1, 2, -1, 2, -1},
    {"", "RMSNormalization", true, -1, 1, -1, -1, -1, -1},
    {"", "SimplifiedLayerNormalization", true, -1, 1, -1, -1, 1, -1},
    {"com.microsoft", "SkipLayerNormalization", false, 1, 2, 3, 4, 2, 3},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", true, 1, 2, -1, 3, 2, 3},
    {"com.microsoft", "EmbedLayerNormalization", false, -1, GAMMA, BETA, -1, -1, 2},
};

/* One of the tables whose rows are added up; ids -1: rows in order, over and over. */
typedef struct table {
    int ids, rows_of;
    int64_t picks, rows; /* how many ids there are; rows of the table */
    bool narrow;         /* ids are int32 */
} table;

typedef struct spec {
    const gopt_simd *simd;
    form form;
    int64_t rows, n, skips; /* skips: rows that operand skip has */
    float epsilon;
    int mean, inverse, sum; /* outputs that are wanted; -1 */
    int tables;
    table table[EMBEDDINGS];
    int64_t batch, length; /* of the mask whose ones are counted; batch 0: not wanted */
    bool masked, narrow;   /* there is a mask; it is int32 */
    gopt_post post;
} spec;

static const form *find(const gopt_group *g)
{
    for (int i = 0; i < GOPT_COUNT(forms); i++)
        if (gopt_group_is(g, forms[i].domain, forms[i].op))
            return &forms[i];
    return NULL;
}

static int axis_of(const gopt_group *g, const form *f)
{
    int axis = 0;
    bool own = f->sum < 0; /* those with a sum take the last axis */
    bool ok = !gopt_axis(own ? gopt_attr_int(g->attrs, "axis", -1) : -1, g->out[0].rank, &axis, NULL);
    return ok ? axis : -1;
}

/* Operand k, when it is there, is one row of scales. */
static bool is_row(const gopt_group *g, int k, int axis)
{
    if (k < 0 || !gopt_group_has(g, k))
        return true;
    const gopt_operand *o = &g->in[k], *x = &g->out[0];
    for (int i = o->rank - 1, d = x->rank - 1; i >= 0; i--, d--)
        if (o->dim[i] != (d >= axis ? x->dim[d] : 1))
            return false;
    return o->rank >= x->rank - axis;
}

static bool wanted(const gopt_group *g, int k)
{
    return k > 0 && k < g->n_out && g->out[k].dtype != GOPT_DTYPE_NONE;
}

static bool embeds(const form *f)
{
    return f->gamma == GAMMA;
}

/* Ids, which operand 0 of EmbedLayerNormalization is, too. */
static bool is_index(const form *f, int k)
{
    return embeds(f) && (k < WORD || k > BETA);
}

static bool tables_fit(const gopt_group *g)
{
    bool segments = gopt_group_has(g, SEGMENTS);
    if (!gopt_group_has(g, WORD) || !gopt_group_has(g, POSITION) || !gopt_group_has(g, BETA) ||
        (segments && !gopt_group_has(g, SEGMENT)))
        return false;
    for (int k = WORD; k <= SEGMENT; k++)
        if (gopt_group_has(g, k) && g->in[k].dim[0] == 0)
            return false;
    return true;
}

static bool operands_fit(const gopt_group *g, const form *f)
{
    for (int k = 0; k < g->n_anchor; k++) {
        bool index = gopt_group_in_is(g, k, GOPT_DTYPE_I32) || gopt_group_in_is(g, k, GOPT_DTYPE_I64);
        if (is_index(f, k) ? !index : !gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    }
    return !embeds(f) || tables_fit(g);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    const form *f = g->op ? find(g) : NULL;
    (void)knob, (void)t;
    if (!f || !gopt_group_has(g, f->gamma) || g->out[0].rank < 1 || g->out[0].dtype != GOPT_DTYPE_F32 ||
        axis_of(g, f) < 0 || !gopt_post_fits(g, g->post) || !operands_fit(g, f))
        return false;
    for (int k = 1; k < g->n_out; k++)
        if (wanted(g, k) && !(embeds(f) && k == MASK_INDEX) && g->out[k].dtype != GOPT_DTYPE_F32)
            return false;
    int axis = axis_of(g, f);
    int64_t skips = f->skip < 0 ? 1 : gopt_operand_count(&g->in[f->skip]), count = gopt_operand_count(&g->out[0]);
    return is_row(g, f->gamma, axis) && is_row(g, f->beta, axis) && is_row(g, f->bias, axis) &&
           (f->skip < 0 || (skips > 0 && count % skips == 0)) && (f->skip < 0 || gopt_group_has(g, f->skip));
}

static double flops(const gopt_group *g)
{
    return (16 + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)), .phases = 1};
}

static void prepare_table(spec *s, const gopt_group *g, int ids, int rows_of)
{
    bool given = gopt_group_has(g, ids);
    s->table[s->tables++] = (table){.ids = given ? ids : -1,
                                    .rows_of = rows_of,
                                    .picks = given ? gopt_operand_count(&g->in[ids]) : g->out[0].dim[1],
                                    .rows = g->in[rows_of].dim[0],
                                    .narrow = given && g->in[ids].dtype == GOPT_DTYPE_I32};
}

static void prepare_tables(spec *s, const gopt_group *g)
{
    prepare_table(s, g, IDS, WORD);
    prepare_table(s, g, POSITION_IDS, POSITION);
    if (gopt_group_has(g, SEGMENTS))
        prepare_table(s, g, SEGMENTS, SEGMENT);
    s->batch = wanted(g, MASK_INDEX) ? g->in[IDS].dim[0] : 0;
    s->length = g->in[IDS].dim[1];
    s->masked = gopt_group_has(g, MASK);
    s->narrow = s->masked && g->in[MASK].dtype == GOPT_DTYPE_I32;
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob;
    s->simd = gopt_simd_for(t->isa);
    s->form = *find(g);
    s->rows = s->n = 1;
    for (int d = 0, axis = axis_of(g, &s->form); d < g->out[0].rank; d++)
        *(d < axis ? &s->rows : &s->n) *= g->out[0].dim[d];
    for (int *k = (int[]){s->form.beta, s->form.bias, -2}; *k != -2; k++)
        if (*k >= 0 && !gopt_group_has(g, *k))
            *(*k == s->form.beta ? &s->form.beta : &s->form.bias) = -1;
    s->skips = s->form.skip < 0 || s->n == 0 ? 1 : gopt_operand_count(&g->in[s->form.skip]) / s->n;
    s->epsilon = (float)gopt_attr_float(g->attrs, "epsilon", s->form.sum < 0 ? 1e-5f : 1e-12f);
    s->inverse = wanted(g, s->form.inverse) ? s->form.inverse : -1;
    s->mean = s->form.inverse != 1 && !embeds(&s->form) && wanted(g, 1) ? 1 : -1;
    s->sum = wanted(g, s->form.sum) ? s->form.sum : -1;
    if (embeds(&s->form))
        prepare_tables(s, g);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* What table k adds to row r. */
static const float *embedding(const spec *s, const gopt_task *t, int k, int64_t r)
{
    const table *e = &s->table[k];
    int64_t at = r % e->picks;
    if (e->ids >= 0)
        at = e->narrow ? ((const int32_t *)t->in[e->ids])[at] : ((const int64_t *)t->in[e->ids])[at];
    at += at < 0 ? e->rows : 0;
    return (const float *)t->in[e->rows_of] + (at < 0 ? 0 : GOPT_MIN(at, e->rows - 1)) * s->n;
}

/* The row to normalize: the input's own, or the sum. */
static const float *sum_row(const spec *s, const gopt_task *t, int64_t r, float *out)
{
    float *sum = s->sum < 0 ? out : (float *)t->out[s->sum] + r * s->n;
    if (s->tables) {
        s->simd->add(sum, embedding(s, t, 0, r), embedding(s, t, 1, r), s->n);
        if (s->tables == EMBEDDINGS)
            s->simd->add(sum, sum, embedding(s, t, 2, r), s->n);
        return sum;
    }
    const float *x = (const float *)t->in[0] + r * s->n;
    if (s->form.skip < 0)
        return x;
    s->simd->add(sum, x, (const float *)t->in[s->form.skip] + r % s->skips * s->n, s->n);
    if (s->form.bias >= 0)
        s->simd->add(sum, sum, t->in[s->form.bias], s->n);
    return sum;
}

/* Differences are taken to a mean that is rounded already, `origin`, and what it lacks is added to them: so a mean far
 * larger than the deviation costs no accuracy. */
static void run_row(const spec *s, const gopt_task *t, int64_t r)
{
    float *out = (float *)t->out[0] + r * s->n, n = (float)s->n, origin = 0, rest = 0, square;
    const float *x = sum_row(s, t, r, out);
    if (s->form.rms) {
        square = s->simd->reduce_row(GOPT_REDUCE_SQUARE, x, s->n, 0);
    } else {
        origin = s->simd->reduce_row(GOPT_REDUCE_SUM, x, s->n, 0) / n;
        rest = s->simd->moments(x, s->n, origin, &square) / n;
        square -= rest * rest * n;
    }
    float inverse = 1 / sqrtf(square / n + s->epsilon);
    s->simd->scale_row(out, x, s->n, origin, inverse, -rest * inverse, t->in[s->form.gamma],
                       s->form.beta < 0 ? NULL : t->in[s->form.beta]);
    if (s->mean >= 0)
        ((float *)t->out[s->mean])[r] = origin + rest;
    if (s->inverse >= 0)
        ((float *)t->out[s->inverse])[r] = inverse;
    gopt_post_run(&s->post, t->in, out, out, r * s->n, s->n);
}

/* Ones in the mask of every sequence; 0 without a mask. */
static void count_ones(const spec *s, const gopt_task *t)
{
    for (int64_t b = 0; b < s->batch; b++) {
        int32_t ones = 0;
        for (int64_t i = b * s->length; s->masked && i < (b + 1) * s->length; i++)
            ones += (s->narrow ? ((const int32_t *)t->in[MASK])[i] : ((const int64_t *)t->in[MASK])[i]) == 1;
        ((int32_t *)t->out[MASK_INDEX])[b] = ones;
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    if (t->part == 0)
        count_ones(s, t);
    gopt_share(s->rows, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        run_row(s, t, lo);
}

const gopt_kernel gopt_kernel_layernorm_f32 = {
    .name = "layernorm_f32",
    .doc = "layer and root-mean-square normalization, after an addition where the operator has one",
    .revision = 2,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
