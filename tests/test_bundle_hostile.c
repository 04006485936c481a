/* Bundles whose hash is right and whose plan is not: every token of the plan replaced, every piece of the data changed.
 * What is not refused runs, in a process of its own, and touches no memory but its own. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "bundle.h"
#include "bundle_format.h"
#include "engine.h"
#include "support/child.h"
#include "support/compiled.h"
#include "support/sanitizer.h"
#include "support/test.h"

enum { RUN_S = 20, MOST_INPUT = 1 << 24, MOST_MEMORY_MB = 4096 };

/* Windows, packed weights, tables, indices in constants, expressions. */
static const char image[] = "input x float32[1,3,9,10]\n"
                            "input z float32[3,4]\n"
                            "const w float32[8,3,3,3] random(1)\n"
                            "const b float32[8] random(2)\n"
                            "const scale float32[4] {1.0,1.0,2.0,2.0}\n"
                            "const pads int64[8] {0,0,1,1,0,0,0,2}\n"
                            "const starts int64[1] {1}\n"
                            "const ends int64[1] {5}\n"
                            "const axes int64[1] {3}\n"
                            "const ids int64[3] {0,2,1}\n"
                            "const flat int64[2] {3,-1}\n"
                            "const v float32[40,6] random(3)\n"
                            "n1: c float32[1,8,9,10] = Conv(x, w, b) {pads=[1,1,1,1]}\n"
                            "n2: r float32[1,8,9,10] = Relu(c)\n"
                            "n3: p float32[1,8,4,5] = MaxPool(r) {kernel_shape=[2,2], strides=[2,2]}\n"
                            "n4: u float32[1,8,8,10] = Resize(p, _, scale) {mode=\"linear\"}\n"
                            "n5: d float32[1,8,9,13] = Pad(u, pads)\n"
                            "n6: s float32[1,8,9,4] = Slice(d, starts, ends, axes)\n"
                            "n7: g float32[1,3,9,4] = Gather(s, ids) {axis=1}\n"
                            "n8: t float32[1,4,9,3] = Transpose(g) {perm=[0,3,2,1]}\n"
                            "n9: f float32[3,36] = Reshape(t, flat)\n"
                            "n10: m float32[3,36] = Softmax(f)\n"
                            "n11: q float32[3,40] = Concat(m, z) {axis=1}\n"
                            "n12: y float32[3,6] = MatMul(q, v)\n"
                            "n13: a float32[3] = ReduceMean(y) {keepdims=0}\n"
                            "output y\n"
                            "output a\n";

/* Shapes that only running tells. */
static const char late[] = "input x float32[4,5]\n"
                           "n1: i int64[2,?] = NonZero(x)\n"
                           "n2: f float32[2,?] = Cast(i) {to=1}\n"
                           "n3: t float32[?,2] = Transpose(f) {perm=[1,0]}\n"
                           "n4: y float32[?,2] = Add(t, t)\n"
                           "n5: s float32[2] = ReduceSum(y) {keepdims=0}\n"
                           "output y\n"
                           "output s\n";

/* ---- one bundle, taken apart ---- */

typedef struct token {
    size_t at, n;
} token;

typedef struct bundle {
    const char *path;
    unsigned char *head; /* all of the file */
    const char *json;
    size_t json_bytes, blob_bytes;
    const unsigned char *blobs;
    token *tokens;
    int n_tokens;
} bundle;

static bool is_word(char c)
{
    return strchr("+-.0123456789", c) || (c >= 'a' && c <= 'z');
}

/* Numbers, strings (names of keys, too), true, false, null. */
static void find_tokens(bundle *b)
{
    b->tokens = calloc(b->json_bytes, sizeof *b->tokens);
    for (size_t i = 0; i < b->json_bytes;) {
        size_t n = 1;
        if (b->json[i] == '"') {
            while (b->json[i + n] != '"')
                n++;
            b->tokens[b->n_tokens++] = (token){i, ++n};
        } else if (is_word(b->json[i])) {
            while (is_word(b->json[i + n]))
                n++;
            b->tokens[b->n_tokens++] = (token){i, n};
        }
        i += n;
    }
}

static void take_apart(bundle *b, const char *path)
{
    gopt_err e = {0};
    gopt_mapping m;
    gopt_bundle_header h;
    assert_ok(gopt_file_map(&m, path, &e), &e);
    b->path = path;
    b->head = malloc(m.bytes);
    memcpy(b->head, m.data, m.bytes);
    memcpy(&h, m.data, sizeof h);
    size_t begin = sizeof h + (h.json_bytes + GOPT_BUNDLE_ALIGN - 1) / GOPT_BUNDLE_ALIGN * GOPT_BUNDLE_ALIGN;
    b->json = (const char *)b->head + sizeof h;
    b->json_bytes = h.json_bytes;
    b->blobs = b->head + begin;
    b->blob_bytes = m.bytes - begin;
    gopt_file_unmap(&m);
    find_tokens(b);
}

static void bundle_fini(bundle *b)
{
    free(b->head);
    free(b->tokens);
}

/* The file with this plan and these blobs, sealed again. */
static bool seal(const char *path, const char *json, size_t json_bytes, const unsigned char *blobs, size_t blob_bytes)
{
    gopt_bundle_header h = {.magic = GOPT_BUNDLE_MAGIC, .version = GOPT_BUNDLE_VERSION, .endian = GOPT_BUNDLE_ENDIAN};
    size_t padded = (json_bytes + GOPT_BUNDLE_ALIGN - 1) / GOPT_BUNDLE_ALIGN * GOPT_BUNDLE_ALIGN;
    unsigned char *body = calloc(1, padded + blob_bytes + 1);
    memcpy(body, json, json_bytes);
    memcpy(body + padded, blobs, blob_bytes);
    h.json_bytes = json_bytes;
    h.total_bytes = sizeof h + padded + blob_bytes;
    h.content = gopt_hash_bytes(body, padded + blob_bytes);
    FILE *f = fopen(path, "wb"); /* not gopt_file_write, which waits for the disk */
    bool written = f && fwrite(&h, sizeof h, 1, f) == 1 && fwrite(body, padded + blob_bytes, 1, f) == 1;
    free(body);
    return f && !fclose(f) && written;
}

/* ---- what a deployment does with it ---- */

static void fill(gopt_tensor *t, uint64_t *seed)
{
    int64_t n = gopt_tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        gopt_tensor_set(t, i, (double)(*seed >> 62));
    }
}

static gopt_status bind_all(gopt_engine *engine, const gopt_plan *p, gopt_arena *a, gopt_err *e)
{
    uint64_t seed = 1;
    for (int i = 0; i < p->n_inputs; i++) {
        const gopt_plan_value *v = &p->values[p->inputs[i]];
        int64_t n;
        if (v->rank < 0 || !gopt_dims_count(v->dim, v->rank, &n) || n > MOST_INPUT)
            return GOPT_ELIMIT;
        gopt_tensor *t = gopt_tensor_new(a, v->dtype, v->rank, v->dim);
        if (!t)
            return gopt_oom(e);
        fill(t, &seed);
        GOPT_TRY(gopt_engine_bind(engine, i, t, e));
    }
    return GOPT_OK;
}

static gopt_status run_engine(const gopt_plan *p, gopt_arena *a, gopt_err *e)
{
    gopt_engine *engine;
    volatile unsigned char sum = 0;
    GOPT_TRY(gopt_engine_new(&engine, p, 1, e));
    gopt_status s = bind_all(engine, p, a, e);
    if (!s)
        s = gopt_engine_run(engine, gopt_now() + GOPT_NS_PER_S / 50, e);
    for (int i = 0; !s && i < p->n_outputs; i++) {
        const gopt_tensor *t = gopt_engine_output(engine, i);
        for (size_t k = 0; k < gopt_tensor_bytes(t); k++)
            sum = (unsigned char)(sum + ((const unsigned char *)t->data)[k]);
    }
    gopt_engine_free(engine);
    return s;
}

/* Whether it did either of what is allowed: it ran, or it said why not. */
static bool loads_and_runs(const char *path, bool *ran)
{
    gopt_err e = {0};
    gopt_plan *p;
    gopt_arena a = {0};
    gopt_status s = gopt_bundle_read(&p, path, NULL, &e);
    if (!s)
        s = run_engine(p, &a, &e);
    gopt_plan_free(p);
    gopt_arena_fini(&a);
    *ran = !s;
    bool fine = !s || s == GOPT_ELIMIT || (e.msg[0] && s != GOPT_EBUG);
    if (!fine)
        print_error("%s: \"%s\"\n", gopt_status_text(s), e.msg);
    return fine;
}

/* ---- changes ---- */

/* What stands in the place of a token: number k of its kind; false when there are no more. */
static bool replace(const bundle *b, int which, int k, char *out, size_t size)
{
    static const char *const fixed[] = {
        "0",     "-1",   "1",    "2",  "7", "64", "4294967295", "9007199254740992", "1e308", "\"9223372036854775807\"",
        "\"x\"", "null", "true", "[]", "{}"};
    const token *t = &b->tokens[which];
    bool number = strchr("-0123456789", b->json[t->at]);
    if (k < GOPT_COUNT(fixed)) {
        snprintf(out, size, "%s", fixed[k]);
        return true;
    }
    static const int steps[] = {-64, -4, -1, 1, 4, 64};
    k -= GOPT_COUNT(fixed);
    if (number && k < GOPT_COUNT(steps)) {
        snprintf(out, size, "%lld", strtoll(b->json + t->at, NULL, 10) + steps[k]);
        return true;
    }
    k -= number ? GOPT_COUNT(steps) : 0;
    if (k >= 4)
        return false;
    /* Another token of this very plan: a name where a name stands, another index, another dimension. */
    const token *other =
        &b->tokens[(int)(((unsigned)which * 2654435761u + (unsigned)k * 40503u) % (unsigned)b->n_tokens)];
    snprintf(out, size, "%.*s", (int)other->n, b->json + other->at);
    return true;
}

typedef struct change {
    const bundle *bundle;
    int first, last; /* tokens, or bytes of the blobs */
    int variant;     /* only this one; -1: all */
} change;

/* Every token sees some of the changes, its neighbours others; a sanitizer makes all of it slow. */
static bool is_left_out(const change *c, int which, int k)
{
    const int share = TEST_SANITIZED ? 24 : 6;
    return c->variant >= 0 ? c->variant != k : (which + k) % share != 0;
}

static int guard(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                 SIGABRT}; /* cmocka's handlers would go on from here */
    for (int i = 0; !TEST_SANITIZED && i < GOPT_COUNT(faults); i++)
        signal(faults[i], SIG_DFL);
    struct rlimit memory = {(rlim_t)MOST_MEMORY_MB << 20, (rlim_t)MOST_MEMORY_MB << 20}, core = {0, 0};
    setrlimit(RLIMIT_CORE, &core);
    alarm(RUN_S);
    return TEST_SANITIZED ? 0 : setrlimit(RLIMIT_AS, &memory);
}

static void tell(const bundle *b, int which, const char *now)
{
    const token *t = &b->tokens[which];
    size_t before = GOPT_MIN(t->at, (size_t)60);
    print_error("%.*s  >>  %.*s  is  %s\n", (int)before, b->json + t->at - before, (int)t->n, b->json + t->at, now);
}

static int change_tokens(void *ctx)
{
    const change *c = ctx;
    const bundle *b = c->bundle;
    char now[256];
    bool ran;
    if (guard())
        return 2;
    for (int which = c->first; which < c->last; which++)
        for (int k = 0; replace(b, which, k, now, sizeof now); k++) {
            if (is_left_out(c, which, k))
                continue;
            const token *t = &b->tokens[which];
            gopt_text json = {0};
            gopt_text_add(&json, "%.*s%s", (int)t->at, b->json, now);
            gopt_text_add(&json, "%.*s", (int)(b->json_bytes - t->at - t->n), b->json + t->at + t->n);
            bool sealed = seal(b->path, gopt_text_str(&json), json.n, b->blobs, b->blob_bytes);
            gopt_text_fini(&json);
            if (!sealed || !loads_and_runs(b->path, &ran))
                return 1;
        }
    return 0;
}

static int change_blobs(void *ctx)
{
    static const unsigned char with[] = {0x00, 0x7f, 0x80, 0xff};
    const change *c = ctx;
    const bundle *b = c->bundle;
    bool ran;
    if (guard())
        return 2;
    unsigned char *blobs = malloc(b->blob_bytes + 1);
    memcpy(blobs, b->blobs, b->blob_bytes);
    for (int at = c->first; at < c->last; at++)
        for (int k = 0; k < GOPT_COUNT(with); k++) {
            if (is_left_out(c, at, k))
                continue;
            unsigned char kept = blobs[at];
            blobs[at] = with[k];
            bool good = seal(b->path, b->json, b->json_bytes, blobs, b->blob_bytes) && loads_and_runs(b->path, &ran);
            blobs[at] = kept;
            if (!good)
                return 1;
        }
    free(blobs);
    return 0;
}

static int count_one(const bundle *b, int (*f)(void *), int at)
{
    enum { VARIANTS = 26 };
    char now[256] = "";
    int failures = 0;
    for (int k = 0; k < VARIANTS; k++) {
        change one = {b, at, at + 1, k};
        int code = test_in_child(f, &one);
        if (!code)
            continue;
        failures++;
        print_error("%s: ", code < 0 ? strsignal(-code) : "no message");
        if (f == change_tokens && replace(b, at, k, now, sizeof now))
            tell(b, at, now);
        else
            print_error("byte %d, variant %d\n", at, k);
    }
    return failures;
}

/* Many at a time; where something went wrong, one by one, so that it is told which. */
static int count_failures(const bundle *b, int (*f)(void *), int n, int together)
{
    int failures = 0;
    for (int i = 0; i < n; i += together) {
        change c = {b, i, GOPT_MIN(i + together, n), -1};
        int code = test_in_child(f, &c);
        for (int k = c.first; code && k < c.last; k++)
            failures += count_one(b, f, k);
    }
    return failures;
}

static void nothing_in_it_can_do_harm(const char *model, gopt_config config, const char *dir)
{
    enum { TOGETHER = 24, MOST_BLOB = 4096 };
    static bundle b; /* static for the same reason */
    char path[4096];
    gopt_err e = {0};
    bool ran;
    b = (bundle){0};
    gopt_plan *p = test_compile(model, &config, dir, NULL);
    assert_int_equal(p->n_code, 0);
    assert_ok(gopt_bundle_write(p, test_path(path, dir, "m.gopt"), NULL, &e), &e);
    gopt_plan_free(p);
    take_apart(&b, path);
    assert_true(seal(path, b.json, b.json_bytes, b.blobs, b.blob_bytes));
    assert_true(loads_and_runs(path, &ran) && ran);
    int failures = count_failures(&b, change_tokens, b.n_tokens, TOGETHER);
    failures += count_failures(&b, change_blobs, (int)GOPT_MIN(b.blob_bytes, (size_t)MOST_BLOB), 8 * TOGETHER);
    bundle_fini(&b);
    assert_int_equal(failures, 0);
}

/* One row for a model without any pass, one with all that need no compiler. */
typedef struct subject {
    const char *model;
    bool optimized;
} subject;

static void hostile(void **state)
{
    static char *dir; /* static, so that a child that ends does not call it leaked */
    const subject *s = *state;
    gopt_err e = {0};
    gopt_config c = test_config(NULL);
    assert_int_equal(test_dir_setup((void **)&dir), 0);
    if (s->optimized)
        assert_ok(gopt_config_preset(&c, "reduce-overhead", &e), &e);
    nothing_in_it_can_do_harm(s->model, c, dir);
    test_dir_teardown((void **)&dir);
}

int main(void)
{
#define ROW(name, optimized)                                                                                           \
    {                                                                                                                  \
#name, hostile, NULL, NULL, &(subject)                                                                         \
        {                                                                                                              \
            name, optimized                                                                                            \
        }                                                                                                              \
    }
    const struct CMUnitTest tests[] = {
        ROW(image, false),
        ROW(image, true),
        ROW(late, true),
        ROW(test_model_captured, true),
        ROW(test_model_looping, true),
        ROW(test_model_views, true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
