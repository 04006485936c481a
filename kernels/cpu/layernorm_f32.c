/* layernorm_f32: rows brought to mean 0 and variance 1, or to mean square 1, scaled and shifted; with the sum before it
 * where the operator has one (Skip forms). */
#include <math.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/post.h"

typedef struct form {
    const char *domain, *op;
    bool rms;
    int skip, gamma, beta, bias; /* operands; -1: none */
    int inverse;                 /* output that wants 1 / deviation; mean is output 1 unless this is */
} form;

static const form forms[] = {
    {"", "LayerNormalization", false, -1, 1, 2, -1, 2},
    {"", "RMSNormalization", true, -1, 1, -1, -1, -1},
    {"", "SimplifiedLayerNormalization", true, -1, 1, -1, -1, 1},
    {"com.microsoft", "SkipLayerNormalization", false, 1, 2, 3, 4, 2},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", true, 1, 2, -1, 3, 2},
};

typedef struct spec {
    const gopt_simd *simd;
    form form;
    int64_t rows, n, skips; /* skips: rows that operand skip has */
    float epsilon;
    int mean, inverse, sum; /* outputs that are wanted; -1 */
    gopt_post post;
} spec;

static const form *find(const gopt_group *g)
{
    for (int i = 0; i < GOPT_COUNT(forms); i++)
        if (gopt_group_is(g, forms[i].domain, forms[i].op))
            return &forms[i];
    return NULL;
}

static int axis_of(const gopt_group *g, const form *f)
{
    int axis = 0;
    bool ok = !gopt_axis(f->skip < 0 ? gopt_attr_int(g->attrs, "axis", -1) : -1, g->in[0].rank, &axis, NULL);
    return ok ? axis : -1;
}

/* Operand k, when it is there, is one row of scales. */
static bool is_row(const gopt_group *g, int k, int axis)
{
    if (k < 0 || !gopt_group_has(g, k))
        return true;
    const gopt_operand *o = &g->in[k], *x = &g->in[0];
    for (int i = o->rank - 1, d = x->rank - 1; i >= 0; i--, d--)
        if (o->dim[i] != (d >= axis ? x->dim[d] : 1))
            return false;
    return o->rank >= x->rank - axis;
}

static bool wanted(const gopt_group *g, int k)
{
    return k > 0 && k < g->n_out && g->out[k].dtype != GOPT_DTYPE_NONE;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    const form *f = g->op ? find(g) : NULL;
    (void)knob, (void)t;
    if (!f || !gopt_group_has(g, f->gamma) || g->in[0].rank < 1 || axis_of(g, f) < 0 || !gopt_post_fits(g, g->post))
        return false;
    for (int k = 0; k < g->n_anchor; k++)
        if (!gopt_group_in_is(g, k, GOPT_DTYPE_F32))
            return false;
    for (int k = 1; k < g->n_out; k++)
        if (wanted(g, k) && g->out[k].dtype != GOPT_DTYPE_F32)
            return false;
    int axis = axis_of(g, f);
    int64_t skips = f->skip < 0 ? 1 : gopt_operand_count(&g->in[f->skip]), count = gopt_operand_count(&g->in[0]);
    return is_row(g, f->gamma, axis) && is_row(g, f->beta, axis) && is_row(g, f->bias, axis) &&
           (f->skip < 0 || (skips > 0 && count % skips == 0)) && (f->skip < 0 || gopt_group_has(g, f->skip));
}

static double flops(const gopt_group *g)
{
    return (16 + 4 * gopt_post_cost(g->post)) * (double)gopt_operand_count(&g->out[0]);
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
    spec *s = memory;
    (void)knob;
    s->simd = gopt_simd_for(t->isa);
    s->form = *find(g);
    s->rows = s->n = 1;
    for (int d = 0, axis = axis_of(g, &s->form); d < g->in[0].rank; d++)
        *(d < axis ? &s->rows : &s->n) *= g->in[0].dim[d];
    for (int *k = (int[]){s->form.beta, s->form.bias, -2}; *k != -2; k++)
        if (*k >= 0 && !gopt_group_has(g, *k))
            *(*k == s->form.beta ? &s->form.beta : &s->form.bias) = -1;
    s->skips = s->form.skip < 0 || s->n == 0 ? 1 : gopt_operand_count(&g->in[s->form.skip]) / s->n;
    s->epsilon = (float)gopt_attr_float(g->attrs, "epsilon", s->form.skip < 0 ? 1e-5f : 1e-12f);
    s->inverse = wanted(g, s->form.inverse) ? s->form.inverse : -1;
    s->mean = s->form.inverse != 1 && wanted(g, 1) ? 1 : -1;
    s->sum = s->form.skip >= 0 && wanted(g, 3) ? 3 : -1;
    gopt_post_prepare(&s->post, g, g->post, s->simd);
}

/* The row to normalize: the input's own, or the sum. */
static const float *sum_row(const spec *s, const gopt_task *t, int64_t r, float *out)
{
    const float *x = (const float *)t->in[0] + r * s->n;
    if (s->form.skip < 0)
        return x;
    float *sum = s->sum < 0 ? out : (float *)t->out[s->sum] + r * s->n;
    s->simd->add(sum, x, (const float *)t->in[s->form.skip] + r % s->skips * s->n, s->n);
    if (s->form.bias >= 0)
        s->simd->add(sum, sum, t->in[s->form.bias], s->n);
    return sum;
}

/* Differences are taken to a mean that is rounded already, `origin`, and what it lacks is added to them: so a mean far
 * larger than the deviation costs no accuracy. */
static void run_row(const spec *s, const gopt_task *t, int64_t r)
{
    float *out = (float *)t->out[0] + r * s->n, n = (float)s->n, origin = 0, rest = 0, square;
    const float *x = sum_row(s, t, r, out);
    if (s->form.rms) {
        square = s->simd->reduce_row(GOPT_REDUCE_SQUARE, x, s->n, 0);
    } else {
        origin = s->simd->reduce_row(GOPT_REDUCE_SUM, x, s->n, 0) / n;
        rest = s->simd->moments(x, s->n, origin, &square) / n;
        square -= rest * rest * n;
    }
    float inverse = 1 / sqrtf(square / n + s->epsilon);
    s->simd->scale_row(out, x, s->n, origin, inverse, -rest * inverse, t->in[s->form.gamma],
                       s->form.beta < 0 ? NULL : t->in[s->form.beta]);
    if (s->mean >= 0)
        ((float *)t->out[s->mean])[r] = origin + rest;
    if (s->inverse >= 0)
        ((float *)t->out[s->inverse])[r] = inverse;
    gopt_post_run(&s->post, t->in, out, out, r * s->n, s->n);
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    int64_t lo, hi;
    gopt_share(s->rows, 1, t->part, t->parts, &lo, &hi);
    for (; lo < hi; lo++)
        run_row(s, t, lo);
}

const gopt_kernel gopt_kernel_layernorm_f32 = {
    .name = "layernorm_f32",
    .doc = "layer and root-mean-square normalization, after an addition where the operator has one",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
