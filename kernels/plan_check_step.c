/* plan_check_step.c: a step with a kernel, held against its operator and its kernel: what inference gives, what the
 * kernel fits, the work and layouts it asks for. */
#include <string.h>

#include "bundle_format.h"
#include "plan_check.h"

/* ---- operands ---- */

static bool same_shape(const gopt_operand *o, const gopt_plan_value *v)
{
    return o->dtype == v->dtype && o->rank == v->rank && !memcmp(o->dim, v->dim, (size_t)o->rank * sizeof o->dim[0]);
}

static bool is_static(const gopt_operand *o)
{
    return gopt_plan_static(o->dtype, o->rank, o->dim, NULL);
}

static bool is_absent(const gopt_operand *o, int v)
{
    return v < 0 && o->dtype == GOPT_DTYPE_NONE && o->rank == 0 && !o->packed;
}

static gopt_status check_operands(const gopt_plan *p, const gopt_step *s, gopt_err *e)
{
    const gopt_group *g = &s->group;
    for (int k = 0; k < g->n_in; k++) {
        const gopt_plan_value *v = s->in[k] < 0 ? NULL : &p->values[s->in[k]];
        bool held = v && (g->in[k].packed ? v->place == GOPT_PLACE_CONST : same_shape(&g->in[k], v));
        if (!is_absent(&g->in[k], s->in[k]) && !(held && is_static(&g->in[k])))
            return gopt_fail(e, GOPT_EINPUT, "operand %d is not what its value is", k);
    }
    for (int k = 0; k < g->n_out; k++)
        if (!is_absent(&g->out[k], s->out[k]) &&
            !(s->out[k] >= 0 && is_static(&g->out[k]) && same_shape(&g->out[k], &p->values[s->out[k]])))
            return gopt_fail(e, GOPT_EINPUT, "result %d is not what its value is", k);
    return GOPT_OK;
}

/* ---- operator ---- */

static void set_fact(gopt_fact *f, const gopt_operand *o, gopt_arena *a)
{
    *f = (gopt_fact){.rank = -1};
    if (o->dtype == GOPT_DTYPE_NONE)
        return;
    gopt_tensor *t = o->constant ? GOPT_NEW(a, gopt_tensor, 1) : NULL;
    if (t) {
        *t = (gopt_tensor){.dtype = o->dtype, .rank = o->rank, .data = (void *)(uintptr_t)o->constant};
        memcpy(t->dim, o->dim, sizeof t->dim);
        gopt_fact_of_tensor(f, t, a);
        return;
    }
    f->dtype = o->dtype;
    f->rank = o->rank;
    for (int i = 0; i < o->rank; i++)
        f->dim[i] = gopt_dim_of(o->dim[i]);
}

static gopt_status infer(const gopt_group *g, gopt_fact *out, gopt_arena *a, gopt_err *e)
{
    gopt_infer x = {.op = g->op, .attrs = g->attrs, .arena = a, .n_in = g->n_anchor, .n_out = g->n_out, .out = out};
    gopt_fact *in = GOPT_NEW(a, gopt_fact, g->n_anchor);
    if (!in)
        return gopt_oom(e);
    for (int k = 0; k < g->n_anchor; k++)
        set_fact(&in[k], &g->in[k], a);
    for (int k = 0; k < g->n_out; k++)
        out[k].rank = -1;
    x.in = in;
    GOPT_TRY(g->op->infer(&x, e));
    return a->failed ? gopt_oom(e) : GOPT_OK;
}

/* What is inferred without the contents of every operand leaves open may be anything. */
static bool agrees(const gopt_operand *o, const gopt_fact *f, gopt_dtype d)
{
    bool same = o->dtype == d && (f->rank < 0 || f->rank == o->rank);
    for (int i = 0; same && i < f->rank; i++)
        same = !gopt_dim_is_const(f->dim[i]) || f->dim[i].k == o->dim[i];
    return same;
}

static int64_t count_of(const gopt_operand *o)
{
    int64_t n = 0;
    gopt_dims_count(o->dim, o->rank, &n);
    return n;
}

static gopt_status check_anchor(const gopt_group *g, gopt_dtype *acc, gopt_arena *a, gopt_err *e)
{
    const gopt_op *op = g->op;
    gopt_fact *out = GOPT_NEW(a, gopt_fact, g->n_out);
    if (!out)
        return gopt_oom(e);
    if (g->n_anchor < op->in_min || g->n_anchor > op->in_max || g->n_out < op->out_min || g->n_out > op->out_max)
        return gopt_fail(e, GOPT_EINPUT, "%d inputs and %d outputs", g->n_anchor, g->n_out);
    GOPT_TRY(infer(g, out, a, e));
    *acc = out[0].dtype;
    for (int k = 0; k < g->n_out; k++) {
        gopt_dtype d = k == 0 && g->post ? gopt_expr_dtype(g->post) : out[k].dtype;
        if (g->out[k].dtype != GOPT_DTYPE_NONE && !agrees(&g->out[k], &out[k], d))
            return gopt_fail(e, GOPT_EINPUT, "result %d is not what the operator gives", k);
    }
    if ((op->traits & GOPT_TRAIT_VIEW) && count_of(&g->in[0]) != count_of(&g->out[0]))
        return gopt_fail(e, GOPT_EINPUT, "a view of another size");
    return GOPT_OK;
}

/* ---- post ---- */

static bool broadcasts_to(const gopt_operand *o, const gopt_operand *out)
{
    int64_t dim[GOPT_RANK_MAX];
    int rank;
    return gopt_dims_broadcast(o->dim, o->rank, out->dim, out->rank, dim, &rank) && rank == out->rank &&
           !memcmp(dim, out->dim, (size_t)rank * sizeof dim[0]);
}

/* What the operator does not read, the expression does. */
static bool all_are_read(const gopt_group *g)
{
    bool live[GOPT_EXPR_LIMIT], read = true;
    gopt_expr_live(g->post, live);
    for (int i = g->n_anchor; read && i < g->n_in; i++) {
        read = g->in[i].dtype == GOPT_DTYPE_NONE;
        for (int k = 0; k < g->post->n; k++)
            read = read || (live[k] && g->post->at[k].code == GOPT_EXPR_LOAD && g->post->at[k].i == i);
    }
    return read;
}

static bool loads_are_sound(const gopt_group *g, gopt_dtype acc)
{
    for (int k = 0; k < g->post->n; k++) {
        const gopt_instr *x = &g->post->at[k];
        bool sound = x->code == GOPT_EXPR_ACC ? x->dtype == acc : true;
        if (x->code == GOPT_EXPR_LOAD)
            sound = x->i >= g->n_anchor && x->i < g->n_in && g->in[x->i].dtype == x->dtype && !g->in[x->i].packed &&
                    broadcasts_to(&g->in[x->i], &g->out[0]);
        if (!sound)
            return false;
    }
    return true;
}

static gopt_status check_post(const gopt_group *g, gopt_dtype acc, gopt_err *e)
{
    bool whole =
        g->n_out >= 1 && g->out[0].dtype == gopt_expr_dtype(g->post) && loads_are_sound(g, acc) && all_are_read(g);
    return whole ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "its expression does not go with its operands");
}

/* Without an anchor the result has the shape that the operands have together. */
static bool is_their_shape(const gopt_group *g)
{
    int64_t dim[GOPT_RANK_MAX];
    int rank = 0;
    for (int k = 0; k < g->n_in; k++)
        if (!gopt_dims_broadcast(dim, rank, g->in[k].dim, g->in[k].rank, dim, &rank))
            return false;
    return g->n_out == 1 && rank == g->out[0].rank && !memcmp(dim, g->out[0].dim, (size_t)rank * sizeof dim[0]);
}

static gopt_status check_group(const gopt_group *g, gopt_arena *a, gopt_err *e)
{
    gopt_dtype acc = GOPT_DTYPE_NONE;
    if (g->n_anchor > 0)
        GOPT_TRY(check_anchor(g, &acc, a, e));
    else if (!g->post || !is_their_shape(g))
        return gopt_fail(e, GOPT_EINPUT, "its result is not of its operands' shape");
    if (g->post)
        return check_post(g, acc, e);
    return g->n_in == g->n_anchor ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "operands that nothing reads");
}

/* ---- kernel ---- */

/* The group as the compiler had it: constants that a bundle does not keep, whose elements no kernel looks at before it
 * packs them, have something in their place. */
static gopt_operand *as_compiled(const gopt_group *g, bool packed, gopt_arena *a)
{
    static const unsigned char something[64];
    gopt_operand *in = gopt_arena_copy(a, g->in, (size_t)g->n_in, sizeof *in);
    for (int k = 0; in && k < g->n_in; k++) {
        if (in[k].packed && !in[k].constant)
            in[k].constant = something;
        in[k].packed = in[k].packed && packed;
    }
    return in;
}

/* A layout of what is kept may hold indices: it must be the very one that the kernel makes. */
static gopt_status check_layout(const gopt_step *s, const gopt_group *g, const gopt_target *t, int k,
                                const gopt_plan_value *v, gopt_arena *a, gopt_err *e)
{
    size_t bytes = s->kernel->packed_bytes ? s->kernel->packed_bytes(g, s->knob, t, k) : 0;
    if (!bytes || v->bytes != bytes)
        return gopt_fail(e, GOPT_EINPUT, "operand %d: %zu bytes packed, its kernel wants %zu", k, v->bytes, bytes);
    size_t plain = gopt_dtype_bytes(g->in[k].dtype, gopt_operand_count(&g->in[k]));
    if (!s->group.in[k].constant)
        return plain == 0 || plain > GOPT_BUNDLE_SMALL ? GOPT_OK
                                                       : gopt_fail(e, GOPT_EINPUT, "operand %d: no elements kept", k);
    void *again = gopt_arena_take(a, 1, GOPT_MAX(bytes, (size_t)64));
    if (!again)
        return gopt_oom(e);
    GOPT_TRY(gopt_kernel_pack(s->kernel, g, s->knob, t, k, again, e));
    return memcmp(again, v->data, bytes) ? gopt_fail(e, GOPT_EINPUT, "operand %d: not packed as its kernel does", k)
                                         : GOPT_OK;
}

static gopt_status check_kernel(const gopt_plan *main_plan, const gopt_plan *p, const gopt_step *s, gopt_arena *a,
                                gopt_err *e)
{
    const gopt_kernel *k = s->kernel;
    const gopt_target *t = &main_plan->target;
    gopt_group g = s->group;
    for (int i = 0; i < gopt_kernel_knob_count(k); i++)
        if (!gopt_knob_valid(&k->knobs[i], s->knob[i]))
            return gopt_fail(e, GOPT_EINPUT, "kernel %s: %s cannot be %lld", k->name, k->knobs[i].name,
                             (long long)s->knob[i]);
    if (!(g.in = as_compiled(&s->group, false, a)))
        return gopt_oom(e);
    if (!k->fits(&g, s->knob, t))
        return gopt_fail(e, GOPT_EINPUT, "kernel %s does not fit it", k->name);
    for (int i = 0; i < g.n_in; i++)
        if (s->group.in[i].packed)
            GOPT_TRY(check_layout(s, &g, t, i, &p->values[s->in[i]], a, e));
    if (!(g.in = as_compiled(&s->group, true, a)))
        return gopt_oom(e);
    gopt_work w = k->work(&g, s->knob, t);
    bool same = w.parts == s->work.parts && w.phases == s->work.phases && w.workspace == s->work.workspace;
    if (!same || w.workspace > p->workspace_bytes)
        return gopt_fail(e, GOPT_EINPUT, "kernel %s asks for %d parts, %d phases, %zu bytes; compile again", k->name,
                         w.parts, w.phases, w.workspace);
    return GOPT_OK;
}

gopt_status gopt_step_check(const gopt_plan *main_plan, const gopt_plan *p, const gopt_step *s, gopt_arena *scratch,
                            gopt_err *e)
{
    GOPT_TRY(check_operands(p, s, e));
    GOPT_TRY(check_group(&s->group, scratch, e));
    return check_kernel(main_plan, p, s, scratch, e);
}
