/* setup.c: before the first trial: model, shape, inputs, what the reference makes of them, study. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "job.h"
#include "shape.h"
#include "store.h"

/* The reference may take this share of the budget for the first case, and this for all further ones together. */
static const double FIRST_CASE_SHARE = 0.4, NEXT_CASES_SHARE = 0.15;

double gopt_job_elapsed(const gopt_job *j)
{
    return (double)(gopt_now() - j->begin) / (double)GOPT_NS_PER_S;
}

bool gopt_job_over(const gopt_job *j)
{
    return gopt_job_interrupted || gopt_now() + (int64_t)(j->trial_s * 1e9) > j->search_end;
}

static gopt_status import(gopt_job *j, gopt_err *e)
{
    int64_t begin = gopt_now();
    gopt_status s = gopt_model_import(&j->graph, j->options->model, &j->info, e);
    j->bench.import_ns = gopt_now() - begin;
    return s == GOPT_EIO ? GOPT_EINPUT : s; /* a model that cannot be read is unusable; the environment lacks nothing */
}

/* ---- the reference ---- */

typedef struct reference {
    const gopt_graph *graph;
    const gopt_tensor *const *in;
    uint64_t noise;
} reference;

static gopt_status evaluate(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    const reference *r = ctx;
    (void)n_out;
    return gopt_graph_eval_noisy(r->graph, r->in, out, a, 0, r->noise, e);
}

/* A noisy run of the reference tells how far rounding alone moves the outputs. It is left out for a reference that is
 * dear; the tolerance of the element type must do there. */
static const double NOISY_RUN_MOST_S = 1;

static gopt_status find_slack(gopt_job *j, reference *r, int k, double limit_s, gopt_err *e)
{
    gopt_bench *b = &j->bench;
    int n = j->graph->n_outputs;
    gopt_isolated noisy;
    gopt_tensor *out = GOPT_NEW(&j->arena, gopt_tensor, n);
    gopt_slack *slack = GOPT_NEW(&j->arena, gopt_slack, n);
    if (!out || !slack)
        return gopt_oom(e);
    b->slack[k] = slack;
    if ((double)j->expected_memory[k].ns > NOISY_RUN_MOST_S * 1e9)
        return GOPT_OK;
    r->noise = 0x9E3779B97F4A7C15u + (uint64_t)j->options->seed;
    if (gopt_isolated_run(&noisy, evaluate, r, out, n, (int64_t)(limit_s * 1e9), b->memory_limit, &gopt_job_interrupted,
                          NULL))
        return GOPT_OK;
    for (int i = 0; i < n; i++)
        slack[i] = gopt_verify_slack(&out[i], &b->expected[k][i]);
    gopt_isolated_fini(&noisy);
    return GOPT_OK;
}

/* Values so small that even the reference divides by nothing say nothing of a candidate. */
static bool is_defined(gopt_input_case which, const gopt_tensor *out, int n)
{
    for (int i = 0; i < n && which == GOPT_INPUT_TINY; i++)
        for (int64_t k = 0; gopt_dtype_is_float(out[i].dtype) && k < gopt_tensor_count(&out[i]); k++)
            if (!isfinite(gopt_tensor_get(&out[i], k)))
                return false;
    return true;
}

static gopt_status make_case(gopt_job *j, gopt_input_case which, double limit_s, gopt_err *e)
{
    gopt_bench *b = &j->bench;
    int k = b->n_cases;
    gopt_tensor *out = GOPT_NEW(&j->arena, gopt_tensor, j->graph->n_outputs);
    if (!out)
        return gopt_oom(e);
    GOPT_TRY(gopt_inputs_make(&b->inputs[k], j->graph, which, (uint64_t)j->options->seed, &j->arena, e));
    reference r = {.graph = j->graph, .in = b->inputs[k]};
    GOPT_TRY(gopt_isolated_run(&j->expected_memory[k], evaluate, &r, out, j->graph->n_outputs, (int64_t)(limit_s * 1e9),
                               b->memory_limit, &gopt_job_interrupted, e));
    if (!is_defined(which, out, j->graph->n_outputs)) {
        gopt_isolated_fini(&j->expected_memory[k]);
        return GOPT_OK;
    }
    b->expected[k] = out;
    b->kind[k] = which;
    b->n_cases++;
    return find_slack(j, &r, k, 2 * limit_s, e);
}

/* Further cases are worth having but not worth the budget; those that the model itself refuses are left out. */
static gopt_status make_cases(gopt_job *j, gopt_err *e)
{
    double budget = j->options->budget_s;
    int64_t begin = gopt_now();
    gopt_status s = make_case(j, GOPT_INPUT_RANDOM, FIRST_CASE_SHARE * budget, e);
    double took = (double)(gopt_now() - begin) / 1e9, end = took + NEXT_CASES_SHARE * budget;
    for (int c = GOPT_INPUT_RANDOM + 1; !s && c < GOPT_INPUT_CASES; c++)
        if (gopt_input_case_fits((gopt_input_case)c, j->graph) && (double)(gopt_now() - begin) / 1e9 + took < end)
            make_case(j, (gopt_input_case)c, 3 * took + 0.2, NULL);
    j->spent.verify += (double)(gopt_now() - begin) / 1e9;
    return s ? gopt_within(e, s, "the reference run") : GOPT_OK;
}

static gopt_status bind_shape(gopt_job *j, int64_t length, int *made_up, gopt_err *e)
{
    gopt_text_fini(&j->shapes);
    int64_t begin = gopt_now();
    GOPT_TRY(gopt_shape_bind(j->graph, &j->options->shapes, length, &j->shapes, made_up, e));
    j->bench.infer_ns = gopt_now() - begin;
    if (*made_up)
        snprintf(j->shape_note, sizeof j->shape_note, "%d symbolic dimension%s not given and got a proposal", *made_up,
                 *made_up == 1 ? " was" : "s were");
    return j->shapes.failed ? gopt_oom(e) : GOPT_OK;
}

typedef struct binding {
    gopt_job *job;
    bool tried; /* the graph is bound to a length that did not do */
} binding;

static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    binding *b = ctx;
    gopt_job *j = b->job;
    if (b->tried) {
        gopt_graph_free(j->graph);
        j->graph = NULL;
        GOPT_TRY(import(j, e));
    }
    b->tried = true;
    GOPT_TRY(bind_shape(j, length, made_up, e));
    return make_cases(j, e);
}

/* The first length mostly does; only the search for another needs a second graph, one that is not bound. */
static gopt_status bind_and_evaluate(gopt_job *j, gopt_err *e)
{
    binding b = {.job = j};
    gopt_graph *g;
    int made_up = 0;
    gopt_status s = try_length(&b, gopt_lengths[0], &made_up, e);
    if (made_up && (s == GOPT_EINPUT || s == GOPT_EUNSUP)) {
        GOPT_TRY(gopt_model_import(&g, j->options->model, NULL, e));
        s = gopt_shape_search(g, &j->options->shapes, try_length, &b, e);
        gopt_graph_free(g);
    }
    return s == GOPT_EINTR ? gopt_fail(e, s, "interrupted before anything was timed") : s;
}

/* ---- where things go ---- */

static size_t memory_limit(const gopt_tune_options *o)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)o; /* shadow memory needs an address space without limit */
    return 0;
#else
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return (size_t)(o->memory_limit > 0 ? o->memory_limit : 0.9 * all);
#endif
}

static gopt_status open_study(gopt_job *j, gopt_err *e)
{
    char path[1024];
    GOPT_TRY(gopt_dir_make(j->options->out, e));
    snprintf(path, sizeof path, "%s/bundles", j->options->out);
    GOPT_TRY(gopt_dir_make(path, e));
    snprintf(path, sizeof path, "%s/study.db", j->options->out);
    gopt_study_identity id = {.model_sha256 = j->info.sha256,
                              .shapes = gopt_text_str(&j->shapes),
                              .tool = gopt_version(),
                              .device = j->device.fingerprint,
                              .seed = j->options->seed};
    return gopt_study_open(&j->study, path, &id, j->options->fresh, e);
}

/* Before anything is spent: can OUT be written at all, and by us alone? */
static gopt_status probe_out(gopt_job *j, gopt_err *e)
{
    GOPT_TRY(gopt_dir_make(j->options->out, e));
    if (access(j->options->out, W_OK | X_OK))
        return gopt_fail(e, GOPT_EIO, "%s: cannot be written", j->options->out);
    return gopt_lock_take(&j->lock, j->options->out, e);
}

/* A cache that cannot be written is done without. */
static void locate(gopt_job *j)
{
    const char *tmp = getenv("TMPDIR");
    gopt_cache_dir(j->cache_dir, sizeof j->cache_dir);
    bool usable = !gopt_dir_make(j->cache_dir, NULL) && !access(j->cache_dir, W_OK | X_OK);
    snprintf(j->scratch_dir, sizeof j->scratch_dir, "%s/%s/%ld",
             usable        ? j->cache_dir
             : tmp && *tmp ? tmp
                           : P_tmpdir,
             usable ? "scratch" : "gopt-scratch", (long)getpid());
    if (usable)
        gopt_store_sweep(j->cache_dir, NULL);
    j->bench.cache_dir = usable ? j->cache_dir : NULL;
    j->bench.scratch_dir = j->scratch_dir;
}

gopt_status gopt_job_setup(gopt_job *j, gopt_err *e)
{
    const gopt_tune_options *o = j->options;
    int threads = o->n_threads ? o->threads[o->n_threads - 1] : gopt_cpu_count();
    j->bench.rel = o->tolerance.rel;
    j->bench.abs = o->tolerance.abs;
    j->bench.memory_limit = memory_limit(o);
    gopt_target_host(&j->bench.target, threads);
    locate(j);
    gopt_random_seed(&j->random, (uint64_t)o->seed);
    gopt_device_read(&j->device);
    gopt_progress_stage(j->progress, "reading the model");
    GOPT_TRY(import(j, e));
    GOPT_TRY(probe_out(j, e));
    gopt_progress_stage(j->progress, "running the reference");
    gopt_status s = bind_and_evaluate(j, e);
    if (s == GOPT_ELIMIT || s == GOPT_ENOMEM)
        s = GOPT_EINPUT; /* of the model: it is what cannot be used, as gopt verify says too */
    if (s)
        return gopt_within(e, s, "%s", o->model);
    if (j->shape_note[0])
        gopt_progress_note(j->progress, "shape %s: %s; choose with --shape", gopt_text_str(&j->shapes), j->shape_note);
    j->bench.graph = j->graph;
    return open_study(j, e);
}

void gopt_job_fini(gopt_job *j)
{
    gopt_contender_stop(&j->baseline);
    if (gopt_file_exists(j->scratch_dir)) /* of workers that were killed while they compiled */
        gopt_dir_remove(j->scratch_dir, NULL);
    gopt_study_close(j->study);
    gopt_lock_release(&j->lock);
    for (int i = 0; i < GOPT_CASES_MAX; i++)
        gopt_isolated_fini(&j->expected_memory[i]);
    gopt_graph_free(j->graph);
    gopt_text_fini(&j->shapes);
    gopt_text_fini(&j->boundaries);
    gopt_arena_fini(&j->arena);
}
