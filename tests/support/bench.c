/* bench.c: how fast kernels are on the bench problems, on one thread. */
#include "base/clock.h"
#include "support/checkern.h"
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

int checkern_bench(const char *filter)
{
    for (int i = 0; bench_problems[i].op; i++) {
        const problem_text *t = &bench_problems[i];
        char what[256];
        problem p;
        if (strncmp(t->kernel, filter, strcspn(t->kernel, "_")) && !strstr(t->kernel, filter))
            continue; /* another family: the reference would take its time */
        problem_init(&p, t, 1);
        snprintf(what, sizeof what, "%s(%s) %s %s", t->op, t->in, t->attrs ? t->attrs : "", t->post ? t->post : "");
        for (int j = 0; gopt_kernels[j]; j++) {
            checkern_case k = {.kernel = gopt_kernels[j], .p = &p, .what = what, .pack = true};
            gopt_target_host(&k.target, 1);
            for (int n = 0; n < gopt_kernel_knob_count(k.kernel); n++)
                k.knob[n] = k.kernel->knobs[n].init;
            if (strstr(k.kernel->name, filter) && !k.kernel->generated && k.kernel->fits(&p.group, k.knob, &k.target))
                bench_one(&k);
        }
        problem_fini(&p);
    }
    return 0;
}
