/* resample.h: where the output cells of Resize lie in the input, and which input cells they are made of. */
#ifndef GOPT_REF_RESAMPLE_H
#define GOPT_REF_RESAMPLE_H

#include "ref/operand.h"

typedef enum gopt_resample_mode { GOPT_RESAMPLE_NEAREST, GOPT_RESAMPLE_LINEAR, GOPT_RESAMPLE_CUBIC } gopt_resample_mode;

typedef enum gopt_resample_coord {
    GOPT_COORD_HALF_PIXEL,
    GOPT_COORD_HALF_PIXEL_SYMMETRIC,
    GOPT_COORD_PYTORCH_HALF_PIXEL,
    GOPT_COORD_ALIGN_CORNERS,
    GOPT_COORD_ASYMMETRIC,
    GOPT_COORD_TF_CROP_AND_RESIZE
} gopt_resample_coord;

typedef enum gopt_resample_round {
    GOPT_NEAREST_PREFER_FLOOR,
    GOPT_NEAREST_PREFER_CEIL,
    GOPT_NEAREST_FLOOR,
    GOPT_NEAREST_CEIL
} gopt_resample_round;

typedef struct gopt_resample {
    gopt_resample_mode mode;
    gopt_resample_coord coord;
    gopt_resample_round round;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
} gopt_resample;

/* One axis that changes. */
typedef struct gopt_resample_axis {
    int64_t in, out;   /* sizes, at least 1 */
    double scale;      /* > 0 */
    double start, end; /* region of interest, for tf_crop_and_resize */
    int64_t taps;      /* set by plan: output cell j is made of input cells first[j] + t, 0 <= t < taps, */
    int64_t *first;    /* where cells outside the input stand for its nearest one, */
    double *weight;    /* with weight[j * taps + t]; */
    bool *outside;     /* or it is the extrapolation value */
} gopt_resample_axis;

/* Reads the attributes of Resize. */
gopt_status gopt_resample_read(gopt_resample *r, gopt_attrs a, gopt_err *e);
/* Fills in taps, first, weight and outside; arrays live in the arena. */
gopt_status gopt_resample_plan(const gopt_resample *r, gopt_resample_axis *axis, gopt_arena *arena, gopt_err *e);
/* The input cell of tap t of output cell j. */
int64_t gopt_resample_cell(const gopt_resample_axis *axis, int64_t j, int64_t t);

#endif
