/* ref_case.c: builds a node from literals and runs its reference. */
#include "support/ref_case.h"

#include <math.h>

ref_case ref_begin(const char *name)
{
    const char *colon = strchr(name, ':');
    char domain[64] = "";
    ref_case c = {0};
    if (colon)
        snprintf(domain, sizeof domain, "%.*s", (int)(colon - name), name);
    c.op = gopt_op_find(domain, colon ? colon + 1 : name);
    if (!c.op)
        fail_msg("no operator %s", name);
    return c;
}

void ref_end(ref_case *c)
{
    gopt_arena_fini(&c->arena);
}

static gopt_tensor *add(ref_case *c, gopt_dtype d, int rank, const int64_t *dim)
{
    gopt_tensor *t = gopt_tensor_new(&c->arena, d, rank, dim);
    assert_non_null(t);
    assert_in_range(c->n_in, 0, REF_MAX - 1);
    c->in[c->n_in++] = t;
    return t;
}

gopt_tensor *ref_input(ref_case *c, gopt_dtype d, int rank, const int64_t *dim, int n, const double *v)
{
    gopt_tensor *t = add(c, d, rank, dim);
    for (int64_t i = 0; n > 0 && i < gopt_tensor_count(t); i++)
        gopt_tensor_set(t, i, v[i % n]);
    return t;
}

gopt_tensor *ref_constant(ref_case *c, gopt_dtype d, int rank, const int64_t *dim, int n, const double *v)
{
    c->constant[c->n_in] = true;
    return ref_input(c, d, rank, dim, n, v);
}

void ref_known(ref_case *c)
{
    c->constant[c->n_in - 1] = true;
}

void ref_absent(ref_case *c)
{
    c->in[c->n_in++] = NULL;
}

gopt_tensor *ref_varied(ref_case *c, gopt_dtype d, int rank, const int64_t *dim)
{
    gopt_tensor *t = add(c, d, rank, dim);
    for (int64_t i = 0; i < gopt_tensor_count(t); i++) {
        int64_t k = (i * 37 + c->n_in * 11) % 64; /* every multiple of 1/32 in [-1, 1), exact in every float type */
        gopt_tensor_set(t, i, gopt_dtype_is_float(d) ? (double)(k - 32) / 32 : (double)(k % 7));
    }
    return t;
}

static gopt_attr *next_attr(ref_case *c, const char *name, gopt_attr_kind kind)
{
    assert_in_range(c->n_attr, 0, REF_MAX - 1);
    gopt_attr *a = &c->attr[c->n_attr++];
    *a = (gopt_attr){.name = name, .kind = kind};
    return a;
}

void ref_int(ref_case *c, const char *name, int64_t v)
{
    next_attr(c, name, GOPT_ATTR_INT)->i = v;
}

void ref_float(ref_case *c, const char *name, double v)
{
    next_attr(c, name, GOPT_ATTR_FLOAT)->f = v;
}

void ref_string(ref_case *c, const char *name, const char *v)
{
    next_attr(c, name, GOPT_ATTR_STRING)->s = v;
}

void ref_ints(ref_case *c, const char *name, int n, const int64_t *v)
{
    gopt_attr *a = next_attr(c, name, GOPT_ATTR_INTS);
    a->n = n;
    a->ints = gopt_arena_copy(&c->arena, v, (size_t)n, sizeof *v);
}

void ref_floats(ref_case *c, const char *name, int n, const double *v)
{
    gopt_attr *a = next_attr(c, name, GOPT_ATTR_FLOATS);
    a->n = n;
    a->floats = gopt_arena_copy(&c->arena, v, (size_t)n, sizeof *v);
}

void ref_strings(ref_case *c, const char *name, int n, const char *const *v)
{
    gopt_attr *a = next_attr(c, name, GOPT_ATTR_STRINGS);
    a->n = n;
    a->strings = gopt_arena_copy(&c->arena, v, (size_t)n, sizeof *v);
}

/* ---- running ---- */

static gopt_status alloc(gopt_exec *x, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    ref_case *c = x->driver;
    int64_t n;
    if (!gopt_dims_count(dim, rank, &n) || n > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "output %d is too large", k);
    gopt_tensor *t = gopt_tensor_new(&c->arena, d, rank, dim);
    if (!t)
        return gopt_oom(e);
    memset(t->data, 0x5a, gopt_tensor_bytes(t)); /* whatever is left unwritten shows */
    *x->out[k] = *t;
    return GOPT_OK;
}

static gopt_status execute(ref_case *c, gopt_err *e)
{
    gopt_arena scratch = {0};
    gopt_exec x = {.op = c->op,
                   .attrs = {c->attr, c->n_attr},
                   .n_in = c->n_in,
                   .n_out = c->n_out,
                   .in = (const gopt_tensor *const *)c->in,
                   .out = c->out_at,
                   .scratch = &scratch,
                   .alloc = alloc,
                   .deadline = c->deadline,
                   .driver = c};
    for (int k = 0; k < c->n_out; k++)
        c->out[k] = (gopt_tensor){0};
    gopt_status s = c->op->run(&x, e);
    gopt_arena_fini(&scratch);
    return s;
}

/* Symbols "s<input>_<axis>" in place of the sizes of all inputs but constants and scalars, and their values. */
typedef struct symbols {
    int n;
    char text[REF_MAX * GOPT_RANK_MAX][32];
    const char *name[REF_MAX * GOPT_RANK_MAX];
    int64_t value[REF_MAX * GOPT_RANK_MAX];
} symbols;

static void make_symbolic(const ref_case *c, int i, gopt_fact *f, gopt_dims *dims, symbols *s)
{
    f->content = NULL;
    f->constant = NULL;
    for (int d = 0; d < f->rank; d++) {
        snprintf(s->text[s->n], sizeof s->text[s->n], "s%d_%d", i, d);
        s->name[s->n] = s->text[s->n];
        s->value[s->n++] = c->in[i]->dim[d];
        f->dim[d] = gopt_dim_symbol(dims, s->name[s->n - 1]);
    }
}

static void check_output(const ref_case *c, int k, const gopt_fact *f, gopt_dims *dims, const symbols *s)
{
    const gopt_tensor *t = c->out_at[k];
    bool exact = !c->loose;
    if (exact || f->dtype != GOPT_DTYPE_NONE)
        assert_int_equal(f->dtype, t->dtype);
    if (exact || f->rank >= 0)
        assert_int_equal(f->rank, t->rank);
    for (int d = 0; d < f->rank; d++) {
        gopt_dim v = s ? gopt_dim_bind(dims, f->dim[d], s->name, s->value, s->n) : f->dim[d];
        if (exact)
            assert_true(gopt_dim_is_const(v));
        if (gopt_dim_is_const(v))
            assert_int_equal(v.k, t->dim[d]);
    }
}

/* Infers with the real shapes (symbolic: with symbols in their place) and compares with what execution made. Operators
 * whose shapes depend on values are inferred as far as they go. */
static void check_inference(const ref_case *c, bool symbolic)
{
    gopt_arena a = {0};
    gopt_fact in[REF_MAX] = {0}, out[REF_MAX] = {0};
    symbols *s = GOPT_NEW(&a, symbols, 1);
    gopt_dims *dims = gopt_dims_new(&a);
    gopt_err e = {0};
    for (int i = 0; i < c->n_in; i++) {
        if (!c->in[i])
            continue;
        gopt_fact_of_tensor(&in[i], c->in[i], &a);
        if (symbolic && !c->constant[i])
            make_symbolic(c, i, &in[i], dims, s);
    }
    for (int k = 0; k < c->n_out; k++)
        out[k].rank = -1;
    gopt_infer x = {.op = c->op,
                    .attrs = {c->attr, c->n_attr},
                    .dims = dims,
                    .arena = &a,
                    .n_in = c->n_in,
                    .n_out = c->n_out,
                    .in = in,
                    .out = out};
    assert_ok(c->op->infer(&x, &e), &e);
    for (int k = 0; k < c->n_out; k++)
        if (c->out_at[k])
            check_output(c, k, &out[k], dims, symbolic ? s : NULL);
    gopt_arena_fini(&a);
}

void ref_outputs(ref_case *c, int n_out)
{
    c->n_out = n_out;
    for (int k = 0; k < n_out; k++)
        c->out_at[k] = &c->out[k];
}

gopt_status ref_run_wanted(ref_case *c)
{
    gopt_status s = execute(c, &c->e);
    if (s)
        return s;
    check_inference(c, false);
    check_inference(c, true);
    return GOPT_OK;
}

gopt_status ref_run(ref_case *c, int n_out)
{
    ref_outputs(c, n_out);
    return ref_run_wanted(c);
}

void ref_expect(const ref_case *c, int k, gopt_dtype d, int rank, const int64_t *dim, double tolerance, int n,
                const double *v)
{
    const gopt_tensor *t = c->out_at[k];
    assert_int_equal(t->dtype, d);
    assert_int_equal(t->rank, rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(t->dim[i], dim[i]);
    assert_int_equal(gopt_tensor_count(t), n);
    for (int i = 0; i < n; i++) {
        double got = gopt_tensor_get(t, i);
        bool same = got == v[i] || (isnan(got) && isnan(v[i]));
        if (!same && !(fabs(got - v[i]) <= tolerance * fmax(1, fabs(v[i]))))
            fail_msg("%s: output %d, element %d is %.9g, not %.9g", c->op->name, k, i, got, v[i]);
    }
}

double ref_at(const ref_case *c, int k, int64_t i)
{
    return gopt_tensor_get(c->out_at[k], i);
}

void ref_expect_error(ref_case *c, gopt_status want, const char *word)
{
    ref_outputs(c, c->n_out ? c->n_out : 1);
    gopt_status s = execute(c, &c->e);
    if (s != want || !strstr(c->e.msg, word))
        fail_msg("%s: status \"%s\", message \"%s\"; expected \"%s\" with \"%s\"", c->op->name, gopt_status_text(s),
                 c->e.msg, gopt_status_text(want), word);
}

static gopt_status make(void *ctx, gopt_err *e)
{
    ref_case *c = ctx;
    c->arena.failed = false; /* only the outputs' memory was short: the inputs are all there */
    return execute(c, e);
}

void ref_expect_oom_safe(ref_case *c, int n_out)
{
    ref_outputs(c, n_out);
    assert_true(test_every_oom(make, c) > 0);
}
