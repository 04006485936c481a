/* pool.c: walking over pooling windows. The taps of a window are worked out once and serve all planes. */
#include "ref/pool.h"

gopt_status gopt_pool_infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[0];
    gopt_window w;
    int64_t n;
    gopt_attr_ints(x->attrs, "kernel_shape", &n);
    if (n == 0)
        return gopt_fail(e, GOPT_EINPUT, "attribute kernel_shape is missing");
    GOPT_TRY(gopt_ref_rank(x, 0, 3, GOPT_RANK_MAX, "X", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, 0))
        return GOPT_OK;
    GOPT_TRY(gopt_window_read(&w, x->attrs, in->rank - 2, e));
    gopt_dim dim[GOPT_RANK_MAX] = {in->dim[0], in->dim[1]};
    for (int i = 0; i < w.n; i++) {
        dim[2 + i] = gopt_window_out(x->dims, &w, i, in->dim[2 + i]);
        GOPT_TRY(gopt_window_check(&w, i, in->dim[2 + i], dim[2 + i], e));
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    return GOPT_OK;
}

gopt_status gopt_pool_bind(const gopt_exec *x, gopt_window *w, gopt_err *e)
{
    const gopt_tensor *in = x->in[0];
    GOPT_TRY(gopt_window_read(w, x->attrs, in->rank - 2, e));
    gopt_window_bind(w, in->dim + 2);
    return GOPT_OK;
}

/* Fills in the taps of the window at o; `tap` has room for all of them. */
static void find_taps(const gopt_window *w, const int64_t *o, gopt_pool_window *p, int64_t *tap)
{
    int64_t lo[GOPT_WINDOW_MAX], count[GOPT_WINDOW_MAX], k[GOPT_WINDOW_MAX] = {0};
    p->n = 0;
    p->padded = 1;
    for (int a = 0; a < w->n; a++) {
        int64_t hi;
        gopt_window_taps(w, a, o[a], &lo[a], &hi);
        count[a] = hi - lo[a];
        p->padded *= gopt_window_padded_taps(w, a, o[a]);
    }
    if (gopt_ref_count(count, w->n) == 0)
        return;
    do {
        int64_t at = 0;
        for (int a = 0; a < w->n; a++)
            at = at * w->in[a] + o[a] * w->stride[a] - w->pad[a] + (lo[a] + k[a]) * w->dilation[a];
        tap[p->n++] = at;
    } while (gopt_ref_next(k, count, w->n));
}

gopt_status gopt_pool_each(gopt_exec *x, const gopt_window *w,
                           void (*fn)(void *ctx, int64_t plane, const gopt_pool_window *p), void *ctx, gopt_err *e)
{
    const gopt_tensor *in = x->in[0];
    int64_t planes = in->dim[0] * in->dim[1], windows = gopt_ref_count(w->out, w->n), most = 1;
    int64_t o[GOPT_WINDOW_MAX] = {0};
    for (int a = 0; a < w->n; a++)
        most *= GOPT_MIN(w->kernel[a], w->in[a]);
    if (planes == 0)
        return GOPT_OK;
    int64_t *tap = GOPT_NEW(x->scratch, int64_t, most);
    if (!tap)
        return gopt_oom(e);
    gopt_pool_window p = {.tap = tap};
    for (; p.out < windows; p.out++, gopt_ref_next(o, w->out, w->n)) {
        find_taps(w, o, &p, tap);
        for (int64_t plane = 0; plane < planes; plane++)
            fn(ctx, plane, &p);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

gopt_status gopt_pool_global_infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_infer_float(x, 2, e));
    for (int d = 2; gopt_ref_ranked(x, 0) && d < x->in[0].rank; d++)
        x->out[0].dim[d] = gopt_dim_of(1);
    return GOPT_OK;
}

gopt_status gopt_pool_global_run(gopt_exec *x, double (*fn)(gopt_attrs a, const double *v, int64_t n), gopt_err *e)
{
    double *in, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    int64_t planes = gopt_tensor_count(x->out[0]), size = gopt_ref_count(x->in[0]->dim + 2, x->in[0]->rank - 2);
    GOPT_TRY(gopt_ref_buffer(x, planes, &out, e));
    for (int64_t p = 0; p < planes; p++)
        out[p] = fn(x->attrs, in + p * size, size);
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}
