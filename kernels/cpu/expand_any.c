/* expand_any: a tensor repeated along its axes of 1 (Expand), or whole (Tile). */
#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    gopt_move move;
} spec;

/* The source's walk: an axis of n repeated is two, r steps of nothing and then n. False: too many axes. */
static bool walk(gopt_move *m, const gopt_operand *in, const gopt_operand *out)
{
    int64_t stride[GOPT_RANK_MAX];
    gopt_dims_strides(in->dim, in->rank, stride);
    for (int i = 0; i < out->rank; i++) {
        int own = i - (out->rank - in->rank);
        int64_t n = own < 0 ? 1 : in->dim[own];
        bool repeats = n != out->dim[i];
        if (m->rank + (repeats && n != 1) >= GOPT_RANK_MAX)
            return false;
        if (repeats)
            m->dim[m->rank++] = n ? out->dim[i] / n : 0;
        if (n == 1 && repeats)
            continue;
        m->stride[m->rank] = own < 0 ? 0 : stride[own];
        m->dim[m->rank++] = n;
    }
    return true;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const char *const ops[] = {"Expand", "Tile", NULL};
    gopt_move m = {0};
    (void)knob, (void)t;
    return gopt_group_is_any(g, ops) && gopt_producer_fits(g, 0) && g->in[0].rank <= g->out[0].rank &&
           walk(&m, &g->in[0], &g->out[0]);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_producer_prepare(&s->producer, g, t);
    s->move.bytes = s->producer.bytes;
    s->move.simd = s->producer.post.simd;
    walk(&s->move, &g->in[0], &g->out[0]);
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

const gopt_kernel gopt_kernel_expand_any = {
    .name = "expand_any",
    .doc = "a tensor repeated",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
