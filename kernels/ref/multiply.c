/* multiply.c: a blocked product whose inner loop runs along rows of B and C, so that compilers vectorize it. */
#include "ref/multiply.h"

#include "base/err.h"

enum { BLOCK_K = 128, BLOCK_N = 256 }; /* a block of B takes 256 KiB */

static void add_rows4(int64_t n, const double *a, const double *restrict b, int64_t ldb, double *restrict c)
{
    const double *restrict b1 = b + ldb, *restrict b2 = b1 + ldb, *restrict b3 = b2 + ldb;
    double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    for (int64_t j = 0; j < n; j++)
        c[j] += a0 * b[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
}

static void add_row(int64_t n, double a, const double *restrict b, double *restrict c)
{
    for (int64_t j = 0; j < n; j++)
        c[j] += a * b[j];
}

static void add_block(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                      double *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++) {
        int64_t p = 0;
        for (; p + 4 <= k; p += 4)
            add_rows4(n, a + i * lda + p, b + p * ldb, ldb, c + i * ldc);
        for (; p < k; p++)
            add_row(n, a[i * lda + p], b + p * ldb, c + i * ldc);
    }
}

void gopt_ref_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                       double *c, int64_t ldc)
{
    for (int64_t j = 0; j < n; j += BLOCK_N)
        for (int64_t p = 0; p < k; p += BLOCK_K)
            add_block(m, GOPT_MIN(BLOCK_N, n - j), GOPT_MIN(BLOCK_K, k - p), a + p, lda, b + p * ldb + j, ldb, c + j,
                      ldc);
}
