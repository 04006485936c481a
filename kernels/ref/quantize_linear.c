/* quantize_linear.c: QuantizeLinear. */
#include "ref/quantize.h"

const gopt_op gopt_op_QuantizeLinear = {.name = "QuantizeLinear",
                                        .domain = "",
                                        .in_min = 2,
                                        .in_max = 3,
                                        .out_min = 1,
                                        .out_max = 1,
                                        .infer = gopt_quantize_infer,
                                        .run = gopt_quantize_run};
