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

/* Zero points or scales of an operand or a product. All distances are in elements, and 0 where one value serves all. */
typedef struct gopt_matrix_quant {
    const double *v; /* NULL: none */
    int64_t row, col, batch[GOPT_RANK_MAX];
} gopt_matrix_quant;

typedef struct gopt_matrix {
    const gopt_tensor *t;
    int64_t row, col;             /* distances between rows and between columns, in elements */
    int64_t batch[GOPT_RANK_MAX]; /* distances along the batch axes of the product, 0 where broadcast */
    gopt_matrix_quant zero;       /* elements count from here */
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
/* EINPUT unless input q, when known, holds zero points or scales for the view: one, one for each row (left) or column
 * (right), or a tensor like the operand with 1 in place of the inner dimension. */
gopt_status gopt_matmul_infer_quant(gopt_infer *x, gopt_matrix_view v, bool left, int q, const char *name, gopt_err *e);
/* Reads them, after mm has been bound; v is NULL when the input is absent. */
gopt_status gopt_matmul_bind_quant(gopt_exec *x, const gopt_matmul *mm, bool left, int q, gopt_matrix_quant *out,
                                   gopt_err *e);
/* The value for element (row, col) of the batch at index. */
double gopt_matrix_quant_at(const gopt_matrix_quant *q, const int64_t *index, int rank, int64_t row, int64_t col);
/* y = A B, dense, all batches, accumulated in double. */
gopt_status gopt_matmul_run(gopt_exec *x, const gopt_matmul *mm, double *y, gopt_err *e);
/* The same for integers, modulo 2^64. */
gopt_status gopt_matmul_run_int(gopt_exec *x, const gopt_matmul *mm, uint64_t *y, gopt_err *e);

#endif
