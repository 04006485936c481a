/* pointwise_any: what pointwise_f32 cannot take: integers, bools, other floats, casts between them. Tiles of scalars,
 * each instruction over a whole tile. */
#include <string.h>

#include "cpu/group.h"

enum { TILE = 128, MAX_IN = 8, MAX_OPS = 40 };

typedef struct operand {
    int index;
    gopt_dtype dtype;
    int64_t stride[GOPT_RANK_MAX]; /* over the output's dimensions, 0 where broadcast */
} operand;

typedef struct spec {
    gopt_expr expr; /* in at[] */
    gopt_instr at[MAX_OPS];
    int rank, n_in;
    int64_t dim[GOPT_RANK_MAX], count;
    operand in[MAX_IN];
    gopt_dtype out;
} spec;

/* Loads of the expression become dense numbers; false when there are too many or an operand does not broadcast. */
static bool number_loads(spec *s, const gopt_group *g, const bool *live)
{
    for (int k = 0; k < s->expr.n; k++) {
        gopt_instr *in = &s->expr.at[k];
        if (!live[k] || in->code != GOPT_EXPR_LOAD)
            continue;
        const gopt_operand *o = &g->in[in->i];
        if (s->n_in == MAX_IN || o->packed || o->rank > s->rank || gopt_dtype_bits(o->dtype) < 8)
            return false;
        operand *p = &s->in[s->n_in];
        *p = (operand){.index = (int)in->i, .dtype = o->dtype};
        int64_t step = 1;
        for (int i = o->rank - 1, d = s->rank - 1; i >= 0; step *= o->dim[i], i--, d--) {
            if (o->dim[i] != 1 && o->dim[i] != s->dim[d])
                return false;
            p->stride[d] = o->dim[i] == 1 ? 0 : step;
        }
        in->i = s->n_in++;
    }
    return true;
}

static void merge(spec *s)
{
    int n = 0;
    for (int d = 0; d < s->rank; d++) {
        bool joins = n > 0;
        if (s->dim[d] == 1)
            continue;
        for (int k = 0; joins && k < s->n_in; k++)
            joins = s->in[k].stride[n - 1] == s->in[k].stride[d] * s->dim[d];
        int at = joins ? n - 1 : n++;
        s->dim[at] = joins ? s->dim[at] * s->dim[d] : s->dim[d];
        for (int k = 0; k < s->n_in; k++)
            s->in[k].stride[at] = s->in[k].stride[d];
    }
    if (n == 0)
        s->dim[n++] = 1;
    s->rank = n;
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
        s->rank = g->out[0].rank;
        memcpy(s->dim, g->out[0].dim, sizeof s->dim);
        s->count = gopt_operand_count(&g->out[0]);
        s->out = g->out[0].dtype;
        gopt_expr_live(&x, live);
        ok = gopt_dtype_bits(s->out) >= 8 && gopt_expr_dtype(&x) == s->out && number_loads(s, g, live);
    }
    if (ok)
        merge(s);
    gopt_arena_fini(&a);
    return ok;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    spec s = {0};
    (void)knob, (void)t;
    return build(&s, g);
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

/* The elements of an operand for outputs [first, first + n). */
static void gather(const spec *s, const operand *o, const void *src, int64_t first, int64_t n, gopt_scalar *dst)
{
    int last = s->rank - 1;
    int64_t cols = s->dim[last], row = first / cols, col = first % cols;
    while (n > 0) {
        int64_t at = col * o->stride[last], rest = row++, m = GOPT_MIN(n, cols - col);
        for (int d = last - 1; d >= 0; rest /= s->dim[d], d--)
            at += rest % s->dim[d] * o->stride[d];
        load(o->dtype, src, at, o->stride[last] ? m : 1, dst);
        for (int64_t i = 1; !o->stride[last] && i < m; i++)
            dst[i] = dst[0];
        dst += m;
        n -= m;
        col = 0;
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    gopt_scalar loads[MAX_IN * TILE], tmp[MAX_OPS * TILE];
    int64_t lo, hi;
    gopt_share(s->count, TILE, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo += TILE) {
        int64_t n = GOPT_MIN(TILE, hi - lo);
        for (int k = 0; k < s->n_in; k++)
            gather(s, &s->in[k], t->in[s->in[k].index], lo, n, loads + k * n);
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
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
