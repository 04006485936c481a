/* fourier.h: the discrete Fourier transform behind DFT and STFT. */
#ifndef GOPT_REF_FOURIER_H
#define GOPT_REF_FOURIER_H

#include "ref/operand.h"

typedef struct gopt_fourier {
    int64_t n;
    double *root; /* n complex numbers: exp(-2 pi i k / n), or +2 for the inverse */
    double *tmp;  /* n complex numbers */
} gopt_fourier;

/* Tables for length n >= 1, in the scratch arena. */
gopt_status gopt_fourier_plan(gopt_exec *x, int64_t n, bool inverse, gopt_fourier *f, gopt_err *e);
/* v (n complex numbers, real and imaginary part alternating) becomes its transform, not normalized. */
gopt_status gopt_fourier_run(const gopt_exec *x, const gopt_fourier *f, double *v, gopt_err *e);

#endif
