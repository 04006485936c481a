/* run.c: gopt run: tensors in, tensors out. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "import.h"
#include "json.h"
#include "runner.h"

typedef struct options {
    gopt_pick pick;
    gopt_words inputs;
    const char *output, *format;
} options;

static void init(void *o)
{
    ((options *)o)->format = "pb";
}

static gopt_status parse_format(void *field, const char *text, gopt_err *e)
{
    static const char *const known[] = {"pb", "npy"};
    for (int i = 0; i < GOPT_COUNT(known); i++)
        if (!strcmp(text, known[i])) {
            *(const char **)field = known[i];
            return GOPT_OK;
        }
    return gopt_unknown(e, "format", text, known, GOPT_COUNT(known));
}

typedef struct inputs {
    gopt_arena arena;
    gopt_tensor tensor[GOPT_WORDS_MAX];
    const char *name[GOPT_WORDS_MAX]; /* NULL: by position */
    int n;
} inputs;

/* NAME=FILE, or FILE whose tensor carries the name. A file of that very name goes first. */
static gopt_status read_input(inputs *in, const char *word, gopt_err *e)
{
    const char *equals = gopt_file_exists(word) ? NULL : strrchr(word, '='), *own = NULL;
    const char *path = equals ? equals + 1 : word;
    if (!gopt_file_exists(path))
        return gopt_fail(e, GOPT_EINPUT, "--input: %s: no such file; NAME=FILE expected", path);
    gopt_status s = gopt_tensor_read(&in->tensor[in->n], path, &own, &in->arena, e);
    if (s)
        return s;
    in->name[in->n] = equals ? gopt_arena_strn(&in->arena, word, (size_t)(equals - word)) : own && *own ? own : NULL;
    in->n++;
    return in->arena.failed ? gopt_oom(e) : GOPT_OK;
}

/* Numbered files: a tensor's name is not fit to be a file's. */
static gopt_status write_output(const gopt_runner *r, int i, const options *o, gopt_err *e)
{
    char path[PATH_MAX], shape[320];
    gopt_text line = {0};
    const gopt_tensor *t = gopt_engine_output(r->engine, i);
    if (!t)
        return gopt_fail(e, GOPT_EBUG, "output %d is missing", i);
    snprintf(path, sizeof path, "%s/output_%d.%s", o->output, i, o->format);
    GOPT_TRY(gopt_tensor_write(t, r->outputs[i].name, path, e));
    gopt_utf8_put(&line, path);
    gopt_text_put(&line, " ");
    gopt_utf8_put(&line, r->outputs[i].name);
    gopt_text_add(&line, " %s", gopt_tensor_describe(shape, sizeof shape, t));
    puts(gopt_text_str(&line));
    gopt_text_fini(&line);
    return GOPT_OK;
}

static gopt_status perform(gopt_runner *r, const char *path, const options *o, const inputs *in,
                           const gopt_workplace *place, gopt_err *e)
{
    gopt_runner_options ro = {.pick = &o->pick, .place = place};
    GOPT_TRY(gopt_runner_open_for(r, path, &ro, in->tensor, in->name, in->n, e));
    GOPT_TRY(gopt_engine_run(r->engine, 0, e));
    GOPT_TRY(gopt_dir_make(o->output, e));
    for (int i = 0; i < r->n_outputs; i++)
        GOPT_TRY(write_output(r, i, o, e));
    return GOPT_OK;
}

static gopt_status run(void *opts, const char *const *operand, int n, gopt_err *e)
{
    const options *o = opts;
    gopt_workplace place;
    gopt_runner r = {0};
    (void)n;
    if (!o->output)
        return gopt_fail(e, GOPT_EUSAGE, "run: --output DIR is missing");
    GOPT_TRY(gopt_runner_check(&o->pick, NULL, operand, 1, e));
    inputs *in = gopt_calloc(1, sizeof *in);
    if (!in)
        return gopt_oom(e);
    gopt_status s = GOPT_OK;
    for (int i = 0; !s && i < o->inputs.n; i++)
        s = read_input(in, o->inputs.at[i], e);
    gopt_workplace_open(&place);
    if (!s)
        s = perform(&r, operand[0], o, in, &place, e);
    gopt_runner_close(&r);
    gopt_workplace_close(&place);
    gopt_arena_fini(&in->arena);
    gopt_free(in);
    return s;
}

static const gopt_option rows[] = {
    {"--input", 0, "NAME=FILE", gopt_parse_words, offsetof(options, inputs),
     "one input, an ONNX tensor (.pb) or a numpy array (.npy);\nrepeatable; NAME= may be left out where the file says "
     "it"},
    {"--output", 0, "DIR", gopt_parse_text, offsetof(options, output), "where output_0.pb, output_1.pb, ... go"},
    {"--format", 0, "pb|npy", parse_format, offsetof(options, format), "of the outputs (default pb)"},
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {0}};

const gopt_command gopt_command_run = {
    .name = "run",
    .operands = "MANIFEST|BUNDLE|MODEL",
    .least = 1,
    .most = 1,
    .doc = "Runs it once on tensors from files and writes what comes out.",
    .more = "Symbolic dimensions of a model take the sizes of the tensors. One line per output: file, name, type and "
            "shape.\n\n"
            "Examples:\n"
            "  gopt run net.onnx --input x=x.npy --output out --format npy\n"
            "  gopt run net.gopt/manifest.yaml --input image=test_data_set_0/input_0.pb --output out\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
