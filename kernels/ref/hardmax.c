/* hardmax.c: Hardmax. */
#include "ref/axis.h"

static void hardmax(gopt_attrs a, double *v, int64_t n)
{
    int64_t best = 0;
    (void)a;
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    for (int64_t i = 0; i < n; i++)
        v[i] = i == best;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_axis_run(x, hardmax, e);
}

const gopt_op gopt_op_Hardmax = {.name = "Hardmax",
                                 .domain = "",
                                 .in_min = 1,
                                 .in_max = 1,
                                 .out_min = 1,
                                 .out_max = 1,
                                 .infer = gopt_ref_infer_same,
                                 .run = run};
