/* verify.h: are two tensors the same result? */
#ifndef GOPT_VERIFY_H
#define GOPT_VERIFY_H

#include "tensor.h"

/* |got - want| <= abs + rel * |want|. A negative abs beside a rel that is given: |got - want| <= rel * max|want| for
 * floats. Otherwise a negative field means the default of the dtype, where abs scales with the largest |want|: float32
 * 1e-4 max|want| + 1e-3 |want|; float16 and narrower 1e-2 of both; float64 1e-6. 8-bit integers one quantization step,
 * other integers, bools and strings exact, unless both are given. NaN equals NaN, infinities equal themselves. */
typedef struct gopt_slack { /* what rounding alone does to a result of the model */
    double abs;             /* added to what is allowed of floats */
    int64_t strays;         /* elements that may be anything: those that rounding decides, such as an index of equals */
} gopt_slack;

typedef struct gopt_tolerance {
    double rel, abs;
    gopt_slack slack; /* zero: none */
} gopt_tolerance;
#define GOPT_TOLERANCE_DEFAULT ((gopt_tolerance){.rel = -1, .abs = -1})

typedef struct gopt_difference {
    double max_abs; /* largest |got - want| of finite elements */
    double max_rel; /* max_abs over the largest |want|; 0 when all are 0 */
} gopt_difference;

/* EDIFF with "element 12: 0.5, 0.25 expected" when they differ; *d (may be NULL) is raised to the errors seen. */
gopt_status gopt_verify_tensor(const gopt_tensor *got, const gopt_tensor *want, gopt_tolerance tolerance,
                               gopt_difference *d, gopt_err *e);
/* From a run of the reference whose every operation was rounded otherwise: a few times what it shows. An element that
 * moved by more than 1 % of the largest one, or whose integer changed, is a stray; the others say how far all may be
 * off. Nothing when the shapes differ. */
gopt_slack gopt_verify_slack(const gopt_tensor *noisy, const gopt_tensor *want);
/* "1e-3" or "1e-3,1e-5": REL[,ABS]. EUSAGE otherwise. */
gopt_status gopt_tolerance_parse(gopt_tolerance *out, const char *text, gopt_err *e);

#endif
