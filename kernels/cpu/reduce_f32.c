/* reduce_f32: Reduce* over any axes and global poolings. Axes are merged into runs that are reduced and runs that stay;
 * the innermost run is walked by vectors either way. */
#include <math.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"

enum { BLOCK = 512 }; /* results that are summed side by side */

typedef enum finish { AS_IT_IS, MEAN, LOGARITHM, ROOT } finish;

typedef struct leaf {
    const char *op;
    gopt_reduction kind;
    finish finish;
    bool shifted; /* works on values less their maximum */
} leaf;

static const leaf leaves[] = {
    {"ReduceSum", GOPT_REDUCE_SUM, AS_IT_IS, false},     {"ReduceMean", GOPT_REDUCE_SUM, MEAN, false},
    {"ReduceMax", GOPT_REDUCE_MAX, AS_IT_IS, false},     {"ReduceMin", GOPT_REDUCE_MIN, AS_IT_IS, false},
    {"ReduceProd", GOPT_REDUCE_PROD, AS_IT_IS, false},   {"ReduceL1", GOPT_REDUCE_ABS, AS_IT_IS, false},
    {"ReduceL2", GOPT_REDUCE_SQUARE, ROOT, false},       {"ReduceSumSquare", GOPT_REDUCE_SQUARE, AS_IT_IS, false},
    {"ReduceLogSum", GOPT_REDUCE_SUM, LOGARITHM, false}, {"ReduceLogSumExp", GOPT_REDUCE_EXP, LOGARITHM, true},
    {"GlobalAveragePool", GOPT_REDUCE_SUM, MEAN, false}, {"GlobalMaxPool", GOPT_REDUCE_MAX, AS_IT_IS, false},
};

typedef struct run_of_axes {
    int64_t n, stride;
} run_of_axes;

typedef struct spec {
    const gopt_simd *simd;
    leaf leaf;
    int n_kept, n_reduced;                                   /* outer runs, the innermost run left out */
    run_of_axes kept[GOPT_RANK_MAX], reduced[GOPT_RANK_MAX]; /* outermost first */
    int64_t row;                                             /* length of the innermost run */
    bool rows;                                               /* it is reduced */
    int64_t cells;                                           /* results, in blocks of `row` unless rows */
    int64_t repeat;                                          /* walks of the innermost run for each result */
    double each;                                             /* elements for each result */
    gopt_post post;
} spec;

static const leaf *find(const gopt_group *g)
{
    for (int i = 0; i < GOPT_COUNT(leaves); i++)
        if (gopt_group_is(g, "", leaves[i].op))
            return &leaves[i];
    return NULL;
}

static bool mark_axes(const gopt_group *g, bool *reduced)
{
    int64_t axes[GOPT_RANK_MAX];
    int rank = g->in[0].rank, n = gopt_group_has(g, 1) ? gopt_operand_ints(&g->in[1], axes, GOPT_RANK_MAX) : 0;
    bool global = !strncmp(g->op->name, "Global", 6);
    if (n < 0)
        return false;
    for (int d = 0; d < rank; d++)
        reduced[d] = global ? d >= 2 : n == 0 && gopt_attr_int(g->attrs, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; i < n; i++) {
        int d;
        if (gopt_axis(axes[i], rank, &d, NULL))
            return false;
        reduced[d] = true;
    }
    return true;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    bool reduced[GOPT_RANK_MAX];
    (void)knob, (void)t;
    return g->op && find(g) && g->n_out == 1 && gopt_group_has(g, 0) && g->in[0].dtype == GOPT_DTYPE_F32 &&
           mark_axes(g, reduced) && gopt_post_fits(g, g->post);
}

static double flops(const gopt_group *g)
{
    double each = find(g)->shifted ? 60 : 2;
    return each * (double)gopt_operand_count(&g->in[0]) +
           4 * gopt_post_cost(g->post) * (double)gopt_operand_count(&g->out[0]);
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

/* Axes to runs, innermost first in the loop; neighbours of one kind join. */
static void merge(spec *s, const gopt_operand *in, const bool *reduced)
{
    run_of_axes run[GOPT_RANK_MAX];
    bool is_reduced[GOPT_RANK_MAX];
    int n = 0;
    int64_t stride = 1;
    for (int d = in->rank - 1; d >= 0; stride *= in->dim[d], d--) {
        if (in->dim[d] == 1)
            continue;
        if (n > 0 && is_reduced[n - 1] == reduced[d]) {
            run[n - 1].n *= in->dim[d];
            continue;
        }
        is_reduced[n] = reduced[d];
        run[n++] = (run_of_axes){in->dim[d], stride};
    }
    s->row = n ? run[0].n : 1;
    s->rows = n == 0 || is_reduced[0];
    s->repeat = s->cells = 1;
    for (int i = n - 1; i > 0; i--) {
        if (is_reduced[i])
            s->reduced[s->n_reduced++] = run[i];
        else
            s->kept[s->n_kept++] = run[i];
        *(is_reduced[i] ? &s->repeat : &s->cells) *= run[i].n;
    }
    s->each = (double)s->repeat * (double)(s->rows ? s->row : 1);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    spec *s = memory;
    bool reduced[GOPT_RANK_MAX];
    (void)knob;
    s->simd = gopt_simd_for(t->isa);
    s->leaf = *find(g);
    mark_axes(g, reduced);
    merge(s, &g->in[0], reduced);
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

static int64_t offset(const run_of_axes *run, int n, int64_t i)
{
    int64_t at = 0;
    for (int d = n - 1; d >= 0; i /= run[d].n, d--)
        at += i % run[d].n * run[d].stride;
    return at;
}

static float begin_of(gopt_reduction kind)
{
    return kind == GOPT_REDUCE_MAX ? -INFINITY : kind == GOPT_REDUCE_MIN ? INFINITY : kind == GOPT_REDUCE_PROD ? 1 : 0;
}

static void finish_results(const spec *s, float *out, const float *shift, int64_t n)
{
    float each = (float)s->each;
    for (int64_t i = 0; i < n && s->leaf.finish != AS_IT_IS; i++) {
        float v = out[i];
        out[i] = s->leaf.finish == MEAN   ? v / each
                 : s->leaf.finish == ROOT ? sqrtf(v)
                                          : logf(v) + (shift ? shift[i] : 0);
    }
}

/* Results [cell, cell + n), each of its own rows. */
static void reduce_rows(const spec *s, const float *in, int64_t cell, int64_t n, gopt_reduction kind,
                        const float *shift, float *out)
{
    gopt_reduction over =
        kind == GOPT_REDUCE_MAX || kind == GOPT_REDUCE_MIN || kind == GOPT_REDUCE_PROD ? kind : GOPT_REDUCE_SUM;
    for (int64_t i = 0; i < n; i++) {
        const float *base = in + offset(s->kept, s->n_kept, cell + i);
        out[i] = begin_of(kind);
        for (int64_t r = 0; r < s->repeat; r++) {
            const float *row = base + offset(s->reduced, s->n_reduced, r);
            float v = s->simd->reduce_row(kind, row, s->row, shift ? shift[i] : 0);
            s->simd->reduce_into(over, out + i, &v, 1, NULL);
        }
    }
}

/* Neighbours [col, col + n) of a block. */
static void reduce_columns(const spec *s, const float *in, int64_t cell, int64_t col, int64_t n, gopt_reduction kind,
                           const float *shift, float *out)
{
    const float *base = in + offset(s->kept, s->n_kept, cell) + col;
    s->simd->fill(out, begin_of(kind), n);
    for (int64_t r = 0; r < s->repeat; r++)
        s->simd->reduce_into(kind, out, base + offset(s->reduced, s->n_reduced, r), n, shift);
}

/* Results from first on; for columns they all lie in one block. */
static void reduce(const spec *s, const float *in, int64_t first, int64_t n, gopt_reduction kind, const float *shift,
                   float *out)
{
    if (s->rows)
        reduce_rows(s, in, first, n, kind, shift, out);
    else
        reduce_columns(s, in, first / s->row, first % s->row, n, kind, shift, out);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->cells * (s->rows ? 1 : s->row), 16, t->part, t->parts, &lo, &hi);
    while (lo < hi) {
        float shift[BLOCK], *out = (float *)t->out[0] + lo;
        int64_t n = GOPT_MIN(BLOCK, hi - lo);
        if (!s->rows)
            n = GOPT_MIN(n, s->row - lo % s->row);
        if (s->leaf.shifted) {
            reduce(s, t->in[0], lo, n, GOPT_REDUCE_MAX, NULL, shift);
            for (int64_t i = 0; i < n; i++)
                shift[i] = isinf(shift[i]) ? 0 : shift[i];
        }
        reduce(s, t->in[0], lo, n, s->leaf.kind, s->leaf.shifted ? shift : NULL, out);
        finish_results(s, out, s->leaf.shifted ? shift : NULL, n);
        gopt_post_run(&s->post, t->in, out, out, lo, n);
        lo += n;
    }
}

const gopt_kernel gopt_kernel_reduce_f32 = {
    .name = "reduce_f32",
    .doc = "sums, means, extremes and norms over axes; global poolings",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
