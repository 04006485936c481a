/* matmul.h: what products of matrices have in common: MatMul, Gemm and FusedMatMul as one geometry. */
#ifndef GOPT_CPU_MATMUL_H
#define GOPT_CPU_MATMUL_H

#include "cpu/simd.h"
#include "kernel.h"

/* A batch of out[m x n] = alpha * a[m x k] * b[k x n] + beta * c. Strides in elements. */
typedef struct gopt_matmul {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col;
    int rank;                                                                          /* batch axes; 0: one product */
    int64_t batch, dim[GOPT_RANK_MAX], a_batch[GOPT_RANK_MAX], b_batch[GOPT_RANK_MAX]; /* 0: the same matrix again */
    bool a_single, b_single;                                                           /* all products share it */
    float alpha, beta;
    int64_t c_row, c_col; /* operand 2; beta is 0 without one */
} gopt_matmul;

/* False when the group is no float32 product. */
bool gopt_matmul_of(const gopt_group *g, gopt_matmul *mm);
/* A plain product of operands 0 and 1, whatever their types; false when they do not go together. */
bool gopt_matmul_plain(const gopt_group *g, gopt_matmul *mm);
/* Where the matrices of product i begin. */
int64_t gopt_matmul_a(const gopt_matmul *mm, int64_t i);
int64_t gopt_matmul_b(const gopt_matmul *mm, int64_t i);
double gopt_matmul_flops(const gopt_matmul *mm);

/* All tiles of a constant operand; one that is spent is dropped tile by tile where they lie one after the other, so
 * that large weights are never there twice. */
void gopt_matmul_pack(const gopt_simd *simd, gopt_packing p, bool spent);
/* The part's share of dense a[m x k], in tiles for gemm. */
void gopt_matmul_pack_rows(const gopt_simd *simd, const gopt_task *t, const float *a, int64_t m, int64_t k, float *dst);

#endif
