/* pointwise_any: what pointwise_f32 cannot take: integers, bools, other floats, casts between them. Tiles of scalars,
 * each instruction over a whole tile. */
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"

enum { TILE = 128, MAX_OPS = 40 };

typedef struct spec {
    gopt_expr expr; /* in at[]; loads are numbered as the walk's operands */
    gopt_instr at[MAX_OPS];
    gopt_walk walk;
    gopt_dtype in[GOPT_WALK_IN], out;
    int64_t count;
} spec;

/* Loads of the expression become dense numbers; false when there are too many. */
static bool number_loads(spec *s, const gopt_group *g, const bool *live)
{
    int operand[GOPT_WALK_IN], n = 0;
    for (int k = 0; k < s->expr.n; k++) {
        gopt_instr *in = &s->expr.at[k];
        if (!live[k] || in->code != GOPT_EXPR_LOAD)
            continue;
        if (n == GOPT_WALK_IN || gopt_dtype_bits(g->in[in->i].dtype) < 8)
            return false;
        operand[n] = (int)in->i;
        s->in[n] = g->in[in->i].dtype;
        in->i = n++;
    }
    return gopt_walk_of(&s->walk, g, operand, n);
}

static bool build(spec *s, const gopt_group *g)
{
    gopt_arena a = {0};
    gopt_expr x = gopt_expr_new(&a);
    bool live[GOPT_EXPR_LIMIT], ok = g->n_out == 1 && !gopt_group_expr(g, &x, NULL) && x.n <= MAX_OPS;
    if (ok) {
        memcpy(s->at, x.at, (size_t)x.n * sizeof *x.at);
        s->expr = x;
        s->expr.at = s->at;
        s->expr.arena = NULL;
        s->count = gopt_operand_count(&g->out[0]);
        s->out = g->out[0].dtype;
        gopt_expr_live(&x, live);
        ok = gopt_dtype_bits(s->out) >= 8 && gopt_expr_dtype(&x) == s->out && number_loads(s, g, live);
    }
    gopt_arena_fini(&a);
    return ok;
}

/* pointwise_f32 does it much faster. */
static bool only_floats(const gopt_group *g)
{
    extern const gopt_kernel gopt_kernel_pointwise_f32;
    return gopt_kernel_pointwise_f32.fits(g, NULL, NULL);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob, (void)t;
    return build(&s, g) && !only_floats(g);
}

static double flops(const gopt_group *g)
{
    spec s = {0};
    build(&s, g);
    return 60.0 * (1 + gopt_expr_cost(&s.expr)) * (double)s.count; /* scalars in double: far from the peak */
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

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    (void)knob, (void)t;
    build(memory, g);
}

static void load(gopt_dtype d, const void *src, int64_t at, int64_t n, gopt_scalar *dst)
{
    if (gopt_dtype_class(d) == GOPT_CLASS_FLOAT)
        gopt_dtype_load(d, src, at, n, &dst->f);
    else
        gopt_dtype_load_int(d, src, at, n, &dst->i);
}

/* The elements of operand k for outputs [first, first + n). */
static void gather(const spec *s, int k, const void *src, int64_t first, int64_t n, gopt_scalar *dst)
{
    const gopt_walk *w = &s->walk;
    int64_t cols = w->dim[w->rank - 1], row = first / cols, col = first % cols;
    bool moves = w->stride[k][w->rank - 1];
    while (n > 0) {
        int64_t at = gopt_walk_row(w, k, row++) + (moves ? col : 0), m = GOPT_MIN(n, cols - col);
        load(s->in[k], src, at, moves ? m : 1, dst);
        for (int64_t i = 1; !moves && i < m; i++)
            dst[i] = dst[0];
        dst += m;
        n -= m;
        col = 0;
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    gopt_scalar loads[GOPT_WALK_IN * TILE], tmp[MAX_OPS * TILE];
    int64_t lo, hi;
    gopt_share(s->count, TILE, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo += TILE) {
        int64_t n = GOPT_MIN(TILE, hi - lo);
        for (int k = 0; k < s->walk.n_in; k++)
            gather(s, k, t->in[s->walk.operand[k]], lo, n, loads + k * n);
        gopt_expr x = s->expr;
        x.at = (gopt_instr *)s->at; /* the spec may have been moved since */
        const gopt_scalar *v = gopt_expr_eval_tile(&x, loads, NULL, tmp, (int)n);
        if (gopt_dtype_class(s->out) == GOPT_CLASS_FLOAT)
            gopt_dtype_store(s->out, t->out[0], lo, n, &v->f);
        else
            gopt_dtype_store_int(s->out, t->out[0], lo, n, &v->i);
    }
}

const gopt_kernel gopt_kernel_pointwise_any = {
    .name = "pointwise_any",
    .doc = "element by element, of any type",
    .revision = 1,
    .in_place = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
