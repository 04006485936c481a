/* affine.h: alpha A B + beta C, shared by Gemm and FusedGemm. */
#ifndef GOPT_REF_AFFINE_H
#define GOPT_REF_AFFINE_H

#include "ref/activation.h"
#include "ref/operand.h"

/* Attributes alpha, beta, transA, transB; inputs A, B and optionally C. */
gopt_status gopt_affine_infer(gopt_infer *x, gopt_err *e);
/* Computes and stores the node's output; floats pass through the activation (NULL: none). */
gopt_status gopt_affine_run(gopt_exec *x, const gopt_activation *act, gopt_err *e);

#endif
