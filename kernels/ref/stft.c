/* stft.c: STFT: transforms of windowed frames of a signal. */
#include "ref/fourier.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

static gopt_status read_number(gopt_infer *x, int i, const char *name, gopt_dim *v, gopt_err *e)
{
    int64_t n;
    const gopt_dim *ints = gopt_infer_ints(x, i, &n);
    *v = ints && n == 1 ? ints[0] : GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(*v) && (v->k < 1 || v->k > INT32_MAX))
        return gopt_fail(e, GOPT_EINPUT, "input %s: %lld, 1 or more expected", name, (long long)v->k);
    return GOPT_OK;
}

static gopt_status check(gopt_infer *x, gopt_err *e)
{
    GOPT_TRY(gopt_ref_type(x, SIGNAL, GOPT_REF_FLOAT, "signal", e));
    GOPT_TRY(gopt_ref_same_type(x, SIGNAL, WINDOW, e));
    GOPT_TRY(gopt_ref_type(x, STEP, GOPT_REF_INDEX, "frame_step", e));
    GOPT_TRY(gopt_ref_type(x, LENGTH, GOPT_REF_INDEX, "frame_length", e));
    GOPT_TRY(gopt_ref_scalar(x, STEP, "frame_step", e));
    GOPT_TRY(gopt_ref_scalar(x, LENGTH, "frame_length", e));
    GOPT_TRY(gopt_ref_rank(x, SIGNAL, 3, 3, "signal", e));
    return gopt_ref_rank(x, WINDOW, 1, 1, "window", e);
}

/* The length of a frame: as given, or the window's, or the whole signal. */
static gopt_status frame_length(gopt_infer *x, gopt_dim *length, gopt_err *e)
{
    *length = gopt_ref_ranked(x, SIGNAL) ? x->in[SIGNAL].dim[1] : GOPT_DIM_UNKNOWN;
    if (gopt_infer_has(x, LENGTH))
        GOPT_TRY(read_number(x, LENGTH, "frame_length", length, e));
    else if (gopt_infer_has(x, WINDOW))
        *length = gopt_ref_ranked(x, WINDOW) ? x->in[WINDOW].dim[0] : GOPT_DIM_UNKNOWN;
    return gopt_ref_vector(x, WINDOW, *length, "window", e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    gopt_dim step, length, one = gopt_dim_of(1);
    GOPT_TRY(check(x, e));
    gopt_ref_infer_type(x, 0, x->in[SIGNAL].dtype);
    if (!gopt_ref_ranked(x, SIGNAL))
        return GOPT_OK;
    const gopt_dim *dim = x->in[SIGNAL].dim;
    if (gopt_dim_is_const(dim[2]) && dim[2].k != 1 && dim[2].k != 2)
        return gopt_fail(e, GOPT_EINPUT, "the last axis has %lld elements, 1 or 2 expected", (long long)dim[2].k);
    GOPT_TRY(read_number(x, STEP, "frame_step", &step, e));
    GOPT_TRY(frame_length(x, &length, e));
    if (gopt_dim_is_const(length) && (length.k < 1 || (gopt_dim_is_const(dim[1]) && length.k > dim[1].k)))
        return gopt_fail(e, GOPT_EINPUT, "frames of %lld do not fit into a signal of %lld", (long long)length.k,
                         (long long)dim[1].k);
    gopt_dim frames = gopt_dim_add(x->dims, gopt_dim_div(x->dims, gopt_dim_sub(x->dims, dim[1], length), step), one);
    gopt_dim bins = length;
    if (gopt_attr_int(x->attrs, "onesided", 1))
        bins = gopt_dim_add(x->dims, gopt_dim_div(x->dims, length, gopt_dim_of(2)), one);
    gopt_infer_set(x, 0, x->in[SIGNAL].dtype, 4, (gopt_dim[]){dim[0], frames, bins, gopt_dim_of(2)});
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *window, *v, *out;
    gopt_fourier f;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *signal = x->in[SIGNAL], *given = gopt_ref_in(x, LENGTH), *w = gopt_ref_in(x, WINDOW);
    int64_t n = given ? gopt_tensor_get_int(given, 0) : w ? w->dim[0] : signal->dim[1], parts = signal->dim[2];
    int64_t step = gopt_tensor_get_int(x->in[STEP], 0), frames = x->out[0]->dim[1], bins = x->out[0]->dim[2];
    GOPT_TRY(gopt_ref_load(x, SIGNAL, &in, e));
    GOPT_TRY(gopt_ref_load(x, WINDOW, &window, e));
    GOPT_TRY(gopt_fourier_plan(x, n, false, &f, e));
    GOPT_TRY(gopt_ref_buffer(x, 2 * n, &v, e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &out, e));
    for (int64_t i = 0; i < signal->dim[0] * frames; i++) {
        const double *from = in + (i / frames * signal->dim[1] + i % frames * step) * parts;
        for (int64_t k = 0; k < n; k++) {
            v[2 * k] = from[k * parts] * (window ? window[k] : 1);
            v[2 * k + 1] = parts == 2 ? from[k * parts + 1] * (window ? window[k] : 1) : 0;
        }
        GOPT_TRY(gopt_fourier_run(x, &f, v, e));
        for (int64_t k = 0; k < 2 * bins; k++)
            out[i * 2 * bins + k] = v[k];
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_STFT = {
    .name = "STFT", .domain = "", .in_min = 2, .in_max = 4, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
