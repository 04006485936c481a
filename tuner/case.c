/* case.c: the forked process notes in shared memory how far it came, so that a crash or a hang there says where. */
#include "case.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "compile.h"
#include "dataset.h"
#include "deploy.h"
#include "headroom.h"
#include "inputs.h"
#include "isolated.h"
#include "shape.h"

typedef enum stage { STAGE_DATA, STAGE_REFERENCE, STAGE_COMPILE, STAGE_RUN, STAGE_COUNT } stage;

/* What parent and child share. */
typedef struct record {
    volatile stage stage;
    int made_up; /* sizes that nobody gave */
    gopt_case_result result;
} record;

static const double LOOP_LIMIT_S = 10, LONG_LIMIT_S = 600;
/* Of a case's time: when loops give up by themselves, when the process is killed. The rest is for all round it. */
static const double GIVE_UP = 0.8, KILL = 0.92;

/* One case in its process; nothing is freed, the process ends. */
typedef struct work {
    const gopt_case *c;
    record *shared;
    gopt_graph *graph; /* this process's own */
    int64_t length, deadline;
    gopt_arena *arena;
    const gopt_tensor *const *in;
    gopt_tensor *expected;
    const gopt_slack *slack; /* by expected; NULL: none */
    const int *output;       /* NULL: expected[i] is output i */
    int n_expected;
    gopt_engine *engine;
    int n_engine_outputs;
    gopt_model *model;
    gopt_session *session;
} work;

static bool any_node(const gopt_graph *g, unsigned traits)
{
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i]->op->traits & traits)
            return true;
        for (int b = 0; b < g->nodes[i]->n_bodies; b++)
            if (any_node(g->nodes[i]->body[b], traits))
                return true;
    }
    return false;
}

static gopt_status open_deployed(work *w, gopt_err *e)
{
    gopt_usage usage;
    gopt_options options = {.threads = w->c->threads};
    GOPT_TRY(gopt_model_open(&w->model, w->c->deployed, &options, e));
    gopt_model_usage(w->model, &usage);
    if (usage.notice) /* what would be verified is not what was chosen */
        return gopt_fail(e, GOPT_EDIFF, "%.400s; the fallback serves", usage.notice);
    GOPT_TRY(gopt_session_new(&w->session, w->model, e));
    w->engine = gopt_session_engine(w->session);
    w->n_engine_outputs = gopt_model_outputs(w->model, NULL);
    return GOPT_OK;
}

/* The shapes that the engine was built for. */
static gopt_status bind_to_ports(work *w, gopt_err *e)
{
    const gopt_port *port;
    int n = gopt_model_inputs(w->model, &port);
    gopt_tensor *t = GOPT_NEW(w->arena, gopt_tensor, n);
    const gopt_tensor **in = GOPT_NEW(w->arena, const gopt_tensor *, n);
    if (!t || !in)
        return gopt_oom(e);
    if (n != w->graph->n_inputs)
        return gopt_fail(e, GOPT_EINPUT, "it has %d inputs, its model %d: another model?", n, w->graph->n_inputs);
    for (int i = 0; i < n; i++) {
        t[i] = (gopt_tensor){.dtype = port[i].dtype, .rank = port[i].rank};
        memcpy(t[i].dim, port[i].dim, sizeof t[i].dim);
        in[i] = &t[i];
    }
    return gopt_shape_bind_to(w->graph, in, e);
}

static gopt_status read_data(work *w, gopt_err *e)
{
    gopt_dataset d;
    GOPT_TRY(gopt_dataset_read(&d, w->c->data, w->graph, w->arena, e));
    w->in = d.in;
    w->expected = d.expected;
    w->output = d.output;
    w->n_expected = d.n_expected;
    return gopt_shape_bind_to(w->graph, d.in, e);
}

/* A noisy run of the reference tells how far rounding alone moves what the model computes. One that is dear does not
 * run again. */
static const double NOISY_RUN_MOST_S = 1;
static const uint64_t NOISE_SEED = 0x9E3779B97F4A7C15u;

static gopt_status find_slack(work *w, int64_t took_ns, gopt_err *e)
{
    int n = w->n_expected;
    gopt_tensor *noisy = GOPT_NEW(w->arena, gopt_tensor, n);
    gopt_slack *slack = GOPT_NEW(w->arena, gopt_slack, n);
    if (!noisy || !slack)
        return gopt_oom(e);
    if ((double)took_ns > NOISY_RUN_MOST_S * 1e9 ||
        gopt_graph_eval_noisy(w->graph, w->in, noisy, w->arena, w->deadline, NOISE_SEED + w->c->seed, NULL))
        return GOPT_OK;
    for (int i = 0; i < n; i++)
        slack[i] = gopt_verify_slack(&noisy[i], &w->expected[i]);
    w->slack = slack;
    return GOPT_OK;
}

static gopt_status make_data(work *w, gopt_err *e)
{
    gopt_graph *g = w->graph;
    GOPT_TRY(w->c->deployed ? bind_to_ports(w, e)
                            : gopt_shape_bind(g, w->c->shapes, w->length, NULL, &w->shared->made_up, e));
    GOPT_TRY(gopt_inputs_make(&w->in, g, w->c->inputs, w->c->seed, w->arena, e));
    w->shared->stage = STAGE_REFERENCE;
    w->n_expected = g->n_outputs;
    w->expected = GOPT_NEW(w->arena, gopt_tensor, g->n_outputs);
    if (!w->expected)
        return gopt_oom(e);
    int64_t begin = gopt_now();
    gopt_status s = gopt_graph_eval(g, w->in, w->expected, w->arena, w->deadline, e);
    return s ? gopt_within(e, s, "reference") : find_slack(w, gopt_now() - begin, e);
}

static gopt_status compile(work *w, gopt_err *e)
{
    const gopt_case *c = w->c;
    gopt_plan *plan;
    gopt_compile_log log;
    gopt_compile_options o = {.cache_dir = c->cache_dir, .scratch_dir = c->scratch_dir, .deadline = w->deadline};
    int threads = (int)gopt_config_threads(c->config);
    gopt_target_host(&o.target, threads);
    gopt_status s = gopt_compile(&plan, w->graph, c->config, &o, &log, e);
    w->graph = NULL;
    if (s)
        return gopt_within(e, s, "compiling");
    gopt_case_result *r = &w->shared->result;
    r->compile_ns = gopt_compile_total(&log);
    r->native = log.kernels_native;
    r->generated = log.kernels_generated;
    r->reference = log.kernels_reference;
    w->n_engine_outputs = plan->n_outputs;
    return gopt_engine_new(&w->engine, plan, threads, e);
}

static gopt_status compare(work *w, gopt_err *e)
{
    for (int i = 0; i < w->n_expected; i++) {
        int k = w->output ? w->output[i] : i;
        const gopt_tensor *got = k < w->n_engine_outputs ? gopt_engine_output(w->engine, k) : NULL;
        gopt_tolerance t = w->c->tolerance;
        if (w->slack && t.rel < 0) /* a tolerance that was given is meant */
            t.slack = w->slack[i];
        gopt_status s = got ? gopt_verify_tensor(got, &w->expected[i], t, &w->shared->result.difference, e)
                            : gopt_fail(e, GOPT_EDIFF, "is missing");
        if (s)
            return gopt_within(e, s, "output %d", k);
    }
    return GOPT_OK;
}

/* Twice where there is time: the second run starts from whatever the first left in memory. */
static gopt_status run(work *w, int n_inputs, gopt_err *e)
{
    int64_t begin = gopt_now();
    for (int i = 0; i < n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(w->engine, i, w->in[i], e));
    for (int k = 0; k < 2; k++) {
        GOPT_TRY(gopt_engine_run(w->engine, w->deadline, e));
        GOPT_TRY(compare(w, e));
        int64_t now = gopt_now();
        if (now - begin > (w->deadline - now) / 4)
            break;
    }
    return GOPT_OK;
}

static gopt_status perform(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    work *w = ctx;
    const gopt_case *c = w->c;
    int n_inputs = w->graph->n_inputs;
    (void)out, (void)n_out;
    w->arena = a;
    if (c->deployed) {
        w->shared->stage = STAGE_COMPILE;
        GOPT_TRY(open_deployed(w, e));
        w->shared->stage = STAGE_DATA;
    }
    GOPT_TRY(c->data ? read_data(w, e) : make_data(w, e));
    if (!c->deployed) {
        w->shared->stage = STAGE_COMPILE;
        GOPT_TRY(compile(w, e));
    }
    w->shared->stage = STAGE_RUN;
    return run(w, n_inputs, e);
}

/* A model that even the reference cannot run is to blame itself, and so is one that compiler and engine refuse where no
 * reference ran before them. */
static bool is_unusable(const gopt_case *c, const record *shared, gopt_status s)
{
    switch (s) {
    case GOPT_EUNSUP:
    case GOPT_EUSAGE: /* a size was given that the model does not have */
    case GOPT_ENODEV: /* no fault of the engine either */
    case GOPT_EIO:
        return true;
    case GOPT_EINPUT:
        return shared->stage <= STAGE_REFERENCE || c->data || c->deployed;
    case GOPT_ENOMEM:
    case GOPT_ELIMIT:
        return shared->stage <= STAGE_REFERENCE;
    default:
        return false;
    }
}

static gopt_status attempt(const gopt_case *c, record *shared, int64_t begin, double limit_s, int64_t length,
                           gopt_err *e)
{
    static const char *const where[STAGE_COUNT] = {[STAGE_DATA] = "inputs",
                                                   [STAGE_REFERENCE] = "reference",
                                                   [STAGE_COMPILE] = "compiling",
                                                   [STAGE_RUN] = "running"};
    double ns = limit_s * (double)GOPT_NS_PER_S;
    gopt_isolated keep;
    *shared = (record){0};
    work w = {.c = c, .shared = shared, .graph = (gopt_graph *)(uintptr_t)c->graph, .length = length};
    w.deadline = begin + (int64_t)(GIVE_UP * ns);
    int64_t left = begin + (int64_t)(KILL * ns) - gopt_now();
    gopt_status s =
        gopt_isolated_run(&keep, perform, &w, NULL, 0, GOPT_MAX(left, (int64_t)1), gopt_headroom(), NULL, e);
    gopt_isolated_fini(&keep);
    bool silent = s == GOPT_EBUG || (s == GOPT_ELIMIT && gopt_now() >= begin + (int64_t)(KILL * ns));
    return silent ? gopt_within(e, s, "%s", where[shared->stage]) : s;
}

typedef struct trying {
    const gopt_case *c;
    record *shared;
    int64_t begin;
    double limit;
} trying;

/* Only what comes before any of our own work says that another length may do. */
static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    trying *t = ctx;
    gopt_status s = attempt(t->c, t->shared, t->begin, t->limit, length, e);
    *made_up = t->shared->stage <= STAGE_REFERENCE ? t->shared->made_up : 0;
    return s;
}

void gopt_case_run(gopt_case_result *out, const gopt_case *c, gopt_err *e)
{
    double limit = c->timeout_s > 0                         ? c->timeout_s
                   : any_node(c->graph, GOPT_TRAIT_CONTROL) ? LOOP_LIMIT_S
                                                            : LONG_LIMIT_S;
    record *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        *out = (gopt_case_result){.status = gopt_oom(e)};
        return;
    }
    trying t = {.c = c, .shared = shared, .begin = gopt_now(), .limit = limit};
    gopt_status s = gopt_shape_search(c->graph, c->shapes, try_length, &t, e);
    *out = shared->result;
    if (s == GOPT_EIO && shared->stage <= STAGE_REFERENCE)
        s = GOPT_EINPUT; /* a file of the data set */
    out->status = s;
    out->unusable = is_unusable(c, shared, s);
    out->random = s == GOPT_EDIFF && shared->stage == STAGE_RUN && any_node(c->graph, GOPT_TRAIT_RANDOM);
    munmap(shared, sizeof *shared);
}
