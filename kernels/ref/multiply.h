/* multiply.h: the one matrix product in double that convolutions, matrix products and recurrences share. */
#ifndef GOPT_REF_MULTIPLY_H
#define GOPT_REF_MULTIPLY_H

#include <stdint.h>

/* C += A B for row-major A (m x k), B (k x n) and C (m x n) with the given distances between rows. */
void gopt_ref_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                       double *c, int64_t ldc);

#endif
