/* dequantize_linear.c: DequantizeLinear. */
#include "ref/quantize.h"

const gopt_op gopt_op_DequantizeLinear = {.name = "DequantizeLinear",
                                          .domain = "",
                                          .in_min = 2,
                                          .in_max = 3,
                                          .out_min = 1,
                                          .out_max = 1,
                                          .infer = gopt_dequantize_infer,
                                          .run = gopt_dequantize_run};
