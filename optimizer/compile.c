/* compile.c: graph + configuration -> plan, every stage timed. */
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "build/cc.h"
#include "lower.h"

#define GOPT_X_STAGE(n) [GOPT_STAGE_##n] = #n,
const char *const gopt_stage_names[GOPT_STAGE_COUNT] = {GOPT_STAGES(GOPT_X_STAGE)};
#undef GOPT_X_STAGE

static void clocked(gopt_compile_log *log, gopt_stage stage, int64_t *since)
{
    int64_t now = gopt_now();
    log->stage_ns[stage] += now - *since;
    *since = now;
}

static gopt_status run_passes(gopt_graph *g, const gopt_config *c, const gopt_compile_options *o, gopt_compile_log *log,
                              gopt_err *e)
{
    int pass[GOPT_SETTINGS_MAX];
    int n = gopt_config_pipeline(c, pass);
    log->records = GOPT_NEW(&log->arena, gopt_pass_record, n);
    if (!log->records)
        return gopt_oom(e);
    for (int i = 0; i < n; i++) {
        const gopt_pass *p = gopt_passes[pass[i]];
        GOPT_TRY(gopt_pass_apply(p, gopt_config_pass_knobs(c, p), g, o->deadline, &log->arena, &log->records[i], e));
        log->n_records++;
        if (o->watch)
            GOPT_TRY(o->watch(o->watch_ctx, g, &log->records[i], e));
        if (o->deadline && gopt_now() > o->deadline)
            return gopt_fail(e, GOPT_ELIMIT, "pass %s: over the time limit", p->name);
    }
    return GOPT_OK;
}

static gopt_status need_static_inputs(const gopt_graph *g, gopt_err *e)
{
    int64_t dim[GOPT_RANK_MAX];
    for (int i = 0; i < g->n_inputs; i++)
        if (!gopt_fact_static(&g->inputs[i]->fact, dim))
            return gopt_fail(e, GOPT_EUSAGE, "input \"%s\" has symbolic dimensions: bind them with --shape NAME=VALUE",
                             g->inputs[i]->name);
    return GOPT_OK;
}

static void count_kernels(const gopt_plan *p, gopt_compile_log *log)
{
    for (int i = 0; i < p->n_steps; i++) {
        const gopt_step *s = &p->steps[i];
        log->kernels_reference += !s->kernel;
        log->kernels_generated += s->kernel && s->kernel->generated;
        log->kernels_native += s->kernel && !s->kernel->generated;
        for (int b = 0; b < s->n_bodies; b++)
            count_kernels(s->body[b], log);
    }
}

static void free_graph(void *g)
{
    gopt_graph_free(g);
}

/* The plan owns the graph from here on: its constants and attributes are read in place. */
static gopt_status lower(gopt_plan **out, gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                         gopt_compile_log *log, gopt_err *e)
{
    int64_t since = gopt_now();
    gopt_plan *p;
    gopt_status s = gopt_lower(&p, g, c, o, e);
    if (s)
        return s;
    p->backing = g;
    p->backing_free = free_graph;
    *out = p;
    if (g->family->backing_drop)
        g->family->backing_drop(g->family->backing); /* what passes have read and nobody may read again */
    log->no_compiler = g->family->decisions.generate && !gopt_cc_find()->path[0];
    clocked(log, GOPT_STAGE_kernel_selection, &since);
    if (g->family->decisions.prepack)
        GOPT_TRY(gopt_lower_pack(p, e));
    clocked(log, GOPT_STAGE_weight_packing, &since);
    GOPT_TRY(gopt_lower_generate(p, c, o, log, e));
    since = gopt_now();
    GOPT_TRY(gopt_lower_place(p, &g->family->decisions, log, e));
    clocked(log, GOPT_STAGE_memory_planning, &since);
    count_kernels(p, log);
    return GOPT_OK;
}

gopt_status gopt_compile(gopt_plan **out, gopt_graph *g, const gopt_config *c, const gopt_compile_options *o,
                         gopt_compile_log *log, gopt_err *e)
{
    *log = (gopt_compile_log){0};
    *out = NULL;
    int64_t since = gopt_now();
    gopt_status s = need_static_inputs(g, e);
    if (!s)
        s = run_passes(g, c, o, log, e);
    clocked(log, GOPT_STAGE_passes, &since);
    if (!s)
        s = gopt_graph_infer(g, e);
    clocked(log, GOPT_STAGE_shape_inference, &since);
    if (!s)
        s = lower(out, g, c, o, log, e);
    if (!*out)
        gopt_graph_free(g);
    if (s) {
        gopt_plan_free(*out);
        *out = NULL;
    }
    return s;
}

void gopt_compile_log_fini(gopt_compile_log *log)
{
    gopt_arena_fini(&log->arena);
    log->records = NULL;
    log->n_records = 0;
}

int64_t gopt_compile_total(const gopt_compile_log *log)
{
    int64_t sum = 0;
    for (int i = 0; i < GOPT_STAGE_COUNT; i++)
        sum += log->stage_ns[i];
    return sum;
}

const char *gopt_cache_dir(char *buf, size_t size)
{
    const char *own = getenv("GOPT_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        snprintf(buf, size, "%s", own);
    else if (xdg && *xdg)
        snprintf(buf, size, "%s/gopt", xdg);
    else
        snprintf(buf, size, "%s/.cache/gopt", home && *home ? home : ".");
    return buf;
}
