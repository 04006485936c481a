/* matrix.h: products of batches of matrices that lie in tensors of any type, numpy's matmul rules. */
#ifndef GOPT_REF_MATRIX_H
#define GOPT_REF_MATRIX_H

#include "ref/operand.h"

/* How a tensor is to be read as a batch of matrices. */
typedef struct gopt_matrix_view {
    int input;        /* number of the node's input */
    bool transposed;  /* the last two axes are swapped (after batch_first) */
    bool batch_first; /* axis 0 moves behind the batch axes: (r, b..., c) is read as (b..., r, c) */
} gopt_matrix_view;

typedef struct gopt_matrix {
    const gopt_tensor *t;
    int64_t row, col;             /* distances between rows and between columns, in elements */
    int64_t batch[GOPT_RANK_MAX]; /* distances along the batch axes of the product, 0 where broadcast */
    const double *zero;           /* zero points, or NULL */
    int64_t zero_row, zero_col;   /* their distances */
    int64_t zero_batch[GOPT_RANK_MAX];
} gopt_matrix;

typedef struct gopt_matmul {
    gopt_matrix a, b;
    int64_t m, n, k;
    int rank; /* batch axes */
    int64_t dim[GOPT_RANK_MAX];
} gopt_matmul;

/* Infers out[0], of type `out`, as the product of the two views. */
gopt_status gopt_matmul_infer(gopt_infer *x, gopt_matrix_view a, gopt_matrix_view b, gopt_dtype out, gopt_err *e);
/* The product for real inputs, which inference has accepted. */
void gopt_matmul_bind(const gopt_exec *x, gopt_matrix_view a, gopt_matrix_view b, gopt_matmul *mm);
/* EINPUT unless input z, when known, holds zero points for the view: one, one per row (left) or column (right), or a
 * tensor like the operand with 1 in place of the inner dimension. */
gopt_status gopt_matmul_infer_zero(gopt_infer *x, gopt_matrix_view v, bool left, int z, const char *name, gopt_err *e);
/* Lets the operand's elements count from the zero points of input z, where there is one. */
gopt_status gopt_matmul_bind_zero(gopt_exec *x, gopt_matmul *mm, bool left, int z, gopt_err *e);
/* y = A B, dense, all batches, accumulated in double. */
gopt_status gopt_matmul_run(gopt_exec *x, const gopt_matmul *mm, double *y, gopt_err *e);
/* The same for integers, modulo 2^64. */
gopt_status gopt_matmul_run_int(gopt_exec *x, const gopt_matmul *mm, uint64_t *y, gopt_err *e);

#endif
