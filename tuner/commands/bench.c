/* bench.c: gopt bench: latency with intervals, throughput, memory; two paired, in rounds of random order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "json.h"
#include "rounds.h"
#include "runner.h"

typedef struct options {
    gopt_pick pick, other; /* other: of the second one, where that is not as pick says */
    gopt_shapes shapes;
    const char *against, *model;
    double seconds;
    int64_t seed;
    bool json, verbose;
} options;

typedef struct bench {
    const options *o;
    gopt_pick pick[2];
    bool same; /* both are one engine */
    gopt_workplace place;
    gopt_runner runner[2];
    const char *path[2];
    int n;
    gopt_rounds rounds;
} bench;

static void init(void *o)
{
    ((options *)o)->seconds = 3;
    ((options *)o)->seed = 1;
}

/* Which of two it was; the first one's name is told by whoever called the command. */
static gopt_status blame(const bench *b, int lane, gopt_status s, gopt_err *e)
{
    if (!s || lane == 0)
        return s;
    return strstr(e->msg, b->path[lane]) ? gopt_within(e, s, "--against")
                                         : gopt_within(e, s, "--against %.300s", b->path[lane]);
}

static gopt_status open_one(bench *b, const char *path, gopt_err *e)
{
    const options *o = b->o;
    gopt_runner_options r = {
        .pick = &b->pick[b->n], .shapes = &o->shapes, .place = &b->place, .model = o->model, .seed = (uint64_t)o->seed};
    b->path[b->n] = path;
    int lane = b->n++;
    return blame(b, lane, gopt_runner_open_made(&b->runner[lane], path, &r, e), e);
}

/* ---- telling ---- */

static bool are_different(const bench *b)
{
    return b->n == 2 && b->runner[0].sha256[0] && b->runner[1].sha256[0] &&
           strcmp(b->runner[0].sha256, b->runner[1].sha256) != 0;
}

static void put_interval(gopt_text *t, const gopt_estimate *x)
{
    char lo[32], hi[32];
    if (isfinite(x->lo) && isfinite(x->hi))
        gopt_text_add(t, " [%s, %s]", gopt_text_ns(lo, x->lo), gopt_text_ns(hi, x->hi));
}

static void text_latency(const bench *b, int k, gopt_text *t)
{
    const gopt_lane *l = &b->rounds.lane[k];
    gopt_latency x = gopt_rounds_latency(&b->rounds, k), one = gopt_rounds_singles(&b->rounds, k);
    char p50[32], p90[32], p95[32], p99[32];
    gopt_text_add(t, "  latency     median %s", gopt_text_ns(p50, x.median.value));
    put_interval(t, &x.median);
    gopt_text_add(t, ", mean %s, of %d samples of %d inference%s\n", gopt_text_ns(p90, x.mean), x.samples, l->repeats,
                  l->repeats == 1 ? "" : "s");
    if (b->o->verbose)
        gopt_text_add(t, "              the interval counts the samples as %.0f independent ones\n", x.effective);
    if (!one.samples) {
        gopt_text_put(t, "  percentiles n/a: one inference is too short for the clock\n");
        return;
    }
    gopt_text_add(t, "  percentiles p50 %s, p90 %s, p95 %s, p99 %s, of %d single inferences\n",
                  gopt_text_ns(p50, one.median.value), gopt_text_ns(p90, one.p90), gopt_text_ns(p95, one.p95),
                  gopt_text_ns(p99, one.p99), one.samples);
}

static void text_lane(const bench *b, int k, gopt_text *t)
{
    const gopt_runner *r = &b->runner[k];
    char a[32], c[32], d[32], f[32], g[32];
    gopt_memory m;
    gopt_engine_memory(r->engine, &m);
    gopt_utf8_put(t, b->path[k]);
    gopt_text_add(t, "%s%s%s%s%s\n", r->serves[0] ? ": " : "", r->serves, r->shape[0] ? ", " : "", r->shape,
                  r->made_up ? " (choose with --shape)" : "");
    text_latency(b, k, t);
    gopt_text_add(t, "  throughput  %.6g inferences per second of one session\n",
                  1e9 / gopt_rounds_latency(&b->rounds, k).median.value);
    gopt_text_add(t, "  memory      peak %s: weights %s, activations %s, workspace %s, runtime %s\n",
                  gopt_text_bytes(a, (double)m.peak), gopt_text_bytes(c, (double)m.weights),
                  gopt_text_bytes(d, (double)m.arena), gopt_text_bytes(f, (double)m.workspace),
                  gopt_text_bytes(g, (double)m.runtime));
    gopt_text_add(t, "  inputs      made up from %s\n", r->source);
}

static void text_comparison(const bench *b, const gopt_comparison *c, gopt_text *t)
{
    gopt_text_add(t, "speedup %.3f [%.3f, %.3f] over %d rounds: ", c->ratio.value, c->ratio.lo, c->ratio.hi,
                  b->rounds.n);
    gopt_verdict_put(t, c);
    gopt_text_put(t, "\n");
    if (b->o->verbose)
        gopt_text_add(t, "both were opened anew %d times, which the interval is of\n", b->rounds.n_openings);
    if (b->same)
        gopt_text_put(t, "both are the same engine: what is seen between them is noise\n");
}

static void json_latency(const bench *b, int k, cJSON *o)
{
    gopt_latency x = gopt_rounds_latency(&b->rounds, k), one = gopt_rounds_singles(&b->rounds, k);
    cJSON *latency = cJSON_AddObjectToObject(o, "latency");
    const struct {
        const char *name;
        double ns;
    } figures[] = {{"median", x.median.value},
                   {"lo", x.median.lo},
                   {"hi", x.median.hi},
                   {"mean", x.mean},
                   {"p50", one.samples ? one.median.value : NAN},
                   {"p90", one.p90},
                   {"p95", one.p95},
                   {"p99", one.p99}};
    for (int i = 0; i < GOPT_COUNT(figures); i++)
        gopt_json_number(latency, figures[i].name, round(figures[i].ns));
    gopt_json_number(latency, "samples", x.samples);
    gopt_json_number(latency, "inferences_per_sample", b->rounds.lane[k].repeats);
    gopt_json_number(latency, "independent_samples", round(x.effective));
    gopt_json_number(latency, "single_inferences", one.samples);
}

static void json_lane(const bench *b, int k, cJSON *o)
{
    const gopt_runner *r = &b->runner[k];
    gopt_memory m;
    gopt_engine_memory(r->engine, &m);
    gopt_json_text(o, "path", b->path[k]);
    gopt_json_text(o, "shape", r->shape);
    gopt_json_text(o, "serves", r->serves[0] ? r->serves : NULL);
    json_latency(b, k, o);
    cJSON *memory = cJSON_AddObjectToObject(o, "memory");
    gopt_json_number(o, "throughput_per_s", 1e9 / gopt_rounds_latency(&b->rounds, k).median.value);
    gopt_json_number(memory, "peak", (double)m.peak);
    gopt_json_number(memory, "steady", (double)m.steady);
    gopt_json_number(memory, "weights", (double)m.weights);
    gopt_json_number(memory, "arena", (double)m.arena);
    gopt_json_number(memory, "workspace", (double)m.workspace);
    gopt_json_number(memory, "runtime", (double)m.runtime);
    gopt_json_text(o, "inputs_from", r->source);
}

static gopt_status tell_text(const bench *b, const gopt_comparison *c, gopt_err *e)
{
    gopt_text t = {0};
    for (int k = 0; k < b->n; k++) {
        gopt_text_put(&t, k ? "against " : "");
        text_lane(b, k, &t);
    }
    if (c)
        text_comparison(b, c, &t);
    if (are_different(b))
        gopt_text_put(&t, "these are two different models: the files they come from differ\n");
    if (b->rounds.busy_share > 0.1)
        gopt_text_add(&t, "the machine was busy with other things for %.0f %% of the time\n",
                      100 * b->rounds.busy_share);
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    fputs(gopt_text_str(&t), stdout);
    gopt_text_fini(&t);
    return s;
}

static gopt_status tell_json(const bench *b, const gopt_comparison *c, gopt_err *e)
{
    cJSON *root = cJSON_CreateObject();
    json_lane(b, 0, root);
    gopt_json_number(root, "rounds", b->rounds.n);
    if (c)
        gopt_json_number(root, "openings", b->rounds.n_openings);
    gopt_json_number(root, "busy_share", b->rounds.busy_share);
    if (c) {
        json_lane(b, 1, cJSON_AddObjectToObject(root, "against"));
        cJSON *speedup = cJSON_AddObjectToObject(root, "speedup");
        gopt_json_number(speedup, "value", c->ratio.value);
        gopt_json_number(speedup, "lo", c->ratio.lo);
        gopt_json_number(speedup, "hi", c->ratio.hi);
        gopt_json_text(speedup, "verdict", gopt_verdict_name(c->verdict));
        gopt_json_number(speedup, "least", exp(gopt_verdict_least(c->floor)));
        gopt_json_number(root, "noise_floor", c->floor);
        cJSON_AddBoolToObject(root, "different_models", are_different(b));
        cJSON_AddBoolToObject(root, "same_engine", b->same);
    }
    return gopt_json_print(root, e);
}

/* ---- two of them ---- */

/* What is declared, with the rank that was really there where none is: a compiler may know less than the model said. */
static gopt_tensor port_shape(const gopt_port *p, const gopt_tensor *real)
{
    gopt_tensor t = {.dtype = p->dtype, .rank = p->rank};
    memcpy(t.dim, p->dim, sizeof t.dim);
    if (p->rank < 0 && real)
        t.rank = real->rank;
    for (int d = 0; p->rank < 0 && d < t.rank; d++)
        t.dim[d] = -1;
    return t;
}

static bool may_be_same(const gopt_tensor *x, const gopt_tensor *y)
{
    bool same = x->dtype == y->dtype && (x->rank == y->rank || x->rank < 0 || y->rank < 0);
    for (int d = 0; same && d < GOPT_MIN(x->rank, y->rank); d++)
        same = x->dim[d] == y->dim[d] || x->dim[d] < 0 || y->dim[d] < 0;
    return same;
}

static gopt_status match_counts(const bench *b, const char *what, int n, int m, gopt_err *e)
{
    return n == m ? GOPT_OK
                  : gopt_fail(e, GOPT_EUSAGE, "--against: %.120s has %d %ss, %.120s %d: different models", b->path[0],
                              n, what, b->path[1], m);
}

static gopt_status match_port(const char *what, const char *name, const gopt_tensor *x, const gopt_tensor *y,
                              const char *advice, gopt_err *e)
{
    char here[160], there[160];
    return may_be_same(x, y) ? GOPT_OK
                             : gopt_fail(e, GOPT_EUSAGE, "--against: %s \"%.60s\" is %s here and %s there; %s", what,
                                         name, gopt_tensor_describe(here, sizeof here, x),
                                         gopt_tensor_describe(there, sizeof there, y), advice);
}

/* Only what does the same work can be compared. */
static gopt_status match_inputs(const bench *b, gopt_err *e)
{
    const gopt_runner *x = &b->runner[0], *y = &b->runner[1];
    GOPT_TRY(match_counts(b, "input", x->n_inputs, y->n_inputs, e));
    for (int i = 0; i < x->n_inputs; i++) {
        gopt_tensor p = port_shape(&x->inputs[i], NULL), q = port_shape(&y->inputs[i], NULL);
        GOPT_TRY(match_port("input", x->inputs[i].name, &p, &q, "choose sizes with --shape", e));
    }
    return GOPT_OK;
}

/* After both ran. */
static gopt_status match_outputs(const bench *b, gopt_err *e)
{
    const gopt_runner *x = &b->runner[0], *y = &b->runner[1];
    GOPT_TRY(match_counts(b, "output", x->n_outputs, y->n_outputs, e));
    for (int i = 0; i < x->n_outputs; i++) {
        gopt_tensor p = port_shape(&x->outputs[i], gopt_engine_output(x->engine, i));
        gopt_tensor q = port_shape(&y->outputs[i], gopt_engine_output(y->engine, i));
        GOPT_TRY(match_port("output", x->outputs[i].name, &p, &q, "different models", e));
    }
    return GOPT_OK;
}

/* Both get the same inputs, from the one that knows its model. */
static gopt_status share_inputs(bench *b, gopt_err *e)
{
    int from = b->runner[0].blind && !b->runner[1].blind;
    GOPT_TRY(match_inputs(b, e));
    gopt_runner_share(&b->runner[!from], &b->runner[from]);
    return GOPT_OK;
}

static gopt_status try_all(bench *b, gopt_err *e)
{
    for (int k = 0; k < b->n; k++)
        GOPT_TRY(blame(b, k, gopt_runner_try(&b->runner[k], e), e));
    return GOPT_OK;
}

/* Where a model is compiled to, it is opened from there like the other one. */
static gopt_status deploy_all(bench *b, gopt_err *e)
{
    char path[PATH_MAX + 32];
    GOPT_TRY(gopt_dir_make(b->place.scratch, e));
    for (int k = 0; k < b->n; k++) {
        snprintf(path, sizeof path, "%s/lane-%d.gopt", b->place.scratch, k);
        GOPT_TRY(gopt_runner_deploy(&b->runner[k], path, e));
    }
    return GOPT_OK;
}

static bool has_own_pick(const options *o)
{
    const gopt_pick *p = &o->other;
    return p->pipeline || p->preset || p->set.n || p->threads;
}

static bool is_paired(const options *o)
{
    return o->against || has_own_pick(o);
}

/* Without --against it is the same file, compiled otherwise. */
static const char *other_path(const options *o, const char *path)
{
    return o->against ? o->against : path;
}

/* What is wrong with the options of the second one: a message begins with the option. */
static gopt_status blame_other(gopt_status s, const gopt_err *why, gopt_err *e)
{
    return s ? gopt_fail(e, s, "--against-%s", why->msg + strlen("--")) : GOPT_OK;
}

/* The second one is compiled as the first but for what is said of it alone. */
static gopt_status pick_other(bench *b, gopt_err *e)
{
    const gopt_pick *p = &b->o->other;
    gopt_pick *pick = &b->pick[1];
    gopt_config config;
    gopt_err why = {0};
    GOPT_TRY(gopt_pick_config(&config, pick, e));
    if (p->pipeline || p->preset) {
        pick->pipeline = p->pipeline;
        pick->preset = p->preset;
    }
    for (int i = 0; i < p->set.n; i++)
        GOPT_TRY(gopt_parse_words(&pick->set, p->set.at[i], e));
    pick->threads = p->threads ? p->threads : pick->threads;
    return blame_other(gopt_pick_config(&config, pick, &why), &why, e);
}

/* What is said of how to compile must be said of a model. */
static gopt_status check_picks(const options *o, const char *path, gopt_err *e)
{
    gopt_err why = {0};
    const char *const paths[] = {path, other_path(o, path)};
    GOPT_TRY(gopt_runner_check(&o->pick, &o->shapes, paths, is_paired(o) ? 2 : 1, e));
    return blame_other(gopt_runner_check(&o->other, NULL, &paths[1], 1, &why), &why, e);
}

static gopt_status prepare(bench *b, const char *path, gopt_err *e)
{
    GOPT_TRY(open_one(b, path, e));
    if (!is_paired(b->o))
        return try_all(b, e);
    GOPT_TRY(open_one(b, other_path(b->o, path), e));
    GOPT_TRY(share_inputs(b, e));
    GOPT_TRY(try_all(b, e));
    GOPT_TRY(match_outputs(b, e));
    GOPT_TRY(deploy_all(b, e));
    b->same = b->pick[0].threads == b->pick[1].threads && gopt_runner_same(&b->runner[0], &b->runner[1]);
    return GOPT_OK;
}

/* ---- measuring ---- */

static gopt_status measure(bench *b, const char *path, gopt_err *e)
{
    gopt_comparison c = {.verdict = GOPT_VERDICT_UNKNOWN};
    GOPT_TRY(prepare(b, path, e));
    gopt_runner *const lanes[] = {&b->runner[0], &b->runner[1]};
    gopt_lane_source source = gopt_runner_lanes(lanes, b->n);
    GOPT_TRY(gopt_rounds_take(&b->rounds, b->n, &source, b->o->seconds, (uint64_t)b->o->seed, e));
    if (b->n > 1)
        c = gopt_rounds_compare(&b->rounds);
    GOPT_TRY(b->o->json ? tell_json(b, b->n > 1 ? &c : NULL, e) : tell_text(b, b->n > 1 ? &c : NULL, e));
    return c.verdict == GOPT_VERDICT_WORSE ? GOPT_EDIFF : GOPT_OK;
}

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    bench b = {.o = o, .pick = {((options *)o)->pick, ((options *)o)->pick}};
    (void)n;
    if (b.o->seconds <= 0)
        return gopt_fail(e, GOPT_EUSAGE, "--seconds: more than 0 is needed");
    GOPT_TRY(check_picks(b.o, operand[0], e));
    GOPT_TRY(pick_other(&b, e));
    gopt_workplace_open(&b.place);
    gopt_status s = measure(&b, operand[0], e);
    gopt_rounds_fini(&b.rounds);
    for (int k = 0; k < b.n; k++)
        gopt_runner_close(&b.runner[k]);
    gopt_workplace_close(&b.place);
    return s;
}

static const gopt_option rows[] = {
    {"--against", 0, "FILE", gopt_parse_text, offsetof(options, against),
     "time another one too, in turns, and compare; exit code 1 when\nthe first is worse"},
    {"--against-pipeline", 0, "none|..", gopt_parse_text, offsetof(options, other.pipeline),
     "compile the other one so, else as the first; without --against\nit is the same model"},
    {"--against-preset", 0, "NAME|FILE", gopt_parse_text, offsetof(options, other.preset), "the same for --preset"},
    {"--against-set", 0, "KNOB=VALUE", gopt_parse_set, offsetof(options, other.set), "one more knob of the other one"},
    {"--against-threads", 0, "N", gopt_parse_threads, offsetof(options, other.threads), "threads of the other one"},
    {"--seconds", 0, "S", gopt_parse_duration, offsetof(options, seconds), "how long to measure (default 3)"},
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "sizes of a model's symbolic dimensions"},
    {"--model", 0, "MODEL", gopt_parse_text, offsetof(options, model),
     "what a bundle was made from, for inputs that it can take"},
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--seed", 0, "N", gopt_parse_seed, offsetof(options, seed), "of inputs and orders (default 1)"},
    {"--verbose", 'v', NULL, NULL, offsetof(options, verbose), "what the intervals are made of, too"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object; times in nanoseconds, memory in bytes"},
    {0}};

const gopt_command gopt_command_bench = {
    .name = "bench",
    .operands = "MANIFEST|BUNDLE|MODEL",
    .least = 1,
    .most = 1,
    .doc = "Times it: latency with 95 % intervals, throughput, memory; two of them in turns with --against.",
    .more =
        "A model is compiled first (--pipeline, --preset, --set, --shape); manifests and bundles run as they are. Of "
        "two\n"
        "models these options are of both, those that begin with --against- of the other one alone.\n\n"
        "A sample is as many inferences as last 1 ms; median, 95 % interval and mean are of samples. Percentiles are "
        "of\n"
        "single inferences, and n/a where one lasts less than 2 us or there are too few. Close other programs: what\n"
        "disturbed the rounds is said.\n\n"
        "Two are timed in rounds, two samples of each in random order, and opened anew 9 to 15 times: where an engine\n"
        "happens to lie in memory makes it faster or slower. The speedup is how many times longer the other one "
        "takes.\n"
        "The noise floor is what each shows against itself, or half the interval's width, if that is more. The "
        "verdict\n"
        "is better or worse when the interval leaves out 1 and the speedup is further from 1 than twice the noise "
        "floor\n"
        "and 1 %; else it is a tie.\n\n"
        "Examples:\n"
        "  gopt bench net.gopt/manifest.yaml\n"
        "  gopt bench net.gopt/manifest.yaml --against net.onnx --against-pipeline none\n"
        "  gopt bench net.onnx --against-set fuse_chain.max_ops=8\n"
        "  gopt bench net.onnx --shape batch=8 --threads 2 --seconds 10 --json\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
