/* report.c: gopt report: decides again and renders again, measuring nothing. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "again.h"
#include "cli.h"
#include "subject.h"

typedef struct options {
    gopt_goal_change change;
    double max_compile_s, max_latency_s;
    bool json;
} options;

static void init(void *o)
{
    *(options *)o = (options){.change = {.objective = GOPT_OBJECTIVE_COUNT,
                                         .alpha = NAN,
                                         .requests = NAN,
                                         .max_memory = NAN,
                                         .max_compile_ns = NAN,
                                         .max_latency_ns = NAN},
                              .max_compile_s = NAN,
                              .max_latency_s = NAN};
}

static gopt_status parse_objective(void *field, const char *text, gopt_err *e)
{
    return gopt_objective_parse(field, text, e);
}

static gopt_status run(void *opts, const char *const *operand, int n, gopt_err *e)
{
    options *o = opts;
    gopt_subject kind;
    gopt_text summary = {0}, findings = {0};
    (void)n;
    GOPT_TRY(gopt_subject_find(&kind, operand[0], e));
    if (kind != GOPT_SUBJECT_OUT)
        return gopt_fail(e, GOPT_EINPUT, "%s: %s", operand[0],
                         kind == GOPT_SUBJECT_MANIFEST || kind == GOPT_SUBJECT_STUDY
                             ? "give the folder that it lies in"
                             : "not a folder that gopt-tune wrote");
    o->change.max_compile_ns = 1e9 * o->max_compile_s;
    o->change.max_latency_ns = 1e9 * o->max_latency_s;
    gopt_status s = gopt_decide_again(operand[0], &o->change, &summary, o->json ? &findings : NULL, e);
    fputs(gopt_text_str(o->json ? &findings : &summary), stdout);
    gopt_text_fini(&summary);
    gopt_text_fini(&findings);
    return s;
}

static const gopt_option rows[] = {
    {"--objective", 0, "NAME", parse_objective, offsetof(options, change.objective),
     "latency, p99, throughput, memory, compile, utility or wall"},
    {"--alpha", 0, "A", gopt_parse_number, offsetof(options, change.alpha), "weight of compile time in utility"},
    {"--requests", 0, "N", gopt_parse_number, offsetof(options, change.requests),
     "requests that one compilation serves, for wall"},
    {"--max-memory", 0, "SIZE", gopt_parse_max_bytes, offsetof(options, change.max_memory),
     "constraint: peak memory; none lifts it"},
    {"--max-compile", 0, "DURATION", gopt_parse_max_duration, offsetof(options, max_compile_s),
     "constraint: compile time; none lifts it"},
    {"--max-latency", 0, "DURATION", gopt_parse_max_duration, offsetof(options, max_latency_s),
     "constraint: median latency; none lifts it"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "print findings.json instead of a summary"},
    {0}};

const gopt_command gopt_command_report = {
    .name = "report",
    .operands = "OUT",
    .least = 1,
    .most = 1,
    .doc = "Decides again under another goal and renders the report again, from what was measured.",
    .more = "What is not given stays as the job had it. The study is left as it is.\n\n"
            "Exit code 1: what was asked for is not what is served. Either no candidate keeps the constraints; then\n"
            "everything stays as it was. Or the choice has no bundle yet; then the manifest stays as it was, and the\n"
            "report is a what-if that tells what is served, what would be chosen and how to get it.\n\n"
            "Examples:\n"
            "  gopt report net.gopt --objective utility --alpha 0.01\n"
            "  gopt report net.gopt --max-memory 512M --max-latency 20ms\n"
            "  gopt report net.gopt --max-memory none\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
