/* ms_dequantize_linear.c: com.microsoft.DequantizeLinear, which had 16- and 4-bit types before ONNX did. */
#include "ref/quantize.h"

const gopt_op gopt_op_ms_DequantizeLinear = {.name = "DequantizeLinear",
                                             .domain = "com.microsoft",
                                             .in_min = 2,
                                             .in_max = 3,
                                             .out_min = 1,
                                             .out_max = 1,
                                             .infer = gopt_dequantize_infer,
                                             .run = gopt_dequantize_run};
