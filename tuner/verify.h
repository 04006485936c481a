/* verify.h: are two tensors the same result? */
#ifndef GOPT_VERIFY_H
#define GOPT_VERIFY_H

#include "tensor.h"

/* |got - want| <= abs + rel * |want|. A negative field means the default of the dtype, where abs scales with the
 * largest |want|: float32 1e-4 max|want| + 1e-3 |want|; float16 and narrower 1e-2 of both; float64 1e-6; 8-bit integers
 * one quantization step; other integers, bools and strings exact. NaN equals NaN, infinities equal themselves. */
typedef struct gopt_tolerance {
    double rel, abs;
    double slack; /* added to what is allowed: how far the model itself magnifies rounding (0: not at all) */
} gopt_tolerance;
#define GOPT_TOLERANCE_DEFAULT ((gopt_tolerance){.rel = -1, .abs = -1})

typedef struct gopt_difference {
    double max_abs; /* largest |got - want| of finite elements */
    double max_rel; /* max_abs over the largest |want|; 0 when all are 0 */
} gopt_difference;

/* EDIFF with "element 12: 0.5, 0.25 expected" when they differ; *d (may be NULL) is raised to the errors seen. */
gopt_status gopt_verify_tensor(const gopt_tensor *got, const gopt_tensor *want, gopt_tolerance tolerance,
                               gopt_difference *d, gopt_err *e);
/* "1e-3" or "1e-3,1e-5": REL[,ABS]. EUSAGE otherwise. */
gopt_status gopt_tolerance_parse(gopt_tolerance *out, const char *text, gopt_err *e);

#endif
