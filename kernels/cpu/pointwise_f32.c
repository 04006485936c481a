/* pointwise_f32: chains of float operations and single ones, in one pass over memory. float16, bfloat16 and small
 * integers are widened as they are read and rounded as they are written. */
#include "cpu/group.h"
#include "cpu/post.h"

enum { GRAIN = 1024 }; /* elements that parts share in: whole tiles and cache lines */

/* The group as if it wrote float32: what tiles compute. *out has room for its output. */
static gopt_group as_float(const gopt_group *g, gopt_operand *out)
{
    gopt_group wide = *g;
    *out = g->out[0];
    out->dtype = gopt_dtype_is_half(out->dtype) ? GOPT_DTYPE_F32 : out->dtype;
    wide.out = out;
    return wide;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob, (void)t;
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    gopt_operand out;
    bool ok = g->n_out == 1 && !gopt_group_expr(g, &x, NULL);
    if (ok) {
        gopt_group wide = as_float(g, &out);
        ok = gopt_post_fits_any(&wide, &x);
    }
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
    const gopt_simd *simd;
    gopt_dtype out;
    int64_t count;
} spec;

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob;
    spec *s = memory;
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    gopt_operand out;
    gopt_group wide = as_float(g, &out);
    s->count = gopt_operand_count(&out);
    s->out = g->out[0].dtype;
    s->simd = gopt_simd_for(t->isa);
    if (!gopt_group_expr(g, &x, NULL))
        gopt_post_prepare(&s->post, &wide, &x, s->simd);
    gopt_arena_fini(&a);
}

/* Through a buffer that stays in the cache. */
static void run_half(const spec *s, const gopt_task *t, int64_t lo, int64_t hi)
{
    _Alignas(64) float buffer[4 * GRAIN];
    for (; lo < hi; lo += GOPT_COUNT(buffer)) {
        int64_t n = GOPT_MIN(GOPT_COUNT(buffer), hi - lo);
        gopt_post_run(&s->post, t->in, NULL, buffer, lo, n);
        s->simd->half_narrow((uint16_t *)t->out[0] + lo, buffer, n, s->out == GOPT_DTYPE_BF16);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->count, GRAIN, t->part, t->parts, &lo, &hi);
    if (gopt_dtype_is_half(s->out))
        run_half(s, t, lo, hi);
    else
        gopt_post_run(&s->post, t->in, NULL, (char *)t->out[0] + lo * gopt_dtype_bits(s->out) / 8, lo, hi - lo);
}

const gopt_kernel gopt_kernel_pointwise_f32 = {
    .name = "pointwise_f32",
    .doc = "element by element, several operations in one pass",
    .revision = 4,
    .in_place = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
