/* roi_align.c: RoiAlign: every bin of a region of interest is the average or maximum of interpolated samples. */
#include <math.h>
#include <string.h>

#include "ref/operand.h"

enum { X, ROIS, BATCH };
enum { SAMPLES_MAX = 1 << 12 }; /* of one bin along one axis: more means a broken region */

static gopt_status read_size(gopt_attrs a, const char *name, int64_t fallback, int64_t least, int64_t *v, gopt_err *e)
{
    *v = gopt_attr_int(a, name, fallback);
    if (*v < least || *v > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute %s: %lld, %lld or more expected", name, (long long)*v,
                         (long long)least);
    return GOPT_OK;
}

static gopt_status check_words(gopt_attrs a, gopt_err *e)
{
    const char *mode = gopt_attr_string(a, "mode", "avg");
    const char *coord = gopt_attr_string(a, "coordinate_transformation_mode", "half_pixel");
    if (strcmp(mode, "avg") && strcmp(mode, "max"))
        return gopt_fail(e, GOPT_EINPUT, "attribute mode: unknown value \"%s\"", mode);
    if (strcmp(coord, "half_pixel") && strcmp(coord, "output_half_pixel"))
        return gopt_fail(e, GOPT_EINPUT, "attribute coordinate_transformation_mode: unknown value \"%s\"", coord);
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    int64_t height, width, samples;
    GOPT_TRY(check_words(x->attrs, e));
    GOPT_TRY(read_size(x->attrs, "output_height", 1, 1, &height, e));
    GOPT_TRY(read_size(x->attrs, "output_width", 1, 1, &width, e));
    GOPT_TRY(read_size(x->attrs, "sampling_ratio", 0, 0, &samples, e));
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    GOPT_TRY(gopt_ref_same_type(x, X, ROIS, e));
    GOPT_TRY(gopt_ref_type(x, BATCH, GOPT_REF_INDEX, "batch_indices", e));
    GOPT_TRY(gopt_ref_rank(x, X, 4, 4, "X", e));
    GOPT_TRY(gopt_ref_rank(x, ROIS, 2, 2, "rois", e));
    GOPT_TRY(gopt_ref_rank(x, BATCH, 1, 1, "batch_indices", e));
    gopt_ref_infer_type(x, 0, x->in[X].dtype);
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    gopt_dim rois = gopt_ref_ranked(x, ROIS) ? x->in[ROIS].dim[0] : GOPT_DIM_UNKNOWN;
    if (gopt_ref_ranked(x, ROIS))
        GOPT_TRY(gopt_ref_equal(x->in[ROIS].dim[1], gopt_dim_of(4), "coordinates of a region", e));
    GOPT_TRY(gopt_ref_vector(x, BATCH, rois, "batch_indices", e));
    if (!gopt_dim_is_known(rois) && gopt_ref_ranked(x, BATCH))
        rois = x->in[BATCH].dim[0];
    gopt_infer_set(x, 0, x->in[X].dtype, 4,
                   (gopt_dim[]){rois, x->in[X].dim[1], gopt_dim_of(height), gopt_dim_of(width)});
    return GOPT_OK;
}

/* One axis of one region: bins of this size from `start` on, with `samples` in each. */
typedef struct axis {
    double start, bin;
    int64_t samples, size; /* size: cells of the image */
} axis;

static gopt_status make_axis(gopt_attrs a, double from, double to, int64_t bins, int64_t size, axis *out, gopt_err *e)
{
    double scale = gopt_attr_float(a, "spatial_scale", 1);
    bool half = !strcmp(gopt_attr_string(a, "coordinate_transformation_mode", "half_pixel"), "half_pixel");
    int64_t ratio = gopt_attr_int(a, "sampling_ratio", 0);
    double length = (to - from) * scale;
    if (!half)
        length = fmax(length, 1);
    double samples = ratio > 0 ? (double)ratio : ceil(length / (double)bins);
    if (!(samples <= SAMPLES_MAX))
        return gopt_fail(e, GOPT_EINPUT, "a region of interest from %g to %g takes too many samples", from, to);
    *out = (axis){.start = from * scale - (half ? 0.5 : 0),
                  .bin = length / (double)bins,
                  .samples = (int64_t)fmax(samples, 0),
                  .size = size};
    return GOPT_OK;
}

/* The two cells beside a sample, and the weight of the second; false when it lies outside the image. */
static bool find_cells(const axis *a, int64_t bin, int64_t sample, int64_t cell[2], double *weight)
{
    double at = a->start + (double)bin * a->bin + ((double)sample + 0.5) * a->bin / (double)a->samples;
    if (!(at >= -1 && at <= (double)a->size))
        return false;
    at = fmax(at, 0);
    cell[0] = (int64_t)at;
    if (cell[0] >= a->size - 1) {
        cell[0] = cell[1] = a->size - 1;
        *weight = 0;
        return true;
    }
    cell[1] = cell[0] + 1;
    *weight = at - (double)cell[0];
    return true;
}

/* The pooled value of one bin of one plane. The maximum is taken over weighted corners, as in every other runtime. */
static double pool(const double *plane, const axis *y, const axis *x, int64_t by, int64_t bx, bool max)
{
    double sum = 0, best = 0;
    for (int64_t i = 0; i < y->samples * x->samples; i++) {
        int64_t r[2] = {0}, c[2] = {0};
        double wy = 0, wx = 0, part[4] = {0};
        if (find_cells(y, by, i / x->samples, r, &wy) && find_cells(x, bx, i % x->samples, c, &wx))
            for (int k = 0; k < 4; k++)
                part[k] = (k >> 1 ? wy : 1 - wy) * (k & 1 ? wx : 1 - wx) * plane[r[k >> 1] * x->size + c[k & 1]];
        double most = fmax(fmax(part[0], part[1]), fmax(part[2], part[3]));
        best = i == 0 ? most : fmax(best, most);
        sum += part[0] + part[1] + part[2] + part[3];
    }
    return max ? best : sum / (double)GOPT_MAX(y->samples * x->samples, 1);
}

static gopt_status run_region(gopt_exec *x, int64_t n, const double *in, const double *roi, double *out, gopt_err *e)
{
    const int64_t *dim = x->in[X]->dim, *to = x->out[0]->dim;
    int64_t image = gopt_tensor_get_int(x->in[BATCH], n);
    bool max = !strcmp(gopt_attr_string(x->attrs, "mode", "avg"), "max");
    axis rows, columns;
    if (image < 0 || image >= dim[0])
        return gopt_fail(e, GOPT_EINPUT, "input batch_indices: %lld is outside [0, %lld)", (long long)image,
                         (long long)dim[0]);
    GOPT_TRY(make_axis(x->attrs, roi[1], roi[3], to[2], dim[2], &rows, e));
    GOPT_TRY(make_axis(x->attrs, roi[0], roi[2], to[3], dim[3], &columns, e));
    for (int64_t i = 0; i < to[1] * to[2] * to[3]; i++) {
        int64_t c = i / (to[2] * to[3]);
        const double *plane = in + (image * dim[1] + c) * dim[2] * dim[3];
        out[i] = pool(plane, &rows, &columns, i / to[3] % to[2], i % to[3], max);
        if ((i & 63) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *rois, *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_ref_load(x, X, &in, e));
    GOPT_TRY(gopt_ref_load(x, ROIS, &rois, e));
    const int64_t *to = x->out[0]->dim;
    int64_t count = gopt_tensor_count(x->out[0]), each = to[1] * to[2] * to[3];
    if (count > 0 && gopt_tensor_count(x->in[X]) == 0)
        return gopt_fail(e, GOPT_EINPUT, "an empty image has no regions");
    GOPT_TRY(gopt_ref_buffer(x, count, &out, e));
    for (int64_t n = 0; n < to[0] && count > 0; n++)
        GOPT_TRY(run_region(x, n, in, rois + 4 * n, out + n * each, e));
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_RoiAlign = {
    .name = "RoiAlign", .domain = "", .in_min = 3, .in_max = 3, .out_min = 1, .out_max = 1, .infer = infer, .run = run};
