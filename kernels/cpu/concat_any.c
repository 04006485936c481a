/* concat_any: tensors one after another along an axis. */
#include <string.h>

#include "cpu/move.h"

enum { MAX_IN = 64 };

typedef struct spec {
    gopt_producer producer;
    int n_in;
    int64_t row;               /* elements from one output row to the next: one row of every input */
    int64_t begin[MAX_IN + 1]; /* where in it the input's row begins */
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "Concat") || g->n_anchor < 1 || g->n_anchor > MAX_IN || !gopt_producer_fits(g, 0))
        return false;
    for (int k = 0; k < g->n_anchor; k++)
        if (g->in[k].dtype != g->in[0].dtype)
            return false;
    return true;
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    int axis = 0;
    gopt_producer_prepare(&s->producer, g, t);
    gopt_axis(gopt_attr_int(g->attrs, "axis", 0), g->out[0].rank, &axis, NULL);
    s->n_in = g->n_anchor;
    for (int k = 0; k < s->n_in; k++) {
        int64_t row = 1;
        for (int i = axis; i < g->in[k].rank; i++)
            row *= g->in[k].dim[i];
        s->begin[k + 1] = s->begin[k] + row;
    }
    s->row = s->begin[s->n_in];
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const spec *s = t->spec;
    int64_t row = lo / s->row, at = lo % s->row, bytes = s->producer.bytes;
    unsigned char *d = dst;
    while (lo < hi) {
        int k = 0;
        while (at >= s->begin[k + 1])
            k++;
        for (; k < s->n_in && lo < hi; k++) {
            int64_t width = s->begin[k + 1] - s->begin[k], col = at - s->begin[k], n = GOPT_MIN(width - col, hi - lo);
            const unsigned char *src = (const unsigned char *)t->in[k] + (row * width + col) * bytes;
            if (n > 0)
                memcpy(d, src, (size_t)(n * bytes));
            d += n * bytes;
            lo += n;
            at += n;
        }
        row++;
        at = 0;
    }
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_concat_any = {
    .name = "concat_any",
    .doc = "tensors one after another",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
