/* random.c: uniform assignments that were not tried yet. */
#include "sampler.h"

enum { DRAWS_MAX = 1000 };

static bool next(const gopt_space *s, const gopt_observation *seen, int n, gopt_random *r, gopt_config *out)
{
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        *out = s->start;
        for (int i = 0; i < s->n_rows; i++)
            out->v[s->row[i]] = s->value[i][gopt_random_below(r, s->n_values[i])];
        gopt_config_normalize(out);
        if (!gopt_space_seen(out, seen, n))
            return true;
    }
    return false;
}

const gopt_sampler gopt_sampler_random = {.name = "random", .doc = "uniform, without repetition", .next = next};
