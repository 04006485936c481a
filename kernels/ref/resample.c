/* resample.c: coordinates and weights of Resize along one axis. Interpolation is separable, so one axis is all. */
#include "ref/resample.h"

#include <math.h>
#include <string.h>

static gopt_status choose(gopt_attrs a, const char *attribute, const char *const *names, int n, int fallback, int *out,
                          gopt_err *e)
{
    const char *s = gopt_attr_string(a, attribute, names[fallback]);
    for (*out = 0; *out < n; ++*out)
        if (!strcmp(s, names[*out]))
            return GOPT_OK;
    return gopt_fail(e, GOPT_EINPUT, "attribute %s: unknown value \"%s\"", attribute, s);
}

gopt_status gopt_resample_read(gopt_resample *r, gopt_attrs a, gopt_err *e)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coords[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners", "asymmetric",           "tf_crop_and_resize"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    int mode, coord, round;
    GOPT_TRY(choose(a, "mode", modes, GOPT_COUNT(modes), GOPT_RESAMPLE_NEAREST, &mode, e));
    GOPT_TRY(choose(a, "coordinate_transformation_mode", coords, GOPT_COUNT(coords), 0, &coord, e));
    GOPT_TRY(choose(a, "nearest_mode", rounds, GOPT_COUNT(rounds), 0, &round, e));
    *r = (gopt_resample){.mode = (gopt_resample_mode)mode,
                         .coord = (gopt_resample_coord)coord,
                         .round = (gopt_resample_round)round,
                         .antialias = gopt_attr_int(a, "antialias", 0) != 0,
                         .exclude_outside = gopt_attr_int(a, "exclude_outside", 0) != 0,
                         .cubic_a = gopt_attr_float(a, "cubic_coeff_a", -0.75),
                         .extrapolation = gopt_attr_float(a, "extrapolation_value", 0)};
    if (r->antialias && r->mode == GOPT_RESAMPLE_NEAREST)
        return gopt_fail(e, GOPT_EINPUT, "attribute antialias goes with linear and cubic modes only");
    return GOPT_OK;
}

/* The place of output cell j in the input. */
static double locate(const gopt_resample *r, const gopt_resample_axis *x, double j)
{
    double last = (double)(x->in - 1), width = x->scale * (double)x->in; /* the output's, before it is rounded down */
    switch (r->coord) {
    case GOPT_COORD_ALIGN_CORNERS:
        return width == 1 ? 0 : j * last / (width - 1);
    case GOPT_COORD_ASYMMETRIC:
        return j / x->scale;
    case GOPT_COORD_TF_CROP_AND_RESIZE:
        if (x->out == 1)
            return 0.5 * (x->start + x->end) * last;
        return x->start * last + j * (x->end - x->start) * last / (double)(x->out - 1);
    case GOPT_COORD_PYTORCH_HALF_PIXEL:
        return x->out == 1 ? 0 : (j + 0.5) / x->scale - 0.5;
    case GOPT_COORD_HALF_PIXEL_SYMMETRIC:
        return (double)x->in / 2 * (1 - (double)x->out / width) + (j + 0.5) / x->scale - 0.5;
    case GOPT_COORD_HALF_PIXEL:
        break;
    }
    return (j + 0.5) / x->scale - 0.5;
}

static double cubic(double a, double d)
{
    d = fabs(d);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static double linear(double d)
{
    return fmax(0, 1 - fabs(d));
}

static bool takes_ceil(gopt_resample_round round, double fraction)
{
    switch (round) {
    case GOPT_NEAREST_PREFER_FLOOR:
        return fraction > 0.5;
    case GOPT_NEAREST_PREFER_CEIL:
        return fraction >= 0.5;
    case GOPT_NEAREST_CEIL:
        return fraction > 0;
    case GOPT_NEAREST_FLOOR:
        break;
    }
    return false;
}

/* An antialiasing filter is stretched when it shrinks the input, by this factor's inverse. */
static double stretch(const gopt_resample *r, const gopt_resample_axis *x)
{
    return r->antialias ? fmin(x->scale, 1) : 1;
}

static void weigh(const gopt_resample *r, const gopt_resample_axis *x, int64_t j, double fraction)
{
    double *w = x->weight + j * x->taps, sum = 0, s = stretch(r, x);
    int64_t before = x->taps / 2 - 1;
    for (int64_t t = 0; t < x->taps; t++) {
        double d = ((double)(t - before) - fraction) * s;
        int64_t cell = x->first[j] + t;
        w[t] = r->mode == GOPT_RESAMPLE_CUBIC ? cubic(r->cubic_a, d) : linear(d);
        if (r->exclude_outside && (cell < 0 || cell >= x->in))
            w[t] = 0;
        sum += w[t];
    }
    for (int64_t t = 0; t < x->taps && (r->antialias || r->exclude_outside) && sum != 0; t++)
        w[t] /= sum;
}

gopt_status gopt_resample_plan(const gopt_resample *r, gopt_resample_axis *x, gopt_arena *arena, gopt_err *e)
{
    double reach = r->mode == GOPT_RESAMPLE_CUBIC ? 2 : 1;
    x->taps = r->mode == GOPT_RESAMPLE_NEAREST ? 1 : 2 * (int64_t)ceil(reach / stretch(r, x));
    x->first = GOPT_NEW(arena, int64_t, x->out);
    x->weight = GOPT_NEW(arena, double, x->out * x->taps);
    x->outside = GOPT_NEW(arena, bool, x->out);
    if (arena->failed)
        return gopt_oom(e);
    for (int64_t j = 0; j < x->out; j++) {
        double at = locate(r, x, (double)j);
        x->outside[j] = r->coord == GOPT_COORD_TF_CROP_AND_RESIZE && !(at >= 0 && at <= (double)(x->in - 1));
        at = fmin(fmax(at, -1 - (double)x->in), 2 * (double)x->in); /* keeps the conversion to integers defined */
        double cell = floor(at);
        if (r->mode == GOPT_RESAMPLE_NEAREST) {
            x->first[j] = (int64_t)cell + takes_ceil(r->round, at - cell);
            x->weight[j] = 1;
        } else {
            x->first[j] = (int64_t)cell - x->taps / 2 + 1;
            weigh(r, x, j, at - cell);
        }
    }
    return GOPT_OK;
}

int64_t gopt_resample_cell(const gopt_resample_axis *axis, int64_t j, int64_t t)
{
    int64_t cell = axis->first[j] + t;
    return cell < 0 ? 0 : cell >= axis->in ? axis->in - 1 : cell;
}
