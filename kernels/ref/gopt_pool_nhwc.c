/* gopt_pool_nhwc.c: gopt PoolNhwc: MaxPool (attribute mode "max") or AveragePool ("average") of images whose channels
 * lie innermost, [N, D..., C]. What lies outside the image does not count. Made by passes. */
#include <math.h>
#include <string.h>

#include "ref/channels_last.h"
#include "ref/pool.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    if (!gopt_ref_ranked(x, 0) || x->in[0].rank < 3)
        return gopt_fail(e, GOPT_EINPUT, "X of a rank of 3 or more expected");
    gopt_fact image;
    gopt_channels_first(&image, &x->in[0], 0, x->in[0].rank - 1);
    gopt_infer pool = *x;
    pool.in = &image;
    GOPT_TRY(gopt_pool_infer(&pool, e));
    if (x->out[0].rank > 2)
        gopt_channels_last(&x->out[0]);
    return GOPT_OK;
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

typedef struct pooling {
    gopt_window w;
    int64_t channels, taps;
    bool max;
} pooling;

static void pool_pixel(const pooling *p, const double *image, int64_t at, double *y)
{
    int64_t inside = 0;
    for (int64_t c = 0; c < p->channels; c++)
        y[c] = p->max ? -INFINITY : 0;
    for (int64_t tap = 0; tap < p->taps; tap++) {
        int64_t cell = gopt_channels_last_cell(&p->w, at, tap);
        inside += cell >= 0;
        for (int64_t c = 0; cell >= 0 && c < p->channels; c++) {
            double x = image[cell * p->channels + c];
            y[c] = p->max ? larger(x, y[c]) : y[c] + x;
        }
    }
    for (int64_t c = 0; !p->max && c < p->channels; c++)
        y[c] /= (double)inside;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *y;
    pooling p;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_window_read(&p.w, x->attrs, x->in[0]->rank - 2, e));
    gopt_window_bind(&p.w, x->in[0]->dim + 1);
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    p.channels = x->in[0]->dim[p.w.n + 1];
    p.taps = gopt_ref_count(p.w.kernel, p.w.n);
    p.max = !strcmp(gopt_attr_string(x->attrs, "mode", ""), "max");
    int64_t pixels = gopt_ref_count(p.w.out, p.w.n), cells = gopt_ref_count(p.w.in, p.w.n);
    for (int64_t i = 0; i < x->in[0]->dim[0] * pixels; i++) {
        pool_pixel(&p, in + i / pixels * cells * p.channels, i % pixels, y + i * p.channels);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_gopt_PoolNhwc = {.name = "PoolNhwc",
                                       .domain = "gopt",
                                       .in_min = 1,
                                       .in_max = 1,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .infer = infer,
                                       .run = run};
