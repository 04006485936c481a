/* max_pool.c: MaxPool, with the positions of the maxima as second output. */
#include <math.h>

#include "ref/pool.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT | GOPT_REF_BYTE, "X", e));
    GOPT_TRY(gopt_pool_infer(x, e));
    if (x->n_out > 1 && x->out[0].dtype != GOPT_DTYPE_NONE) {
        x->out[1] = x->out[0];
        x->out[1].dtype = GOPT_DTYPE_I64;
    }
    return GOPT_OK;
}

typedef struct job {
    const double *in;
    double *out, least; /* the result of an empty window */
    int64_t *index;     /* of the maximum in its plane, NULL when nobody asks */
    int64_t in_size, out_size;
} job;

static void largest(void *ctx, int64_t plane, const gopt_pool_window *p)
{
    job *j = ctx;
    const double *in = j->in + plane * j->in_size;
    double best = j->least;
    int64_t at = p->n ? p->tap[0] : 0;
    for (int64_t i = 0; i < p->n; i++)
        if (in[p->tap[i]] > best || (isnan(in[p->tap[i]]) && !isnan(best))) {
            at = p->tap[i];
            best = in[at];
        }
    j->out[plane * j->out_size + p->out] = best;
    if (j->index)
        j->index[plane * j->out_size + p->out] = at;
}

/* The position in a plane counted in column-major order (storage_order = 1). */
static int64_t column_major(const gopt_window *w, int64_t at)
{
    int64_t i[GOPT_WINDOW_MAX], out = 0;
    for (int a = w->n - 1; a >= 0; a--) {
        i[a] = at % w->in[a];
        at /= w->in[a];
    }
    for (int a = w->n - 1; a >= 0; a--)
        out = out * w->in[a] + i[a];
    return out;
}

static void store_index(gopt_exec *x, const gopt_window *w, const job *j)
{
    gopt_tensor *t = x->out[1];
    bool columns = gopt_attr_int(x->attrs, "storage_order", 0) != 0;
    for (int64_t i = 0; i < gopt_tensor_count(t); i++) {
        int64_t at = columns ? column_major(w, j->index[i]) : j->index[i];
        gopt_tensor_set_int(t, i, i / j->out_size * j->in_size + at);
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    gopt_window w;
    double *in;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_pool_bind(x, &w, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    job j = {.in = in, .in_size = gopt_ref_count(w.in, w.n), .out_size = gopt_ref_count(w.out, w.n)};
    int64_t n = x->in[0]->dim[0] * x->in[0]->dim[1] * j.out_size;
    GOPT_TRY(gopt_ref_buffer(x, n, &j.out, e));
    j.least = x->in[0]->dtype == GOPT_DTYPE_U8 ? 0 : x->in[0]->dtype == GOPT_DTYPE_I8 ? INT8_MIN : -INFINITY;
    if (gopt_ref_out(x, 1) && !(j.index = GOPT_NEW(x->scratch, int64_t, n)))
        return gopt_oom(e);
    GOPT_TRY(gopt_pool_each(x, &w, largest, &j, e));
    gopt_ref_store(x, 0, j.out);
    if (j.index)
        store_index(x, &w, &j);
    return GOPT_OK;
}

const gopt_op gopt_op_MaxPool = {
    .name = "MaxPool", .domain = "", .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 2, .infer = infer, .run = run};
