/* grid_sample.c: GridSample over any number of spatial axes: interpolation is a product of one-axis weights. */
#include <math.h>
#include <string.h>

#include "ref/operand.h"

enum { X, GRID };
enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct options {
    int mode, padding;
    bool align;
} options;

static gopt_status choose(const char *s, const char *attribute, const char *const *names, int n, int *out, gopt_err *e)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(s, names[i])) {
            *out = i % 3;
            return GOPT_OK;
        }
    return gopt_fail(e, GOPT_EINPUT, "attribute %s: unknown value \"%s\"", attribute, s);
}

static gopt_status read_options(gopt_attrs a, options *o, gopt_err *e)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", "nearest", "bilinear", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    o->align = gopt_attr_int(a, "align_corners", 0) != 0;
    GOPT_TRY(choose(gopt_attr_string(a, "mode", "linear"), "mode", modes, GOPT_COUNT(modes), &o->mode, e));
    return choose(gopt_attr_string(a, "padding_mode", "zeros"), "padding_mode", paddings, GOPT_COUNT(paddings),
                  &o->padding, e);
}

static gopt_status infer(gopt_infer *x, gopt_err *e)
{
    const gopt_fact *in = &x->in[X], *grid = &x->in[GRID];
    options o;
    GOPT_TRY(read_options(x->attrs, &o, e));
    GOPT_TRY(gopt_ref_type(x, X, GOPT_REF_REAL | GOPT_REF_BOOL, "X", e));
    GOPT_TRY(gopt_ref_type(x, GRID, GOPT_REF_FLOAT, "grid", e));
    GOPT_TRY(gopt_ref_rank(x, X, 3, GOPT_RANK_MAX, "X", e));
    gopt_ref_infer_type(x, 0, in->dtype);
    if (!gopt_ref_ranked(x, X))
        return GOPT_OK;
    GOPT_TRY(gopt_ref_rank(x, GRID, in->rank, in->rank, "grid", e));
    gopt_dim dim[GOPT_RANK_MAX] = {in->dim[0], in->dim[1]};
    for (int d = 2; d < in->rank; d++)
        dim[d] = gopt_ref_ranked(x, GRID) ? grid->dim[d - 1] : GOPT_DIM_UNKNOWN;
    if (gopt_ref_ranked(x, GRID)) {
        GOPT_TRY(gopt_ref_equal(in->dim[0], grid->dim[0], "batch sizes of X and grid", e));
        GOPT_TRY(gopt_ref_equal(grid->dim[in->rank - 1], gopt_dim_of(in->rank - 2), "coordinates of the grid", e));
    }
    gopt_infer_set(x, 0, in->dtype, in->rank, dim);
    return GOPT_OK;
}

/* One axis of one sample: cells (-1: zero) and their weights. */
typedef struct taps {
    int64_t n, cell[4];
    double weight[4];
} taps;

static double reflect(double v, double lo, double hi)
{
    double range = hi - lo;
    if (range <= 0)
        return lo;
    double r = fmod(fabs(v - lo), 2 * range);
    return r > range ? hi - (r - range) : lo + r;
}

static double clamp(double v, double lo, double hi)
{
    return v > hi ? hi : v >= lo ? v : lo; /* NaN goes to lo */
}

static int64_t cell_at(const options *o, double v, int64_t size)
{
    double last = (double)(size - 1), lo = o->align ? 0 : -0.5;
    if (o->padding == ZEROS)
        return v >= 0 && v <= last ? (int64_t)v : -1;
    if (o->padding == REFLECTION && (v < 0 || v > last))
        v = trunc(reflect(v, lo, last - lo));
    return (int64_t)clamp(v, 0, last);
}

static double cubic_weight(double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* The normalized coordinate as a place among the cells, brought inside as the padding mode says. */
static double locate(const options *o, double v, int64_t size)
{
    double n = (double)size, lo = o->align ? 0 : -0.5, hi = n - 1 - lo;
    double at = o->align ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
    at = (float)at; /* as every other runtime does: roundings depend on it */
    if (o->mode == NEAREST)
        at = rint(at);
    if (o->padding == BORDER && !(at >= lo && at <= hi))
        at = clamp(at, 0, n - 1);
    if (o->padding == REFLECTION && !(at >= lo && at <= hi))
        at = reflect(at, lo, hi);
    return at;
}

static taps find_taps(const options *o, double v, int64_t size)
{
    static const int64_t counts[] = {1, 2, 4};
    double at = locate(o, v, size), base = o->mode == NEAREST ? at : floor(at);
    taps t = {.n = counts[o->mode]};
    for (int64_t k = 0; k < t.n; k++) {
        double cell = base + (double)(o->mode == CUBIC ? k - 1 : k), d = at - cell;
        t.cell[k] = cell_at(o, cell, size);
        t.weight[k] = o->mode == NEAREST ? 1 : o->mode == LINEAR ? 1 - fabs(d) : cubic_weight(d);
    }
    return t;
}

/* Offsets and weights of all cells that make up one sample; returns their number. */
static int64_t combine(const taps *t, const int64_t *dim, int n, int64_t *offset, double *weight)
{
    int64_t k[GOPT_RANK_MAX] = {0}, counts[GOPT_RANK_MAX], count = 0;
    for (int a = 0; a < n; a++)
        counts[a] = t[a].n;
    do {
        int64_t at = 0;
        double w = 1;
        for (int a = 0; a < n; a++) {
            int64_t cell = t[a].cell[k[a]];
            w *= cell < 0 ? 0 : t[a].weight[k[a]];
            at = at * dim[a] + GOPT_MAX(cell, 0);
        }
        offset[count] = at;
        weight[count++] = w;
    } while (gopt_ref_next(k, counts, n));
    return count;
}

typedef struct job {
    options o;
    int n; /* spatial axes */
    const double *in, *grid;
    double *out, *weight;
    int64_t *offset, in_size, out_size;
} job;

/* All channels of sample s of image b. */
static void sample(const gopt_tensor *t, const job *j, int64_t b, int64_t s)
{
    taps axes[GOPT_RANK_MAX];
    const double *place = j->grid + (b * j->out_size + s) * j->n;
    for (int a = 0; a < j->n; a++) /* coordinates come innermost axis first */
        axes[a] = find_taps(&j->o, place[j->n - 1 - a], t->dim[2 + a]);
    int64_t cells = combine(axes, t->dim + 2, j->n, j->offset, j->weight);
    for (int64_t c = b * t->dim[1]; c < (b + 1) * t->dim[1]; c++) {
        double sum = 0;
        for (int64_t k = 0; k < cells; k++)
            if (j->weight[k] != 0)
                sum += j->weight[k] * j->in[c * j->in_size + j->offset[k]];
        j->out[c * j->out_size + s] = sum;
    }
}

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    double *in, *grid;
    GOPT_TRY(gopt_ref_begin(x, e));
    const gopt_tensor *t = x->in[X];
    job j = {.n = t->rank - 2, .in_size = gopt_ref_count(t->dim + 2, t->rank - 2)};
    int64_t count = gopt_tensor_count(x->out[0]), most = (int64_t)1 << 2 * j.n;
    if (count == 0)
        return GOPT_OK;
    if (j.in_size == 0)
        return gopt_fail(e, GOPT_EINPUT, "an empty image cannot be sampled");
    GOPT_TRY(read_options(x->attrs, &j.o, e));
    GOPT_TRY(gopt_ref_load(x, X, &in, e));
    GOPT_TRY(gopt_ref_load(x, GRID, &grid, e));
    GOPT_TRY(gopt_ref_buffer(x, count, &j.out, e));
    GOPT_TRY(gopt_ref_buffer(x, most, &j.weight, e));
    if (!(j.offset = GOPT_NEW(x->scratch, int64_t, most)))
        return gopt_oom(e);
    j.in = in;
    j.grid = grid;
    j.out_size = gopt_ref_count(x->out[0]->dim + 2, j.n);
    for (int64_t i = 0; i < t->dim[0] * j.out_size; i++) {
        sample(t, &j, i / j.out_size, i % j.out_size);
        if ((i & 1023) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    gopt_ref_store(x, 0, j.out);
    return GOPT_OK;
}

const gopt_op gopt_op_GridSample = {.name = "GridSample",
                                    .domain = "",
                                    .in_min = 2,
                                    .in_max = 2,
                                    .out_min = 1,
                                    .out_max = 1,
                                    .infer = infer,
                                    .run = run};
