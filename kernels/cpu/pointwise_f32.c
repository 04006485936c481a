/* pointwise_f32: chains of float operations and single ones, in one pass over memory. */
#include "cpu/group.h"
#include "cpu/post.h"

enum { GRAIN = 1024 }; /* elements that parts share in: whole tiles and cache lines */

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    bool ok = g->n_out == 1 && !gopt_group_expr(g, &x, NULL) && gopt_post_fits(g, &x);
    gopt_arena_fini(&a);
    return ok;
}

static double flops(const gopt_group *g)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    double per_element = gopt_group_expr(g, &x, NULL) ? 1 : gopt_expr_cost(&x);
    gopt_arena_fini(&a);
    return per_element * (double)gopt_operand_count(&g->out[0]) * 4; /* these reach a quarter of the peak of products */
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return (gopt_work){.parts = gopt_parts(t, flops(g), gopt_group_bytes(g)), .phases = 1};
}

typedef struct spec {
    gopt_post post;
    int64_t count;
} spec;

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    s->count = gopt_operand_count(&g->out[0]);
    if (!gopt_group_expr(g, &x, NULL))
        gopt_post_prepare(&s->post, g, &x, gopt_simd_for(t->isa));
    gopt_arena_fini(&a);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->count, GRAIN, t->part, t->parts, &lo, &hi);
    gopt_post_run(&s->post, t->in, NULL, (float *)t->out[0] + lo, lo, hi - lo);
}

const gopt_kernel gopt_kernel_pointwise_f32 = {
    .name = "pointwise_f32",
    .doc = "element by element, several operations in one pass",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
