/* split_any: pieces of a tensor along an axis, each an output. */
#include <string.h>

#include "cpu/move.h"

enum { MAX_OUT = 64 };

typedef struct spec {
    int n_out;
    int64_t rows, row, width[MAX_OUT]; /* bytes: of an input row, of its piece for an output */
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    for (int k = 0; k < g->n_out; k++)
        if (g->out[k].dtype == GOPT_DTYPE_NONE)
            return false;
    return gopt_group_is(g, "", "Split") && g->n_out <= MAX_OUT && !g->post && gopt_element_bytes(g->in[0].dtype) > 0;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return (gopt_work){.parts = gopt_parts(t, 0, gopt_group_bytes(g)), .phases = 1};
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, 0, gopt_group_bytes(g));
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob, (void)t;
    spec *s = memory;
    int axis = 0;
    gopt_axis(gopt_attr_int(g->attrs, "axis", 0), g->in[0].rank, &axis, NULL);
    s->n_out = g->n_out;
    s->rows = 1;
    for (int i = 0; i < axis; i++)
        s->rows *= g->in[0].dim[i];
    for (int k = 0; k < g->n_out; k++) {
        s->width[k] = gopt_element_bytes(g->in[0].dtype);
        for (int i = axis; i < g->out[k].rank; i++)
            s->width[k] *= g->out[k].dim[i];
        s->row += s->width[k];
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const unsigned char *src = t->in[0];
    int64_t lo, hi;
    for (int k = 0; k < s->n_out; src += s->width[k++]) {
        /* One row is shared by bytes, many by rows. */
        bool single = s->rows == 1;
        gopt_share(single ? s->width[k] : s->rows, single ? 4096 : 1, t->part, t->parts, &lo, &hi);
        unsigned char *dst = t->out[k];
        if (single)
            memcpy(dst + lo, src + lo, (size_t)(hi - lo));
        for (; !single && lo < hi; lo++)
            memcpy(dst + lo * s->width[k], src + lo * s->row, (size_t)s->width[k]);
    }
}

const gopt_kernel gopt_kernel_split_any = {
    .name = "split_any",
    .doc = "pieces of a tensor along an axis",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
