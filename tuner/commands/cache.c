/* cache.c: gopt cache: what is in the compile cache, why something was not, what can go. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "build/cache_key.h"
#include "compile.h"
#include "import.h"
#include "json.h"
#include "pick.h"
#include "shape.h"
#include "store.h"
#include "subject.h"
#include "workplace.h"

typedef struct options {
    gopt_pick pick;
    gopt_shapes shapes;
    double older_s, max_bytes;
    bool json, verbose;
} options;

static void init(void *o)
{
    ((options *)o)->older_s = 30 * 86400.0;
    ((options *)o)->max_bytes = INFINITY;
}

/* ---- ls ---- */

static gopt_status list_json(const gopt_store *s, const char *dir, gopt_err *e)
{
    cJSON *root = cJSON_CreateObject();
    gopt_json_text(root, "dir", dir);
    gopt_json_number(root, "bytes", s->bytes);
    cJSON *list = cJSON_AddArrayToObject(root, "units");
    for (int i = s->n - 1; i >= 0; i--) {
        cJSON *o = cJSON_CreateObject();
        gopt_json_text(o, "unit", s->units[i].name);
        gopt_json_number(o, "bytes", s->units[i].bytes);
        gopt_json_number(o, "functions", s->units[i].functions);
        cJSON *kernels = cJSON_AddObjectToObject(o, "kernels");
        for (int k = 0; k < s->units[i].n_uses; k++)
            gopt_json_number(kernels, s->units[i].uses[k].kernel, s->units[i].uses[k].functions);
        gopt_json_number(o, "compile_ns", s->units[i].compile_ns);
        gopt_json_number(o, "unused_s", s->units[i].age_s);
        cJSON_AddItemToArray(list, o);
    }
    return gopt_json_print(root, e);
}

static const char *describe_age(char buf[48], double s)
{
    if (s < 60)
        return "just used";
    if (s < 3600)
        snprintf(buf, 48, "unused for %.0f min", s / 60);
    else if (s < 2 * 86400)
        snprintf(buf, 48, "unused for %.0f h", s / 3600);
    else
        snprintf(buf, 48, "unused for %.0f days", s / 86400);
    return buf;
}

/* Entries of another gopt may not say what they are for. */
static gopt_status list_unit(const gopt_store_unit *u, bool verbose, gopt_err *e)
{
    char bytes[32], ns[32], age[48];
    gopt_text t = {0};
    gopt_text_add(&t, "%9s  %-18s  compiled in %8s  ", gopt_text_bytes(bytes, u->bytes), describe_age(age, u->age_s),
                  gopt_text_ns(ns, u->compile_ns));
    for (int i = 0; i < u->n_uses; i++) {
        gopt_text_put(&t, i ? ", " : "");
        gopt_utf8_put(&t, u->uses[i].kernel);
        if (u->uses[i].functions > 1)
            gopt_text_add(&t, " x%d", u->uses[i].functions);
    }
    if (!u->n_uses)
        gopt_text_put(&t, "of a kernel that was not noted");
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    printf("%s\n", gopt_text_str(&t));
    if (verbose)
        printf("           %s.so\n", u->name);
    gopt_text_fini(&t);
    return s;
}

static gopt_status list(const options *o, const char *dir, gopt_err *e)
{
    gopt_store s;
    char a[32], b[32];
    double ns = 0;
    int functions = 0;
    gopt_status status = gopt_store_read(&s, dir, e);
    if (!status && o->json)
        status = list_json(&s, dir, e);
    for (int i = s.n - 1; !status && !o->json && i >= 0; i--) { /* what was used last comes first */
        const gopt_store_unit *u = &s.units[i];
        status = list_unit(u, o->verbose, e);
        ns += u->compile_ns;
        functions += u->functions;
    }
    if (!status && !o->json)
        printf("%s: %d unit%s, %d function%s, %s, %s of compiling\n", dir, s.n, s.n == 1 ? "" : "s", functions,
               functions == 1 ? "" : "s", gopt_text_bytes(a, s.bytes), gopt_text_ns(b, ns));
    gopt_store_fini(&s);
    return status;
}

/* ---- why ---- */

/* A function that was not found, and the stored key that is most like it. */
typedef struct miss {
    const char *node, *kernel; /* that it is wanted for */
    gopt_cache_key key, near;
    int differs; /* fields; GOPT_CACHE_FIELD_COUNT + 1: nothing is stored */
    const char *why;
    bool told;
} miss;

typedef struct inquiry {
    gopt_arena arena;
    miss *misses;
    size_t n, cap;
    int functions;
} inquiry;

static gopt_status note(void *ctx, const gopt_cache_key *key, const gopt_step *step, bool found, gopt_err *e)
{
    inquiry *q = ctx;
    if (!key)
        return gopt_fail(e, GOPT_EINTR, "all were looked up");
    q->functions++;
    if (found)
        return GOPT_OK;
    miss *grown = gopt_arena_grow(&q->arena, q->misses, q->n, &q->cap, q->n + 1, sizeof *grown);
    const char *name = gopt_arena_str(&q->arena, step->name);
    if (!grown || !name)
        return gopt_oom(e);
    q->misses = grown;
    q->misses[q->n++] =
        (miss){.node = name, .kernel = step->kernel->name, .key = *key, .differs = GOPT_CACHE_FIELD_COUNT + 1};
    return GOPT_OK;
}

/* Equal code counts most: the other fields then say what is different. */
static void compare(void *ctx, const gopt_cache_key *stored, const char *kernel)
{
    inquiry *q = ctx;
    (void)kernel;
    for (size_t i = 0; i < q->n; i++) {
        int differs = 0;
        for (int f = 0; f < GOPT_CACHE_FIELD_COUNT; f++)
            differs += strcmp(stored->field[f], q->misses[i].key.field[f]) != 0;
        bool same_code = !strcmp(stored->field[GOPT_CACHE_FIELD_code], q->misses[i].key.field[GOPT_CACHE_FIELD_code]);
        differs = same_code ? differs : GOPT_CACHE_FIELD_COUNT;
        if (differs < q->misses[i].differs) {
            q->misses[i].near = *stored;
            q->misses[i].differs = differs;
        }
    }
}

static void search(inquiry *q, const gopt_store *s)
{
    char path[PATH_MAX];
    for (int i = 0; i < s->n; i++) {
        snprintf(path, sizeof path, "%s/%s.keys", s->dir, s->units[i].name);
        gopt_cache_keys_read(path, compare, q);
    }
}

typedef struct trying {
    const char *path;
    const gopt_shapes *shapes;
    gopt_graph *bound;
} trying;

static gopt_status try_length(void *ctx, int64_t length, int *made_up, gopt_err *e)
{
    trying *t = ctx;
    GOPT_TRY(gopt_model_import(&t->bound, t->path, NULL, e));
    gopt_status s = gopt_shape_bind(t->bound, t->shapes, length, NULL, made_up, e);
    if (s)
        gopt_graph_free(t->bound);
    return s;
}

/* At the sizes that other commands propose, too. */
static gopt_status import(gopt_graph **out, const char *path, const gopt_shapes *shapes, gopt_err *e)
{
    trying t = {.path = path, .shapes = shapes};
    gopt_graph *g;
    GOPT_TRY(gopt_model_import(&g, path, NULL, e));
    gopt_status s = gopt_shape_search(g, shapes, try_length, &t, e);
    gopt_graph_free(g);
    *out = t.bound;
    return s ? gopt_within(e, s, "%s", path) : GOPT_OK;
}

/* Compiles up to the moment when the cache has been asked. */
static gopt_status ask(inquiry *q, const char *path, const options *o, const gopt_workplace *place, gopt_err *e)
{
    gopt_config config;
    gopt_graph *g;
    gopt_plan *plan = NULL;
    gopt_compile_log log;
    gopt_err ended = {0};
    GOPT_TRY(gopt_pick_config(&config, &o->pick, e));
    GOPT_TRY(import(&g, path, &o->shapes, e));
    gopt_compile_options c = {
        .cache_dir = place->cache, .scratch_dir = place->scratch, .lookup = note, .lookup_ctx = q};
    gopt_target_host(&c.target, (int)gopt_config_threads(&config));
    gopt_status s = gopt_compile(&plan, g, &config, &c, &log, &ended);
    gopt_plan_free(plan);
    gopt_compile_log_fini(&log);
    return s && s != GOPT_EINTR ? gopt_fail(e, s, "%s: %s", path, ended.msg) : GOPT_OK;
}

static const char *reason(const miss *m, int *field)
{
    *field = -1;
    for (int f = GOPT_CACHE_FIELD_COUNT - 1; f >= 0; f--)
        if (m->differs > GOPT_CACHE_FIELD_COUNT || strcmp(m->near.field[f], m->key.field[f]) != 0)
            *field = f;
    if (m->differs == 0)
        return "entry";
    return m->differs >= GOPT_CACHE_FIELD_COUNT ? gopt_cache_field_names[GOPT_CACHE_FIELD_code]
                                                : gopt_cache_field_names[*field];
}

static void put_reason(const miss *m, gopt_text *t)
{
    int field;
    const char *name = reason(m, &field);
    if (m->differs == 0)
        gopt_text_put(t, "entry: was there and is damaged or was removed");
    else if (m->differs >= GOPT_CACHE_FIELD_COUNT)
        gopt_text_add(t, "code: %s: never compiled here, or removed since",
                      gopt_cache_field_docs[GOPT_CACHE_FIELD_code]);
    else
        gopt_text_add(t, "%s: %s: now '%s', stored '%s'", name, gopt_cache_field_docs[field], m->key.field[field],
                      m->near.field[field]);
}

/* All that are missing for the reason of the first. */
static void put_group(inquiry *q, size_t first, gopt_text *t)
{
    const char *why = q->misses[first].why;
    int n = 0;
    for (size_t i = first; i < q->n; i++)
        n += !strcmp(q->misses[i].why, why);
    gopt_text_add(t, "%d function%s  %s\n", n, n == 1 ? "" : "s", why);
    for (size_t i = first; i < q->n; i++) {
        miss *m = &q->misses[i];
        if (strcmp(m->why, why) != 0)
            continue;
        m->told = true;
        gopt_text_add(t, "  %.8s  ", m->key.field[GOPT_CACHE_FIELD_code]);
        gopt_text_add(t, "%s of node ", m->kernel);
        gopt_utf8_put(t, m->node);
        gopt_text_put(t, "\n");
    }
}

static gopt_status why_text(inquiry *q, gopt_err *e)
{
    gopt_text t = {0};
    for (size_t i = 0; i < q->n; i++) {
        gopt_text why = {0};
        put_reason(&q->misses[i], &why);
        q->misses[i].why = gopt_arena_str(&q->arena, gopt_text_str(&why));
        t.failed = t.failed || why.failed || !q->misses[i].why;
        gopt_text_fini(&why);
    }
    for (size_t i = 0; i < q->n && !t.failed; i++)
        if (!q->misses[i].told)
            put_group(q, i, &t);
    gopt_text_add(&t, "%d of %d generated functions are in the cache\n", q->functions - (int)q->n, q->functions);
    gopt_status s = t.failed ? gopt_oom(e) : GOPT_OK;
    fputs(gopt_text_str(&t), stdout);
    gopt_text_fini(&t);
    return s;
}

static gopt_status why_json(const inquiry *q, gopt_err *e)
{
    cJSON *root = cJSON_CreateObject();
    gopt_json_number(root, "functions", q->functions);
    gopt_json_number(root, "found", q->functions - (double)q->n);
    cJSON *misses = cJSON_AddArrayToObject(root, "misses");
    for (size_t i = 0; i < q->n; i++) {
        const miss *m = &q->misses[i];
        int field;
        cJSON *o = cJSON_CreateObject();
        gopt_json_text(o, "node", m->node);
        gopt_json_text(o, "kernel", m->kernel);
        gopt_json_text(o, "code", m->key.field[GOPT_CACHE_FIELD_code]);
        gopt_json_text(o, "differs", reason(m, &field));
        bool both = m->differs > 0 && m->differs < GOPT_CACHE_FIELD_COUNT;
        gopt_json_text(o, "now", both ? m->key.field[field] : NULL);
        gopt_json_text(o, "stored", both ? m->near.field[field] : NULL);
        cJSON_AddItemToArray(misses, o);
    }
    return gopt_json_print(root, e);
}

static gopt_status why(const options *o, const char *given, const gopt_workplace *place, gopt_err *e)
{
    char path[PATH_MAX];
    inquiry q = {0};
    gopt_store s = {0};
    GOPT_TRY(gopt_subject_model(path, sizeof path, given, e));
    gopt_status status = ask(&q, path, o, place, e);
    if (!status && !(status = gopt_store_read(&s, place->cache_dir, e))) {
        search(&q, &s);
        status = o->json ? why_json(&q, e) : why_text(&q, e);
    }
    gopt_store_fini(&s);
    gopt_arena_fini(&q.arena);
    return status;
}

/* ---- gc ---- */

static gopt_status collect(const options *o, const char *dir, gopt_err *e)
{
    gopt_store s;
    double freed = 0;
    int removed = 0;
    char a[32], b[32];
    gopt_status status = gopt_store_read(&s, dir, e);
    if (!status)
        status = gopt_store_collect(&s, dir, o->older_s, o->max_bytes, &freed, &removed, e);
    if (!status && o->json) {
        cJSON *root = cJSON_CreateObject();
        gopt_json_number(root, "removed", removed);
        gopt_json_number(root, "freed_bytes", freed);
        gopt_json_number(root, "left_bytes", s.bytes);
        status = gopt_json_print(root, e);
    } else if (!status) {
        printf("%d units removed, %s freed, %s left\n", removed, gopt_text_bytes(a, freed),
               gopt_text_bytes(b, s.bytes));
    }
    gopt_store_fini(&s);
    return status;
}

static gopt_status run(void *opts, const char *const *operand, int n, gopt_err *e)
{
    static const char *const known[] = {"ls", "why", "gc"};
    const options *o = opts;
    const char *what = operand[0];
    bool is_why = !strcmp(what, "why");
    gopt_workplace place;
    if (is_why != (n > 1))
        return is_why ? gopt_fail(e, GOPT_EUSAGE, "cache why: MODEL is missing")
                      : gopt_fail(e, GOPT_EUSAGE, "cache %.40s: unexpected '%.80s'", what, operand[1]);
    gopt_workplace_open(&place);
    gopt_status s = is_why                ? why(o, operand[1], &place, e)
                    : !strcmp(what, "ls") ? list(o, place.cache_dir, e)
                    : !strcmp(what, "gc") ? collect(o, place.cache_dir, e)
                                          : gopt_unknown(e, "action", what, known, GOPT_COUNT(known));
    gopt_workplace_close(&place);
    return s;
}

static const gopt_option rows[] = {
    {"--older", 0, "DURATION", gopt_parse_duration, offsetof(options, older_s),
     "gc: remove what was not used for so long (default 30d)"},
    {"--max-size", 0, "SIZE", gopt_parse_bytes, offsetof(options, max_bytes),
     "gc: and the oldest until so much is left"},
    {"--shape", 0, "NAME=N,..", gopt_parse_shapes, offsetof(options, shapes), "why: sizes of symbolic dimensions"},
    GOPT_PICK_PRESET(options, pick),
    GOPT_PICK_PIPELINE(options, pick),
    GOPT_PICK_SET(options, pick),
    GOPT_PICK_THREADS(options, pick),
    {"--verbose", 'v', NULL, NULL, offsetof(options, verbose), "ls: the files, too"},
    {"--json", 0, NULL, NULL, offsetof(options, json), "one JSON object"},
    {0}};

const gopt_command gopt_command_cache = {
    .name = "cache",
    .operands = "ls|gc|why MODEL",
    .least = 1,
    .most = 2,
    .doc = "The compile cache: what is in it, what can go, why code for a model is not in it.",
    .more =
        "The cache is in $GOPT_CACHE_DIR, else $XDG_CACHE_HOME/gopt, else ~/.cache/gopt. `ls` names the kernels that "
        "each\nfile holds functions of (x2: two), what was used last first. `why` looks up what "
        "compiling\n"
        "the model would and names, for each function that is missing, what differs from what is stored.\n\n"
        "Examples:\n"
        "  gopt cache ls\n"
        "  gopt cache why net.onnx --shape batch=1\n"
        "  gopt cache gc --older 7d --max-size 500M\n",
    .options = rows,
    .size = sizeof(options),
    .init = init,
    .run = run,
};
