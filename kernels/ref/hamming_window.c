/* hamming_window.c: HammingWindow. */
#include "ref/cosine_window.h"

static gopt_status run(gopt_exec *x, gopt_err *e)
{
    return gopt_cosine_window_run(x, (const double[]){25.0 / 46, 21.0 / 46, 0}, e);
}

const gopt_op gopt_op_HammingWindow = {.name = "HammingWindow",
                                       .domain = "",
                                       .in_min = 1,
                                       .in_max = 1,
                                       .out_min = 1,
                                       .out_max = 1,
                                       .infer = gopt_cosine_window_infer,
                                       .run = run};
