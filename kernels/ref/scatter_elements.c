/* scatter_elements.c: ScatterElements. */
#include "ref/scatter.h"

const gopt_op gopt_op_ScatterElements = {
    .name = "ScatterElements",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .infer = gopt_scatter_elements_infer,
    .run = gopt_scatter_elements_run,
};
