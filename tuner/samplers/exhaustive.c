/* exhaustive.c: every assignment once, counting through the rows like an odometer. */
#include "sampler.h"

static bool next(const gopt_space *s, const gopt_observation *seen, int n, gopt_random *r, gopt_config *out)
{
    (void)r;
    int digit[GOPT_SETTINGS_MAX] = {0};
    for (;;) {
        *out = s->start;
        for (int i = 0; i < s->n_rows; i++)
            out->v[s->row[i]] = s->value[i][digit[i]];
        gopt_config_normalize(out);
        if (!gopt_space_seen(out, seen, n))
            return true;
        int i = 0;
        while (i < s->n_rows && ++digit[i] == s->n_values[i])
            digit[i++] = 0;
        if (i == s->n_rows)
            return false;
    }
}

const gopt_sampler gopt_sampler_exhaustive = {
    .name = "exhaustive", .doc = "every assignment once; auto takes it when there are at most 64", .next = next};
