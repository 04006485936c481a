/* conv_f32_dw_gen: depthwise convolution as code made for the shape: weights stay in registers along a row, and several
 * output rows at once share what they read. */
#include <stdio.h>

#include "cpu/emit.h"
#include "cpu/emit_planes.h"
#include "cpu/group.h"

enum { ROWS, VECTORS };

static const gopt_knob knobs[] = {
    [ROWS] = {"rows", GOPT_KNOB_LINEAR, 1, 4, 2, 1, NULL, "output rows computed at once"},
    [VECTORS] = {"vectors", GOPT_KNOB_POW2, 1, 4, 2, 0, NULL, "vectors of a row computed at once"},
    {0}};

enum { MAX_TAPS = 25, SLACK = 64 /* floats read past the last one */ };

typedef struct plan {
    const char *symbol;
    gopt_conv2d c;
    gopt_planes planes;
    gopt_arena arena;
    gopt_expr x;
    gopt_emit_expr e;
    int rows, vectors;
} plan;

static bool plan_init(plan *p, const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    *p = (plan){.rows = (int)knob[ROWS], .vectors = (int)knob[VECTORS]};
    gopt_conv2d *c = &p->c;
    (void)t;
    if (!gopt_conv2d_of(g, c) || c->channels != 1 || c->kh * c->kw > MAX_TAPS || !gopt_planes_of(&p->planes, c) ||
        gopt_operand_count(&g->out[0]) == 0 || c->ow < 4 || p->planes.size > INT32_MAX / 64)
        return false;
    p->rows = (int)GOPT_MIN(p->rows, c->oh);
    p->x = gopt_expr_new(&p->arena);
    if (!gopt_conv2d_expr(g, &p->x))
        return false;
    if (p->x.result < 0)
        p->x.result = gopt_expr_acc(&p->x, GOPT_DTYPE_F32);
    return gopt_emit_expr_of(&p->e, g, &p->x);
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    bool ok = plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    return ok;
}

static double flops(const gopt_group *g)
{
    gopt_conv2d c;
    gopt_conv2d_of(g, &c);
    double per_element = g->post ? gopt_expr_cost(g->post) : 0;
    return 2 * (gopt_conv2d_flops(&c) + per_element * (double)gopt_operand_count(&g->out[0]));
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    (void)knob;
    return gopt_roofline(t, flops(g), gopt_group_bytes(g));
}

static int64_t part_floats(const plan *p)
{
    return gopt_whole_vectors(p->planes.size + SLACK);
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    plan p;
    plan_init(&p, g, knob, t);
    gopt_arena_fini(&p.arena);
    int parts = gopt_parts(t, flops(g), gopt_group_bytes(g));
    return (gopt_work){.parts = parts, .phases = 1, .workspace = (size_t)(parts * part_floats(&p)) * sizeof(float)};
}

/* The tap of output row r that reads at `offset`; -1: none. Rows of a plane lie `cols` apart. */
static int tap_at(const plan *p, int r, int64_t offset)
{
    for (int k = 0; k < p->c.kh * p->c.kw; k++)
        if (gopt_planes_tap(&p->planes, &p->c, k / p->c.kw, k % p->c.kw) + r * p->planes.cols == offset)
            return k;
    return -1;
}

/* Whether an earlier pair of row and tap has read there. */
static bool read_before(const plan *p, int row, int tap, int64_t offset)
{
    for (int r = 0; r <= row; r++) {
        int k = tap_at(p, r, offset);
        if (k >= 0 && (r < row || k < tap))
            return true;
    }
    return false;
}

/* Sums of `rows` output rows, `vectors` vectors of each, from column x on: what several rows read is read once. */
static void put_sums(const plan *p, int rows, int vectors, gopt_text *t)
{
    int taps = (int)(p->c.kh * p->c.kw);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            gopt_text_add(t, "                vf s%d_%d = begin;\n", r, v);
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < taps; k++) {
            int64_t at = gopt_planes_tap(&p->planes, &p->c, k / p->c.kw, k % p->c.kw) + row * p->planes.cols;
            if (read_before(p, row, k, at))
                continue;
            for (int v = 0; v < vectors; v++) {
                gopt_text_add(t,
                              "                {\n                    vf d = v_load(line + x + %lld + %d * GOPT_VW);\n",
                              (long long)at, v);
                for (int r = 0; r < rows; r++)
                    if (tap_at(p, r, at) >= 0)
                        gopt_text_add(t, "                    s%d_%d += w%d * d;\n", r, v, tap_at(p, r, at));
                gopt_text_put(t, "                }\n");
            }
        }
}

static void put_stores(const plan *p, int rows, int vectors, bool partial, gopt_text *t)
{
    char name[96], acc[16], at[32];
    snprintf(name, sizeof name, "%s_result", p->symbol);
    for (int r = 0; r < rows; r++) {
        gopt_text_put(t, "                {\n");
        gopt_text_add(t, "                    int64_t at = base + (y + %d) * %lld;\n", r, (long long)p->c.ow);
        gopt_text_put(t, "                    float *o = (float *)t->out[0] + at;\n");
        gopt_emit_expr_row(&p->e, "at", "                    ", t);
        for (int v = 0; v < vectors; v++) {
            snprintf(acc, sizeof acc, "s%d_%d", r, v);
            snprintf(at, sizeof at, "x + %d * GOPT_VW", v);
            gopt_text_add(t, "                    %s(o + %s, ", partial ? "v_store_part" : "v_store", at);
            gopt_emit_expr_call(&p->e, name, acc, at, partial ? "left" : NULL, t);
            gopt_text_put(t, partial ? ", left);\n" : ");\n");
        }
        gopt_text_put(t, "                }\n");
    }
}

static void put_vectors(const plan *p, int rows, int vectors, gopt_text *t)
{
    gopt_text_add(t, "            for (; x + %d * GOPT_VW <= %lld; x += %d * GOPT_VW) {\n", vectors, (long long)p->c.ow,
                  vectors);
    put_sums(p, rows, vectors, t);
    put_stores(p, rows, vectors, false, t);
    gopt_text_put(t, "            }\n");
}

/* Output rows from y on, `rows` at a time, while that many are left. */
static void put_rows(const plan *p, int rows, gopt_text *t)
{
    gopt_text_add(t, "        for (; y + %d <= %lld; y += %d) {\n", rows, (long long)p->c.oh, rows);
    gopt_text_add(t, "            const float *line = plane + y * %lld;\n            int64_t x = 0;\n",
                  (long long)p->planes.cols);
    put_vectors(p, rows, p->vectors, t);
    if (p->vectors > 1)
        put_vectors(p, rows, 1, t);
    gopt_text_add(t, "            if (x < %lld) {\n                int left = (int)(%lld - x);\n", (long long)p->c.ow,
                  (long long)p->c.ow);
    put_sums(p, rows, 1, t);
    put_stores(p, rows, 1, true, t);
    gopt_text_put(t, "            }\n        }\n");
}

static void put_main(const plan *p, gopt_text *t)
{
    const gopt_conv2d *c = &p->c;
    long long all = c->batch * c->groups, taps = c->kh * c->kw;
    gopt_text_add(t, "void %s(const gopt_task *t)\n{\n", p->symbol);
    gopt_text_add(t, "    float *plane = (float *)t->workspace + t->part * %lld;\n", (long long)part_floats(p));
    gopt_emit_expr_pointers(&p->e, t);
    gopt_text_add(t,
                  "    for (int64_t n = %lldLL * t->part / t->parts; n < %lldLL * (t->part + 1) / t->parts; n++) {\n",
                  all, all);
    gopt_text_add(t, "        %s_spread((const float *)t->in[0] + n * %lld, plane);\n", p->symbol,
                  (long long)(c->ih * c->iw));
    gopt_text_add(t, "        for (int64_t i = 0; i < %d; i++)\n            plane[%lld + i] = 0;\n", SLACK,
                  (long long)p->planes.size);
    gopt_text_add(t, "        for (int64_t f = 0; f < %lld; f++) {\n", (long long)c->filters);
    gopt_text_add(t, "        int64_t filter = n %% %lld * %lld + f, base = (n * %lld + f) * %lld, y = 0;\n",
                  (long long)c->groups, (long long)c->filters, (long long)c->filters, (long long)(c->oh * c->ow));
    for (int k = 0; k < taps; k++)
        gopt_text_add(t, "        vf w%d = v_splat(((const float *)t->in[1])[filter * %lld + %d]);\n", k, taps, k);
    gopt_text_put(t, c->bias ? "        vf begin = v_splat(((const float *)t->in[2])[filter]);\n"
                             : "        vf begin = {0};\n");
    put_rows(p, p->rows, t);
    if (p->rows > 1 && c->oh % p->rows)
        put_rows(p, 1, t);
    gopt_text_put(t, "        }\n    }\n}\n");
}

static gopt_status emit(const gopt_group *g, const int64_t *knob, const gopt_target *target, const char *symbol,
                        gopt_text *t, gopt_err *e)
{
    plan p;
    char name[96];
    bool ok = plan_init(&p, g, knob, target);
    p.symbol = symbol;
    if (ok) {
        snprintf(name, sizeof name, "%s_result", symbol);
        gopt_emit_expr_function(&p.e, name, t);
        snprintf(name, sizeof name, "%s_spread", symbol);
        gopt_emit_planes_function(&p.planes, name, t);
        put_main(&p, t);
    }
    gopt_arena_fini(&p.arena);
    return ok ? GOPT_OK : gopt_fail(e, GOPT_EBUG, "%s: does not fit", symbol);
}

const gopt_kernel gopt_kernel_conv_f32_dw_gen = {
    .name = "conv_f32_dw_gen",
    .doc = "convolution of each channel by itself, code made for the shape",
    .revision = 3,
    .knobs = knobs,
    .generated = true,
    .fits = fits,
    .cost = cost,
    .work = work,
    .emit = emit,
};
