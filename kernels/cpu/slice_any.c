/* slice_any: every step-th element from starts on; the bounds may be known at run time only. */
#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    int rank, given; /* of the data; how many axes are given, 0: the first ones */
    int64_t dim[GOPT_RANK_MAX], stride[GOPT_RANK_MAX], out[GOPT_RANK_MAX];
    bool narrow[5]; /* operand k is int32 */
    bool axes, steps;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "Slice") || g->n_anchor < 3 || !gopt_producer_fits(g, 0))
        return false;
    for (int k = 1; k < g->n_anchor; k++)
        if (gopt_group_has(g, k) && g->in[k].dtype != GOPT_DTYPE_I64 && g->in[k].dtype != GOPT_DTYPE_I32)
            return false;
    return gopt_group_has(g, 1);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_producer_prepare(&s->producer, g, t);
    s->rank = g->in[0].rank;
    s->given = (int)gopt_operand_count(&g->in[1]);
    s->axes = gopt_group_has(g, 3);
    s->steps = gopt_group_has(g, 4);
    gopt_dims_strides(g->in[0].dim, s->rank, s->stride);
    for (int i = 0; i < s->rank; i++) {
        s->dim[i] = g->in[0].dim[i];
        s->out[i] = g->out[0].dim[i];
    }
    for (int k = 1; k < g->n_anchor; k++)
        s->narrow[k] = g->in[k].dtype == GOPT_DTYPE_I32;
}

static int64_t value(const spec *s, const gopt_task *t, int k, int i)
{
    return s->narrow[k] ? ((const int32_t *)t->in[k])[i] : ((const int64_t *)t->in[k])[i];
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const spec *s = t->spec;
    gopt_move m = {.bytes = s->producer.bytes, .simd = s->producer.post.simd, .rank = s->rank};
    for (int i = 0; i < s->rank; i++) {
        m.dim[i] = s->out[i];
        m.stride[i] = s->stride[i];
    }
    for (int i = 0; i < s->given; i++) {
        int64_t axis = s->axes ? value(s, t, 3, i) : i, step = s->steps ? value(s, t, 4, i) : 1;
        axis += axis < 0 ? s->rank : 0;
        int64_t n = s->dim[axis], start = value(s, t, 1, i);
        start += start < 0 ? n : 0;
        start = GOPT_MIN(GOPT_MAX(start, 0), step < 0 ? n - 1 : n);
        m.at += start * s->stride[axis];
        m.stride[axis] = s->stride[axis] * step;
    }
    gopt_move_merge(&m);
    gopt_move_run(&m, t->in[0], dst, lo, hi);
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_slice_any = {
    .name = "slice_any",
    .doc = "every step-th element of a range",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
