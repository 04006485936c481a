/* passes: every fixture under tests/passes/<pass>/<case>/: in.txt through the pass gives out.txt, the outputs stay, and
 * no failing allocation leaves anything behind. A first line "# knob=value ..." sets knobs; where out.txt equals in.txt
 * the pass must leave the graph alone. */
#include "support/test.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "dump.h"
#include "pass.h"

typedef struct fixture {
    const gopt_pass *pass;
    char name[160];
    char folder[256];
    char *in, *out;
    int64_t knob[16];
} fixture;

enum { FIXTURES_MAX = 1000, VALUES_MAX = 64 };
static fixture fixtures[FIXTURES_MAX];
static int n_fixtures;

/* ---- reading ---- */

static char *read_text(const char *folder, const char *file)
{
    char path[512];
    gopt_err e = {0};
    gopt_mapping m;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(gopt_file_map(&m, path, &e), &e);
    char *text = malloc(m.bytes + 1);
    assert_non_null(text);
    memcpy(text, m.data, m.bytes);
    text[m.bytes] = '\0';
    gopt_file_unmap(&m);
    return text;
}

static void set_knob(fixture *f, const char *assignment)
{
    gopt_err e = {0};
    for (int k = 0; f->pass->knobs && f->pass->knobs[k].name; k++) {
        size_t n = strlen(f->pass->knobs[k].name);
        if (strncmp(assignment, f->pass->knobs[k].name, n) || assignment[n] != '=')
            continue;
        assert_ok(gopt_knob_parse(&f->pass->knobs[k], assignment + n + 1, &f->knob[k], &e), &e);
        return;
    }
    fail_msg("%s: no knob for %s", f->name, assignment);
}

static void set_knobs(fixture *f)
{
    char line[200];
    for (int k = 0; f->pass->knobs && f->pass->knobs[k].name; k++)
        f->knob[k] = f->pass->knobs[k].init;
    if (f->in[0] != '#')
        return;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(f->in, "\n"), f->in);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        if (strchr(word, '='))
            set_knob(f, word);
}

/* ---- running ---- */

static gopt_status apply(const fixture *f, gopt_graph **g, gopt_pass_record *r, gopt_arena *a, gopt_err *e)
{
    GOPT_TRY(gopt_graph_read(g, f->in, e));
    return gopt_pass_apply(f->pass, f->knob, *g, 0, a, r, e);
}

static int64_t size_of(const gopt_graph *g, gopt_dim d)
{
    const char *symbols[16];
    int64_t values[16];
    int n = gopt_graph_symbols(g, symbols, 16);
    for (int i = 0; i < n; i++)
        values[i] = 2 + i % 3;
    d = gopt_dim_bind(g->family->dims, d, symbols, values, n);
    return gopt_dim_is_const(d) ? d.k : 2;
}

static void make_inputs(const gopt_graph *g, const gopt_tensor **in, gopt_arena *a)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const gopt_fact *f = &g->inputs[i]->fact;
        int64_t dim[GOPT_RANK_MAX];
        for (int d = 0; d < f->rank; d++)
            dim[d] = size_of(g, f->dim[d]);
        gopt_tensor *t = gopt_tensor_new(a, f->dtype, f->rank, dim);
        assert_non_null(t);
        for (int64_t k = 0; k < gopt_tensor_count(t); k++)
            gopt_tensor_set(t, k, gopt_dump_random(f->dtype, 40 + i, k));
        in[i] = t;
    }
}

static void assert_close(const char *name, const gopt_tensor *a, const gopt_tensor *b)
{
    if (a->dtype != b->dtype || !gopt_dims_equal(a, b))
        fail_msg("output %s: another type or shape", name);
    bool exact = !gopt_dtype_is_float(a->dtype);
    double unit = a->dtype == GOPT_DTYPE_F16 ? 0x1p-9 : a->dtype == GOPT_DTYPE_BF16 ? 0x1p-6 : 1e-4;
    for (int64_t i = 0; i < gopt_tensor_count(a); i++) {
        double x = gopt_tensor_get(a, i), y = gopt_tensor_get(b, i);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        if (exact || !(fabs(x - y) <= (unit > 1e-4 ? unit : 1e-5) + unit * fabs(x)))
            fail_msg("output %s: element %lld is %g, %g expected", name, (long long)i, y, x);
    }
}

static void assert_same_outputs(const gopt_graph *before, const gopt_graph *after)
{
    gopt_arena a = {0};
    gopt_err e = {0};
    const gopt_tensor *in[VALUES_MAX];
    gopt_tensor x[VALUES_MAX], y[VALUES_MAX];
    make_inputs(before, in, &a);
    gopt_status s = gopt_graph_eval(before, in, x, &a, 0, &e);
    assert_int_equal(gopt_graph_eval(after, in, y, &a, 0, &e), s); /* what fails must go on failing */
    assert_int_equal(before->n_outputs, after->n_outputs);
    for (int i = 0; !s && i < before->n_outputs; i++) {
        assert_string_equal(before->outputs[i]->name, after->outputs[i]->name);
        assert_close(before->outputs[i]->name, &x[i], &y[i]);
    }
    gopt_arena_fini(&a);
}

/* Whether two runs give the same. */
static bool is_deterministic(const gopt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op->traits & GOPT_TRAIT_RANDOM)
            return false;
    return true;
}

static gopt_status once(void *ctx, gopt_err *e)
{
    gopt_graph *g = NULL;
    gopt_arena a = {0};
    gopt_pass_record r;
    gopt_text t = {0};
    gopt_status s = apply(ctx, &g, &r, &a, e);
    if (!s)
        gopt_graph_print(g, &t);
    if (!s && t.failed)
        s = gopt_oom(e);
    gopt_text_fini(&t);
    gopt_arena_fini(&a);
    gopt_graph_free(g);
    return s;
}

static void run(void **state)
{
    fixture *f = *state;
    gopt_graph *before, *after = NULL;
    gopt_arena a = {0};
    gopt_err e = {0};
    gopt_pass_record r;
    gopt_text was = {0}, is = {0};
    set_knobs(f);
    assert_ok(gopt_graph_read(&before, f->in, &e), &e);
    assert_ok(apply(f, &after, &r, &a, &e), &e);
    gopt_graph_print(before, &was);
    gopt_graph_print(after, &is);
    assert_string_equal(gopt_text_str(&is), f->out);
    assert_int_equal(r.changed > 0, strcmp(gopt_text_str(&was), gopt_text_str(&is)) != 0);
    assert_int_equal(r.nodes_after, gopt_graph_count(after));
    if (is_deterministic(before))
        assert_same_outputs(before, after);
    gopt_text_fini(&was);
    gopt_text_fini(&is);
    gopt_arena_fini(&a);
    gopt_graph_free(before);
    gopt_graph_free(after);
    assert_true(test_every_oom(once, f) > 0);
}

/* ---- finding ---- */

static int names_in(const char *folder, char names[][80], int max)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, NULL, alphasort), n = 0;
    for (int i = 0; i < found; i++) {
        if (entries[i]->d_name[0] != '.' && n < max)
            snprintf(names[n++], sizeof names[0], "%s", entries[i]->d_name);
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
    return n;
}

static void find_cases(const gopt_pass *p)
{
    static char cases[200][80];
    char folder[200];
    snprintf(folder, sizeof folder, "tests/passes/%s", p->name);
    int n = names_in(folder, cases, GOPT_COUNT(cases));
    for (int i = 0; i < n && n_fixtures < FIXTURES_MAX; i++) {
        fixture *f = &fixtures[n_fixtures++];
        f->pass = p;
        snprintf(f->name, sizeof f->name, "%s/%s", p->name, cases[i]);
        snprintf(f->folder, sizeof f->folder, "%s/%s", folder, cases[i]);
    }
}

static int read_fixture(void **state)
{
    fixture *f = *state;
    f->in = read_text(f->folder, "in.txt");
    f->out = read_text(f->folder, "out.txt");
    return 0;
}

static int free_fixture(void **state)
{
    fixture *f = *state;
    free(f->in);
    free(f->out);
    return 0;
}

/* No folder is left over from a pass that is gone, and every pass that rewrites has a fixture of its own. */
static void every_pass_has_fixtures(void **state)
{
    static char folders[100][80];
    (void)state;
    assert_in_range(n_fixtures, 1, FIXTURES_MAX - 1); /* else some were left out */
    int n = names_in("tests/passes", folders, GOPT_COUNT(folders));
    for (int i = 0; i < n; i++)
        if (gopt_pass_find(folders[i]) < 0)
            fail_msg("tests/passes/%s: no such pass", folders[i]);
    for (int p = 0; p < gopt_pass_count(); p++) {
        int count = 0;
        for (int i = 0; i < n_fixtures; i++)
            count += fixtures[i].pass == gopt_passes[p];
        if (count == 0 && !gopt_passes[p]->decides)
            fail_msg("pass %s has no fixture", gopt_passes[p]->name);
    }
}

int main(void)
{
    static struct CMUnitTest tests[FIXTURES_MAX + 1];
    for (int p = 0; p < gopt_pass_count(); p++)
        find_cases(gopt_passes[p]);
    tests[0] = (struct CMUnitTest)cmocka_unit_test(every_pass_has_fixtures);
    for (int i = 0; i < n_fixtures; i++)
        tests[i + 1] = (struct CMUnitTest){.name = fixtures[i].name,
                                           .test_func = run,
                                           .setup_func = read_fixture,
                                           .teardown_func = free_fixture,
                                           .initial_state = &fixtures[i]};
    return _cmocka_run_group_tests("passes", tests, (size_t)n_fixtures + 1, NULL, NULL);
}
