/* pointwise_any_gen: pointwise_any as code made for one expression and one shape: elements in their own types, in
 * registers, in loops that the compiler makes vectors of. */
#include <stdio.h>

#include "cpu/emit.h"
#include "cpu/emit_scalar.h"
#include "cpu/group.h"

enum { CHUNK = 4096 }; /* of one long row: what parts share in */

typedef struct plan {
    char name[96]; /* of the expression's function */
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_scalar s;
    int64_t rows, cols; /* of the walk */
} plan;

/* False when it does not fit; the plan is to be ended either way. */
static bool plan_init(plan *p, const gopt_group *g)
{
    gopt_emit_expr floats;
    *p = (plan){.name = ""};
    p->x = gopt_expr_new(&p->arena);
    if (g->n_out != 1 || gopt_group_expr(g, &p->x, NULL) || !gopt_emit_scalar_of(&p->s, g, &p->x))
        return false;
    p->cols = p->s.walk.dim[p->s.walk.rank - 1];
    p->rows = 1;
    for (int d = 0; d < p->s.walk.rank - 1; d++)
        p->rows *= p->s.walk.dim[d];
    return p->cols > 0 && p->rows > 0 && !gopt_emit_expr_of(&floats, g, &p->x); /* those are pointwise_f32_gen's */
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    (void)knob, (void)t;
    bool ok = plan_init(&p, g);
    gopt_arena_fini(&p.arena);
    return ok;
}

static double flops(const gopt_group *g)
{
    plan p;
    double per_element = plan_init(&p, g) ? gopt_expr_cost(&p.x) : 1;
    gopt_arena_fini(&p.arena);
    return 4 * per_element * (double)gopt_operand_count(&g->out[0]);
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

/* A bool in memory is a byte of which any value but 0 is true. */
static const char *stored_type(gopt_dtype d)
{
    return d == GOPT_DTYPE_BOOL ? "unsigned char" : gopt_emit_scalar_type(d);
}

/* Elements [i, end) of the row that begins at output element `at`. The result may lie over an operand, element by
 * element: no iteration needs another. */
static void put_row(const plan *p, const char *indent, gopt_text *t)
{
    const gopt_walk *w = &p->s.walk;
    for (int k = 0; k < w->n_in; k++) {
        gopt_text_add(t, "%sconst %s *q%d = (const %s *)t->in[%d]", indent, stored_type(p->s.in[k]), k,
                      stored_type(p->s.in[k]), w->operand[k]);
        gopt_emit_walk_offset(w, k, "at", t);
        gopt_text_put(t, ";\n");
    }
    gopt_text_add(t, "#pragma GCC ivdep\n%sfor (; i < end; i++)\n%s    o[i] = %s(", indent, indent, p->name);
    for (int k = 0; k < w->n_in; k++)
        gopt_text_add(t, "%sq%d[%s]", k ? ", " : "", k, w->stride[k][w->rank - 1] ? "i" : "0");
    gopt_text_put(t, ");\n");
}

static void put_function(const plan *p, const char *symbol, gopt_text *t)
{
    const char *out = stored_type(p->s.out);
    const bool flat = p->rows == 1;
    int64_t shares = flat ? gopt_ceil_div(p->cols, CHUNK) : p->rows;
    gopt_text_add(t, "__attribute__((optimize(\"O3\"))) void %s(const gopt_task *t)\n{\n", symbol);
    gopt_text_add(t, "    int64_t lo = %lldLL * t->part / t->parts, hi = %lldLL * (t->part + 1) / t->parts;\n",
                  (long long)shares, (long long)shares);
    if (flat) {
        gopt_text_add(t, "    int64_t at = 0, i = lo * %d, end = hi * %d < %lld ? hi * %d : %lld;\n", CHUNK, CHUNK,
                      (long long)p->cols, CHUNK, (long long)p->cols);
        gopt_text_add(t, "    %s *o = t->out[0];\n", out);
        put_row(p, "    ", t);
    } else {
        gopt_text_put(t, "    for (; lo < hi; lo++) {\n");
        gopt_text_add(t, "        int64_t i = 0, end = %lld, at = lo * end;\n", (long long)p->cols);
        gopt_text_add(t, "        %s *o = (%s *)t->out[0] + at;\n", out, out);
        put_row(p, "        ", t);
        gopt_text_put(t, "    }\n");
    }
    gopt_text_put(t, "}\n");
}

static gopt_status emit(const gopt_group *g, const int64_t *knob, const gopt_target *target, const char *symbol,
                        gopt_text *t, gopt_err *e)
{
    plan p;
    (void)knob, (void)target;
    if (!plan_init(&p, g)) {
        gopt_arena_fini(&p.arena);
        return gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
    }
    snprintf(p.name, sizeof p.name, "%s_expression", symbol);
    gopt_emit_scalar_function(&p.s, p.name, t);
    put_function(&p, symbol, t);
    gopt_arena_fini(&p.arena);
    return GOPT_OK;
}

const gopt_kernel gopt_kernel_pointwise_any_gen = {
    .name = "pointwise_any_gen",
    .doc = "element by element, of any type, code made for the expression and the shape",
    .revision = 1,
    .generated = true,
    .in_place = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .emit = emit,
};
