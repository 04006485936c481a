/* pointwise_f32_gen: pointwise_f32 as code made for one expression and one shape: no memory between operations. */
#include <stdio.h>

#include "cpu/emit.h"
#include "cpu/group.h"
#include "cpu/post.h"

enum { UNROLL };

static const gopt_knob knobs[] = {[UNROLL] = {"unroll", GOPT_KNOB_POW2, 1, 8, 2, 0, NULL, "vectors computed at once"},
                                  {0}};

enum { CHUNK = 4096, SHORT = 16 /* rows below this are left to the precompiled kernel */ };

typedef struct plan {
    char name[96]; /* of the expression's function */
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_expr e;
    int64_t rows, cols; /* of the walk */
} plan;

/* False when it does not fit; the plan is to be ended either way. */
static bool plan_init(plan *p, const gopt_group *g)
{
    *p = (plan){.name = ""};
    p->x = gopt_expr_new(&p->arena);
    if (g->n_out != 1 || gopt_group_expr(g, &p->x, NULL) || !gopt_emit_expr_of(&p->e, g, &p->x))
        return false;
    p->cols = p->e.walk.dim[p->e.walk.rank - 1];
    p->rows = 1;
    for (int d = 0; d < p->e.walk.rank - 1; d++)
        p->rows *= p->e.walk.dim[d];
    return p->cols >= SHORT && p->rows > 0;
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
    return 2 * per_element * (double)gopt_operand_count(&g->out[0]);
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

/* Vectors [i, i + unroll) and what is left, of a row or chunk that ends before `end`. */
static void put_loops(const plan *p, int64_t unroll, bool ragged, const char *indent, gopt_text *t)
{
    gopt_text_add(t, "%sfor (; i + %lld * GOPT_VW <= end; i += %lld * GOPT_VW) {\n", indent, (long long)unroll,
                  (long long)unroll);
    for (int u = 0; u < unroll; u++) {
        char at[32];
        snprintf(at, sizeof at, "i + %d * GOPT_VW", u);
        gopt_text_add(t, "%s    vf r%d = ", indent, u);
        gopt_emit_expr_call(&p->e, p->name, "(vf){0}", at, NULL, t);
        gopt_text_put(t, ";\n");
    }
    for (int u = 0; u < unroll; u++)
        gopt_text_add(t, "%s    v_store(o + i + %d * GOPT_VW, r%d);\n", indent, u, u);
    gopt_text_add(t, "%s}\n", indent);
    if (unroll > 1) {
        gopt_text_add(t, "%sfor (; i + GOPT_VW <= end; i += GOPT_VW)\n%s    v_store(o + i, ", indent, indent);
        gopt_emit_expr_call(&p->e, p->name, "(vf){0}", "i", NULL, t);
        gopt_text_put(t, ");\n");
    }
    if (!ragged)
        return;
    gopt_text_add(t, "%sif (i < end)\n%s    v_store_part(o + i, ", indent, indent);
    gopt_emit_expr_call(&p->e, p->name, "(vf){0}", "i", "(int)(end - i)", t);
    gopt_text_put(t, ", (int)(end - i));\n");
}

/* One long row: parts share chunks of it. */
static void put_flat(const plan *p, int64_t unroll, gopt_text *t)
{
    int64_t chunks = gopt_ceil_div(p->cols, CHUNK);
    gopt_text_add(t,
                  "    int64_t i = %lldLL * t->part / t->parts * %d, end = %lldLL * (t->part + 1) / t->parts * %d;\n",
                  (long long)chunks, CHUNK, (long long)chunks, CHUNK);
    gopt_text_add(t, "    float *o = t->out[0];\n    end = end < %lld ? end : %lld;\n", (long long)p->cols,
                  (long long)p->cols);
    gopt_emit_expr_row(&p->e, "(int64_t)0", "    ", t);
    put_loops(p, unroll, p->cols % 16 != 0, "    ", t);
}

static void put_rows(const plan *p, int64_t unroll, gopt_text *t)
{
    gopt_text_add(t, "    int64_t row = %lldLL * t->part / t->parts, last = %lldLL * (t->part + 1) / t->parts;\n",
                  (long long)p->rows, (long long)p->rows);
    gopt_text_add(t, "    for (; row < last; row++) {\n        int64_t i = 0, end = %lld, at = row * %lld;\n",
                  (long long)p->cols, (long long)p->cols);
    gopt_text_put(t, "        float *o = (float *)t->out[0] + at;\n");
    gopt_emit_expr_row(&p->e, "at", "        ", t);
    put_loops(p, unroll, p->cols % 16 != 0, "        ", t);
    gopt_text_put(t, "    }\n");
}

static gopt_status emit(const gopt_group *g, const int64_t *knob, const gopt_target *target, const char *symbol,
                        gopt_text *t, gopt_err *e)
{
    plan p;
    (void)target;
    if (!plan_init(&p, g)) {
        gopt_arena_fini(&p.arena);
        return gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
    }
    snprintf(p.name, sizeof p.name, "%s_expression", symbol);
    gopt_emit_expr_function(&p.e, p.name, t);
    gopt_text_add(t, "void %s(const gopt_task *t)\n{\n", symbol);
    gopt_emit_expr_pointers(&p.e, t);
    if (p.rows == 1)
        put_flat(&p, knob[UNROLL], t);
    else
        put_rows(&p, knob[UNROLL], t);
    gopt_text_put(t, "}\n");
    gopt_arena_fini(&p.arena);
    return GOPT_OK;
}

const gopt_kernel gopt_kernel_pointwise_f32_gen = {
    .name = "pointwise_f32_gen",
    .doc = "element by element, code made for the expression and the shape",
    .revision = 1,
    .knobs = knobs,
    .generated = true,
    .in_place = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .emit = emit,
};
