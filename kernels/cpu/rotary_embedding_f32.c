/* rotary_embedding_f32: pairs of elements of every head are turned by the angle of their position (RotaryEmbedding).
 * Positions outside the caches, which the reference refuses, read their nearest end. */
#include "cpu/group.h"

enum { X, COS, SIN, POSITIONS };

typedef struct spec {
    int64_t batch, heads, length, size, half; /* half: pairs of a head that are turned */
    int64_t of_batch, of_head, of_row;        /* elements from one to the next */
    int64_t rows;                             /* of the caches */
    bool positions, narrow, interleaved;      /* narrow: positions are int32 */
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "RotaryEmbedding") || g->post || g->n_out != 1)
        return false;
    for (int k = X; k <= SIN; k++)
        if (!gopt_group_has(g, k) || g->in[k].dtype != GOPT_DTYPE_F32)
            return false;
    bool positions = gopt_group_has(g, POSITIONS);
    return g->in[COS].rank == (positions ? 2 : 3) && gopt_operand_count(&g->in[COS]) > 0 &&
           gopt_operand_count(&g->in[COS]) == gopt_operand_count(&g->in[SIN]) &&
           (!positions || g->in[POSITIONS].dtype == GOPT_DTYPE_I64 || g->in[POSITIONS].dtype == GOPT_DTYPE_I32);
}

static double flops(const gopt_group *g)
{
    return 6 * (double)gopt_operand_count(&g->out[0]);
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

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    const gopt_operand *x = &g->in[X], *cache = &g->in[COS];
    bool split = x->rank == 4;
    (void)knob, (void)t;
    s->batch = x->dim[0];
    s->heads = split ? x->dim[1] : gopt_attr_int(g->attrs, "num_heads", 1);
    s->length = x->dim[x->rank - 2];
    s->size = split ? x->dim[3] : x->dim[2] / s->heads;
    s->half = cache->dim[cache->rank - 1];
    s->of_batch = s->heads * s->length * s->size;
    s->of_head = split ? s->length * s->size : s->size;
    s->of_row = split ? s->size : s->heads * s->size;
    s->rows = gopt_operand_count(cache) / s->half;
    s->positions = gopt_group_has(g, POSITIONS);
    s->narrow = s->positions && g->in[POSITIONS].dtype == GOPT_DTYPE_I32;
    s->interleaved = gopt_attr_int(g->attrs, "interleaved", 0) != 0;
}

/* The row of the caches for row `at` of the batch. */
static int64_t row_of(const spec *s, const gopt_task *t, int64_t at)
{
    if (!s->positions)
        return at;
    int64_t k = s->narrow ? ((const int32_t *)t->in[POSITIONS])[at] : ((const int64_t *)t->in[POSITIONS])[at];
    return k < 0 ? 0 : GOPT_MIN(k, s->rows - 1);
}

static void turn(const spec *s, const float *x, const float *cosine, const float *sine, float *restrict y)
{
    int64_t step = s->interleaved ? 2 : 1, apart = s->interleaved ? 1 : s->half;
    for (int64_t i = 0; i < s->half; i++) {
        float a = x[i * step], b = x[i * step + apart];
        y[i * step] = cosine[i] * a - sine[i] * b;
        y[i * step + apart] = sine[i] * a + cosine[i] * b;
    }
    for (int64_t i = 2 * s->half; i < s->size; i++)
        y[i] = x[i];
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->batch * s->length, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++) {
        int64_t row = row_of(s, t, lo), at = lo / s->length * s->of_batch + lo % s->length * s->of_row;
        const float *cosine = (const float *)t->in[COS] + row * s->half;
        const float *sine = (const float *)t->in[SIN] + row * s->half;
        for (int64_t h = 0; h < s->heads; h++, at += s->of_head)
            turn(s, (const float *)t->in[X] + at, cosine, sine, (float *)t->out[0] + at);
    }
}

const gopt_kernel gopt_kernel_rotary_embedding_f32 = {
    .name = "rotary_embedding_f32",
    .doc = "pairs of elements turned by the angle of their position",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
