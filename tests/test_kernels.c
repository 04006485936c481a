/* Every kernel on every problem it fits against the reference: instruction set levels, knob values, numbers of parts,
 * constants packed and not. GOPT_SEED=n repeats other random data. --bench [kernel] prints speeds instead. */
#include "support/checkern.h"
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

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--bench"))
        return checkern_bench(argc > 2 ? argv[2] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precompiled_kernels_match_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
