/* transpose_any: axes in another order. */
#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    gopt_move move;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    return gopt_group_is(g, "", "Transpose") && gopt_producer_fits(g, 0);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    int64_t n, stride[GOPT_RANK_MAX];
    const gopt_operand *in = &g->in[0];
    const int64_t *perm = gopt_attr_ints(g->attrs, "perm", &n);
    gopt_producer_prepare(&s->producer, g, t);
    gopt_dims_strides(in->dim, in->rank, stride);
    s->move = (gopt_move){.bytes = s->producer.bytes, .simd = s->producer.post.simd, .rank = in->rank};
    for (int i = 0; i < in->rank; i++) {
        int64_t from = n ? perm[i] : in->rank - 1 - i;
        s->move.dim[i] = in->dim[from];
        s->move.stride[i] = stride[from];
    }
    gopt_move_merge(&s->move);
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const spec *s = t->spec;
    gopt_move_run(&s->move, t->in[0], dst, lo, hi);
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_transpose_any = {
    .name = "transpose_any",
    .doc = "axes in another order, by squares that fit the cache",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
