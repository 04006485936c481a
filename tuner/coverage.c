/* coverage.c: the baseline's plan, step by step. */
#include "coverage.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "compile.h"
#include "engine.h"
#include "headroom.h"
#include "inputs.h"
#include "isolated.h"
#include "late.h"
#include "shape.h"

static const int64_t LIMIT_NS = 8 * GOPT_NS_PER_S;

static int index_of(const gopt_op *op)
{
    for (int i = 0; gopt_ops[i] && i < GOPT_COVERAGE_OPERATORS; i++)
        if (gopt_ops[i] == op)
            return i;
    return -1;
}

static void count_nodes(gopt_coverage *c, const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        int at = index_of(g->nodes[i]->op);
        c->nodes++;
        if (at >= 0)
            c->count[at]++;
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            count_nodes(c, g->nodes[i]->body[b]);
    }
}

static void count_steps(gopt_coverage *c, const gopt_plan *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        const gopt_step *s = &p->steps[i];
        int at = index_of(s->group.op), *kind = s->kernel ? c->native : c->reference;
        ++*(s->kernel ? &c->total_native : &c->total_reference);
        if (at >= 0)
            kind[at]++;
        c->workspace = GOPT_MAX(c->workspace, p->workspace_bytes);
        for (int b = 0; b < s->n_bodies; b++)
            count_steps(c, s->body[b]);
    }
    c->arena += p->arena_bytes;
}

typedef struct work {
    gopt_graph *graph; /* the process's own image */
    const gopt_shapes *shapes;
    int64_t length;
    gopt_coverage *shared;
} work;

/* Shapes that only a run knows may be ones that the model does not take. */
static gopt_status try_run(const gopt_plan *p, const gopt_tensor *const *in, gopt_err *e)
{
    gopt_engine *g;
    GOPT_TRY(gopt_engine_new(&g, p, 1, e)); /* not freed, the process ends */
    for (int i = 0; i < p->n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(g, i, in[i], e));
    return gopt_engine_run(g, gopt_now() + LIMIT_NS, e);
}

static gopt_status perform(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    work *w = ctx;
    gopt_text shape = {0};
    gopt_config config;
    gopt_compile_log log;
    gopt_compile_options o = {.deadline = gopt_now() + LIMIT_NS};
    gopt_plan *plan;
    const gopt_tensor *const *in = NULL;
    (void)out, (void)n_out;
    gopt_status s = gopt_shape_bind(w->graph, w->shapes, w->length, &shape, &w->shared->made_up, e);
    snprintf(w->shared->shape, sizeof w->shared->shape, "%s", gopt_text_str(&shape));
    gopt_text_fini(&shape);
    GOPT_TRY(s);
    if (w->shared->made_up && gopt_inputs_make(&in, w->graph, GOPT_INPUT_RANDOM, 1, a, NULL))
        in = NULL;
    gopt_config_baseline(&config);
    gopt_target_host(&o.target, 1);
    GOPT_TRY(gopt_compile(&plan, w->graph, &config, &o, &log, e));
    w->shared->weights = plan->weight_bytes;
    count_steps(w->shared, plan);
    w->shared->known = true;
    return in && gopt_late_values(plan) ? try_run(plan, in, e) : GOPT_OK;
}

static gopt_status attempt(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    work *w = ctx;
    gopt_isolated keep;
    *w->shared = (gopt_coverage){0};
    w->length = length;
    gopt_status s = gopt_isolated_run(&keep, perform, w, NULL, 0, LIMIT_NS, gopt_headroom(), NULL, e);
    gopt_isolated_fini(&keep);
    *made_up = w->shared->made_up;
    bool refused = s == GOPT_EINPUT || s == GOPT_EUNSUP;
    return w->shared->known && !refused ? GOPT_OK : s;
}

gopt_status gopt_coverage_find(gopt_coverage *out, const gopt_graph *g, const gopt_shapes *shapes, gopt_err *e)
{
    gopt_coverage *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *out = (gopt_coverage){0};
    if (shared == MAP_FAILED)
        return gopt_oom(e);
    work w = {.graph = (gopt_graph *)(uintptr_t)g, .shapes = shapes, .shared = shared};
    gopt_status s = gopt_shape_search(g, shapes, attempt, &w, e);
    *out = *shared;
    munmap(shared, sizeof *shared);
    count_nodes(out, g);
    return s;
}
