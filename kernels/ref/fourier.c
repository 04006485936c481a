/* fourier.c: halving while the length is even, the definition for what remains. */
#include "ref/fourier.h"

#include <math.h>
#include <string.h>

gopt_status gopt_fourier_plan(gopt_exec *x, int64_t n, bool inverse, gopt_fourier *f, gopt_err *e)
{
    const double pi = 3.14159265358979323846;
    f->n = n;
    GOPT_TRY(gopt_ref_buffer(x, 2 * n, &f->root, e));
    GOPT_TRY(gopt_ref_buffer(x, 2 * n, &f->tmp, e));
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * pi * (double)k / (double)n;
        f->root[2 * k] = cos(angle);
        f->root[2 * k + 1] = inverse ? sin(angle) : -sin(angle);
    }
    return GOPT_OK;
}

/* sum of in[j * stride] exp(-2 pi i j k / n) for every k < n; roots lie `step` apart in the table. */
static gopt_status direct(const gopt_exec *x, const gopt_fourier *f, const double *in, int64_t stride, int64_t n,
                          double *out, gopt_err *e)
{
    int64_t step = f->n / n;
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0, at = 0; j < n; j++, at = at + k < n ? at + k : at + k - n) {
            const double *v = in + 2 * j * stride, *r = f->root + 2 * at * step;
            re += v[0] * r[0] - v[1] * r[1];
            im += v[0] * r[1] + v[1] * r[0];
        }
        out[2 * k] = re;
        out[2 * k + 1] = im;
        if ((k & 63) == 0)
            GOPT_TRY(gopt_ref_tick(x, e));
    }
    return GOPT_OK;
}

/* The depth is the number of times that n is even: below 63. */
static gopt_status transform(const gopt_exec *x, const gopt_fourier *f, const double *in, int64_t stride, int64_t n,
                             double *out, gopt_err *e)
{
    int64_t half = n / 2, step = f->n / n;
    if (n % 2 || n == 0)
        return direct(x, f, in, stride, n, out, e);
    GOPT_TRY(transform(x, f, in, 2 * stride, half, out, e));
    GOPT_TRY(transform(x, f, in + 2 * stride, 2 * stride, half, out + n, e));
    for (int64_t k = 0; k < half; k++) {
        double *a = out + 2 * k, *b = out + n + 2 * k;
        const double *r = f->root + 2 * k * step;
        double re = b[0] * r[0] - b[1] * r[1], im = b[0] * r[1] + b[1] * r[0];
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
    }
    return GOPT_OK;
}

gopt_status gopt_fourier_run(const gopt_exec *x, const gopt_fourier *f, double *v, gopt_err *e)
{
    memcpy(f->tmp, v, (size_t)(2 * f->n) * sizeof *v);
    return transform(x, f, f->tmp, 1, f->n, v, e);
}
