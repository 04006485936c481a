/* bench.c: how fast kernels are on the bench problems, on one thread. */
#include "base/clock.h"
#include "base/file.h"
#include "support/checkern.h"
#include "support/emitted.h"
#include "support/problems.h"
#include "support/test.h"

/* The quickest of as many runs as fit into 50 ms, at least 5. */
static double quickest_ns(checkern_call *c)
{
    int64_t best = INT64_MAX, end = gopt_now() + 50000000;
    for (int i = 0; i < 5 || gopt_now() < end; i++) {
        int64_t begin = gopt_now();
        checkern_call_run(c);
        int64_t ns = gopt_now() - begin;
        best = ns < best ? ns : best;
    }
    return (double)best;
}

static double flops(const checkern_case *k, const gopt_group *g)
{
    gopt_target counting = k->target;
    counting.flops_per_s = 1;
    counting.bytes_per_s = 1e300;
    return k->kernel->cost(g, k->knob, &counting);
}

static void bench_one(const checkern_case *k)
{
    char time[32];
    checkern_call c;
    checkern_call_init(&c, k);
    double ns = quickest_ns(&c);
    printf("%-20s %-6s %10s %8.1f GFLOP/s %7.1f GB/s  %s\n", k->kernel->name, gopt_isa_name(k->target.isa),
           gopt_text_ns(time, ns), flops(k, &c.group) / ns, gopt_group_bytes(&c.group) / ns, k->what);
    checkern_call_fini(&c);
}

static void bench_generated(checkern_case *k, const char *dir)
{
    emitted e = {0};
    emitted_add(&e, k);
    if (emitted_compile(&e, k->target.isa, "cc", "-O2", dir)) {
        k->generated = emitted_function(&e, 0);
        bench_one(k);
    }
    emitted_fini(&e);
}

static void bench_kernel(const gopt_kernel *kernel, const problem *p, const char *what, const char *dir)
{
    checkern_case k = {.kernel = kernel, .p = p, .what = what, .pack = true};
    gopt_target_host(&k.target, 1);
    for (int n = 0; n < gopt_kernel_knob_count(kernel); n++)
        k.knob[n] = kernel->knobs[n].init;
    if (!kernel->fits(&p->group, k.knob, &k.target))
        return;
    if (kernel->generated)
        bench_generated(&k, dir);
    else
        bench_one(&k);
}

int checkern_bench(const char *filter)
{
    char dir[512];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/gopt-bench-XXXXXX", tmp ? tmp : P_tmpdir);
    if (!mkdtemp(dir))
        return 1;
    for (int i = 0; bench_problems[i].op; i++) {
        const problem_text *t = &bench_problems[i];
        char what[256];
        problem p;
        if (strncmp(t->kernel, filter, strcspn(t->kernel, "_")) && !strstr(t->kernel, filter))
            continue; /* another family: the reference would take its time */
        problem_init(&p, t, 1);
        snprintf(what, sizeof what, "%s(%s) %s %s", t->op, t->in, t->attrs ? t->attrs : "", t->post ? t->post : "");
        for (int j = 0; gopt_kernels[j]; j++)
            if (strstr(gopt_kernels[j]->name, filter))
                bench_kernel(gopt_kernels[j], &p, what, dir);
        problem_fini(&p);
    }
    gopt_dir_remove(dir, NULL);
    return 0;
}
