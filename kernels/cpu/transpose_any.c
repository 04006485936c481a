/* transpose_any: axes in another order, also such as only blocks of pixels make (DepthToSpace and back). */
#include <string.h>

#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    gopt_move move;
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    static const char *const ops[] = {"Transpose", "DepthToSpace", "SpaceToDepth", NULL};
    (void)knob, (void)t;
    return gopt_group_is_any(g, ops) && gopt_producer_fits(g, 0);
}

static void permute(const gopt_group *g, gopt_move *m)
{
    int64_t n, stride[GOPT_RANK_MAX];
    const gopt_operand *in = &g->in[0];
    const int64_t *perm = gopt_attr_ints(g->attrs, "perm", &n);
    gopt_dims_strides(in->dim, in->rank, stride);
    m->rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        int64_t from = n ? perm[i] : in->rank - 1 - i;
        m->dim[i] = in->dim[from];
        m->stride[i] = stride[from];
    }
}

/* Blocks of b x b pixels to or from channels: axes split in two, then in another order. */
static void move_blocks(const gopt_group *g, gopt_move *m)
{
    const int64_t *d = g->in[0].dim, b = gopt_attr_int(g->attrs, "blocksize", 1);
    bool to_space = gopt_group_is(g, "", "DepthToSpace");
    bool channel_first = !strcmp(gopt_attr_string(g->attrs, "mode", "DCR"), "CRD");
    static const int orders[][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}, {0, 3, 5, 1, 2, 4}};
    int64_t c = d[1] / (b * b);
    int64_t dcr[] = {d[0], b, b, c, d[2], d[3]}, crd[] = {d[0], c, b, b, d[2], d[3]};
    int64_t pixels[] = {d[0], d[1], d[2] / b, b, d[3] / b, b}, stride[6];
    const int64_t *split = !to_space ? pixels : channel_first ? crd : dcr;
    const int *order = orders[!to_space ? 2 : channel_first];
    gopt_dims_strides(split, 6, stride);
    m->rank = 6;
    for (int i = 0; i < 6; i++) {
        m->dim[i] = split[order[i]];
        m->stride[i] = stride[order[i]];
    }
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_producer_prepare(&s->producer, g, t);
    s->move = (gopt_move){.bytes = s->producer.bytes, .simd = s->producer.post.simd};
    if (gopt_group_is(g, "", "Transpose"))
        permute(g, &s->move);
    else
        move_blocks(g, &s->move);
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
