/* gather_any: slices of a tensor picked by indices along an axis (Gather). Indices outside the axis, which the
 * reference refuses, pick its nearest end: nothing outside the tensor is read. */
#include <string.h>

#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    int64_t axis, picks, slice; /* size of the axis; indices; elements of a slice */
    bool narrow;                /* indices are int32 */
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "Gather") || !gopt_group_has(g, 1) || !gopt_producer_fits(g, 0) || g->in[0].rank < 1)
        return false;
    return g->in[1].dtype == GOPT_DTYPE_I64 || g->in[1].dtype == GOPT_DTYPE_I32;
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    int axis = 0;
    gopt_producer_prepare(&s->producer, g, t);
    gopt_axis(gopt_attr_int(g->attrs, "axis", 0), g->in[0].rank, &axis, NULL);
    s->axis = g->in[0].dim[axis];
    s->picks = gopt_operand_count(&g->in[1]);
    s->slice = 1;
    for (int i = axis + 1; i < g->in[0].rank; i++)
        s->slice *= g->in[0].dim[i];
    s->narrow = g->in[1].dtype == GOPT_DTYPE_I32;
}

static int64_t pick(const spec *s, const gopt_task *t, int64_t i)
{
    int64_t k = s->narrow ? ((const int32_t *)t->in[1])[i] : ((const int64_t *)t->in[1])[i];
    k += k < 0 ? s->axis : 0;
    return k < 0 ? 0 : GOPT_MIN(k, s->axis - 1);
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const spec *s = t->spec;
    const unsigned char *src = t->in[0];
    unsigned char *d = dst;
    int bytes = s->producer.bytes;
    while (lo < hi) {
        int64_t row = lo / s->slice, at = lo % s->slice, n = GOPT_MIN(s->slice - at, hi - lo);
        int64_t from = ((row / s->picks * s->axis) + pick(s, t, row % s->picks)) * s->slice + at;
        if (n * bytes == 4)
            memcpy(d, src + from * bytes, 4);
        else
            memcpy(d, src + from * bytes, (size_t)(n * bytes));
        d += n * bytes;
        lo += n;
    }
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_gather_any = {
    .name = "gather_any",
    .doc = "slices picked by indices",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
