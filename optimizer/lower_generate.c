/* lower_generate.c: code for generated steps. Every function is named by the hash of its text, so equal groups share
 * one and a later candidate finds it in the cache; what is missing is compiled together, in as many units as there are
 * processors. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "build/cache.h"
#include "build/cache_key.h"
#include "build/cc.h"
#include "cpu/emit.h"
#include "lower.h"

enum { LEVEL_KNOB = 2 }; /* of the codegen pass */

typedef struct function {
    gopt_cache_key key;
    gopt_hash hash;        /* of the key */
    const gopt_step *step; /* the first that it is for */
    char symbol[48];
    gopt_text text;
    gopt_cache_entry entry;
    int code_index; /* -1: not there yet */
    int job;
} function;

typedef struct generation {
    gopt_plan *plan; /* the main one */
    const gopt_config *config;
    const gopt_compile_options *options;
    gopt_compile_log *log;
    int level;
    gopt_arena arena;
    function *fn;
    int n_fn;
    size_t cap_fn;
    gopt_hash *unit; /* by code index */
    size_t cap_code, cap_unit;
} generation;

/* A cache that cannot be written, as on a full disk, costs time later and is no reason to fail now. */
static gopt_status unless_unwritable(gopt_status s)
{
    return s == GOPT_EIO ? GOPT_OK : s;
}

typedef gopt_status visit(generation *g, gopt_step *s, gopt_err *e);

static gopt_status each_step(generation *g, gopt_plan *p, visit *f, gopt_err *e)
{
    for (int i = 0; i < p->n_steps; i++) {
        gopt_step *s = &p->steps[i];
        if (s->kernel && s->kernel->generated) {
            gopt_status status = f(g, s, e);
            if (status)
                return gopt_within(e, status, "node %s, kernel %s", s->name, s->kernel ? s->kernel->name : "none");
        }
        for (int b = 0; b < s->n_bodies; b++)
            GOPT_TRY(each_step(g, s->body[b], f, e));
    }
    return GOPT_OK;
}

static gopt_status emit(const generation *g, const gopt_step *s, const char *symbol, gopt_text *t, gopt_err *e)
{
    GOPT_TRY(s->kernel->emit(&s->group, s->knob, &g->plan->target, symbol, t, e));
    return t->failed ? gopt_oom(e) : GOPT_OK;
}

static function *find_function(generation *g, gopt_hash h)
{
    for (int i = 0; i < g->n_fn; i++)
        if (g->fn[i].hash.hi == h.hi && g->fn[i].hash.lo == h.lo)
            return &g->fn[i];
    return NULL;
}

static gopt_status collect(generation *g, gopt_step *s, gopt_err *e)
{
    gopt_text text = {0};
    gopt_cache_key key;
    gopt_status status = emit(g, s, "gopt_function", &text, e);
    if (!status)
        status = gopt_cache_key_make(&key, gopt_text_str(&text), g->level, e);
    gopt_text_fini(&text);
    GOPT_TRY(status);
    gopt_hash h = gopt_cache_key_hash(&key);
    function *f = find_function(g, h);
    if (!f) {
        function *grown =
            gopt_arena_grow(&g->arena, g->fn, (size_t)g->n_fn, &g->cap_fn, (size_t)g->n_fn + 1, sizeof *grown);
        if (!grown)
            return gopt_oom(e);
        g->fn = grown;
        f = &g->fn[g->n_fn++];
        *f = (function){.key = key, .hash = h, .step = s, .code_index = -1};
        char hex[33];
        snprintf(f->symbol, sizeof f->symbol, "gopt_%s", gopt_hash_hex(hex, h));
        GOPT_TRY(emit(g, s, f->symbol, &f->text, e));
    }
    s->symbol = gopt_arena_str(&g->plan->arena, f->symbol);
    return s->symbol ? GOPT_OK : gopt_oom(e);
}

/* Takes over elf. */
static int add_code(generation *g, gopt_hash unit, void *elf, size_t bytes, gopt_err *e)
{
    gopt_plan *p = g->plan;
    gopt_code *code =
        gopt_arena_grow(&p->arena, p->code, (size_t)p->n_code, &g->cap_code, (size_t)p->n_code + 1, sizeof *code);
    gopt_hash *units =
        gopt_arena_grow(&g->arena, g->unit, (size_t)p->n_code, &g->cap_unit, (size_t)p->n_code + 1, sizeof *units);
    void *copy = gopt_arena_copy(&p->arena, elf, bytes, 1);
    gopt_free(elf);
    if (!code || !units || !copy) {
        gopt_oom(e);
        return -1;
    }
    p->code = code;
    g->unit = units;
    p->code[p->n_code] = (gopt_code){.elf = copy, .bytes = bytes};
    g->unit[p->n_code] = unit;
    return p->n_code++;
}

static gopt_status look_up(generation *g, function *f, gopt_err *e)
{
    void *elf;
    size_t bytes;
    if (!gopt_cache_find(g->options->cache_dir, f->hash, &f->entry))
        return GOPT_OK;
    for (int i = 0; i < g->plan->n_code && f->code_index < 0; i++)
        if (g->unit[i].hi == f->entry.unit.hi && g->unit[i].lo == f->entry.unit.lo)
            f->code_index = i;
    if (f->code_index < 0) {
        if (!gopt_cache_unit(g->options->cache_dir, f->entry.unit, &elf, &bytes))
            return GOPT_OK;
        if ((f->code_index = add_code(g, f->entry.unit, elf, bytes, e)) < 0)
            return GOPT_ENOMEM;
    }
    g->log->cached = true;
    g->log->saved_ns += f->entry.ns;
    g->log->stage_ns[GOPT_STAGE_code_compilation] += f->entry.ns;
    g->log->compiler_peak_bytes = GOPT_MAX(g->log->compiler_peak_bytes, f->entry.peak_bytes);
    return GOPT_OK;
}

/* Spreads the missing functions over n jobs, largest load last, and writes the jobs' texts. */
static gopt_status fill_jobs(generation *g, gopt_text *source, int n, gopt_err *e)
{
    for (int i = 0; i < n; i++)
        gopt_emit_prelude(&source[i]);
    for (int k = 0; k < g->n_fn; k++) {
        function *f = &g->fn[k];
        if (f->code_index >= 0)
            continue;
        f->job = 0;
        for (int i = 1; i < n; i++)
            if (source[i].n < source[f->job].n)
                f->job = i;
        gopt_text_put(&source[f->job], gopt_text_str(&f->text));
    }
    for (int i = 0; i < n; i++)
        if (source[i].failed)
            return gopt_oom(e);
    return GOPT_OK;
}

static gopt_status store(generation *g, function *f, const gopt_cc_job *job, int code_index, int64_t wall, size_t total,
                         gopt_err *e)
{
    f->code_index = code_index;
    f->entry = (gopt_cache_entry){.unit = g->unit[code_index],
                                  .ns = (int64_t)((double)wall * (double)f->text.n / (double)total),
                                  .peak_bytes = job->peak_bytes};
    if (!g->options->cache_dir)
        return GOPT_OK;
    return unless_unwritable(gopt_cache_add(g->options->cache_dir, f->hash, &f->entry, e));
}

static gopt_status store_keys(generation *g, int code_index, gopt_err *e)
{
    gopt_text keys = {0};
    for (int k = 0; k < g->n_fn; k++)
        if (g->fn[k].code_index == code_index)
            gopt_cache_key_print(&g->fn[k].key, g->fn[k].step->kernel->name, &keys);
    gopt_status s = gopt_cache_keys_write(g->options->cache_dir, g->unit[code_index], &keys, e);
    gopt_text_fini(&keys);
    return unless_unwritable(s);
}

static gopt_status keep(generation *g, gopt_cc_job *jobs, int n, int64_t wall, gopt_err *e)
{
    size_t total = 1;
    for (int k = 0; k < g->n_fn; k++)
        total += g->fn[k].code_index < 0 ? g->fn[k].text.n : 0;
    for (int i = 0; i < n; i++) {
        gopt_hash unit = gopt_hash_bytes(jobs[i].elf, jobs[i].bytes);
        if (g->options->cache_dir)
            GOPT_TRY(
                unless_unwritable(gopt_cache_add_unit(g->options->cache_dir, jobs[i].elf, jobs[i].bytes, &unit, e)));
        int index = add_code(g, unit, jobs[i].elf, jobs[i].bytes, e);
        jobs[i].elf = NULL;
        if (index < 0)
            return GOPT_ENOMEM;
        g->log->compiler_peak_bytes = GOPT_MAX(g->log->compiler_peak_bytes, jobs[i].peak_bytes);
        for (int k = 0; k < g->n_fn; k++)
            if (g->fn[k].code_index < 0 && g->fn[k].job == i)
                GOPT_TRY(store(g, &g->fn[k], &jobs[i], index, wall, total, e));
        if (g->options->cache_dir)
            GOPT_TRY(store_keys(g, index, e));
    }
    return GOPT_OK;
}

enum { PARALLEL_MAX = 8 };
static const int64_t NO_LIMIT_NS = 600 * GOPT_NS_PER_S;

static gopt_status compile_missing(generation *g, int missing, gopt_err *e)
{
    gopt_text source[PARALLEL_MAX] = {0};
    gopt_cc_job jobs[PARALLEL_MAX] = {0};
    int n = GOPT_MIN(GOPT_MIN(gopt_cpu_count(), PARALLEL_MAX), missing);
    int64_t begin = gopt_now(), limit = g->options->deadline ? g->options->deadline - begin : NO_LIMIT_NS;
    gopt_status s = fill_jobs(g, source, n, e);
    for (int i = 0; i < n; i++)
        jobs[i] = (gopt_cc_job){.source = gopt_text_str(&source[i]), .level = g->level};
    if (!s)
        s = gopt_cc_run(jobs, n, n, g->options->scratch_dir, limit, e);
    int64_t wall = gopt_now() - begin;
    if (!s)
        s = keep(g, jobs, n, wall, e);
    g->log->stage_ns[GOPT_STAGE_code_compilation] += gopt_now() - begin;
    for (int i = 0; i < n; i++) {
        gopt_text_fini(&source[i]);
        gopt_free(jobs[i].elf);
    }
    return s;
}

static gopt_status attach(generation *g, gopt_step *s, gopt_err *e)
{
    for (int i = 0; i < g->n_fn; i++)
        if (!strcmp(g->fn[i].symbol, s->symbol)) {
            s->code_index = g->fn[i].code_index;
            return GOPT_OK;
        }
    return gopt_fail(e, GOPT_EBUG, "no code for %s", s->symbol);
}

static gopt_status generate(generation *g, gopt_err *e)
{
    gopt_compile_log *log = g->log;
    int64_t begin = gopt_now();
    GOPT_TRY(each_step(g, g->plan, collect, e));
    int64_t emitted = gopt_now();
    int missing = 0;
    for (int i = 0; i < g->n_fn; i++) {
        GOPT_TRY(look_up(g, &g->fn[i], e));
        missing += g->fn[i].code_index < 0;
        if (g->options->lookup)
            GOPT_TRY(
                g->options->lookup(g->options->lookup_ctx, &g->fn[i].key, g->fn[i].step, g->fn[i].code_index >= 0, e));
    }
    if (g->options->lookup)
        GOPT_TRY(g->options->lookup(g->options->lookup_ctx, NULL, NULL, false, e));
    log->stage_ns[GOPT_STAGE_code_generation] += emitted - begin;
    log->stage_ns[GOPT_STAGE_cache_lookup] += gopt_now() - emitted;
    if (missing)
        GOPT_TRY(compile_missing(g, missing, e));
    return each_step(g, g->plan, attach, e);
}

gopt_status gopt_lower_generate(gopt_plan *p, const gopt_config *c, const gopt_compile_options *o,
                                gopt_compile_log *log, gopt_err *e)
{
    int codegen = gopt_pass_find("codegen");
    generation g = {.plan = p, .config = c, .options = o, .log = log};
    g.level = codegen >= 0 ? (int)gopt_config_pass_knobs(c, gopt_passes[codegen])[LEVEL_KNOB] : 2;
    gopt_status s = generate(&g, e);
    for (int i = 0; i < g.n_fn; i++)
        gopt_text_fini(&g.fn[i].text);
    gopt_arena_fini(&g.arena);
    return s;
}
