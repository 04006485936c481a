/* engine.c: running a plan: frames, addresses, steps in order. */
#include <string.h>

#include "base/clock.h"
#include "base/dynlib.h"
#include "engine_frame.h"

enum { ALIGN = 64 };

static size_t count_arena(const gopt_plan *p)
{
    size_t bytes = p->arena_bytes;
    for (int i = 0; i < p->n_steps; i++)
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            bytes += count_arena(p->steps[i].body[b]);
    return bytes;
}

static size_t most_workspace(const gopt_plan *p)
{
    size_t bytes = p->workspace_bytes;
    for (int i = 0; i < p->n_steps; i++)
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            bytes = GOPT_MAX(bytes, most_workspace(p->steps[i].body[b]));
    return bytes;
}

static void list_deaths(gopt_frame *f)
{
    const gopt_plan *p = f->plan;
    for (int i = 0; i < p->n_steps; i++)
        f->step[i].free_head = -1;
    for (int v = 0; v < p->n_values; v++)
        if (p->values[v].place == GOPT_PLACE_DYNAMIC && p->values[v].last_step < p->n_steps) {
            gopt_step_state *s = &f->step[p->values[v].last_step];
            f->free_next[v] = s->free_head;
            s->free_head = v;
        }
}

static gopt_status frame_new(gopt_frame **out, gopt_engine *g, const gopt_plan *p, gopt_frame *outer, gopt_err *e);

static gopt_status make_step(gopt_frame *f, int i, gopt_err *e)
{
    gopt_engine *g = f->engine;
    const gopt_step *s = &f->plan->steps[i];
    gopt_step_state *state = &f->step[i];
    state->in = GOPT_NEW(&g->arena, const void *, s->group.n_in);
    state->out = GOPT_NEW(&g->arena, void *, s->group.n_out);
    state->body = GOPT_NEW(&g->arena, gopt_frame *, s->n_bodies);
    state->ready.work = s->work;
    if (g->arena.failed)
        return gopt_oom(e);
    for (int b = 0; b < s->n_bodies; b++)
        GOPT_TRY(frame_new(&state->body[b], g, s->body[b], f, e));
    if (!s->kernel)
        return GOPT_OK;
    if (s->kernel->generated) {
        void *found = s->code_index < g->plan->n_code ? gopt_dynlib_find(g->code[s->code_index], s->symbol) : NULL;
        memcpy(&state->ready.run, &found, sizeof found);
        return found ? GOPT_OK : gopt_fail(e, GOPT_EINPUT, "step %s: its code lacks %s", s->name, s->symbol);
    }
    state->ready.run = s->kernel->run;
    state->ready.spec = gopt_arena_take(&g->arena, 1, s->kernel->spec_bytes);
    if (!state->ready.spec)
        return gopt_oom(e);
    if (s->kernel->prepare)
        s->kernel->prepare(&s->group, s->knob, &g->target, state->ready.spec);
    return GOPT_OK;
}

static gopt_status frame_new(gopt_frame **out, gopt_engine *g, const gopt_plan *p, gopt_frame *outer, gopt_err *e)
{
    gopt_frame *f = *out = GOPT_NEW(&g->arena, gopt_frame, 1);
    if (!f)
        return gopt_oom(e);
    *f = (gopt_frame){.engine = g, .plan = p, .outer = outer, .stale = true};
    f->tensor = GOPT_NEW(&g->arena, gopt_tensor, p->n_values);
    f->dynamic = GOPT_NEW(&g->arena, size_t, p->n_values);
    f->free_next = GOPT_NEW(&g->arena, int, p->n_values);
    f->step = GOPT_NEW(&g->arena, gopt_step_state, p->n_steps);
    f->arena = gopt_aligned(ALIGN, GOPT_MAX(p->arena_bytes, (size_t)ALIGN));
    if (g->arena.failed || !f->arena)
        return gopt_oom(e);
    memset(f->arena, 0, p->arena_bytes); /* touched now, so that the first run is like the next */
    for (int v = 0; v < p->n_values; v++) {
        f->tensor[v] = (gopt_tensor){.dtype = p->values[v].dtype, .rank = p->values[v].rank};
        memcpy(f->tensor[v].dim, p->values[v].dim, sizeof f->tensor[v].dim);
    }
    list_deaths(f);
    for (int i = 0; i < p->n_steps; i++)
        GOPT_TRY(make_step(f, i, e));
    return GOPT_OK;
}

void gopt_frame_drop(gopt_frame *f, int v)
{
    if (!f->dynamic[v])
        return;
    f->engine->dynamic_now -= f->dynamic[v];
    f->dynamic[v] = 0;
    gopt_free(f->tensor[v].data);
    f->tensor[v].data = NULL;
}

static void frame_fini(gopt_frame *f)
{
    if (!f)
        return;
    for (int v = 0; f->dynamic && v < f->plan->n_values; v++)
        gopt_frame_drop(f, v);
    for (int i = 0; f->step && i < f->plan->n_steps; i++)
        for (int b = 0; f->step[i].body && b < f->plan->steps[i].n_bodies; b++)
            frame_fini(f->step[i].body[b]);
    gopt_free(f->arena);
}

static gopt_status load_code(gopt_engine *g, gopt_err *e)
{
    g->code = GOPT_NEW(&g->arena, struct gopt_dynlib *, g->plan->n_code);
    if (!g->code)
        return gopt_oom(e);
    for (int i = 0; i < g->plan->n_code; i++)
        GOPT_TRY(gopt_dynlib_memory(&g->code[i], g->plan->code[i].elf, g->plan->code[i].bytes, e));
    return GOPT_OK;
}

gopt_status gopt_engine_need_workspace(gopt_engine *g, size_t bytes, gopt_err *e)
{
    if (bytes <= g->workspace_bytes && g->workspace)
        return GOPT_OK;
    void *grown = gopt_aligned(ALIGN, GOPT_MAX(bytes, (size_t)ALIGN));
    if (!grown)
        return gopt_oom(e);
    memset(grown, 0, bytes);
    gopt_free(g->workspace);
    g->workspace = grown;
    g->workspace_bytes = bytes;
    return GOPT_OK;
}

static gopt_status make(gopt_engine *g, gopt_err *e)
{
    GOPT_TRY(gopt_pool_new(&g->pool, g->threads, e));
    GOPT_TRY(load_code(g, e));
    GOPT_TRY(gopt_engine_need_workspace(g, most_workspace(g->plan), e));
    g->arena_bytes = count_arena(g->plan);
    return frame_new(&g->frame, g, g->plan, NULL, e);
}

gopt_status gopt_engine_new(gopt_engine **out, const gopt_plan *p, int threads, gopt_err *e)
{
    *out = NULL;
    gopt_engine *g = gopt_calloc(1, sizeof *g);
    if (!g)
        return gopt_oom(e);
    g->plan = p;
    g->target = p->target;
    g->threads = threads > 0 ? threads : GOPT_MAX(p->target.threads, 1);
    gopt_status s = make(g, e);
    if (s) {
        gopt_engine_free(g);
        return s;
    }
    *out = g;
    return GOPT_OK;
}

void gopt_engine_free(gopt_engine *g)
{
    if (!g)
        return;
    frame_fini(g->frame);
    gopt_pool_free(g->pool);
    for (int i = 0; g->code && i < g->plan->n_code; i++)
        gopt_dynlib_close(g->code[i]);
    gopt_free(g->workspace);
    gopt_arena_fini(&g->late);
    gopt_arena_fini(&g->arena);
    gopt_free(g);
}

gopt_status gopt_engine_bind(gopt_engine *g, int input, const gopt_tensor *t, gopt_err *e)
{
    if (input < 0 || input >= g->plan->n_inputs)
        return gopt_fail(e, GOPT_EUSAGE, "input %d: the model has %d", input, g->plan->n_inputs);
    int v = g->plan->inputs[input];
    gopt_tensor *bound = &g->frame->tensor[v];
    const gopt_plan_value *p = &g->plan->values[v];
    gopt_tensor want = {.dtype = p->dtype, .rank = p->rank};
    memcpy(want.dim, p->dim, sizeof want.dim);
    if (t->dtype != p->dtype || !gopt_dims_equal(t, &want)) {
        char got[160], wanted[160];
        return gopt_fail(e, GOPT_EINPUT, "input \"%.80s\": %s expected, got %s%s", p->name ? p->name : "?",
                         gopt_tensor_describe(wanted, sizeof wanted, &want), gopt_tensor_describe(got, sizeof got, t),
                         t->dtype == p->dtype ? "; an engine is made for its shapes: tune or compile with --shape"
                                              : "");
    }
    g->frame->stale = g->frame->stale || bound->data != t->data;
    bound->data = t->data;
    return GOPT_OK;
}

/* Where every value is now. Plans list an alias after its root and a frame is resolved after its outer one. */
static void resolve(gopt_frame *f)
{
    const gopt_plan *p = f->plan;
    for (int v = 0; v < p->n_values; v++) {
        const gopt_plan_value *at = &p->values[v];
        switch (at->place) {
        case GOPT_PLACE_ARENA:
            f->tensor[v].data = f->arena + at->offset;
            break;
        case GOPT_PLACE_CONST:
            f->tensor[v].data = (void *)(uintptr_t)at->data;
            break;
        case GOPT_PLACE_ALIAS:
            f->tensor[v].data = f->tensor[at->outer].data;
            break;
        case GOPT_PLACE_OUTER:
            f->tensor[v] = f->outer->tensor[at->outer];
            break;
        case GOPT_PLACE_INPUT:
        case GOPT_PLACE_DYNAMIC:
        case GOPT_PLACE_NONE:
            break;
        }
    }
    for (int i = 0; i < p->n_steps; i++) {
        const gopt_step *s = &p->steps[i];
        if (!s->kernel)
            continue;
        for (int k = 0; k < s->group.n_in; k++)
            f->step[i].in[k] = s->in[k] >= 0 ? f->tensor[s->in[k]].data : NULL;
        for (int k = 0; k < s->group.n_out; k++)
            f->step[i].out[k] = s->out[k] >= 0 ? f->tensor[s->out[k]].data : NULL;
    }
    f->stale = false;
}

typedef struct call {
    gopt_task task;
    void (*run)(const gopt_task *t);
} call;

static void run_part(void *ctx, int part)
{
    const call *c = ctx;
    gopt_task t = c->task;
    t.part = part;
    c->run(&t);
}

void gopt_engine_call(gopt_engine *g, const gopt_ready *r, const void *const *in, void *const *out)
{
    call c = {.task = {.in = in, .out = out, .workspace = g->workspace, .spec = r->spec, .parts = r->work.parts},
              .run = r->run};
    for (c.task.phase = 0; c.task.phase < r->work.phases; c.task.phase++)
        if (r->work.parts <= 1)
            run_part(&c, 0);
        else
            gopt_pool_run(g->pool, run_part, &c, r->work.parts);
}

gopt_status gopt_frame_allocate(gopt_frame *f, int v, gopt_err *e)
{
    gopt_engine *g = f->engine;
    gopt_frame_drop(f, v);
    size_t bytes = GOPT_MAX(gopt_tensor_bytes(&f->tensor[v]), (size_t)1);
    if (!(f->tensor[v].data = gopt_aligned(ALIGN, bytes)))
        return gopt_oom(e);
    f->dynamic[v] = bytes;
    g->dynamic_now += bytes;
    g->dynamic_peak = GOPT_MAX(g->dynamic_peak, g->dynamic_now);
    return GOPT_OK;
}

gopt_status gopt_frame_run(gopt_frame *f, int64_t *ns, gopt_err *e)
{
    const gopt_plan *p = f->plan;
    if (f->stale || f->outer)
        resolve(f);
    int64_t since = ns ? gopt_now() : 0;
    for (int i = 0; i < p->n_steps; i++) {
        gopt_step_state *state = &f->step[i];
        if (p->steps[i].kernel)
            gopt_engine_call(f->engine, &state->ready, state->in, state->out);
        else
            GOPT_TRY(gopt_frame_run_late(f, i, e));
        for (int v = state->free_head; v >= 0; v = f->free_next[v])
            gopt_frame_drop(f, v);
        if (ns) {
            int64_t now = gopt_now();
            ns[i] = now - since;
            since = now;
        }
    }
    return GOPT_OK;
}

static gopt_status run(gopt_engine *g, int64_t *ns, gopt_err *e)
{
    for (int i = 0; i < g->plan->n_inputs; i++)
        if (!g->frame->tensor[g->plan->inputs[i]].data)
            return gopt_fail(e, GOPT_EUSAGE, "input \"%s\" is not bound", g->plan->values[g->plan->inputs[i]].name);
    gopt_pool_begin(g->pool);
    gopt_status s = gopt_frame_run(g->frame, ns, e);
    gopt_pool_end(g->pool);
    g->ran = !s;
    return s;
}

gopt_status gopt_engine_run(gopt_engine *g, int64_t deadline, gopt_err *e)
{
    g->deadline = deadline;
    return run(g, NULL, e);
}

gopt_status gopt_engine_trace(gopt_engine *g, int64_t *ns, gopt_err *e)
{
    g->deadline = 0;
    return run(g, ns, e);
}

const gopt_tensor *gopt_engine_output(const gopt_engine *g, int output)
{
    bool there = g->ran && output >= 0 && output < g->plan->n_outputs;
    return there ? &g->frame->tensor[g->plan->outputs[output]] : NULL;
}

void gopt_engine_memory(const gopt_engine *g, gopt_memory *out)
{
    size_t fixed = gopt_arena_bytes(&g->arena) + gopt_arena_bytes(&g->late) + sizeof *g;
    *out = (gopt_memory){.weights = g->plan->weight_bytes, .arena = g->arena_bytes, .workspace = g->workspace_bytes};
    size_t base = out->weights + out->arena + out->workspace + fixed;
    out->runtime = fixed + g->dynamic_peak;
    out->peak = base + g->dynamic_peak;
    out->steady = base + g->dynamic_now;
}
