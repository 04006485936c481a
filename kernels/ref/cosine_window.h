/* cosine_window.h: HannWindow, HammingWindow and BlackmanWindow: sums of cosines. */
#ifndef GOPT_REF_COSINE_WINDOW_H
#define GOPT_REF_COSINE_WINDOW_H

#include "ref/operand.h"

gopt_status gopt_cosine_window_infer(gopt_infer *x, gopt_err *e);
/* a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n). */
gopt_status gopt_cosine_window_run(gopt_exec *x, const double a[3], gopt_err *e);

#endif
