/* engine_late.c: steps whose shapes are known only now, and steps that no kernel fits. For shapes seen before, the
 * kernel chosen then is at hand; else the first that fits is made ready and kept; the reference runs what is left. */
#include <string.h>

#include "engine_frame.h"
#include "refrun.h"

enum { LATE_MAX = 16 }; /* shapes remembered per step: a decoder's growing sequence must not grow memory for ever */

static void set_operand(gopt_operand *o, const gopt_tensor *t, const gopt_plan_value *v)
{
    *o = (gopt_operand){0};
    if (!t)
        return;
    o->dtype = t->dtype;
    o->rank = t->rank;
    memcpy(o->dim, t->dim, sizeof o->dim);
    o->constant = v->place == GOPT_PLACE_CONST ? v->data : NULL;
}

static bool same_shape(const gopt_operand *a, const gopt_operand *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)GOPT_MAX(a->rank, 0) * sizeof a->dim[0]);
}

static bool same_group(const gopt_group *a, const gopt_group *b)
{
    for (int k = 0; k < a->n_in; k++)
        if (!same_shape(&a->in[k], &b->in[k]))
            return false;
    for (int k = 0; k < a->n_out; k++)
        if (!same_shape(&a->out[k], &b->out[k]))
            return false;
    return true;
}

/* Outputs of the group by inference on the real operands; false when they depend on data. */
static bool infer_pointwise(const gopt_group *g, gopt_operand *out)
{
    out->dtype = gopt_expr_dtype(g->post);
    for (int k = 0; k < g->n_in; k++)
        if (!gopt_dims_broadcast(out->dim, out->rank, g->in[k].dim, g->in[k].rank, out->dim, &out->rank))
            return false;
    return true;
}

static bool infer_outputs(const gopt_group *g, const gopt_tensor *const *in, gopt_operand *out, gopt_arena *a)
{
    if (g->n_anchor == 0)
        return g->post && infer_pointwise(g, &out[0]);
    gopt_fact *fact = GOPT_NEW(a, gopt_fact, g->n_anchor), *result = GOPT_NEW(a, gopt_fact, g->n_out);
    if (!fact || !result)
        return false;
    for (int k = 0; k < g->n_anchor; k++)
        if (in[k])
            gopt_fact_of_tensor(&fact[k], in[k], a);
        else
            fact[k].rank = -1;
    for (int k = 0; k < g->n_out; k++)
        result[k].rank = -1;
    gopt_infer x = {.op = g->op, .attrs = g->attrs, .arena = a, .n_in = g->n_anchor, .n_out = g->n_out};
    x.in = fact;
    x.out = result;
    if (g->op->infer(&x, NULL))
        return false; /* the reference will say why */
    for (int k = 0; k < g->n_out; k++) {
        out[k].dtype = result[k].dtype;
        out[k].rank = result[k].rank;
        if (!gopt_fact_static(&result[k], out[k].dim))
            return false;
    }
    if (g->post)
        out[0].dtype = gopt_expr_dtype(g->post);
    return true;
}

static gopt_status pack_constants(gopt_engine *g, gopt_late *l, const gopt_kernel *k, const int64_t *knob, gopt_err *e)
{
    gopt_group *group = &l->group;
    for (int i = 0; k->packed_bytes && i < group->n_in; i++) {
        size_t bytes = group->in[i].constant ? k->packed_bytes(group, knob, &g->target, i) : 0;
        if (!bytes)
            continue;
        if (!(l->packed[i] = gopt_arena_take(&g->late, 1, GOPT_MAX(bytes, (size_t)64))))
            return gopt_oom(e);
        GOPT_TRY(gopt_kernel_pack(k, group, knob, &g->target, i, l->packed[i], e));
        ((gopt_operand *)group->in)[i].packed = true;
    }
    return GOPT_OK;
}

static gopt_status make_ready(gopt_engine *g, gopt_late *l, bool pack, gopt_err *e)
{
    const gopt_kernel *k = gopt_kernel_default(&l->group, &g->target);
    if (!k)
        return GOPT_OK;
    int n = gopt_kernel_knob_count(k);
    int64_t *knob = GOPT_NEW(&g->late, int64_t, n);
    l->ready.spec = gopt_arena_take(&g->late, 1, k->spec_bytes);
    if (!knob || !l->ready.spec)
        return gopt_oom(e);
    for (int i = 0; i < n; i++)
        knob[i] = k->knobs[i].init;
    if (pack)
        GOPT_TRY(pack_constants(g, l, k, knob, e));
    if (k->prepare)
        k->prepare(&l->group, knob, &g->target, l->ready.spec);
    l->ready.work = k->work(&l->group, knob, &g->target);
    l->ready.run = k->run;
    return gopt_engine_need_workspace(g, l->ready.work.workspace, e);
}

static gopt_status remember(gopt_engine *g, gopt_step_state *state, const gopt_step *s, const gopt_group *group,
                            gopt_late **out, gopt_err *e)
{
    gopt_late *l = *out = GOPT_NEW(&g->late, gopt_late, 1);
    if (!l)
        return gopt_oom(e);
    l->group = *group;
    l->group.in = gopt_arena_copy(&g->late, group->in, (size_t)group->n_in, sizeof *group->in);
    l->group.out = gopt_arena_copy(&g->late, group->out, (size_t)group->n_out, sizeof *group->out);
    l->packed = GOPT_NEW(&g->late, void *, group->n_in);
    if (!l->group.in || !l->group.out || !l->packed)
        return gopt_oom(e);
    GOPT_TRY(make_ready(g, l, s->pack_late, e));
    l->next = state->late;
    state->late = l;
    return GOPT_OK;
}

static int count_late(const gopt_step_state *state)
{
    int n = 0;
    for (const gopt_late *l = state->late; l; l = l->next)
        n++;
    return n;
}

/* The shape goes with what the plan knows of it: by that, readers were chosen and memory was placed. */
static bool allows(const gopt_plan_value *v, gopt_dtype d, int rank, const int64_t *dim)
{
    bool fits = v->dtype == d && (v->rank < 0 || v->rank == rank);
    for (int i = 0; fits && i < v->rank; i++)
        fits = v->dim[i] < 0 || v->dim[i] == dim[i];
    return fits;
}

static gopt_status set_output(gopt_frame *f, int v, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    gopt_tensor *t = &f->tensor[v];
    if (!allows(&f->plan->values[v], d, rank, dim))
        return gopt_fail(e, GOPT_EINPUT, "a result of another shape than its plan has room for");
    t->dtype = d;
    t->rank = rank;
    if (rank)
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    return f->plan->values[v].place == GOPT_PLACE_DYNAMIC ? gopt_frame_allocate(f, v, e) : GOPT_OK;
}

static gopt_status run_ready(gopt_frame *f, int step, const gopt_late *l, const gopt_tensor *const *in, gopt_err *e)
{
    const gopt_step *s = &f->plan->steps[step];
    gopt_step_state *state = &f->step[step];
    for (int k = 0; k < s->group.n_in; k++)
        state->in[k] = l->packed[k] ? l->packed[k] : in[k] ? in[k]->data : NULL;
    for (int k = 0; k < s->group.n_out; k++) {
        const gopt_operand *o = &l->group.out[k];
        if (s->out[k] >= 0)
            GOPT_TRY(set_output(f, s->out[k], o->dtype, o->rank, o->dim, e));
        state->out[k] = s->out[k] >= 0 ? f->tensor[s->out[k]].data : NULL;
    }
    gopt_engine_call(f->engine, &l->ready, state->in, state->out);
    return GOPT_OK;
}

/* The kernel for these shapes, NULL when the reference must do. */
static gopt_status choose(gopt_frame *f, int step, const gopt_tensor *const *in, gopt_arena *a, gopt_late **out,
                          gopt_err *e)
{
    const gopt_step *s = &f->plan->steps[step];
    gopt_step_state *state = &f->step[step];
    gopt_group g = s->group;
    gopt_operand *operand = GOPT_NEW(a, gopt_operand, g.n_in), *result = GOPT_NEW(a, gopt_operand, g.n_out);
    *out = NULL;
    if (!operand || !result)
        return gopt_oom(e);
    for (int k = 0; k < g.n_in; k++)
        set_operand(&operand[k], in[k], s->in[k] >= 0 ? &f->plan->values[s->in[k]] : NULL);
    g.in = operand;
    g.out = result;
    if (!infer_outputs(&g, in, result, a))
        return GOPT_OK;
    for (int k = 0; k < g.n_out; k++)
        if (s->out[k] < 0)
            result[k] = (gopt_operand){0};
    gopt_late *l = state->late;
    while (l && !same_group(&l->group, &g))
        l = l->next;
    if (!l && count_late(state) < LATE_MAX)
        GOPT_TRY(remember(f->engine, state, s, &g, &l, e));
    *out = l && l->ready.run ? l : NULL;
    return GOPT_OK;
}

/* ---- the reference ---- */

typedef struct reference {
    gopt_frame *frame;
    int step;
    gopt_arena *arena; /* copies of bodies' outputs, until the step ends */
} reference;

static gopt_status alloc(void *ctx, int k, gopt_dtype d, int rank, const int64_t *dim, gopt_err *e)
{
    const reference *r = ctx;
    return set_output(r->frame, r->frame->plan->steps[r->step].out[k], d, rank, dim, e);
}

static gopt_status bind_body(gopt_frame *b, const gopt_tensor *const *in, int n_in, gopt_err *e)
{
    if (n_in != b->plan->n_inputs)
        return gopt_fail(e, GOPT_EINPUT, "its body takes %d inputs, %d given", b->plan->n_inputs, n_in);
    for (int k = 0; k < n_in; k++) {
        int v = b->plan->inputs[k];
        const gopt_plan_value *p = &b->plan->values[v];
        if (!allows(p, in[k]->dtype, in[k]->rank, in[k]->dim)) {
            char got[160];
            return gopt_fail(e, GOPT_EINPUT, "its body's input %s got %s, which its plan does not allow",
                             p->name ? p->name : "?", gopt_tensor_describe(got, sizeof got, in[k]));
        }
        b->tensor[v] = *in[k];
    }
    return GOPT_OK;
}

static gopt_status body(void *ctx, int index, const gopt_tensor *const *in, int n_in, gopt_tensor *out, int n_out,
                        gopt_err *e)
{
    const reference *r = ctx;
    if (index >= r->frame->plan->steps[r->step].n_bodies)
        return gopt_fail(e, GOPT_EINPUT, "it has no body %d", index);
    gopt_frame *b = r->frame->step[r->step].body[index];
    if (n_out > b->plan->n_outputs)
        return gopt_fail(e, GOPT_EINPUT, "its body has %d outputs, %d wanted", b->plan->n_outputs, n_out);
    GOPT_TRY(bind_body(b, in, n_in, e));
    GOPT_TRY(gopt_frame_run(b, NULL, e));
    for (int k = 0; k < n_out; k++) {
        out[k] = b->tensor[b->plan->outputs[k]];
        out[k].data = gopt_arena_copy(r->arena, out[k].data, gopt_tensor_bytes(&out[k]), 1);
        if (!out[k].data)
            return gopt_oom(e);
    }
    return GOPT_OK;
}

static gopt_status run_reference(gopt_frame *f, int step, const gopt_tensor *const *in, gopt_arena *a, gopt_err *e)
{
    const gopt_step *s = &f->plan->steps[step];
    gopt_tensor **out = GOPT_NEW(a, gopt_tensor *, s->group.n_out);
    if (!out)
        return gopt_oom(e);
    for (int k = 0; k < s->group.n_out; k++) {
        out[k] = s->out[k] >= 0 ? &f->tensor[s->out[k]] : NULL;
        if (out[k] && f->plan->values[s->out[k]].place == GOPT_PLACE_DYNAMIC)
            gopt_frame_drop(f, s->out[k]);
    }
    reference r = {.frame = f, .step = step, .arena = a};
    gopt_ref_step ref = {.op = s->group.op,
                         .attrs = s->group.attrs,
                         .n_in = s->group.n_in,
                         .n_anchor = s->group.n_anchor,
                         .n_out = s->group.n_out,
                         .in = in,
                         .out = out,
                         .post = s->group.post,
                         .deadline = f->engine->deadline,
                         .ctx = &r,
                         .alloc = alloc,
                         .n_bodies = s->n_bodies,
                         .body = body};
    return gopt_ref_run(&ref, e);
}

static gopt_status run_late(gopt_frame *f, int step, gopt_arena *a, gopt_err *e)
{
    const gopt_step *s = &f->plan->steps[step];
    const gopt_tensor **in = GOPT_NEW(a, const gopt_tensor *, s->group.n_in);
    gopt_late *late = NULL;
    if (!in)
        return gopt_oom(e);
    for (int k = 0; k < s->group.n_in; k++)
        in[k] = s->in[k] >= 0 ? &f->tensor[s->in[k]] : NULL;
    if (!s->n_bodies)
        GOPT_TRY(choose(f, step, in, a, &late, e));
    return late ? run_ready(f, step, late, in, e) : run_reference(f, step, in, a, e);
}

gopt_status gopt_frame_run_late(gopt_frame *f, int step, gopt_err *e)
{
    gopt_arena a = {0};
    const gopt_step *s = &f->plan->steps[step];
    gopt_status status = run_late(f, step, &a, e);
    gopt_arena_fini(&a);
    return status ? gopt_within(e, status, "node %s (%s)", s->name, s->group.op->name) : GOPT_OK;
}
