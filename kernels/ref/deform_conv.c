/* deform_conv.c: DeformConv on images: a convolution whose taps are moved by offsets and weighted by a mask. */
#include <math.h>

#include "ref/convolution.h"

enum { X, W, OFFSET, B, MASK };

static gopt_status read_groups(gopt_attrs a, int64_t *groups, gopt_err *e)
{
    *groups = gopt_attr_int(a, "offset_group", 1);
    if (*groups < 1 || *groups > INT32_MAX)
        return gopt_fail(e, GOPT_EINPUT, "attribute offset_group: %lld, 1 or more expected", (long long)*groups);
    return GOPT_OK;
}

/* Input i, one plane for each offset group and tap times `each`, over the output's positions. */
static gopt_status check_planes(const gopt_infer *x, int i, const char *name, int64_t each, gopt_err *e)
{
    if (!gopt_ref_ranked(x, i) || !gopt_ref_ranked(x, W) || x->out[0].rank != 4)
        return GOPT_OK;
    gopt_dim taps = gopt_ref_product(x->dims, x->in[W].dim + 2, 2);
    gopt_dim planes = gopt_dim_mul(x->dims, taps, gopt_dim_of(each));
    gopt_dim want[4] = {x->in[X].dim[0], planes, x->out[0].dim[2], x->out[0].dim[3]};
    for (int d = 0; d < 4; d++) {
        gopt_status s = gopt_ref_equal(x->in[i].dim[d], want[d], "shape", e);
        if (s)
            return gopt_within(e, s, "input %s, axis %d", name, d);
    }
    return GOPT_OK;
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    static const char *const names[] = {"X", "W", "offset", "B", "mask"};
    int64_t groups;
    GOPT_TRY(read_groups(x->attrs, &groups, e));
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_FLOAT, "X", e));
    for (int i = W; i <= MASK; i++) {
        GOPT_TRY(gopt_ref_same_type(x, X, i, e));
        GOPT_TRY(gopt_ref_rank(x, i, i == B ? 1 : 4, i == B ? 1 : 4, names[i], e));
    }
    GOPT_TRY(gopt_ref_rank(x, X, 4, 4, "X", e));
    if (gopt_ref_ranked(x, W))
        GOPT_TRY(gopt_ref_vector(x, B, x->in[W].dim[0], "B", e));
    GOPT_TRY(gopt_conv_infer(x, X, W, x->in[X].dtype, e));
    if (gopt_ref_ranked(x, X) && gopt_dim_is_const(x->in[X].dim[1]) && x->in[X].dim[1].k % groups)
        return gopt_fail(e, GOPT_EINPUT, "%lld channels do not divide into %lld offset groups",
                         (long long)x->in[X].dim[1].k, (long long)groups);
    GOPT_TRY(check_planes(x, OFFSET, "offset", 2 * groups, e));
    return check_planes(x, MASK, "mask", groups, e);
}

/* The plane at (y, x), interpolated; cells outside are zero. */
static double sample(const double *plane, int64_t height, int64_t width, double y, double x)
{
    double sum = 0;
    if (!(y > -1 && y < (double)height && x > -1 && x < (double)width))
        return 0;
    int64_t top = (int64_t)floor(y), left = (int64_t)floor(x);
    for (int k = 0; k < 4; k++) {
        int64_t r = top + (k >> 1), c = left + (k & 1);
        if (r >= 0 && r < height && c >= 0 && c < width)
            sum += (1 - fabs(y - (double)r)) * (1 - fabs(x - (double)c)) * plane[r * width + c];
    }
    return sum;
}

typedef struct job {
    gopt_conv c;
    int64_t offset_groups, taps, size; /* size: positions of the output */
    const double *in, *weight, *offset, *mask;
} job;

/* What tap k sees of channel ch of image n for position o, weighted by the mask. */
static double tap(const job *j, int64_t n, int64_t ch, int64_t k, int64_t o)
{
    const gopt_window *w = &j->c.w;
    int64_t group = n * j->offset_groups + ch / (j->c.channels / j->offset_groups), at = group * j->taps + k;
    double y = (double)(o / w->out[1] * w->stride[0] - w->pad[0] + k / w->kernel[1] * w->dilation[0]);
    double x = (double)(o % w->out[1] * w->stride[1] - w->pad[1] + k % w->kernel[1] * w->dilation[1]);
    y += j->offset[2 * at * j->size + o];
    x += j->offset[(2 * at + 1) * j->size + o];
    const double *plane = j->in + (n * j->c.channels + ch) * w->in[0] * w->in[1];
    return sample(plane, w->in[0], w->in[1], y, x) * (j->mask ? j->mask[at * j->size + o] : 1);
}

/* All filters at one position of one image. */
static void run_position(const job *j, int64_t n, int64_t o, const double *bias, double *out)
{
    int64_t channels = j->c.channels / j->c.groups, filters = j->c.filters / j->c.groups;
    for (int64_t m = 0; m < j->c.filters; m++)
        out[(n * j->c.filters + m) * j->size + o] = bias ? bias[m] : 0;
    for (int64_t ch = 0; ch < j->c.channels; ch++)
        for (int64_t k = 0; k < j->taps; k++) {
            double v = tap(j, n, ch, k, o);
            int64_t first = ch / channels * filters;
            for (int64_t m = first; m < first + filters; m++)
                out[(n * j->c.filters + m) * j->size + o] +=
                    v * j->weight[(m * channels + ch % channels) * j->taps + k];
        }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    job j;
    double *v[5], *out;
    GOPT_TRY(gopt_ref_begin(x, e));
    GOPT_TRY(gopt_conv_bind(x, X, W, &j.c, e));
    GOPT_TRY(read_groups(x->attrs, &j.offset_groups, e));
    for (int i = X; i <= MASK; i++)
        GOPT_TRY(gopt_ref_load(x, i, &v[i], e));
    GOPT_TRY(gopt_ref_buffer(x, gopt_tensor_count(x->out[0]), &out, e));
    j.in = v[X];
    j.weight = v[W];
    j.offset = v[OFFSET];
    j.mask = v[MASK];
    j.taps = gopt_ref_count(j.c.w.kernel, j.c.w.n);
    j.size = gopt_ref_count(j.c.w.out, j.c.w.n);
    for (int64_t i = 0; i < j.c.batch * j.size; i++) {
        run_position(&j, i / j.size, i % j.size, v[B], out);
        GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, out);
    return GOPT_OK;
}

const gopt_op gopt_op_DeformConv = {.name = "DeformConv",
                                    .domain = "",
                                    .in_min = 3,
                                    .in_max = 5,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .traits = GOPT_TRAIT_HEAVY,
                                    .infer = infer,
                                    .run = run};
