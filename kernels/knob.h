/* knob.h: everything tunable publishes the same rows. Search space, --help, validation, presets, manifest and study
 * read this one table. */
#ifndef GOPT_KNOB_H
#define GOPT_KNOB_H

#include "base/err.h"
#include "base/text.h"

typedef enum gopt_knob_kind {
    GOPT_KNOB_BOOL,   /* 0, 1 */
    GOPT_KNOB_LINEAR, /* lo, lo + step, ... hi */
    GOPT_KNOB_POW2,   /* lo, 2 lo, 4 lo, ... hi */
    GOPT_KNOB_CHOICE, /* index into choices[] */
} gopt_knob_kind;

typedef struct gopt_knob {
    const char *name;
    gopt_knob_kind kind;
    int64_t lo, hi, init;       /* init is the default */
    int64_t step;               /* LINEAR; 0 means 1 */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *doc;            /* one line */
} gopt_knob;                    /* an array of them ends with {0} */

int64_t gopt_knob_count(const gopt_knob *k);            /* how many values it can take */
int64_t gopt_knob_value(const gopt_knob *k, int64_t i); /* the i-th, 0 <= i < count */
bool gopt_knob_valid(const gopt_knob *k, int64_t v);
void gopt_knob_print(const gopt_knob *k, int64_t v, gopt_text *t); /* "on", "256", "by_size" */
/* Parses "on", "off", "true", "false", a number or a choice; EUSAGE with the allowed values. */
gopt_status gopt_knob_parse(const gopt_knob *k, const char *text, int64_t *v, gopt_err *e);

#endif
