/* bench.c: gopt bench: latency with intervals, throughput, memory; two paired, in rounds of random order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "device.h"
#include "json.h"
#include "runner.h"
#include "stats.h"
#include "timing.h"

typedef struct options {
    gopt_pick pick;
    gopt_shapes shapes;
    const char *against, *model;
    double seconds;
    int64_t seed;
    bool json;
} options;

enum { SAMPLES_MOST = 20000, SAMPLES_LEAST = 11 };
static const double SAMPLE_NS = 1e6; /* a sample takes at least this long */
static const int64_t WINDOW_NS = 100 * 1000 * 1000;
static const double WARM_SHARE = 0.25; /* of the seconds, at most */

/* One of the things that are timed. */
typedef struct lane {
    gopt_runner runner;
    const char *path;
    double *ns; /* one sample per round, SAMPLES_MOST of them */
    int repeats;
} lane;

typedef struct bench {
    const options *o;
    gopt_workplace place;
    lane lane[2];
    int n_lanes;
    double *again; /* the first lane a second time in every round of a comparison: how much noise there is */
    int rounds;
    int windows,
        disturbed; /* spans of WINDOW_NS or a round, and those in which the machine was busy with other things */
} bench;

static void init(void *o)
{
    ((options *)o)->seconds = 3;
    ((options *)o)->seed = 1;
}

/* ---- taking samples ---- */

static gopt_status open_lane(bench *b, int k, const char *path, gopt_err *e)
{
    lane *l = &b->lane[k];
    const options *o = b->o;
    gopt_runner_options r = {
        .pick = &o->pick, .shapes = &o->shapes, .place = &b->place, .model = o->model, .seed = (uint64_t)o->seed};
    l->path = path;
    b->n_lanes = k + 1;
    if (!(l->ns = gopt_calloc(SAMPLES_MOST, sizeof *l->ns)))
        return gopt_oom(e);
    return gopt_runner_open_made(&l->runner, path, &r, e);
}

static gopt_status warm(bench *b, int k, gopt_err *e)
{
    lane *l = &b->lane[k];
    double median;
    int64_t limit = (int64_t)(WARM_SHARE * b->o->seconds * 1e9 / b->n_lanes);
    GOPT_TRY(gopt_timing_warm(l->runner.engine, limit, &median, e));
    l->repeats = (int)GOPT_MIN(GOPT_MAX(ceil(SAMPLE_NS / GOPT_MAX(median, 1)), 1), 1e6);
    return GOPT_OK;
}

/* Which lane each place of a round is for; the last place of a comparison is the first lane again. */
static gopt_status take_round(bench *b, gopt_random *random, gopt_err *e)
{
    int order[3] = {0, 1, 2}, n = b->n_lanes > 1 ? 3 : 1;
    gopt_random_shuffle(random, order, n);
    for (int i = 0; i < n; i++) {
        lane *l = &b->lane[order[i] == 1 ? 1 : 0];
        double *to = order[i] == 2 ? b->again : l->ns;
        GOPT_TRY(gopt_timing_sample(l->runner.engine, SAMPLE_NS, &l->repeats, &to[b->rounds], e));
    }
    return GOPT_OK;
}

static gopt_status take_samples(bench *b, gopt_err *e)
{
    gopt_random random;
    gopt_random_seed(&random, (uint64_t)b->o->seed);
    int64_t begin = gopt_now(), end = begin + (int64_t)(b->o->seconds * 1e9);
    for (int k = 0; k < b->n_lanes; k++)
        GOPT_TRY(warm(b, k, e));
    gopt_health then;
    gopt_health_read(&then);
    while (b->rounds < SAMPLES_MOST && (b->rounds < SAMPLES_LEAST || gopt_now() < end)) {
        GOPT_TRY(gopt_workplace_check(e));
        GOPT_TRY(take_round(b, &random, e));
        b->rounds++;
        if (gopt_now() - then.at_ns < WINDOW_NS)
            continue;
        gopt_health now;
        gopt_health_read(&now);
        b->disturbed += gopt_health_disturbed(&then, &now);
        b->windows++;
        then = now;
    }
    return GOPT_OK;
}

/* ---- telling ---- */

static void put_interval(gopt_text *t, const gopt_estimate *x)
{
    char lo[32], hi[32];
    if (isfinite(x->lo) && isfinite(x->hi))
        gopt_text_add(t, " [%s, %s]", gopt_text_ns(lo, x->lo), gopt_text_ns(hi, x->hi));
}

static void text_lane(const bench *b, const lane *l, gopt_text *t)
{
    char a[32], c[32], d[32], f[32], g[32];
    gopt_latency x = gopt_latency_of(l->ns, b->rounds);
    gopt_memory m;
    gopt_engine_memory(l->runner.engine, &m);
    gopt_utf8_put(t, l->path);
    gopt_text_add(t, "%s%s%s\n", l->runner.shape[0] ? ", " : "", l->runner.shape,
                  l->runner.made_up ? " (choose with --shape)" : "");
    gopt_text_add(t, "  latency     median %s", gopt_text_ns(a, x.median.value));
    put_interval(t, &x.median);
    gopt_text_add(t, ", mean %s, p90 %s, p95 %s, p99 %s\n", gopt_text_ns(a, x.mean), gopt_text_ns(c, x.p90),
                  gopt_text_ns(d, x.p95), gopt_text_ns(f, x.p99));
    gopt_text_add(t, "              %d samples of %d inference%s, worth %.0f independent ones\n", x.samples, l->repeats,
                  l->repeats == 1 ? "" : "s", x.effective);
    gopt_text_add(t, "  throughput  %.6g inferences per second of one session\n", 1e9 / x.median.value);
    gopt_text_add(t, "  memory      peak %s: weights %s, activations %s, workspace %s, runtime %s\n",
                  gopt_text_bytes(a, (double)m.peak), gopt_text_bytes(c, (double)m.weights),
                  gopt_text_bytes(d, (double)m.arena), gopt_text_bytes(f, (double)m.workspace),
                  gopt_text_bytes(g, (double)m.runtime));
    gopt_text_add(t, "  inputs      made up from %s\n", l->runner.source);
}

static void json_lane(const bench *b, const lane *l, cJSON *o)
{
    gopt_latency x = gopt_latency_of(l->ns, b->rounds);
    gopt_memory m;
    gopt_engine_memory(l->runner.engine, &m);
    gopt_json_text(o, "path", l->path);
    gopt_json_text(o, "shape", l->runner.shape);
    cJSON *latency = cJSON_AddObjectToObject(o, "latency"), *memory = cJSON_AddObjectToObject(o, "memory");
    const struct {
        const char *name;
        double ns;
    } figures[] = {{"median", x.median.value},
                   {"lo", x.median.lo},
                   {"hi", x.median.hi},
                   {"mean", x.mean},
                   {"p90", x.p90},
                   {"p95", x.p95},
                   {"p99", x.p99}};
    for (int i = 0; i < GOPT_COUNT(figures); i++)
        gopt_json_number(latency, figures[i].name, round(figures[i].ns));
    gopt_json_number(latency, "samples", x.samples);
    gopt_json_number(o, "throughput_per_s", 1e9 / x.median.value);
    gopt_json_number(memory, "peak", (double)m.peak);
    gopt_json_number(memory, "steady", (double)m.steady);
    gopt_json_number(memory, "weights", (double)m.weights);
    gopt_json_number(memory, "arena", (double)m.arena);
    gopt_json_number(memory, "workspace", (double)m.workspace);
    gopt_json_number(memory, "runtime", (double)m.runtime);
    gopt_json_text(o, "inputs_from", l->runner.source);
}

typedef struct comparison {
    gopt_estimate speedup; /* T_against / T */
    double floor;
    gopt_verdict verdict;
} comparison;

static comparison compare(const bench *b)
{
    comparison c = {.speedup = gopt_paired_ratio(b->lane[1].ns, b->lane[0].ns, b->rounds)};
    gopt_estimate same = gopt_paired_ratio(b->again, b->lane[0].ns, b->rounds);
    c.floor = fabs(log(same.value));
    if (isfinite(same.lo) && isfinite(same.hi))
        c.floor = GOPT_MAX(c.floor, 0.5 * log(same.hi / same.lo));
    c.verdict = gopt_verdict_of(&c.speedup, c.floor);
    return c;
}

static const char *verdict_name(gopt_verdict v)
{
    static const char *const names[] = {[GOPT_VERDICT_UNKNOWN] = "unknown",
                                        [GOPT_VERDICT_TIE] = "tie",
                                        [GOPT_VERDICT_BETTER] = "better",
                                        [GOPT_VERDICT_WORSE] = "worse"};
    return names[v];
}

static double busy_share(const bench *b)
{
    return b->windows ? 100.0 * b->disturbed / b->windows : 0;
}

static gopt_status tell_text(const bench *b, const comparison *c, gopt_err *e)
{
    gopt_text t = {0};
    for (int k = 0; k < b->n_lanes; k++) {
        gopt_text_put(&t, k ? "against " : "");
        text_lane(b, &b->lane[k], &t);
    }
    if (c)
        gopt_text_add(&t, "speedup %.3f [%.3f, %.3f] over %d paired rounds: %s (noise floor %.1f %%)\n",
                      c->speedup.value, c->speedup.lo, c->speedup.hi, b->rounds, verdict_name(c->verdict),
                      100 * c->floor);
    if (b->disturbed * 10 > b->windows)
        gopt_text_add(&t, "the machine was busy with other things for %.0f %% of the time\n", busy_share(b));
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    fputs(gopt_text_str(&t), stdout);
    gopt_text_fini(&t);
    return s;
}

static gopt_status tell_json(const bench *b, const comparison *c, gopt_err *e)
{
    cJSON *root = cJSON_CreateObject();
    json_lane(b, &b->lane[0], root);
    gopt_json_number(root, "rounds", b->rounds);
    gopt_json_number(root, "busy_share", busy_share(b) / 100);
    if (c) {
        json_lane(b, &b->lane[1], cJSON_AddObjectToObject(root, "against"));
        cJSON *speedup = cJSON_AddObjectToObject(root, "speedup");
        gopt_json_number(speedup, "value", c->speedup.value);
        gopt_json_number(speedup, "lo", c->speedup.lo);
        gopt_json_number(speedup, "hi", c->speedup.hi);
        gopt_json_text(speedup, "verdict", verdict_name(c->verdict));
        gopt_json_number(root, "noise_floor", c->floor);
    }
    return gopt_json_print(root, e);
}

static gopt_status measure(bench *b, const char *path, gopt_err *e)
{
    GOPT_TRY(open_lane(b, 0, path, e));
    if (b->o->against) {
        GOPT_TRY(open_lane(b, 1, b->o->against, e));
        if (!(b->again = gopt_calloc(SAMPLES_MOST, sizeof *b->again)))
            return gopt_oom(e);
    }
    GOPT_TRY(take_samples(b, e));
    comparison c = {0};
    if (b->o->against)
        c = compare(b);
    const comparison *given = b->o->against ? &c : NULL;
    GOPT_TRY(b->o->json ? tell_json(b, given, e) : tell_text(b, given, e));
    return c.verdict == GOPT_VERDICT_WORSE ? GOPT_EDIFF : GOPT_OK;
}

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    bench b = {.o = o};
    (void)n;
    gopt_workplace_open(&b.place);
    gopt_status s = measure(&b, operand[0], e);
    for (int k = 0; k < b.n_lanes; k++) {
        gopt_runner_close(&b.lane[k].runner);
        gopt_free(b.lane[k].ns);
    }
    gopt_free(b.again);
    gopt_workplace_close(&b.place);
    return s;
}

static const gopt_option rows[] = {
    {"--against", 0, "FILE", gopt_parse_text, offsetof(options, against),
     "time another one too, in turns, and compare; exit code 1 when\nthe first is worse"},
    {"--seconds", 0, "S", gopt_parse_duration, offsetof(options, seconds), "how long to measure (default 3)"},
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "sizes of a model's symbolic dimensions"},
    {"--model", 0, "MODEL", gopt_parse_text, offsetof(options, model),
     "what a bundle was made from, for inputs that it can take"},
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--seed", 0, "N", gopt_parse_seed, offsetof(options, seed), "of inputs and orders (default 1)"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object; times in nanoseconds, memory in bytes"},
    {0}};

const gopt_command gopt_command_bench = {
    .name = "bench",
    .operands = "MANIFEST|BUNDLE|MODEL",
    .least = 1,
    .most = 1,
    .doc = "Times it: latency with 95 % intervals, throughput, memory; two of them in turns with --against.",
    .more = "A model is compiled first (--pipeline, --preset, --set); manifests and bundles run as they are. Quantiles "
            "that\n"
            "the samples cannot support are n/a. Close other programs: what disturbed the rounds is said.\n\n"
            "Examples:\n"
            "  gopt bench net.gopt/manifest.yaml\n"
            "  gopt bench net.gopt/manifest.yaml --against net.onnx --pipeline none\n"
            "  gopt bench net.onnx --shape batch=8 --threads 2 --seconds 10 --json\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
