/* gemm.c: Gemm. */
#include "ref/affine.h"

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_affine_run(x, NULL, e);
}

const gopt_op gopt_op_Gemm = {.name = "Gemm",
                              .domain = "",
                              .in_min = 2,
                              .in_max = 3,
                              .out_min = 1,
                              .out_max = 1,
                              .traits = GOPT_TRAIT_HEAVY,
                              .infer = gopt_affine_infer,
                              .run = run};
