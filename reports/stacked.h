/* stacked.h: figures of stacked bars, one for each of baseline, default and choice. */
#ifndef GOPT_STACKED_H
#define GOPT_STACKED_H

#include "figure.h"

enum { GOPT_STACKED_BARS = GOPT_FINDING_ROLES, GOPT_STACKED_PARTS = 6 };

typedef struct gopt_stacked {
    const char *unit; /* "MiB" */
    double scale;     /* of one unit */
    char *(*print)(char buf[32], double value);
    const char *part[GOPT_STACKED_PARTS];
    int n_parts;
    int trial[GOPT_STACKED_BARS]; /* from the top */
    double value[GOPT_STACKED_BARS][GOPT_STACKED_PARTS];
    double total[GOPT_STACKED_BARS]; /* as measured, which may differ from the sum of the parts */
    int n_bars;
} gopt_stacked;

int gopt_stacked_height(int bars);
void gopt_stacked_write_data(gopt_text *out, const gopt_stacked *s, const gopt_finding_cluster *c);
void gopt_stacked_write_script(gopt_text *out, const gopt_stacked *s, const char *axis);

#endif
