/* sampler.h: what to try next. A sampler is one file under samplers/ that ends in its descriptor; samplers.def lists
 * them. */
#ifndef GOPT_SAMPLER_H
#define GOPT_SAMPLER_H

#include "config.h"
#include "stats.h"

/* The rows of the table of settings that may vary in this job; all others stay as in `start`. */
typedef struct gopt_space {
    int row[GOPT_SETTINGS_MAX];
    int64_t value[GOPT_SETTINGS_MAX][16]; /* the values that a row may take */
    int n_values[GOPT_SETTINGS_MAX];
    int n_rows;
    gopt_config start; /* the default */
} gopt_space;

double gopt_space_size(const gopt_space *s); /* number of assignments */

/* What a sampler may know: what was tried, how it went. */
typedef struct gopt_observation {
    const gopt_config *config;
    bool ok;
    double score; /* smaller is better; only of ok ones that were timed */
} gopt_observation;

typedef struct gopt_sampler {
    const char *name, *doc;
    /* The next configuration, unlike any observed; false when it knows no further one. */
    bool (*next)(const gopt_space *s, const gopt_observation *seen, int n, gopt_random *r, gopt_config *out);
} gopt_sampler;

extern const gopt_sampler *const gopt_samplers[];        /* NULL at the end */
const gopt_sampler *gopt_sampler_find(const char *name); /* NULL when unknown; "auto" is none */
/* For samplers: was the configuration observed? */
bool gopt_space_seen(const gopt_config *c, const gopt_observation *seen, int n);
/* Index of the best ok observation, -1 when there is none. */
int gopt_space_best(const gopt_observation *seen, int n);

#endif
