/* batch_headroom.c: doubling until a batch does not fit, halving the gap, running what was found. */
#include "batch_headroom.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "compile.h"
#include "engine.h"
#include "headroom.h"
#include "inputs.h"
#include "isolated.h"
#include "late.h"
#include "shape.h"

static const int64_t PROBE_LIMIT_NS = 20 * GOPT_NS_PER_S;
enum { SYMBOLS_MAX = 256, SLACK = 1 << 20 /* what the C library maps for itself */ };

/* The symbols that are proposed to be 1 whatever the length; their number. */
static int find_batches(const gopt_graph *g, const char **names)
{
    int64_t some[SYMBOLS_MAX], other[SYMBOLS_MAX];
    int n = gopt_inputs_shape(g, names, some, SYMBOLS_MAX, gopt_lengths[0]), kept = 0;
    gopt_inputs_shape(g, names, other, SYMBOLS_MAX, gopt_lengths[1]);
    for (int i = 0; i < n; i++)
        if (some[i] == 1 && other[i] == 1)
            names[kept++] = names[i];
    return kept;
}

const char *gopt_batch_symbol(const gopt_graph *g)
{
    const char *names[SYMBOLS_MAX];
    return find_batches(g, names) ? names[0] : NULL;
}

/* ---- one batch, in a process of its own ---- */

typedef struct probe {
    gopt_graph *graph; /* the process's own image */
    const gopt_config *config;
    gopt_shapes shapes; /* the last `batches` of them are the batch */
    int batches;
    int64_t length; /* for those that are not in shapes */
    size_t limit;
    bool run;
} probe;

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Weights are there already; what comes on top is limited for good. */
static void confine(size_t more)
{
    struct rlimit now;
    size_t most = address_space() + more + SLACK;
    if (gopt_headroom() == 0 || getrlimit(RLIMIT_AS, &now))
        return; /* a sanitizer's address space has no limit */
    now.rlim_cur = GOPT_MIN(now.rlim_cur, (rlim_t)most);
    setrlimit(RLIMIT_AS, &now);
}

static gopt_status use(const gopt_plan *p, const gopt_tensor *const *in, size_t *peak, gopt_err *e)
{
    gopt_engine *g;
    gopt_memory m;
    GOPT_TRY(gopt_engine_new(&g, p, 1, e)); /* not freed, the process ends */
    for (int i = 0; in && i < p->n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(g, i, in[i], e));
    if (in)
        GOPT_TRY(gopt_engine_run(g, gopt_now() + PROBE_LIMIT_NS, e));
    gopt_engine_memory(g, &m);
    *peak = m.peak;
    return GOPT_OK;
}

static gopt_status weigh(const probe *x, const gopt_tensor *const *in, size_t *peak, gopt_err *e)
{
    gopt_compile_log log;
    gopt_compile_options o = {.deadline = gopt_now() + PROBE_LIMIT_NS};
    gopt_plan *plan;
    gopt_target_host(&o.target, 1);
    GOPT_TRY(gopt_compile(&plan, x->graph, x->config, &o, &log, e));
    *peak = plan->weight_bytes + plan->workspace_bytes + log.arena_bytes;
    if (*peak > x->limit)
        return GOPT_OK;
    bool run = x->run || gopt_late_values(plan);
    if (run)
        confine(x->limit - plan->weight_bytes);
    return use(plan, run ? in : NULL, peak, e);
}

static gopt_status perform(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    const probe *x = ctx;
    const gopt_tensor *const *in;
    size_t peak;
    (void)n_out;
    GOPT_TRY(gopt_shape_bind(x->graph, &x->shapes, x->length, NULL, NULL, e));
    GOPT_TRY(gopt_inputs_make(&in, x->graph, GOPT_INPUT_RANDOM, 1, a, e));
    GOPT_TRY(weigh(x, in, &peak, e));
    gopt_tensor *t = gopt_tensor_new(a, GOPT_DTYPE_I64, 0, NULL);
    if (!t)
        return gopt_oom(e);
    gopt_tensor_set_int(t, 0, (int64_t)peak);
    *out = *t;
    return GOPT_OK;
}

/* *peak is 0 where the batch has none: it failed, and e says why. */
static gopt_status try_batch(probe *x, int64_t batch, size_t *peak, gopt_err *e)
{
    gopt_isolated keep;
    gopt_tensor out = {0};
    *peak = 0;
    for (int i = x->shapes.n - x->batches; i < x->shapes.n; i++)
        x->shapes.size[i] = batch;
    gopt_status s = gopt_isolated_run(&keep, perform, x, &out, 1, 2 * PROBE_LIMIT_NS, gopt_headroom(), NULL, e);
    if (!s)
        *peak = (size_t)gopt_tensor_get_int(&out, 0);
    gopt_isolated_fini(&keep);
    return s;
}

/* ---- the other sizes ---- */

static void choose_sizes(probe *x, const char *symbol, const gopt_shapes *given)
{
    for (int i = 0; given && i < given->n && x->shapes.n < GOPT_SHAPES_MAX - 1; i++) {
        if (!strcmp(given->name[i], symbol))
            continue;
        memcpy(x->shapes.name[x->shapes.n], given->name[i], sizeof given->name[i]);
        x->shapes.size[x->shapes.n++] = given->size[i];
    }
    snprintf(x->shapes.name[x->shapes.n++], sizeof x->shapes.name[0], "%s", symbol);
    x->batches = 1;
}

static int find_size(const gopt_shapes *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return i;
    return -1;
}

static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    probe *x = ctx;
    const char *names[SYMBOLS_MAX];
    size_t peak;
    x->length = length;
    *made_up = gopt_graph_symbols(x->graph, names, SYMBOLS_MAX) - x->shapes.n;
    gopt_status s = try_batch(x, 1, &peak, e);
    return s == GOPT_ENOMEM ? GOPT_OK : s; /* the model takes it, the limit does not */
}

/* The state of a recurrent model must grow with the batch; what need not stays at 1. */
static void follow(probe *x)
{
    const char *names[SYMBOLS_MAX];
    size_t peak;
    int n = find_batches(x->graph, names), alone = x->shapes.n;
    gopt_status s = n > 1 ? try_batch(x, 2, &peak, NULL) : GOPT_OK;
    if (s != GOPT_EINPUT && s != GOPT_EUNSUP)
        return;
    for (int i = 0; i < n && x->shapes.n < GOPT_SHAPES_MAX; i++)
        if (find_size(&x->shapes, names[i]) < 0)
            snprintf(x->shapes.name[x->shapes.n++], sizeof x->shapes.name[0], "%s", names[i]);
    x->batches += x->shapes.n - alone;
    s = try_batch(x, 2, &peak, NULL);
    if (s == GOPT_EINPUT || s == GOPT_EUNSUP) {
        x->batches = 1;
        x->shapes.n = alone;
    }
}

/* What was not given: the sizes of this length, and what follows the batch. */
static void tell_others(gopt_batch_headroom *out, const probe *x)
{
    const char *names[SYMBOLS_MAX];
    int64_t sizes[SYMBOLS_MAX];
    gopt_text t = {0};
    int n = gopt_inputs_shape(x->graph, names, sizes, SYMBOLS_MAX, x->length), batch = x->shapes.n - x->batches;
    for (int i = 0; i < n; i++) {
        int at = find_size(&x->shapes, names[i]);
        if (at > batch)
            gopt_text_add(&t, "%s%s=%s", t.n ? ", " : "", names[i], x->shapes.name[batch]);
        else if (at < 0)
            gopt_text_add(&t, "%s%s=%lld", t.n ? ", " : "", names[i], (long long)sizes[i]);
    }
    snprintf(out->others, sizeof out->others, "%s", gopt_text_str(&t));
    gopt_text_fini(&t);
}

/* ---- the search ---- */

/* Whether it fits, noted as the largest or as the one above. */
static bool note(gopt_batch_headroom *out, probe *x, int64_t batch, gopt_status *s, gopt_err *why)
{
    size_t peak;
    *s = try_batch(x, batch, &peak, why);
    bool fits = !*s && peak <= x->limit;
    if (fits) {
        out->largest = batch;
        out->peak = peak;
    } else {
        out->above = batch;
        out->peak_above = peak;
        snprintf(out->why, sizeof out->why, "%s", *s ? why->msg : "");
    }
    return fits;
}

/* False where a run needs more than the plan says: what comes late, or is packed late. */
static bool verify(gopt_batch_headroom *out, probe *x)
{
    gopt_err why = {0};
    size_t peak;
    x->run = true;
    gopt_status s = try_batch(x, out->largest, &peak, &why);
    out->ran = !s && peak <= x->limit;
    if (s && s != GOPT_ENOMEM)
        snprintf(out->why, sizeof out->why, "%lld does not run: %.200s", (long long)out->largest, why.msg);
    return out->ran || out->why[0];
}

static gopt_status search(gopt_batch_headroom *out, probe *x, gopt_err *e)
{
    gopt_status s;
    gopt_err why = {0};
    *out = (gopt_batch_headroom){0};
    if (!note(out, x, 1, &s, &why))
        return s && s != GOPT_ENOMEM ? gopt_fail(e, s, "%s=1: %s", x->shapes.name[x->shapes.n - x->batches], why.msg)
                                     : GOPT_OK;
    while (!out->above && out->largest < GOPT_BATCH_MOST)
        note(out, x, 2 * out->largest, &s, &why);
    while (out->above > out->largest + 1)
        note(out, x, out->largest + (out->above - out->largest) / 2, &s, &why);
    return GOPT_OK;
}

gopt_status gopt_batch_headroom_find(gopt_batch_headroom *out, const gopt_graph *g, const gopt_config *c,
                                     const char *symbol, const gopt_shapes *shapes, size_t limit, gopt_err *e)
{
    probe x = {.graph = (gopt_graph *)(uintptr_t)g, .config = c, .limit = limit};
    choose_sizes(&x, symbol, shapes);
    gopt_status s = gopt_shape_search(g, &x.shapes, try_length, &x, e);
    if (s)
        return gopt_within(e, s, "%s=1", symbol);
    follow(&x);
    GOPT_TRY(search(out, &x, e));
    if (out->largest && !verify(out, &x)) {
        GOPT_TRY(search(out, &x, e)); /* every one by a run now */
        out->ran = out->largest > 0;
    }
    tell_others(out, &x);
    return GOPT_OK;
}
