#include "support/checkern.h"

#include <math.h>
#include <string.h>

#include "bundle_format.h"
#include "cpu/group.h"
#include "support/test.h"

enum { GUARD = 128, PATTERN = 0xA5 };

/* Largest error allowed, relative to the largest value of the output and to the value itself. */
typedef struct tolerance {
    const char *op; /* or kernel */
    double of_largest, of_value;
} tolerance;

static const tolerance tolerances[] = {
    {"Conv", 3e-6, 3e-6},
    {"FusedConv", 3e-6, 3e-6},
    {"ConvTranspose", 3e-6, 3e-6},
    {"MatMul", 3e-6, 3e-6},
    {"Gemm", 3e-6, 3e-6},
    {"FusedMatMul", 3e-6, 3e-6},
    {"LSTM", 5e-6, 5e-6},
    {"GRU", 5e-6, 5e-6},
    {"NarrowMatMul", 3e-6, 3e-6},
    {"DynamicMatMul", 3e-6, 3e-6},
    {"MatMulNBits", 3e-6, 3e-6},
    {"ReduceProd", 1e-6, 1e-5},
    {"LayerNormalization", 3e-6, 3e-6},
};

static tolerance tolerance_of(const gopt_kernel *k, const gopt_op *op)
{
    static const tolerance winograd = {"_winograd", 3e-5, 3e-5};
    if (strstr(k->name, winograd.op))
        return winograd;
    for (int i = 0; i < GOPT_COUNT(tolerances); i++)
        if (!strcmp(tolerances[i].op, op->name))
            return tolerances[i];
    return (tolerance){op->name, 1e-6, 2e-6};
}

gopt_target checkern_target(gopt_isa isa, int threads)
{
    return (gopt_target){.isa = isa,
                         .threads = threads,
                         .l1 = 32 << 10,
                         .l2 = 512 << 10,
                         .l3 = 4 << 20,
                         .flops_per_s = 1e-3,
                         .bytes_per_s = 1e-3};
}

static unsigned char *guarded(gopt_arena *a, size_t bytes)
{
    unsigned char *q = gopt_arena_take(a, (bytes + 2 * GUARD + 63) / 64 + 1, 64);
    assert_non_null(q);
    memset(q, PATTERN, bytes + 2 * GUARD);
    memset(q + GUARD, 0xFF, bytes); /* NaN: what is not written shows */
    return q + GUARD;
}

static void check_guard(const checkern_case *k, const void *memory, size_t bytes, const char *which)
{
    const unsigned char *p = memory;
    for (int i = 0; i < GUARD; i++)
        if (p[-1 - i] != PATTERN || p[bytes + (size_t)i] != PATTERN)
            fail_msg("%s on %s: wrote past the %s", k->kernel->name, k->what, which);
}

gopt_group checkern_group(const checkern_case *k, gopt_operand *in)
{
    gopt_group g = k->p->group;
    for (int i = 0; i < g.n_in; i++) {
        in[i] = g.in[i];
        in[i].packed = k->pack && k->kernel->packed_bytes && in[i].constant &&
                       k->kernel->packed_bytes(&k->p->group, k->knob, &k->target, i) > 0;
    }
    g.in = in;
    return g;
}

static void bind_inputs(checkern_call *c, const checkern_case *k)
{
    const gopt_group *g = &k->p->group;
    const void **data = GOPT_NEW(&c->arena, const void *, g->n_in + 1);
    c->group = checkern_group(k, GOPT_NEW(&c->arena, gopt_operand, g->n_in));
    c->task.in = data;
    for (int i = 0; i < g->n_in; i++) {
        data[i] = k->p->tensor[i].data;
        if (!c->group.in[i].packed)
            continue;
        size_t bytes = k->kernel->packed_bytes(g, k->knob, &k->target, i);
        unsigned char *packed = guarded(&c->arena, bytes);
        gopt_err e = {0};
        assert_ok(gopt_kernel_pack(k->kernel, g, k->knob, &k->target, i, packed, &e), &e);
        check_guard(k, packed, bytes, "packed constant");
        data[i] = packed;
    }
}

/* As the engine has the group of a bundle: of packed constants but small ones the plain elements are not kept. */
static void forget_packed(checkern_call *c)
{
    gopt_operand *in = gopt_arena_copy(&c->arena, c->group.in, (size_t)c->group.n_in, sizeof *in);
    assert_true(in || c->group.n_in == 0);
    for (int i = 0; i < c->group.n_in; i++)
        if (in[i].packed && gopt_dtype_bytes(in[i].dtype, gopt_operand_count(&in[i])) > GOPT_BUNDLE_SMALL)
            in[i].constant = NULL;
    c->group.in = in;
}

void checkern_call_init(checkern_call *c, const checkern_case *k)
{
    memset(c, 0, sizeof *c);
    c->pool = k->pool;
    bind_inputs(c, k);
    void **out = GOPT_NEW(&c->arena, void *, c->group.n_out);
    for (int i = 0; i < c->group.n_out; i++)
        out[i] = guarded(&c->arena, gopt_tensor_bytes(&k->p->want[i]));
    c->work = k->kernel->work(&c->group, k->knob, &k->target);
    assert_true(c->work.parts >= 1 && c->work.parts <= k->target.threads && c->work.phases >= 1);
    c->task = (gopt_task){.in = c->task.in, .out = out, .parts = c->work.parts};
    c->task.workspace = guarded(&c->arena, c->work.workspace);
    c->run = k->kernel->generated ? k->generated : k->kernel->run;
    if (k->kernel->generated)
        return;
    forget_packed(c);
    void *spec = gopt_arena_take(&c->arena, 1, GOPT_MAX(k->kernel->spec_bytes, 64));
    assert_non_null(spec);
    if (k->kernel->prepare)
        k->kernel->prepare(&c->group, k->knob, &k->target, spec);
    c->task.spec = spec;
}

static void run_part(void *ctx, int part)
{
    const checkern_call *c = ctx;
    gopt_task task = c->task;
    task.part = part;
    c->run(&task);
}

void checkern_call_run(checkern_call *c)
{
    for (c->task.phase = 0; c->pool && c->task.phase < c->work.phases; c->task.phase++)
        gopt_pool_run(c->pool, run_part, c, c->work.parts);
    if (c->pool)
        return;
    for (c->task.phase = 0; c->task.phase < c->work.phases; c->task.phase++)
        for (c->task.part = c->work.parts - 1; c->task.part >= 0; c->task.part--)
            c->run(&c->task);
}

void checkern_call_fini(checkern_call *c)
{
    gopt_arena_fini(&c->arena);
}

static double largest(const gopt_tensor *t)
{
    double most = 0;
    int64_t n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        double v = fabs(gopt_tensor_get(t, i));
        most = v > most && isfinite(v) ? v : most;
    }
    return most;
}

static bool close_enough(double got, double want, double allowed)
{
    if (isnan(want))
        return isnan(got);
    if (isinf(want) || isinf(got))
        return got == want;
    return fabs(got - want) <= allowed;
}

static double unit_of(gopt_dtype d)
{
    return d == GOPT_DTYPE_F16 ? 0x1p-10 : d == GOPT_DTYPE_BF16 ? 0x1p-7 : 0;
}

/* Where the reference rounds to fewer bits kernels may fall on the other side. */
static double unit_in(const gopt_expr *post)
{
    double unit = 0;
    for (int k = 0; post && k < post->n; k++)
        unit = fmax(unit, unit_of(post->at[k].dtype));
    return unit;
}

static void compare(const checkern_case *k, int which, const void *data)
{
    const gopt_tensor *want = &k->p->want[which];
    gopt_tensor got = *want;
    tolerance tol = tolerance_of(k->kernel, k->p->group.op);
    double unit = fmax(unit_of(want->dtype), unit_in(k->p->group.post));
    tol.of_largest += unit;
    tol.of_value += unit;
    double scale = largest(want) * tol.of_largest;
    int64_t n = gopt_tensor_count(want);
    got.data = (void *)data;
    bool quantized = (k->p->group.post || !strcmp(k->kernel->name, "quantize_linear")) &&
                     gopt_dtype_is_small_int(want->dtype); /* floats near a step's edge */
    for (int64_t i = 0; i < n; i++) {
        double a = gopt_tensor_get(&got, i), b = gopt_tensor_get(want, i);
        bool exact = !gopt_dtype_is_float(want->dtype);
        if (quantized && fabs(a - b) <= 1)
            continue;
        if (exact ? gopt_tensor_get_int(&got, i) != gopt_tensor_get_int(want, i)
                  : !close_enough(a, b, scale + fabs(b) * tol.of_value))
            fail_msg("%s (%s, %d parts%s) on %s: output %d element %lld is %.9g, not %.9g", k->kernel->name,
                     gopt_isa_name(k->target.isa), k->target.threads, k->pack ? ", packed" : "", k->what, which,
                     (long long)i, a, b);
    }
}

static bool same_layout(const gopt_operand *a, const gopt_operand *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* Again, with the result over each operand that it may overwrite. */
static void run_in_place(const checkern_case *k, checkern_call *c)
{
    const void **in = (const void **)(uintptr_t)c->task.in;
    size_t bytes = gopt_tensor_bytes(&k->p->want[0]);
    for (int i = 0; i < c->group.n_in; i++) {
        const void *was = in[i];
        if (!was || !same_layout(&c->group.in[i], &c->group.out[0]))
            continue;
        memcpy(c->task.out[0], was, bytes);
        in[i] = c->task.out[0];
        checkern_call_run(c);
        in[i] = was;
        compare(k, 0, c->task.out[0]);
    }
}

void checkern_run(const checkern_case *k)
{
    checkern_call c;
    checkern_call_init(&c, k);
    checkern_call_run(&c);
    for (int i = 0; i < c.group.n_out; i++) {
        check_guard(k, c.task.out[i], gopt_tensor_bytes(&k->p->want[i]), "output");
        compare(k, i, c.task.out[i]);
    }
    check_guard(k, c.task.workspace, c.work.workspace, "workspace");
    if (k->kernel->in_place)
        run_in_place(k, &c);
    checkern_call_fini(&c);
}
