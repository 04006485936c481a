/* any_half: float16 and bfloat16 by the kernels for float32: operands are widened first, results are rounded last, and
 * what lies between is the first kernel that fits the group of float32. Constants are widened when they are laid out.
 *
 * Workspace: that kernel's own, then operands, then results, each from a multiple of 64 bytes. */
#include <stddef.h>
#include <string.h>

#include "cpu/group.h"
#include "cpu/simd.h"

enum { OPERANDS_MAX = 24, SPEC_MAX = 5120, ALIGN = 64 };

/* The group in float32. What post alone reads stays: kernels widen it on the fly. */
typedef struct wide {
    gopt_group group;
    gopt_operand in[OPERANDS_MAX], out[OPERANDS_MAX];
    const gopt_kernel *kernel;
    int64_t knob[GOPT_KERNEL_KNOBS];
} wide;

typedef struct side {
    int64_t count; /* elements to convert; 0: none */
    size_t at;     /* bytes from the workspace's begin */
    bool brain;
} side;

typedef struct spec {
    const gopt_simd *simd;
    void (*run)(const gopt_task *t);
    int n_in, n_out, phases; /* phases: of run */
    bool converts;           /* operands, in a phase before */
    side in[OPERANDS_MAX], out[OPERANDS_MAX];
    _Alignas(max_align_t) unsigned char own[SPEC_MAX]; /* run's spec */
} spec;

static bool is_half(const gopt_group *g, int k)
{
    return k < g->n_anchor && gopt_dtype_is_half(g->in[k].dtype);
}

/* Sizes of packed constants do not depend on their elements: where these are, but not as float32, this stands in. */
static const float some_constant;

static void widen_group(wide *w, const gopt_group *g)
{
    memset(w, 0, sizeof *w);
    w->group = *g;
    w->group.in = w->in;
    w->group.out = w->out;
    for (int k = 0; k < g->n_in; k++) {
        w->in[k] = g->in[k];
        w->in[k].packed = false;
        if (!is_half(g, k))
            continue;
        w->in[k].dtype = GOPT_DTYPE_F32;
        w->in[k].constant = g->in[k].constant || g->in[k].packed ? &some_constant : NULL;
    }
    for (int k = 0; k < g->n_out; k++) {
        w->out[k] = g->out[k];
        w->out[k].dtype = gopt_dtype_is_half(g->out[k].dtype) ? GOPT_DTYPE_F32 : g->out[k].dtype;
    }
}

static bool choose(wide *w, const gopt_target *t)
{
    extern const gopt_kernel gopt_kernel_any_half;
    for (int i = 0; gopt_kernels[i]; i++) {
        const gopt_kernel *k = gopt_kernels[i];
        for (int j = 0; j < gopt_kernel_knob_count(k); j++)
            w->knob[j] = k->knobs[j].init;
        if (k == &gopt_kernel_any_half || k->generated || k->spec_bytes > SPEC_MAX || !k->fits(&w->group, w->knob, t))
            continue;
        w->kernel = k;
        return true;
    }
    return false;
}

/* Bytes of the kernel's own layout of operand k. */
static size_t own_bytes(const wide *w, const gopt_target *t, int k)
{
    return w->kernel->packed_bytes ? w->kernel->packed_bytes(&w->group, w->knob, t, k) : 0;
}

/* The group and its kernel, which is told of constants that lie as it wants them. */
static void widen(wide *w, const gopt_group *g, const gopt_target *t)
{
    bool packed[OPERANDS_MAX] = {false};
    widen_group(w, g);
    if (!choose(w, t))
        return;
    for (int k = 0; k < g->n_in; k++)
        packed[k] = g->in[k].packed && (!is_half(g, k) || own_bytes(w, t, k) > 0);
    for (int k = 0; k < g->n_in; k++)
        w->in[k].packed = packed[k];
}

static bool has_half(const gopt_group *g)
{
    bool any = false;
    for (int k = 0; k < g->n_in; k++)
        any |= is_half(g, k);
    for (int k = 0; k < g->n_out; k++)
        any |= gopt_dtype_is_half(g->out[k].dtype);
    return any;
}

static bool fits(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    wide w;
    (void)knob;
    if (!g->op || g->n_anchor == 0 || g->op->traits & GOPT_TRAIT_POINTWISE || g->n_in > OPERANDS_MAX ||
        g->n_out > OPERANDS_MAX || !has_half(g))
        return false;
    widen_group(&w, g);
    return choose(&w, t);
}

static double cost(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    wide w;
    (void)knob;
    widen(&w, g, t);
    return w.kernel->cost(&w.group, w.knob, t) + gopt_roofline(t, 0, gopt_group_bytes(g));
}

/* ---- constants ---- */

static size_t packed_bytes(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k)
{
    wide w;
    (void)knob;
    if (k >= g->n_anchor || !g->in[k].constant)
        return 0;
    widen(&w, g, t);
    size_t own = own_bytes(&w, t, k);
    return own || !is_half(g, k) ? own : (size_t)gopt_operand_count(&g->in[k]) * sizeof(float);
}

/* Operand k is float32 already: see gopt_kernel_pack. */
static void pack(const gopt_group *g, const int64_t *knob, const gopt_target *t, int k, void *dst)
{
    wide w;
    (void)knob;
    widen(&w, g, t);
    if (own_bytes(&w, t, k))
        w.kernel->pack(&w.group, w.knob, t, k, dst);
    else
        memcpy(dst, g->in[k].constant, (size_t)gopt_operand_count(&g->in[k]) * sizeof(float));
}

/* ---- running ---- */

static size_t place(side *s, const gopt_operand *o, size_t at)
{
    s->count = gopt_operand_count(o);
    s->at = at;
    s->brain = o->dtype == GOPT_DTYPE_BF16;
    return (at + (size_t)s->count * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

/* s is zeroed. */
static gopt_work plan(spec *s, const wide *w, const gopt_group *g, const gopt_target *t)
{
    gopt_work work = w->kernel->work(&w->group, w->knob, t);
    work.workspace = (work.workspace + ALIGN - 1) / ALIGN * ALIGN;
    for (int k = 0; k < g->n_in; k++)
        if (is_half(g, k) && !g->in[k].packed) {
            work.workspace = place(&s->in[k], &g->in[k], work.workspace);
            s->converts = true;
        }
    for (int k = 0; k < g->n_out; k++)
        if (gopt_dtype_is_half(g->out[k].dtype))
            work.workspace = place(&s->out[k], &g->out[k], work.workspace);
    s->phases = work.phases;
    work.phases += s->converts + 1;
    return work;
}

static gopt_work work(const gopt_group *g, const int64_t *knob, const gopt_target *t)
{
    wide w;
    spec s;
    (void)knob;
    memset(&s, 0, sizeof s);
    widen(&w, g, t);
    return plan(&s, &w, g, t);
}

static void prepare(const gopt_group *g, const int64_t *knob, const gopt_target *t, void *memory)
{
    wide w;
    spec *s = memory;
    (void)knob;
    widen(&w, g, t);
    plan(s, &w, g, t);
    s->simd = gopt_simd_for(t->isa);
    s->run = w.kernel->run;
    s->n_in = g->n_in;
    s->n_out = g->n_out;
    if (w.kernel->prepare)
        w.kernel->prepare(&w.group, w.knob, t, s->own);
}

static void convert_operands(const spec *s, const gopt_task *t)
{
    for (int k = 0; k < s->n_in; k++) {
        int64_t lo, hi;
        gopt_share(s->in[k].count, ALIGN, t->part, t->parts, &lo, &hi);
        float *to = (float *)((char *)t->workspace + s->in[k].at) + lo;
        if (lo < hi)
            s->simd->half_widen(to, (const uint16_t *)t->in[k] + lo, hi - lo, s->in[k].brain);
    }
}

static void convert_results(const spec *s, const gopt_task *t)
{
    for (int k = 0; k < s->n_out; k++) {
        int64_t lo, hi;
        gopt_share(s->out[k].count, ALIGN, t->part, t->parts, &lo, &hi);
        const float *from = (const float *)((char *)t->workspace + s->out[k].at) + lo;
        if (lo < hi)
            s->simd->half_narrow((uint16_t *)t->out[k] + lo, from, hi - lo, s->out[k].brain);
    }
}

static void run(const gopt_task *t)
{
    const spec *s = t->spec;
    const void *in[OPERANDS_MAX];
    void *out[OPERANDS_MAX];
    int phase = t->phase - s->converts;
    if (phase < 0) {
        convert_operands(s, t);
        return;
    }
    if (phase == s->phases) {
        convert_results(s, t);
        return;
    }
    for (int k = 0; k < s->n_in; k++)
        in[k] = s->in[k].count ? (const char *)t->workspace + s->in[k].at : t->in[k];
    for (int k = 0; k < s->n_out; k++)
        out[k] = s->out[k].count ? (char *)t->workspace + s->out[k].at : t->out[k];
    gopt_task own = *t;
    own.in = in;
    own.out = out;
    own.spec = s->own;
    own.phase = phase;
    s->run(&own);
}

const gopt_kernel gopt_kernel_any_half = {
    .name = "any_half",
    .doc = "float16 and bfloat16 by the kernels for float32, widened before and rounded after",
    .revision = 1,
    .fits = fits,
    .cost = cost,
    .work = work,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .widens = true,
    .spec_bytes = sizeof(spec),
    .prepare = prepare,
    .run = run,
};
