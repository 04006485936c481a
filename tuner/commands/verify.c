/* verify.c: gopt verify: are the engine's outputs those of the reference, or those beside the model? */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "case.h"
#include "dataset.h"
#include "import.h"
#include "json.h"
#include "manifest.h"
#include "origin.h"
#include "runner.h"
#include "subject.h"

typedef struct options {
    gopt_pick pick;
    gopt_shapes shapes;
    gopt_input_case inputs; /* GOPT_INPUT_CASES: not given */
    gopt_tolerance tolerance;
    const char *model;
    double timeout_s;
    int64_t seed;
    bool json;
} options;

/* One call of the command. */
typedef struct session {
    const options *o;
    gopt_config config;
    gopt_workplace place;
    int passed, failed, skipped;
    gopt_status unusable; /* of the first model or data set that was; OK: none */
    gopt_err first;       /* what was wrong with it */
    cJSON *cases;         /* with --json */
} session;

static void init(void *o)
{
    ((options *)o)->tolerance = GOPT_TOLERANCE_DEFAULT;
    ((options *)o)->seed = 1;
    ((options *)o)->inputs = GOPT_INPUT_CASES;
}

static gopt_status parse_tolerance(void *field, const char *text, gopt_err *e)
{
    return gopt_tolerance_parse(field, text, e);
}

static gopt_status parse_inputs(void *field, const char *text, gopt_err *e)
{
    const char *names[GOPT_INPUT_CASES];
    for (int i = 0; i < GOPT_INPUT_CASES; i++) {
        names[i] = gopt_input_case_name((gopt_input_case)i);
        if (!strcmp(names[i], text)) {
            *(gopt_input_case *)field = (gopt_input_case)i;
            return GOPT_OK;
        }
    }
    return gopt_unknown(e, "kind of inputs", text, names, GOPT_INPUT_CASES);
}

/* ---- telling ---- */

typedef enum verdict { PASS, FAIL, SKIP } verdict;

/* The cause without the name of the case before it. */
static const char *without(const char *why, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(why, name, n) && !strncmp(why + n, ": ", 2) ? why + n + 2 : why;
}

static void tell(session *v, verdict result, const char *name, const char *why, const gopt_case_result *r)
{
    static const char *const words[] = {"PASS", "FAIL", "SKIP"}, *const values[] = {"pass", "fail", "skip"};
    int *const counts[] = {&v->passed, &v->failed, &v->skipped};
    ++*counts[result];
    why = without(why, name);
    if (!v->o->json) {
        gopt_text line = {0};
        gopt_text_add(&line, "%s %s: %s", words[result], name, why);
        if (line.s)
            puts(gopt_utf8_clean(line.s));
        gopt_text_fini(&line);
        fflush(stdout);
        return;
    }
    cJSON *o = cJSON_CreateObject();
    gopt_json_text(o, "name", name);
    gopt_json_text(o, "result", values[result]);
    gopt_json_text(o, "why", result == PASS ? NULL : why);
    gopt_json_number(o, "max_abs", r ? r->difference.max_abs : NAN);
    gopt_json_number(o, "max_rel", r ? r->difference.max_rel : NAN);
    gopt_json_number(o, "compile_ns", r && r->compile_ns ? (double)r->compile_ns : NAN);
    cJSON_AddItemToArray(v->cases, o);
}

/* Why the first one is, stands on stderr when all is done; once is enough. */
static void tell_unusable(session *v, const char *name, gopt_status s, const gopt_err *e)
{
    bool first = !v->unusable;
    if (first) {
        v->unusable = s;
        v->first = *e;
    }
    tell(v, FAIL, name, first && !v->o->json ? "cannot be used" : e->msg, NULL);
}

static void run_case(session *v, const gopt_case *c, const char *name)
{
    gopt_case_result r;
    gopt_err e = {0};
    char why[160];
    gopt_case_run(&r, c, &e);
    if (!r.status) {
        snprintf(why, sizeof why, "largest error %.3g, %.3g of the largest value", r.difference.max_abs,
                 r.difference.max_rel);
        tell(v, PASS, name, why, &r);
    } else if (r.unusable) {
        if (without(e.msg, name) == e.msg)
            gopt_within(&e, r.status, "%s", name);
        tell_unusable(v, name, r.status, &e);
    } else if (r.random) {
        tell(v, SKIP, name, "the model draws random numbers: two runs differ", &r);
    } else {
        tell(v, FAIL, name, e.msg, &r);
    }
}

/* ---- what to verify ---- */

static gopt_case new_case(session *v, const gopt_graph *g)
{
    const options *o = v->o;
    return (gopt_case){.graph = g,
                       .config = &v->config,
                       .shapes = &o->shapes,
                       .inputs = o->inputs < GOPT_INPUT_CASES ? o->inputs : GOPT_INPUT_RANDOM,
                       .cache_dir = v->place.cache,
                       .scratch_dir = v->place.scratch,
                       .tolerance = o->tolerance,
                       .timeout_s = o->timeout_s,
                       .seed = (uint64_t)o->seed};
}

/* Inputs made up. A kind that says nothing about any input tests nothing. */
static void run_made_up(session *v, const gopt_case *c, const char *name)
{
    char why[96];
    if (gopt_input_case_applies(c->inputs, c->graph)) {
        run_case(v, c, name);
        return;
    }
    snprintf(why, sizeof why, "--inputs %s does not apply: no input of the model is a float",
             gopt_input_case_name(c->inputs));
    tell(v, SKIP, name, why, NULL);
}

static gopt_graph *import(session *v, const char *path, const char *name)
{
    gopt_err e = {0};
    gopt_graph *g = NULL;
    gopt_status s = gopt_model_import(&g, path, NULL, &e);
    if (s)
        tell_unusable(v, name, s == GOPT_EIO ? GOPT_EINPUT : s, &e);
    return g;
}

static void folder_of(char *buf, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(buf, size, "%.*s", slash ? (int)GOPT_MAX(slash - path, 1) : 1, slash ? path : ".");
}

/* The data sets in a folder; how many there are, -1: no memory. */
static int verify_sets(session *v, const char *folder, const gopt_graph *g)
{
    char path[PATH_MAX];
    gopt_arena a = {0};
    const char *const *sets;
    int n = gopt_dataset_list(folder, &sets, &a);
    gopt_case c = new_case(v, g);
    c.data = path;
    for (int i = 0; i < n && !gopt_workplace_interrupted(); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, sets[i]);
        run_case(v, &c, path);
    }
    gopt_arena_fini(&a);
    return n;
}

/* Against the data sets beside it, where there are some and no inputs were asked for. */
static void verify_model(session *v, const char *path)
{
    char folder[PATH_MAX];
    gopt_graph *g = import(v, path, path);
    if (!g)
        return;
    folder_of(folder, sizeof folder, path);
    bool made_up = v->o->inputs < GOPT_INPUT_CASES || v->o->shapes.n;
    if (made_up || verify_sets(v, folder, g) <= 0) {
        gopt_case c = new_case(v, g);
        run_made_up(v, &c, path);
    }
    gopt_graph_free(g);
}

static void verify_folder(session *v, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    gopt_graph *g = import(v, path, folder);
    if (!g)
        return;
    int n = verify_sets(v, folder, g);
    if (n <= 0) {
        gopt_err e;
        gopt_status s = n < 0 ? gopt_oom(&e) : gopt_fail(&e, GOPT_EINPUT, "%s: no test_data_set_* in it", folder);
        tell_unusable(v, folder, s, &e);
    }
    gopt_graph_free(g);
}

static void verify_deployed(session *v, const char *path, const char *model)
{
    gopt_graph *g = import(v, model, path);
    if (!g)
        return;
    gopt_case c = new_case(v, g);
    c.deployed = path;
    c.threads = v->o->pick.threads;
    run_made_up(v, &c, path);
    gopt_graph_free(g);
}

static void verify_manifest(session *v, const char *path)
{
    gopt_err e = {0};
    gopt_manifest *m;
    char model[PATH_MAX];
    gopt_status s = gopt_manifest_read(&m, path, &e);
    if (s) {
        tell_unusable(v, path, s == GOPT_EIO ? GOPT_EINPUT : s, &e);
        return;
    }
    gopt_manifest_path(model, sizeof model, path, m->model_path ? m->model_path : "");
    verify_deployed(v, path, v->o->model ? v->o->model : model);
    gopt_manifest_free(m);
}

static void verify_bundle(session *v, const char *path)
{
    char model[PATH_MAX];
    gopt_err e;
    if (v->o->model)
        verify_deployed(v, path, v->o->model);
    else if (gopt_origin_of_bundle(model, sizeof model, path))
        verify_deployed(v, path, model);
    else
        tell_unusable(v, path,
                      gopt_fail(&e, GOPT_EINPUT, "%s: a bundle does not name its model; give it: --model MODEL", path),
                      &e);
}

static void verify_out(session *v, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/manifest.yaml", folder);
    verify_manifest(v, path);
}

static void verify_study(session *v, const char *path)
{
    gopt_err e;
    gopt_status s = gopt_fail(&e, GOPT_EINPUT, "%s: a study holds nothing that runs; give its manifest", path);
    tell_unusable(v, path, s, &e);
}

static void verify_one(session *v, const char *path)
{
    static void (*const verify[])(session *, const char *) = {
        [GOPT_SUBJECT_MODEL] = verify_model,   [GOPT_SUBJECT_MANIFEST] = verify_manifest,
        [GOPT_SUBJECT_BUNDLE] = verify_bundle, [GOPT_SUBJECT_STUDY] = verify_study,
        [GOPT_SUBJECT_CASES] = verify_folder,  [GOPT_SUBJECT_OUT] = verify_out,
    };
    gopt_subject kind;
    gopt_err e = {0};
    gopt_status s = gopt_subject_find(&kind, path, &e);
    if (s)
        tell_unusable(v, path, s, &e);
    else
        verify[kind](v, path);
}

static gopt_status conclude(session *v, gopt_err *e)
{
    if (v->o->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddItemToObject(root, "cases", v->cases);
        gopt_json_number(root, "passed", v->passed);
        gopt_json_number(root, "failed", v->failed);
        gopt_json_number(root, "skipped", v->skipped);
        GOPT_TRY(gopt_json_print(root, e));
    } else {
        printf("%d passed, %d failed, %d skipped\n", v->passed, v->failed, v->skipped);
    }
    GOPT_TRY(gopt_workplace_check(e));
    switch (v->unusable) {
    case GOPT_OK:
        return v->failed ? GOPT_EDIFF : GOPT_OK;
    case GOPT_ENOMEM:
    case GOPT_ELIMIT:
        return gopt_fail(e, GOPT_EINPUT, "%s", v->first.msg); /* of the model: it is what cannot be used */
    default:
        return gopt_fail(e, v->unusable, "%s", v->first.msg);
    }
}

static gopt_status run(void *o, const char *const *operand, int n, gopt_err *e)
{
    session v = {.o = o};
    gopt_subject kind;
    GOPT_TRY(gopt_runner_check(&v.o->pick, &v.o->shapes, operand, n, e));
    GOPT_TRY(gopt_pick_config(&v.config, &v.o->pick, e));
    if (n == 1 && !v.o->json)
        GOPT_TRY(gopt_subject_find(&kind, operand[0], e)); /* nothing is there: no case to tell of */
    if (v.o->json && !(v.cases = cJSON_CreateArray()))
        return gopt_oom(e);
    gopt_workplace_open(&v.place);
    for (int i = 0; i < n && !gopt_workplace_interrupted(); i++)
        verify_one(&v, operand[i]);
    gopt_workplace_close(&v.place);
    return conclude(&v, e);
}

static const gopt_option rows[] = {
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes),
     "sizes of symbolic dimensions of made-up inputs"},
    {"--inputs", 0, "KIND", parse_inputs, offsetof(options, inputs),
     "made-up inputs: random (default), zeros, large, tiny, nan or\ninfinite; all but the first two are of floats"},
    {"--tolerance", 0, "REL[,ABS]", parse_tolerance, offsetof(options, tolerance),
     "error allowed of floats: REL of an output's largest value; with\nABS, REL of each value and ABS more, of all "
     "types. Default: by\ntype; float32: 1e-3 of each value and 1e-4 of the largest"},
    {"--timeout", 0, "DURATION", gopt_parse_duration, offsetof(options, timeout_s),
     "time for one case; default: 10s for models with loops"},
    {"--model", 0, "MODEL", gopt_parse_text, offsetof(options, model), "what a manifest or bundle was made from"},
    {"--seed", 0, "N", gopt_parse_seed, offsetof(options, seed), "of made-up inputs (default 1)"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object instead of lines"},
    {0}};

const gopt_command gopt_command_verify = {
    .name = "verify",
    .operands = "MODEL|CASE_DIR|MANIFEST|BUNDLE ...",
    .least = 1,
    .most = INT_MAX,
    .doc = "Compares outputs with those of the reference executor, or with test_data_set_*/ beside a model.",
    .more =
        "A CASE_DIR holds model.onnx and folders test_data_set_K with input_K.pb and output_K.pb; they are used, too,\n"
        "when the model beside them is given. Without them, or with --inputs or --shape, inputs are made up. One line "
        "per case, then `N passed, N failed, N skipped`.\n"
        "Exit code 0: no failure, 1: outputs differ or an engine failed, 3: a model or its data cannot be used.\n\n"
        "Examples:\n"
        "  gopt verify net.onnx\n"
        "  gopt verify --pipeline fold_const,fuse_chain --tolerance 1e-5 net.onnx\n"
        "  gopt verify node/test_*\n"
        "  gopt verify net.gopt/manifest.yaml\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
