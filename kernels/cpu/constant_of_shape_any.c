/* constant_of_shape_any: one value all over (ConstantOfShape). */
#include <string.h>

#include "cpu/move.h"

typedef struct spec {
    gopt_producer producer;
    unsigned char value[16];
} spec;

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    int bytes = gopt_element_bytes(g->out[0].dtype);
    const gopt_attr *value = gopt_attr_find(g->attrs, "value");
    if (!gopt_group_is(g, "", "ConstantOfShape") || g->post || bytes == 0)
        return false;
    return value ? value->tensor && value->tensor->dtype == g->out[0].dtype && gopt_tensor_count(value->tensor) == 1
                 : g->out[0].dtype == GOPT_DTYPE_F32;
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    const gopt_attr *value = gopt_attr_find(g->attrs, "value");
    gopt_producer_prepare(&s->producer, g, t);
    if (value)
        memcpy(s->value, value->tensor->data, (size_t)s->producer.bytes);
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const spec *s = t->spec;
    unsigned char *d = dst;
    for (int64_t i = 0; i < hi - lo; i++)
        memcpy(d + i * s->producer.bytes, s->value, (size_t)s->producer.bytes);
}

static void run(const gopt_task *t)
{
    gopt_producer_run(&((const spec *)t->spec)->producer, t, produce);
}

const gopt_kernel gopt_kernel_constant_of_shape_any = {
    .name = "constant_of_shape_any",
    .doc = "one value all over",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
