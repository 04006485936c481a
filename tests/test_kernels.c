/* Every kernel on every problem it fits against the reference: instruction set levels, knob values, numbers of parts,
 * constants packed and not. GOPT_SEED=n repeats other random data. --bench [kernel] prints speeds instead. */
#include "support/checkern.h"
#include "support/emitted.h"
#include "support/problems.h"
#include "support/test.h"

static unsigned seed(void)
{
    const char *text = getenv("GOPT_SEED");
    return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

static const char *describe(char *buf, size_t size, const problem_text *t)
{
    snprintf(buf, size, "%s(%s) {%s} + %s (%s)", t->op, t->in, t->attrs ? t->attrs : "", t->post ? t->post : "nothing",
             t->extra ? t->extra : "");
    return buf;
}

static void check_parts(checkern_case *c)
{
    for (int threads = 1; threads <= 3; threads++) {
        c->target = checkern_target(c->target.isa, threads);
        if (!c->kernel->fits(&c->p->group, c->knob, &c->target))
            return;
        c->pack = false;
        checkern_run(c);
        c->pack = true;
        if (c->kernel->packed_bytes)
            checkern_run(c);
    }
}

/* The default, then each knob at its ends, the others at their defaults. */
static void check_knobs(checkern_case *c)
{
    int n = gopt_kernel_knob_count(c->kernel);
    for (int i = 0; i < n; i++)
        c->knob[i] = c->kernel->knobs[i].init;
    check_parts(c);
    for (int i = 0; i < n; i++) {
        const gopt_knob *k = &c->kernel->knobs[i];
        c->knob[i] = gopt_knob_value(k, 0);
        check_parts(c);
        c->knob[i] = gopt_knob_value(k, gopt_knob_count(k) - 1);
        check_parts(c);
        c->knob[i] = k->init;
    }
}

static bool check_kernel(const gopt_kernel *kernel, const problem *p, const char *what)
{
    bool fitted = false;
    for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++) {
        checkern_case c = {.kernel = kernel, .p = p, .what = what, .target = checkern_target((gopt_isa)isa, 1)};
        for (int i = 0; i < gopt_kernel_knob_count(kernel); i++)
            c.knob[i] = kernel->knobs[i].init;
        fitted |= kernel->fits(&p->group, c.knob, &c.target);
        check_knobs(&c);
    }
    return fitted;
}

static void precompiled_kernels_match_the_reference(void **state)
{
    (void)state;
    for (int i = 0; problems[i].op; i++) {
        char what[512];
        bool fitted = false;
        problem p;
        problem_init(&p, &problems[i], seed());
        describe(what, sizeof what, &problems[i]);
        for (int k = 0; gopt_kernels[k]; k++)
            if (!gopt_kernels[k]->generated) {
                bool fits = check_kernel(gopt_kernels[k], &p, what);
                fitted |= fits && !strcmp(gopt_kernels[k]->name, problems[i].kernel);
            }
        if (!fitted && strncmp(problems[i].kernel, "no", 2))
            fail_msg("%s does not fit %s", problems[i].kernel, what);
        problem_fini(&p);
    }
}

/* Sample 0 is the default, sample 2i+1 and 2i+2 have knob i at its ends. */
static void sample_knobs(const gopt_kernel *k, int sample, int64_t *knob)
{
    int n = gopt_kernel_knob_count(k);
    for (int i = 0; i < n; i++)
        knob[i] = k->knobs[i].init;
    sample %= 2 * n + 1;
    if (sample == 0)
        return;
    const gopt_knob *chosen = &k->knobs[(sample - 1) / 2];
    knob[(sample - 1) / 2] = gopt_knob_value(chosen, sample % 2 ? 0 : gopt_knob_count(chosen) - 1);
}

/* For the thread sanitizer: parts of a phase run at once, as in an engine. */
static void parts_may_run_at_once(void **state)
{
    gopt_err err = {0};
    gopt_pool *pool;
    (void)state;
    assert_ok(gopt_pool_new(&pool, 3, &err), &err);
    for (int i = 0; problems[i].op; i++) {
        char what[512];
        problem p;
        problem_init(&p, &problems[i], seed());
        describe(what, sizeof what, &problems[i]);
        for (int k = 0; gopt_kernels[k]; k++) {
            checkern_case c = {.kernel = gopt_kernels[k], .p = &p, .what = what, .pool = pool};
            c.target = checkern_target(gopt_cpu_isa(), 3);
            sample_knobs(c.kernel, 0, c.knob);
            if (!c.kernel->generated && c.kernel->fits(&p.group, c.knob, &c.target))
                checkern_run(&c);
        }
        problem_fini(&p);
    }
    gopt_pool_free(pool);
}

/* One generated kernel on one problem: the i-th of its knob samples. */
typedef struct generated_case {
    checkern_case c;
    int function;
} generated_case;

enum { CASES_MAX = 1024 };

/* The sample from `first` on, in turn, with which the kernel fits; there may be none. */
static bool sample_that_fits(checkern_case *c, int first)
{
    int samples = 2 * gopt_kernel_knob_count(c->kernel) + 1;
    for (int i = 0; i < samples; i++) {
        sample_knobs(c->kernel, first + i, c->knob);
        if (c->kernel->fits(&c->p->group, c->knob, &c->target))
            return true;
    }
    return false;
}

/* Each problem once per level, for the compiler's time: knobs at their defaults on every other level, else varied,
 * another one each time; constants packed on two of three. */
static int collect_cases(generated_case *cases, problem *p, char (*what)[512], gopt_isa isa, emitted *e)
{
    int n = 0, turn = 0;
    for (int i = 0; problems[i].op; i++)
        for (int k = 0; gopt_kernels[k]; k++) {
            if (!gopt_kernels[k]->generated)
                continue;
            checkern_case c = {.kernel = gopt_kernels[k], .p = &p[i], .what = what[i], .pack = i % 3 != 0};
            c.target = checkern_target(isa, 2);
            if (!sample_that_fits(&c, (i + (int)isa) % 2 ? ++turn : 0))
                continue;
            assert_true(n < CASES_MAX);
            cases[n++] = (generated_case){c, emitted_add(e, &c)};
        }
    return n;
}

static void check_generated(gopt_isa isa, const char *compiler, const char *dir)
{
    static generated_case cases[CASES_MAX];
    static problem p[512];
    static char what[512][512];
    emitted e = {0};
    int n_problems = 0;
    for (; problems[n_problems].op; n_problems++) {
        problem_init(&p[n_problems], &problems[n_problems], seed());
        describe(what[n_problems], sizeof what[0], &problems[n_problems]);
    }
    int n = collect_cases(cases, p, what, isa, &e);
    if (n && emitted_compile(&e, isa, compiler, "-O1", dir))
        for (int i = 0; i < n; i++) {
            cases[i].c.generated = emitted_function(&e, cases[i].function);
            checkern_run(&cases[i].c);
        }
    emitted_fini(&e);
    for (int i = 0; i < n_problems; i++)
        problem_fini(&p[i]);
}

static void generated_kernels_match_the_reference(void **state)
{
    for (int isa = 0; isa <= (int)gopt_cpu_isa(); isa++)
        check_generated((gopt_isa)isa, isa % 2 ? "clang" : "gcc", *state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--bench"))
        return checkern_bench(argc > 2 ? argv[2] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precompiled_kernels_match_the_reference),
        cmocka_unit_test(parts_may_run_at_once),
        cmocka_unit_test_setup_teardown(generated_kernels_match_the_reference, test_dir_setup, test_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
