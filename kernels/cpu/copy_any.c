/* copy_any: operators whose output is their input's elements in the same order (Reshape and its like). */
#include <string.h>

#include "cpu/move.h"

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    return g->op && (g->op->traits & GOPT_TRAIT_VIEW) && gopt_group_has(g, 0) && gopt_producer_fits(g, 0) &&
           gopt_operand_count(&g->in[0]) == gopt_operand_count(&g->out[0]);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *spec)
{
    (void)knob;
    gopt_producer_prepare(spec, g, t);
}

static void produce(const gopt_task *t, void *dst, int64_t lo, int64_t hi)
{
    const gopt_producer *p = t->spec;
    const unsigned char *src = (const unsigned char *)t->in[0] + lo * p->bytes;
    memcpy(dst, src, (size_t)((hi - lo) * p->bytes));
}

static void run(const gopt_task *t)
{
    gopt_producer_run(t->spec, t, produce);
}

const gopt_kernel gopt_kernel_copy_any = {
    .name = "copy_any",
    .doc = "the same elements under another shape",
    .revision = 1,
    .fits = fits,
    .cost = gopt_producer_cost,
    .work = gopt_producer_work,
    .spec_bytes = sizeof(gopt_producer),
    .prepare = prepare,
    .run = run,
};
