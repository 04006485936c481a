/* mel_weight_matrix.c: MelWeightMatrix: triangles on the mel scale over the bins of a one-sided spectrum. */
#include <math.h>

#include "ref/operand.h"

enum { BANDS, LENGTH, RATE, LOW, HIGH };

static gopt_status read_number(gopt_infer *x, int i, const char *name, gopt_dim *v, gopt_err *e)
{
    int64_t n;
    GOPT_TRY(gopt_ref_type(x, i, GOPT_REF_INDEX, name, e));
    GOPT_TRY(gopt_ref_scalar(x, i, name, e));
    const gopt_dim *ints = gopt_infer_ints(x, i, &n);
    *v = ints && n == 1 ? ints[0] : GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(*v) && (v->k < 1 || v->k > INT32_MAX))
        return gopt_fail(e, GOPT_EINPUT, "input %s: %lld, 1 or more expected", name, (long long)v->k);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t type = gopt_attr_int(x->attrs, "output_datatype", GOPT_DTYPE_F32);
    gopt_fact made = {.dtype = type > 0 && type < GOPT_DTYPE_COUNT ? (gopt_dtype)type : GOPT_DTYPE_STRING};
    gopt_infer out = {.n_in = 1, .in = &made};
    gopt_dim bands, length, rate;
    GOPT_TRY(gopt_ref_type(&out, 0, GOPT_REF_REAL, "output_datatype", e));
    GOPT_TRY(read_number(x, BANDS, "num_mel_bins", &bands, e));
    GOPT_TRY(read_number(x, LENGTH, "dft_length", &length, e));
    GOPT_TRY(read_number(x, RATE, "sample_rate", &rate, e));
    GOPT_TRY(gopt_ref_type(x, LOW, GOPT_REF_FLOAT, "lower_edge_hertz", e));
    GOPT_TRY(gopt_ref_type(x, HIGH, GOPT_REF_FLOAT, "upper_edge_hertz", e));
    GOPT_TRY(gopt_ref_scalar(x, LOW, "lower_edge_hertz", e));
    GOPT_TRY(gopt_ref_scalar(x, HIGH, "upper_edge_hertz", e));
    gopt_dim bins = gopt_dim_add(x->dims, gopt_dim_div(x->dims, length, gopt_dim_of(2)), gopt_dim_of(1));
    gopt_infer_set(x, 0, made.dtype, 2, (gopt_dim[]){bins, bands});
    return GOPT_OK;
}

static double mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The spectrum's bin at edge i of the triangles. */
static gopt_status edge(const gopt_exec *x, int64_t i, int64_t *bin, gopt_err *e)
{
    const int64_t *dim = x->out[0]->dim;
    double low = mel(gopt_ref_number(x, LOW, 0)), high = mel(gopt_ref_number(x, HIGH, 0));
    double step = (high - low) / (double)(dim[1] + 2), length = gopt_ref_number(x, LENGTH, 0);
    double hertz = 700 * (pow(10, (low + (double)i * step) / 2595) - 1);
    double at = floor((length + 1) * hertz / gopt_ref_number(x, RATE, 1));
    if (!(at >= 0 && at < (double)dim[0]))
        return gopt_fail(e, GOPT_EINPUT, "%g Hz lies outside the spectrum", hertz);
    *bin = (int64_t)at;
    return GOPT_OK;
}

static void draw(const int64_t *edges, int64_t bands, double *out)
{
    int64_t left = edges[0], center = edges[1], right = edges[2];
    if (left == center)
        out[center * bands] = 1;
    for (int64_t j = left; j <= center && left < center; j++)
        out[j * bands] = (double)(j - left) / (double)(center - left);
    for (int64_t j = center; j < right; j++)
        out[j * bands] = (double)(right - j) / (double)(right - center);
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    int64_t bands = x->out[0]->dim[1];
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &out, e));
    for (int64_t i = 0; i < bands; i++) {
        int64_t edges[3];
        for (int k = 0; k < 3; k++)
            GOPT_TRY(edge(x, i + k, &edges[k], e));
        draw(edges, bands, out + i);
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_MelWeightMatrix = {.name = "MelWeightMatrix",
                                         .domain = "",
                                         .in_min = 5,
                                         .in_max = 5,
                                         .out_min = 1,
                                         .out_max = 1,
                                         .infer = infer,
                                         .run = run};
