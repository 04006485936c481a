/* average_pool.c: AveragePool. */
#include "ref/pool.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    return gopt_pool_infer(x, e);
}

typedef struct job {
    const double *in;
    double *out;
    int64_t in_size, out_size;
    bool padded; /* padding counts as zeros */
} job;

static void average(void *ctx, int64_t plane, const gopt_pool_window *p)
{
    job *j = ctx;
    const double *in = j->in + plane * j->in_size;
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++)
        sum += in[p->tap[i]];
    int64_t n = j->padded ? p->padded : p->n;
    j->out[plane * j->out_size + p->out] = n ? sum / (double)n : 0;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_window w;
    double *in;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_pool_bind(x, &w, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    job j = {.in = in,
             .in_size = gopt_ref_count(w.in, w.n),
             .out_size = gopt_ref_count(w.out, w.n),
             .padded = gopt_attr_int(x->attrs, "count_include_pad", 0) != 0};
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &j.out, e));
    GOPT_TRY(gopt_pool_each(x, &w, average, &j, e));
    gopt_ref_store(x, 0, j.out);
    return GOPT_OK;
}

const gopt_op gopt_op_AveragePool = {.name = "AveragePool",
                                     .domain = "",
                                     .in_min = 1,
                                     .in_max = 1,
                                     .out_min = 1,
                                     .out_max = 1,
                                     .infer = infer,
                                     .run = run};
