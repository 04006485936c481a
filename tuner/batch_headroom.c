/* batch_headroom.c: sizes that run, then doubling until a batch does not fit, halving the gap, running what was found.
 */
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
    gopt_batch_sizes sizes;
    size_t limit; /* SIZE_MAX: none but what the machine has */
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
    if (run && x->limit < SIZE_MAX)
        confine(x->limit - plan->weight_bytes);
    return use(plan, run ? in : NULL, peak, e);
}

static gopt_status perform(void *ctx, gopt_tensor *out, int n_out, gopt_arena *a, gopt_err *e)
{
    const probe *x = ctx;
    const gopt_tensor *const *in;
    size_t peak;
    (void)n_out;
    GOPT_TRY(gopt_shape_bind(x->graph, &x->sizes.shapes, x->sizes.length, NULL, NULL, e));
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
    for (int i = x->sizes.shapes.n - x->sizes.batches; i < x->sizes.shapes.n; i++)
        x->sizes.shapes.size[i] = batch;
    gopt_status s = gopt_isolated_run(&keep, perform, x, &out, 1, 2 * PROBE_LIMIT_NS, gopt_headroom(), NULL, e);
    if (!s)
        *peak = (size_t)gopt_tensor_get_int(&out, 0);
    gopt_isolated_fini(&keep);
    return s;
}

/* ---- the other sizes ---- */

static void choose_sizes(gopt_batch_sizes *z, const char *symbol, const gopt_shapes *given)
{
    gopt_shapes *s = &z->shapes;
    for (int i = 0; given && i < given->n && s->n < GOPT_SHAPES_MAX - 1; i++) {
        if (!strcmp(given->name[i], symbol))
            continue;
        memcpy(s->name[s->n], given->name[i], sizeof given->name[i]);
        s->size[s->n++] = given->size[i];
    }
    snprintf(s->name[s->n++], sizeof s->name[0], "%s", symbol);
    z->batches = 1;
}

static int find_size(const gopt_shapes *s, const char *name)
{
    for (int i = 0; s && i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return i;
    return -1;
}

static bool is_refused(gopt_status s)
{
    return s == GOPT_EINPUT || s == GOPT_EUNSUP;
}

static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    probe *x = ctx;
    const char *names[SYMBOLS_MAX];
    size_t peak;
    x->sizes.length = length;
    *made_up = gopt_graph_symbols(x->graph, names, SYMBOLS_MAX) - x->sizes.shapes.n;
    gopt_status s = try_batch(x, 1, &peak, e);
    return s == GOPT_ENOMEM || s == GOPT_ELIMIT ? GOPT_OK : s; /* it was too much here, not wrong for the model */
}

static bool grows(probe *x)
{
    size_t peak;
    return !is_refused(try_batch(x, 2, &peak, NULL)) && !is_refused(try_batch(x, 3, &peak, NULL));
}

/* The state of a recurrent model must grow with the batch; what need not stays at 1. */
static void follow(probe *x)
{
    const char *names[SYMBOLS_MAX];
    gopt_shapes *s = &x->sizes.shapes;
    int n = find_batches(x->graph, names), alone = s->n;
    if (n < 2 || grows(x))
        return;
    for (int i = 0; i < n && s->n < GOPT_SHAPES_MAX; i++)
        if (find_size(s, names[i]) < 0)
            snprintf(s->name[s->n++], sizeof s->name[0], "%s", names[i]);
    x->sizes.batches += s->n - alone;
    if (s->n > alone && !grows(x)) {
        x->sizes.batches = 1;
        s->n = alone;
    }
}

/* What was not given: the sizes of this length, and what follows the batch. */
static void tell_sizes(gopt_batch_sizes *z, const gopt_graph *g, const gopt_shapes *given)
{
    const char *names[SYMBOLS_MAX];
    int64_t sizes[SYMBOLS_MAX];
    gopt_text others = {0}, shape = {0};
    int n = gopt_inputs_shape(g, names, sizes, SYMBOLS_MAX, z->length), batch = z->shapes.n - z->batches;
    for (int i = 0; i < n; i++) {
        int at = find_size(&z->shapes, names[i]), set = find_size(given, names[i]);
        gopt_text_add(&shape, "%s%s=%lld", i ? "," : "", names[i], (long long)(set < 0 ? sizes[i] : given->size[set]));
        if (at > batch)
            gopt_text_add(&others, "%s%s=%s", others.n ? ", " : "", names[i], z->shapes.name[batch]);
        else if (at < 0)
            gopt_text_add(&others, "%s%s=%lld", others.n ? ", " : "", names[i], (long long)sizes[i]);
    }
    snprintf(z->others, sizeof z->others, "%s", gopt_text_str(&others));
    snprintf(z->shape, sizeof z->shape, "%s", gopt_text_str(&shape));
    gopt_text_fini(&others);
    gopt_text_fini(&shape);
}

gopt_status gopt_batch_sizes_find(gopt_batch_sizes *out, const gopt_graph *g, const char *symbol,
                                  const gopt_shapes *given, gopt_err *e)
{
    gopt_config c;
    probe x = {.graph = (gopt_graph *)(uintptr_t)g, .config = &c, .limit = SIZE_MAX, .run = true};
    gopt_config_baseline(&c);
    choose_sizes(&x.sizes, symbol, given);
    gopt_status s = gopt_shape_search(g, &x.sizes.shapes, try_length, &x, e);
    if (s)
        return gopt_within(e, s, "%s=1", symbol);
    follow(&x);
    tell_sizes(&x.sizes, g, given);
    *out = x.sizes;
    return GOPT_OK;
}

/* ---- the search ---- */

static void tell_why(gopt_batch_headroom *out, int64_t batch, gopt_status s, const gopt_err *why)
{
    out->why[0] = 0;
    if (s && s != GOPT_ENOMEM)
        snprintf(out->why, sizeof out->why, "%lld does not run: %.200s", (long long)batch, why->msg);
}

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
        tell_why(out, batch, *s, why);
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
        tell_why(out, out->largest, s, &why);
    return out->ran || out->why[0];
}

static gopt_status search(gopt_batch_headroom *out, probe *x, gopt_err *e)
{
    gopt_status s;
    gopt_err why = {0};
    *out = (gopt_batch_headroom){0};
    if (!note(out, x, 1, &s, &why))
        return s && s != GOPT_ENOMEM
                   ? gopt_fail(e, s, "%s=1: %s", x->sizes.shapes.name[x->sizes.shapes.n - x->sizes.batches], why.msg)
                   : GOPT_OK;
    while (!out->above && out->largest < GOPT_BATCH_MOST)
        note(out, x, 2 * out->largest, &s, &why);
    while (out->above > out->largest + 1)
        note(out, x, out->largest + (out->above - out->largest) / 2, &s, &why);
    return GOPT_OK;
}

/* A run that the limit ended did not come to say what it needs: one without it does. */
static void weigh_above(gopt_batch_headroom *out, const probe *x)
{
    probe free = *x;
    size_t peak;
    if (!out->above || out->peak_above || out->why[0])
        return;
    free.limit = SIZE_MAX;
    free.run = true;
    if (!try_batch(&free, out->above, &peak, NULL) && peak > x->limit)
        out->peak_above = peak;
}

gopt_status gopt_batch_headroom_find(gopt_batch_headroom *out, const gopt_graph *g, const gopt_config *c,
                                     const gopt_batch_sizes *sizes, size_t limit, gopt_err *e)
{
    probe x = {.graph = (gopt_graph *)(uintptr_t)g, .config = c, .sizes = *sizes, .limit = limit};
    GOPT_TRY(search(out, &x, e));
    if (out->largest && !verify(out, &x)) {
        GOPT_TRY(search(out, &x, e)); /* every one by a run now */
        out->ran = out->largest > 0;
    }
    weigh_above(out, &x);
    return GOPT_OK;
}
