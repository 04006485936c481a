/* gopt_conv_nhwc.c: gopt ConvNhwc: Conv without groups of an image whose channels lie innermost: X [N, D..., C], W
 * [M, C, K...] as Conv has it, optional B [M], result [N, D'..., M]. Made by passes. */
#include <string.h>

#include "ref/channels_last.h"
#include "ref/convolution.h"

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, 0, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 1, e));
    GOPT_TRY(gopt_ref_same_type(x, 0, 2, e));
    if (!gopt_ref_ranked(x, 0) || !gopt_ref_ranked(x, 1) || x->in[0].rank < 3 || x->in[1].rank != x->in[0].rank)
        return gopt_fail(e, GOPT_EINPUT, "X and W of one rank of 3 or more expected");
    int rank = x->in[0].rank;
    GOPT_TRY(gopt_ref_vector(x, 2, x->in[1].dim[0], "B", e));
    gopt_fact as_conv[2] = {{0}, x->in[1]};
    gopt_channels_first(&as_conv[0], &x->in[0], 0, rank - 1);
    gopt_infer conv = *x;
    conv.in = as_conv;
    conv.n_in = 2;
    GOPT_TRY(gopt_conv_infer(&conv, 0, 1, x->in[0].dtype, e));
    gopt_channels_last(&x->out[0]);
    return GOPT_OK;
}

static void bind(gopt_exec *x, gopt_window *w)
{
    memcpy(w->kernel, x->in[1]->dim + 2, (size_t)w->n * sizeof *w->kernel);
    gopt_window_bind(w, x->in[0]->dim + 1);
}

static void add_pixel(const double *x, const double *weight, int64_t channels, int64_t filters, double *y)
{
    for (int64_t c = 0; c < channels; c++, weight += filters)
        for (int64_t m = 0; m < filters; m++)
            y[m] += x[c] * weight[m];
}

/* [filter][channel][tap] to [tap][channel][filter]. */
static void turn(const double *src, int64_t filters, int64_t channels, int64_t taps, double *dst)
{
    for (int64_t m = 0; m < filters; m++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t k = 0; k < taps; k++)
                dst[(k * channels + c) * filters + m] = *src++;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *given, *weight, *bias, *y;
    gopt_window w;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_window_read(&w, x->attrs, x->in[0]->rank - 2, e));
    bind(x, &w);
    GOPT_TRY(gopt_ref_load(x, 0, &in, e));
    GOPT_TRY(gopt_ref_load(x, 1, &given, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->in[1]), &weight, e));
    GOPT_TRY(gopt_ref_load(x, 2, &bias, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &y, e));
    int64_t pixels = gopt_ref_count(w.out, w.n), cells = gopt_ref_count(w.in, w.n),
            taps = gopt_ref_count(w.kernel, w.n);
    int64_t channels = x->in[0]->dim[w.n + 1], filters = x->in[1]->dim[0];
    double *to = y;
    turn(given, filters, channels, taps, weight);
    for (int64_t i = 0; i < x->in[0]->dim[0] * pixels; i++, to += filters) {
        const double *image = in + i / pixels * cells * channels;
        for (int64_t m = 0; bias && m < filters; m++)
            to[m] = bias[m];
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t at = gopt_channels_last_cell(&w, i % pixels, tap);
            if (at >= 0)
                add_pixel(image + at * channels, weight + tap * channels * filters, channels, filters, to);
        }
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, y);
    return GOPT_OK;
}

const gopt_op gopt_op_gopt_ConvNhwc = {.name = "ConvNhwc",
                                       .domain = "gopt",
                                       .in_min = 2,
                                       .in_max = 3,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .traits = GOPT_TRAIT_HEAVY,
                                       .infer = infer,
                                       .run = run};
