/* inspect.c: gopt inspect: what is in a file. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "inspect.h"
#include "subject.h"

typedef struct options {
    gopt_shapes shapes;
    double headroom;
    bool json, verbose;
} options;

/* ---- for the parts ---- */

void gopt_inspect_text(const gopt_inspection *x, const char *name, const char *label, const char *value)
{
    if (x->json) {
        gopt_json_text(x->json, name, value);
        return;
    }
    gopt_text_add(x->text, "  %-14s ", label);
    gopt_utf8_put(x->text, value && *value ? value : NULL);
    gopt_text_put(x->text, "\n");
}

void gopt_inspect_number(const gopt_inspection *x, const char *name, const char *label, double value)
{
    if (x->json)
        gopt_json_number(x->json, name, value);
    else
        gopt_text_add(x->text, "  %-14s %.6g\n", label, value);
}

void gopt_inspect_bytes(const gopt_inspection *x, const char *name, const char *label, double value)
{
    char bytes[32];
    if (x->json)
        gopt_json_number(x->json, name, value);
    else
        gopt_text_add(x->text, "  %-14s %s\n", label, gopt_text_bytes(bytes, value));
}

/* ---- the command ---- */

static const struct {
    const char *name;
    gopt_status (*look)(const gopt_inspection *x, gopt_err *e);
} kinds[] = {
    [GOPT_SUBJECT_MODEL] = {"model", gopt_inspect_model},
    [GOPT_SUBJECT_MANIFEST] = {"manifest", gopt_inspect_manifest},
    [GOPT_SUBJECT_BUNDLE] = {"bundle", gopt_inspect_bundle},
    [GOPT_SUBJECT_STUDY] = {"study", gopt_inspect_study},
};

static gopt_status look(gopt_inspection *x, gopt_subject kind, gopt_err *e)
{
    if (x->json)
        gopt_json_text(x->json, "path", x->path);
    if (x->json)
        gopt_json_text(x->json, "kind", kinds[kind].name);
    if (x->text) {
        gopt_utf8_put(x->text, x->path);
        gopt_text_add(x->text, ": %s\n", kinds[kind].name);
    }
    return kinds[kind].look(x, e);
}

static gopt_status run(void *opts, const char *const *operand, int n, gopt_err *e)
{
    const options *o = opts;
    char path[PATH_MAX];
    gopt_subject kind;
    gopt_text text = {0};
    (void)n;
    GOPT_TRY(gopt_subject_resolve(&kind, path, sizeof path, operand[0], e));
    if (o->headroom > 0 && kind != GOPT_SUBJECT_MODEL)
        return gopt_fail(e, GOPT_EUSAGE, "--headroom: a model is needed, and %s is none", operand[0]);
    gopt_inspection x = {.path = path, .shapes = &o->shapes, .verbose = o->verbose, .headroom = o->headroom};
    if (!o->json)
        x.text = &text;
    else if (!(x.json = cJSON_CreateObject()))
        return gopt_oom(e);
    gopt_status s = look(&x, kind, e);
    s = s == GOPT_EIO ? GOPT_EINPUT : s; /* it could be read a moment ago: its content is at fault */
    if (!s && text.failed)
        s = gopt_oom(e);
    if (!s && x.json)
        s = gopt_json_print(x.json, e);
    else if (x.json)
        cJSON_Delete(x.json);
    if (!s)
        fputs(gopt_text_str(&text), stdout);
    gopt_text_fini(&text);
    return s;
}

static const gopt_option rows[] = {
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "sizes of a model's symbolic dimensions"},
    {"--headroom", 0, "SIZE", gopt_parse_some_bytes, offsetof(options, headroom),
     "the largest batch of a model that fits so much memory, before and after optimization"},
    {"--verbose", 'v', NULL, NULL, offsetof(options, verbose),
     "every step of a bundle, trial of a study, knob of a manifest"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object"},
    {0}};

const gopt_command gopt_command_inspect = {
    .name = "inspect",
    .operands = "MODEL|MANIFEST|BUNDLE|STUDY",
    .least = 1,
    .most = 1,
    .doc = "Says what is in a file: statistics, operator coverage, shapes, memory, choices, trials.",
    .more = "A model's operators are counted by what runs them without any optimization: native kernels or the "
            "reference. The batch of --headroom is found by compiling and verified by one run within the limit, with\n"
            "sizes of the other dimensions that the model runs with for batches of 1, 2 and 3 without the limit; what\n"
            "counts is weights, activations, workspace and runtime of one engine, not the caller's inputs.\n\n"
            "Examples:\n"
            "  gopt inspect net.onnx --shape batch=8\n"
            "  gopt inspect net.onnx --headroom 512M\n"
            "  gopt inspect net.gopt/manifest.yaml\n"
            "  gopt inspect net.gopt/bundles/trial-7.gopt -v\n"
            "  gopt inspect net.gopt/study.db --json\n",
    .options = rows,
    .size = sizeof(options),
    .run = run,
};
