/* problem_rows.h: short forms of rows of the tables of problems. */
#ifndef GOPT_TEST_PROBLEM_ROWS_H
#define GOPT_TEST_PROBLEM_ROWS_H

#include "support/problems.h"

#define POINTWISE(in, post)                                                                                            \
    {                                                                                                                  \
        "pointwise_f32", "gopt:Pointwise", NULL, in, NULL, post                                                        \
    }
#define ANY(in, post)                                                                                                  \
    {                                                                                                                  \
        "pointwise_any", "gopt:Pointwise", NULL, in, NULL, post                                                        \
    }
#define MATMUL(in, extra, post)                                                                                        \
    {                                                                                                                  \
        "matmul_f32", "MatMul", NULL, in, extra, post                                                                  \
    }
#define CONV(attrs, in, extra, post)                                                                                   \
    {                                                                                                                  \
        "conv_f32", "Conv", attrs, in, extra, post                                                                     \
    }
#define NHWC(attrs, in, extra, post)                                                                                   \
    {                                                                                                                  \
        "conv_nhwc_f32", "gopt:ConvNhwc", attrs, in, extra, post                                                       \
    }
#define SOFTMAX(op, attrs, in, post)                                                                                   \
    {                                                                                                                  \
        "softmax_f32", op, attrs, in, NULL, post                                                                       \
    }
#define REDUCE(op, attrs, in, post)                                                                                    \
    {                                                                                                                  \
        "reduce_f32", op, attrs, in, NULL, post                                                                        \
    }
#define LAYERNORM(op, attrs, in)                                                                                       \
    {                                                                                                                  \
        "layernorm_f32", op, attrs, in, NULL, NULL                                                                     \
    }
#define LRN(attrs, in, extra, post)                                                                                    \
    {                                                                                                                  \
        "lrn_f32", "LRN", attrs, in, extra, post                                                                       \
    }
#define POOL(op, attrs, in, post)                                                                                      \
    {                                                                                                                  \
        "pool_f32", op, attrs, in, NULL, post                                                                          \
    }
#define MOVE(kernel, op, attrs, in, post)                                                                              \
    {                                                                                                                  \
        kernel, op, attrs, in, NULL, post                                                                              \
    }
#define RNN(kernel, op, attrs, in)                                                                                     \
    {                                                                                                                  \
        kernel, op, attrs, in, NULL, NULL                                                                              \
    }
#define RESIZE(attrs, in)                                                                                              \
    {                                                                                                                  \
        "resize_f32", "Resize", attrs, in, NULL, NULL                                                                  \
    }
#define ATTENTION(op, attrs, in, extra, post)                                                                          \
    {                                                                                                                  \
        "attention_f32", op, attrs, in, extra, post                                                                    \
    }
#define TRANSPOSED(attrs, in, post)                                                                                    \
    {                                                                                                                  \
        "conv_transpose_f32", "ConvTranspose", attrs, in, NULL, post                                                   \
    }
#define GEMM(attrs, in)                                                                                                \
    {                                                                                                                  \
        "matmul_f32", "Gemm", attrs, in, NULL, NULL                                                                    \
    }

#endif
