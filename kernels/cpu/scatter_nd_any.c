/* scatter_nd_any: ScatterND without reduction: the data copied, then slices written over. Indices outside the data,
 * which the reference refuses, write the nearest slice: nothing outside the tensor is written. */
#include <string.h>

#include "cpu/move.h"

typedef struct spec {
    int64_t bytes, tuples, width, slice; /* of the data; index tuples, their length; bytes of a slice */
    int64_t dim[GOPT_RANK_MAX];
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    if (!gopt_group_is(g, "", "ScatterND") || g->post || g->n_out != 1 || g->n_anchor != 3 ||
        gopt_element_bytes(g->in[0].dtype) == 0 || g->in[1].dtype != GOPT_DTYPE_I64 || g->in[1].rank < 1)
        return false;
    return !strcmp(gopt_attr_string(g->attrs, "reduction", "none"), "none");
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, 0, gopt_group_bytes(g));
}

/* Written by one part: of equal indices the last one counts. */
static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)g, (void)knob, (void)t;
    return (gopt_work){.parts = 1, .phases = 1};
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    (void)knob, (void)t;
    const gopt_operand *data = &g->in[0], *index = &g->in[1];
    s->width = index->dim[index->rank - 1];
    s->tuples = s->width ? gopt_operand_count(index) / s->width : 0;
    s->slice = gopt_element_bytes(data->dtype);
    s->bytes = gopt_operand_count(data) * s->slice;
    for (int i = 0; i < data->rank; i++) {
        s->dim[i] = data->dim[i];
        s->slice *= i < s->width ? 1 : data->dim[i];
    }
    for (int i = 0; i < index->rank - 1 && !s->width; i++)
        s->tuples = (i ? s->tuples : 1) * index->dim[i];
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const int64_t *index = t->in[1];
    const unsigned char *updates = t->in[2];
    memcpy(t->out[0], t->in[0], (size_t)s->bytes);
    for (int64_t i = 0; i < s->tuples && s->bytes > 0; i++, index += s->width) {
        int64_t at = 0;
        for (int64_t d = 0; d < s->width; d++) {
            int64_t k = index[d] + (index[d] < 0 ? s->dim[d] : 0);
            at = at * s->dim[d] + (k < 0 ? 0 : GOPT_MIN(k, s->dim[d] - 1));
        }
        memcpy((unsigned char *)t->out[0] + at * s->slice, updates + i * s->slice, (size_t)s->slice);
    }
}

const gopt_kernel gopt_kernel_scatter_nd_any = {
    .name = "scatter_nd_any",
    .doc = "slices of a tensor replaced",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
