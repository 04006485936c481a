/* scatter.c: Scatter, the older name of ScatterElements. */
#include "ref/scatter.h"

const gopt_op gopt_op_Scatter = {
    .name = "Scatter",
    .domain = "",
    .in_min = 3,
    .in_max = 3,
    .out_min = 1,
    .out_max = 1,
    .infer = gopt_scatter_elements_infer,
    .run = gopt_scatter_elements_run,
};
