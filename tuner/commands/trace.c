/* trace.c: gopt trace: what every pass of a pipeline does: nodes, steps, memory, predicted cost, measured latency. The
 * pipeline is compiled once as a whole, then cut off after every pass that changed something, each time in a process of
 * its own. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "compile.h"
#include "headroom.h"
#include "import.h"
#include "inputs.h"
#include "isolated.h"
#include "json.h"
#include "late.h"
#include "pick.h"
#include "shape.h"
#include "stats.h"
#include "subject.h"
#include "timing.h"
#include "workplace.h"

typedef struct options {
    gopt_pick pick;
    gopt_shapes shapes;
    double seconds;
    int64_t seed;
    bool json;
} options;

enum { PASSES_MOST = 64, SAMPLES_MOST = 2000, SAMPLES_LEAST = 11 };
static const double SAMPLE_NS = 1e6;
static const int64_t STEP_LIMIT_NS = 120 * GOPT_NS_PER_S;

/* The graph after a pass, as a plan of its own. */
typedef struct row {
    int changed, nodes_before, nodes_after;
    int64_t pass_ns;
    int steps, native, generated, reference;
    size_t arena, arena_bound; /* bodies included */
    double predicted_ns;
    int unpredicted; /* steps without a prediction: their shapes are known only at run time, or they have bodies */
    gopt_estimate latency;
    bool measured; /* false: the pass changed nothing, all but its time is that of the row before */
} row;

/* What the processes fill. */
typedef struct shared {
    row row[PASSES_MOST + 1]; /* row[0]: before the first pass */
    int n;
    int made_up;
    char shape[256];
} shared;

typedef struct trace {
    const options *o;
    gopt_workplace place;
    gopt_graph *graph; /* imported */
    int nodes_in_file;
    gopt_config config;
    int pass[GOPT_SETTINGS_MAX], n_passes;
    int64_t length;
    int cut; /* how many passes run; -1: all, and their records are wanted */
    shared *out;
} trace;

static void init(void *o)
{
    ((options *)o)->seconds = 0.3;
    ((options *)o)->seed = 1;
}

/* ---- in a process of its own ---- */

static void switch_off_after(gopt_config *c, const trace *t, int cut)
{
    for (int k = 0; k < gopt_setting_count(); k++) {
        const gopt_setting *s = gopt_setting_at(k);
        for (int i = cut; s->is_switch && s->pass && i < t->n_passes; i++)
            if (s->pass == gopt_passes[t->pass[i]])
                c->v[k] = 0;
    }
    gopt_config_normalize(c);
}

/* How long a body runs, and which, only a run tells, as what a step costs whose shapes only a run tells. */
static int count_unpredicted(const gopt_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++)
        n += p->steps[i].n_bodies || gopt_step_is_late(p, &p->steps[i]);
    return n;
}

/* Of all steps together; NAN where there is none. */
static double predict(const gopt_plan *p)
{
    double ns = 0;
    for (int i = 0; i < p->n_steps; i++)
        ns += 1e9 * p->steps[i].cost_s;
    return ns > 0 && !count_unpredicted(p) ? ns : NAN;
}

static void fill_plan(row *r, const gopt_plan *p, const gopt_compile_log *log)
{
    r->native = log->kernels_native;
    r->generated = log->kernels_generated;
    r->reference = log->kernels_reference;
    r->steps = r->native + r->generated + r->reference; /* those of bodies, too */
    r->arena = log->arena_bytes;
    r->arena_bound = log->arena_bound;
    r->predicted_ns = predict(p);
    r->unpredicted = count_unpredicted(p);
}

static gopt_status measure(const trace *t, row *r, const gopt_plan *p, const gopt_tensor *const *in, gopt_err *e)
{
    gopt_engine *g;
    static double ns[SAMPLES_MOST]; /* of this process alone */
    double median;
    int n = 0, repeats = 1;
    int64_t span = (int64_t)(t->o->seconds * 1e9), end = gopt_now() + span;
    GOPT_TRY(gopt_engine_new(&g, p, 0, e));
    for (int i = 0; i < p->n_inputs; i++)
        GOPT_TRY(gopt_engine_bind(g, i, in[i], e));
    GOPT_TRY(gopt_timing_warm(g, span / 4, &median, e));
    while (n < SAMPLES_MOST && (n < SAMPLES_LEAST || gopt_now() < end))
        GOPT_TRY(gopt_timing_sample(g, SAMPLE_NS, &repeats, &ns[n++], e));
    r->latency = gopt_latency_of(ns, n).median;
    return GOPT_OK;
}

static void fill_records(shared *out, const gopt_compile_log *log)
{
    out->n = GOPT_MIN(log->n_records, PASSES_MOST);
    for (int i = 0; i < out->n; i++) {
        const gopt_pass_record *r = &log->records[i];
        out->row[i + 1] = (row){.changed = r->changed,
                                .nodes_before = r->nodes_before,
                                .nodes_after = r->nodes_after,
                                .pass_ns = r->ns,
                                .measured = r->changed || r->pass->decides};
    }
}

static gopt_status prepare(const trace *t, const gopt_tensor *const **in, gopt_arena *a, gopt_err *e)
{
    gopt_text shape = {0};
    shared *out = t->out;
    gopt_status s = gopt_shape_bind(t->graph, &t->o->shapes, t->length, &shape, &out->made_up, e);
    snprintf(out->shape, sizeof out->shape, "%s", gopt_text_str(&shape));
    gopt_text_fini(&shape);
    GOPT_TRY(s);
    return gopt_inputs_make(in, t->graph, GOPT_INPUT_RANDOM, (uint64_t)t->o->seed, a, e);
}

static gopt_status perform(void *ctx, gopt_tensor *unused, int n_unused, gopt_arena *a, gopt_err *e)
{
    const trace *t = ctx;
    const gopt_tensor *const *in;
    gopt_config config = t->config;
    gopt_compile_log log;
    gopt_plan *plan;
    (void)unused, (void)n_unused;
    GOPT_TRY(prepare(t, &in, a, e));
    if (t->cut >= 0)
        switch_off_after(&config, t, t->cut);
    gopt_compile_options o = {.cache_dir = t->place.cache, .scratch_dir = t->place.scratch};
    gopt_target_host(&o.target, (int)gopt_config_threads(&config));
    int nodes = gopt_graph_count(t->graph);
    GOPT_TRY(gopt_compile(&plan, t->graph, &config, &o, &log, e));
    row *r = &t->out->row[GOPT_MAX(t->cut, 0)];
    if (t->cut < 0)
        fill_records(t->out, &log);
    if (t->cut <= 0)
        r->nodes_after = nodes;
    fill_plan(r, plan, &log);
    return measure(t, r, plan, in, e);
}

/* ---- here ---- */

static gopt_status step(trace *t, int cut, gopt_err *e)
{
    gopt_isolated keep;
    t->cut = cut;
    gopt_status s = gopt_isolated_run(&keep, perform, t, NULL, 0, STEP_LIMIT_NS, gopt_headroom(), NULL, e);
    gopt_isolated_fini(&keep);
    return s;
}

static gopt_status attempt(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    trace *t = ctx;
    t->length = length;
    gopt_status s = step(t, -1, e);
    *made_up = t->out->made_up;
    return s;
}

/* The whole pipeline once, with sizes that the model takes. */
static gopt_status whole(trace *t, gopt_err *e)
{
    return gopt_shape_search(t->graph, &t->o->shapes, attempt, t, e);
}

static gopt_status cuts(trace *t, gopt_err *e)
{
    shared *out = t->out;
    out->row[0].measured = true;
    for (int i = 0; i <= out->n; i++) {
        row *r = &out->row[i];
        GOPT_TRY(gopt_workplace_check(e));
        if (r->measured) {
            gopt_status s = step(t, i, e);
            if (s)
                return i ? gopt_within(e, s, "after pass %s", gopt_passes[t->pass[i - 1]]->name) : s;
            continue;
        }
        row before = out->row[i - 1];
        before.changed = r->changed;
        before.nodes_before = r->nodes_before;
        before.pass_ns = r->pass_ns;
        before.measured = false;
        *r = before;
    }
    return GOPT_OK;
}

static const char *name_of(const trace *t, int i)
{
    return i ? gopt_passes[t->pass[i - 1]]->name : "as imported";
}

static void text_row(const trace *t, int i, gopt_text *out)
{
    const row *r = &t->out->row[i];
    char a[32], b[32], c[32] = "", d[32], lo[32], hi[32];
    if (i)
        gopt_text_ns(c, (double)r->pass_ns);
    gopt_text_add(out, "%-22s %6d %6d %6d %6d %6d %10s %10s %9s  ", name_of(t, i), r->nodes_after, r->steps, r->native,
                  r->generated, r->reference, gopt_text_bytes(a, (double)r->arena), gopt_text_ns(b, r->predicted_ns),
                  c);
    if (!r->measured) {
        gopt_text_put(out, "changes nothing\n");
        return;
    }
    gopt_text_put(out, gopt_text_ns(d, r->latency.value));
    if (isfinite(r->latency.lo) && isfinite(r->latency.hi))
        gopt_text_add(out, " [%s, %s]", gopt_text_ns(lo, r->latency.lo), gopt_text_ns(hi, r->latency.hi));
    gopt_text_put(out, "\n");
}

static void text_unpredicted(const trace *t, gopt_text *out)
{
    int least = INT_MAX, most = 0;
    for (int i = 0; i <= t->out->n; i++) {
        least = GOPT_MIN(least, t->out->row[i].unpredicted);
        most = GOPT_MAX(most, t->out->row[i].unpredicted);
    }
    if (most == 0)
        return;
    gopt_text_put(out, "predicted is n/a where steps run bodies of If, Loop or Scan or have shapes known only at run "
                       "time, which no cost\nmodel of a kernel covers: ");
    if (least < most)
        gopt_text_add(out, "%d to ", least);
    gopt_text_add(out, "%d step%s here\n", most, most == 1 ? "" : "s");
}

static gopt_status tell_text(const trace *t, gopt_err *e)
{
    gopt_text out = {0};
    if (t->out->shape[0])
        gopt_text_add(&out, "%s%s\n", t->out->shape, t->out->made_up ? " (choose with --shape)" : "");
    if (t->nodes_in_file != t->out->row[0].nodes_after)
        gopt_text_add(&out, "%d nodes in the file, %d after import\n", t->nodes_in_file, t->out->row[0].nodes_after);
    gopt_text_add(&out, "%-22s %6s %6s %6s %6s %6s %10s %10s %9s  %s\n", "after pass", "nodes", "steps", "native",
                  "gener.", "refer.", "activat.", "predicted", "pass took", "latency [95 %]");
    for (int i = 0; i <= t->out->n; i++)
        text_row(t, i, &out);
    text_unpredicted(t, &out);
    gopt_status s = out.failed ? gopt_oom(e) : GOPT_OK;
    fputs(gopt_text_str(&out), stdout);
    gopt_text_fini(&out);
    return s;
}

static gopt_status tell_json(const trace *t, gopt_err *e)
{
    cJSON *root = cJSON_CreateObject();
    gopt_json_text(root, "shape", t->out->shape);
    gopt_json_number(root, "nodes_in_file", t->nodes_in_file);
    cJSON *list = cJSON_AddArrayToObject(root, "steps");
    for (int i = 0; i <= t->out->n; i++) {
        const row *r = &t->out->row[i];
        cJSON *o = cJSON_CreateObject();
        gopt_json_text(o, "pass", i ? name_of(t, i) : NULL);
        gopt_json_number(o, "changed", r->changed);
        gopt_json_number(o, "nodes_before", i ? (double)r->nodes_before : (double)NAN);
        gopt_json_number(o, "nodes_after", r->nodes_after);
        gopt_json_number(o, "kernels_after", r->steps);
        gopt_json_number(o, "native", r->native);
        gopt_json_number(o, "generated", r->generated);
        gopt_json_number(o, "reference", r->reference);
        gopt_json_number(o, "arena_after", (double)r->arena);
        gopt_json_number(o, "arena_bound", (double)r->arena_bound);
        gopt_json_number(o, "predicted", round(r->predicted_ns));
        gopt_json_number(o, "unpredicted", r->unpredicted);
        gopt_json_number(o, "pass_ns", i ? (double)r->pass_ns : (double)NAN);
        gopt_json_number(o, "latency", round(r->latency.value));
        gopt_json_number(o, "latency_lo", round(r->latency.lo));
        gopt_json_number(o, "latency_hi", round(r->latency.hi));
        cJSON_AddBoolToObject(o, "measured", r->measured);
        cJSON_AddItemToArray(list, o);
    }
    return gopt_json_print(root, e);
}

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    trace t = {.o = o};
    (void)n;
    char path[PATH_MAX];
    gopt_model_info info;
    GOPT_TRY(gopt_pick_config(&t.config, &t.o->pick, e));
    GOPT_TRY(gopt_subject_model(path, sizeof path, operand[0], e));
    t.n_passes = gopt_config_pipeline(&t.config, t.pass);
    GOPT_TRY(gopt_model_import(&t.graph, path, &info, e));
    t.nodes_in_file = info.nodes;
    t.out = mmap(NULL, sizeof *t.out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    gopt_status s = t.out == MAP_FAILED ? gopt_oom(e) : GOPT_OK;
    gopt_workplace_open(&t.place);
    if (!s)
        s = whole(&t, e);
    if (!s)
        s = cuts(&t, e);
    if (!s)
        s = t.o->json ? tell_json(&t, e) : tell_text(&t, e);
    gopt_workplace_close(&t.place);
    if (t.out != MAP_FAILED)
        munmap(t.out, sizeof *t.out);
    gopt_graph_free(t.graph);
    return s;
}

static const gopt_option rows[] = {
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "sizes of symbolic dimensions"},
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--seconds", 0, "S", gopt_parse_duration, offsetof(options, seconds),
     "how long to measure after each pass (default 0.3)"},
    {"--seed", 0, "N", gopt_parse_seed, offsetof(options, seed), "of made-up inputs (default 1)"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object; times in nanoseconds, memory in bytes"},
    {0}};

const gopt_command gopt_command_trace = {
    .name = "trace",
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .doc = "Shows what every pass does: nodes, kernels, memory, predicted cost, measured latency.",
    .more =
        "Nodes are counted after import, which makes constants weights and puts functions in their places.\n"
        "Each row is the pipeline cut off after that pass, compiled and timed. Rows are timed one after the other, so\n"
        "small differences are noise: gopt bench --against compares two in turns. The predicted cost is the sum of\n"
        "what the cost models of kernels say; n/a where a step can have none, of which a line below then says why.\n\n"
        "Examples:\n"
        "  gopt trace net.onnx\n"
        "  gopt trace net.onnx --shape batch=8 --pipeline fold_const,fuse_chain,reuse_memory\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
