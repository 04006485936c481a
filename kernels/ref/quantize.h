/* quantize.h: rounding to quantized types, and the scales of QuantizeLinear and DequantizeLinear: one for all, one for
 * each index of an axis, or one for each block along an axis. */
#ifndef GOPT_REF_QUANTIZE_H
#define GOPT_REF_QUANTIZE_H

#include "ref/operand.h"

/* Inference and execution of both domains' operators. Inputs: x, scale, zero point (optional). */
gopt_status gopt_quantize_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_quantize_run(gopt_exec *x, gopt_err *e);
gopt_status gopt_dequantize_infer(gopt_infer *x, gopt_err *e);
gopt_status gopt_dequantize_run(gopt_exec *x, gopt_err *e);

/* v to the nearest even integer, plus the zero point, within the range of the integer type d; NaN becomes 0. */
double gopt_quantize_int(gopt_dtype d, double v, double zero);

/* v[0..n) to uint8 by its range, in float as DynamicQuantizeLinear has it. */
void gopt_quantize_by_range(double *v, int64_t n, float *scale, double *zero);

#endif
