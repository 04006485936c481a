/* main_tune.c: gopt-tune, the tuning job. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli.h"
#include "manifest.h"
#include "registry.h"
#include "sampler.h"
#include "subject.h"
#include "tune.h"

typedef struct arguments {
    gopt_tune_options o;
    gopt_counts threads;
    const char *device, *objective, *tolerance, *precision, *list, *progress;
    double max_compile_s, max_latency_s;
    char against[PATH_MAX]; /* the manifest itself, where o.against may be its folder */
} arguments;

static void init(void *options)
{
    arguments *a = options;
    a->o = (gopt_tune_options){.budget_s = 600, .sampler = "auto", .seed = 1, .goal = gopt_goal_default};
    a->o.tolerance = GOPT_TOLERANCE_DEFAULT;
    a->device = "auto";
    a->objective = "latency";
    a->progress = "auto";
}

#define FIELD(name) offsetof(arguments, name)
static const gopt_option options[] = {
    {"--budget", 0, "DURATION", gopt_parse_duration, FIELD(o.budget_s),
     "wall clock of the whole job: 90s, 10m, 1h30m; a bare number is seconds\n(default 10m)"},
    {"--out", 0, "DIR", gopt_parse_text, FIELD(o.out),
     "where results go (default: MODEL.gopt in the working directory)"},
    {"--device", 0, "NAME", gopt_parse_text, FIELD(device), "auto or cpu"},
    {"--threads", 0, "LIST", gopt_parse_counts, FIELD(threads),
     "thread counts the search may use: 1,2 (default: 1 to the processors\nthis process may use, cgroup limits "
     "counted)"},
    {"--preset", 0, "NAME", gopt_parse_text, FIELD(o.preset),
     "where the default comes from: debug, reduce-overhead, max-autotune\n(default), or a YAML file of knob: value"},
    {"--shape", 0, "NAME=V,..", gopt_parse_shapes, FIELD(o.shapes),
     "sizes of symbolic dimensions (default: proposed, and said so)"},
    {"--objective", 0, "NAME", gopt_parse_text, FIELD(objective),
     "latency (default), p99, throughput, memory, compile, utility, wall"},
    {"--alpha", 0, "A", gopt_parse_number, FIELD(o.goal.alpha), "weight of compile time in utility (default 0.001)"},
    {"--requests", 0, "N", gopt_parse_number, FIELD(o.goal.requests),
     "requests that wall time is counted for (default 10000)"},
    {"--max-memory", 0, "SIZE", gopt_parse_max_bytes, FIELD(o.goal.max_memory),
     "peak memory the choice may need: 512M (default none)"},
    {"--max-compile", 0, "DURATION", gopt_parse_max_duration, FIELD(max_compile_s),
     "compile time the choice may need (default none)"},
    {"--max-latency", 0, "DURATION", gopt_parse_max_duration, FIELD(max_latency_s),
     "median latency the choice may have (default none)"},
    {"--tolerance", 0, "REL[,ABS]", gopt_parse_text, FIELD(tolerance),
     "error that a candidate may show against the reference: REL of an\noutput's largest value; with ABS, REL of each "
     "value and ABS more\n(default: by element type)"},
    {"--precision", 0, "LIST", gopt_parse_text, FIELD(precision),
     "types that weights may be kept in: f16,bf16,int8 (default: the\nmodel's own); candidates outside --tolerance are "
     "turned down"},
    {"--search", 0, "NAME", gopt_parse_text, FIELD(o.sampler), "auto (default) or a sampler: see --list samplers"},
    {"--baseline", 0, "MANIFEST", gopt_parse_text, FIELD(o.against),
     "an earlier decision to compare with: exit code 1 on a regression"},
    {"--seed", 0, "N", gopt_parse_seed, FIELD(o.seed), "every random order comes from it (default 1)"},
    {"--fresh", 0, NULL, NULL, FIELD(o.fresh), "start anew; without it a job in OUT continues"},
    {"--json", 0, NULL, NULL, FIELD(o.json), "print findings.json instead of a summary"},
    {"--quiet", 'q', NULL, NULL, FIELD(o.quiet), "no progress"},
    {"--progress", 0, "MODE", gopt_parse_text, FIELD(progress), "auto (default), plain or none"},
    {"--list", 0, "WHAT", gopt_parse_text, FIELD(list),
     "passes, kernels, knobs, presets, samplers or engines: print and end"},
    {0}};

static const char more[] =
    "Measures which graph optimizations, kernels and compile effort are worth it for one\n"
    "model on this machine, and writes into OUT: manifest.yaml (the decision), bundles/ (what\n"
    "a deployment loads), report.html and report.txt (for people), findings.json (for\n"
    "programs), study.db (every trial and sample), plots/.\n"
    "\n"
    "Ctrl-C ends the job early with what there is; the same command goes on from there.\n"
    "\n"
    "Examples:\n"
    "  gopt-tune --budget 60s model.onnx\n"
    "  gopt-tune --budget 10m --shape batch=1,seq=128 --out bert.gopt bert.onnx\n"
    "  gopt-tune --objective memory --max-latency 20ms model.onnx\n"
    "  gopt-tune --list knobs\n"
    "\n"
    "Exit codes: 0 success, 1 regression or no candidate keeps a constraint, 2 usage, 3 model\n"
    "unusable, 4 the environment lacks something or OUT cannot be written, 5 interrupted (results\n"
    "so far saved), 70 a bug.\n";

static gopt_status parse_progress(arguments *a, gopt_err *e)
{
    static const char *const modes[] = {"auto", "plain", "none"};
    for (int i = 0; i < GOPT_COUNT(modes); i++)
        if (!strcmp(a->progress, modes[i])) {
            a->o.progress = (gopt_progress_mode)i;
            return GOPT_OK;
        }
    gopt_status s = gopt_unknown(e, "mode", a->progress, modes, GOPT_COUNT(modes));
    return gopt_within(e, s, "--progress");
}

static gopt_status check_device(const arguments *a, gopt_err *e)
{
    if (!strcmp(a->device, "auto") || !strcmp(a->device, "cpu"))
        return GOPT_OK;
    if (!strncmp(a->device, "cuda", 4))
        return gopt_fail(e, GOPT_ENODEV, "--device: %s: this version has the CPU back end only", a->device);
    static const char *const known[] = {"auto", "cpu"};
    return gopt_within(e, gopt_unknown(e, "device", a->device, known, GOPT_COUNT(known)), "--device");
}

static gopt_status check_sampler(const arguments *a, gopt_err *e)
{
    const char *names[32] = {"auto"};
    int n = 1;
    for (int i = 0; gopt_samplers[i] && n < GOPT_COUNT(names); i++)
        names[n++] = gopt_samplers[i]->name;
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], a->o.sampler))
            return GOPT_OK;
    return gopt_within(e, gopt_unknown(e, "sampler", a->o.sampler, names, n), "--search");
}

/* "f16,int8" as bits. */
static gopt_status parse_precision(arguments *a, gopt_err *e)
{
    const gopt_knob *k = gopt_setting_at(gopt_setting_find("precision.weights"))->knob;
    for (const char *part = a->precision; part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
        char name[24];
        int64_t v;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(part, ","), part);
        GOPT_TRY(gopt_knob_parse(k, name, &v, e));
        a->o.precisions |= 1u << v;
    }
    return GOPT_OK;
}

/* Before anything is spent: is there something to compare with? A folder stands for its manifest. */
static gopt_status check_against(arguments *a, gopt_err *e)
{
    gopt_subject kind;
    gopt_manifest *m;
    if (!a->o.against)
        return GOPT_OK;
    gopt_status s = gopt_subject_resolve(&kind, a->against, sizeof a->against, a->o.against, e);
    if (!s && kind != GOPT_SUBJECT_MANIFEST)
        s = gopt_fail(e, GOPT_EINPUT, "%s: not a manifest", a->against);
    if (!s)
        s = gopt_manifest_read(&m, a->against, e);
    if (s)
        return gopt_within(e, s, "--baseline");
    gopt_manifest_free(m);
    a->o.against = a->against;
    return GOPT_OK;
}

/* Allowed, for the machine may grow, but hardly meant. */
static void warn_of_threads(const arguments *a)
{
    gopt_err warning;
    int most = gopt_cpu_count(), n = a->threads.n ? a->threads.at[a->threads.n - 1] : 0;
    if (n <= most || a->o.quiet || a->o.progress == GOPT_PROGRESS_NONE)
        return;
    gopt_fail(&warning, GOPT_EUSAGE, "--threads: %d is more than the number of processors, %d", n, most);
    gopt_error_print("gopt-tune", &warning);
}

static gopt_status finish(arguments *a, gopt_err *e)
{
    gopt_config c;
    gopt_status s = gopt_objective_parse(&a->o.goal.objective, a->objective, e);
    if (s)
        return gopt_within(e, s, "--objective");
    if (a->tolerance && (s = gopt_tolerance_parse(&a->o.tolerance, a->tolerance, e)))
        return gopt_within(e, s, "--tolerance");
    if ((s = parse_precision(a, e)))
        return gopt_within(e, s, "--precision");
    if (a->o.preset && (s = gopt_config_preset(&c, a->o.preset, e)))
        return gopt_within(e, s, "--preset");
    if (a->o.budget_s < 1)
        return gopt_fail(e, GOPT_EUSAGE, "--budget: at least 1s is needed");
    GOPT_TRY(parse_progress(a, e));
    GOPT_TRY(check_device(a, e));
    GOPT_TRY(check_sampler(a, e));
    a->o.goal.max_compile_ns = a->max_compile_s * 1e9;
    a->o.goal.max_latency_ns = a->max_latency_s * 1e9;
    for (int i = 0; i < a->threads.n && i < GOPT_THREADS_MAX; i++)
        a->o.threads[a->o.n_threads++] = a->threads.at[i];
    for (int i = 0; i < a->o.shapes.n; i++)
        if (a->o.shapes.size[i] < 1)
            return gopt_fail(e, GOPT_EUSAGE, "--shape: %s=0: an empty tensor has nothing to tune", a->o.shapes.name[i]);
    return GOPT_OK;
}

/* Names of files are made from it, in buffers of 1024 bytes and more. */
static gopt_status check_out(const char *out, gopt_err *e)
{
    enum { LONGEST = 900 };
    size_t n = strlen(out);
    return n > LONGEST ? gopt_fail(e, GOPT_EUSAGE, "--out: a path of %zu bytes; at most %d are supported", n, LONGEST)
                       : GOPT_OK;
}

/* "dir/net.onnx" to "net.gopt". */
static void default_out(const char *model, char *out, size_t size)
{
    const char *base = strrchr(model, '/');
    base = base ? base + 1 : model;
    const char *dot = strrchr(base, '.');
    snprintf(out, size, "%.*s.gopt", (int)(dot && dot != base ? (size_t)(dot - base) : strlen(base)), base);
}

static gopt_status print_file(const char *dir, const char *name, gopt_err *e)
{
    char path[1200];
    gopt_mapping m;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    GOPT_TRY(gopt_file_map(&m, path, e));
    fwrite(m.data, 1, m.bytes, stdout);
    gopt_file_unmap(&m);
    return GOPT_OK;
}

static gopt_status run(void *opaque, const char *const *operand, int n, gopt_err *e)
{
    arguments *a = opaque;
    char out[512];
    gopt_text summary = {0};
    if (a->list)
        return gopt_registry_print(a->list, e);
    if (n != 1)
        return gopt_fail(e, GOPT_EUSAGE, "one MODEL.onnx expected; see --help");
    GOPT_TRY(finish(a, e));
    GOPT_TRY(check_against(a, e));
    warn_of_threads(a);
    a->o.model = operand[0];
    if (!a->o.out) {
        default_out(operand[0], out, sizeof out);
        a->o.out = out;
    }
    GOPT_TRY(check_out(a->o.out, e));
    gopt_status s = gopt_tune(&a->o, &summary, e);
    bool done = !s || s == GOPT_EINTR || s == GOPT_EDIFF;
    bool written = done && gopt_text_str(&summary)[0]; /* an interruption may come before there are results */
    if (!a->o.json)
        fputs(gopt_text_str(&summary), stdout);
    gopt_text_fini(&summary);
    if (written && a->o.json)
        GOPT_TRY(print_file(a->o.out, "findings.json", e));
    return s;
}

static const gopt_command command = {
    .name = "gopt-tune",
    .operands = "MODEL.onnx",
    .least = 0,
    .most = 1,
    .doc = "find out by measurement what is worth doing for one model on this machine",
    .more = more,
    .options = options,
    .size = sizeof(arguments),
    .init = init,
    .run = run,
};

int main(int argc, char **argv)
{
    return gopt_command_main(&command, "gopt-tune", argc, argv);
}
