/* sampler.c: the registry of samplers, and what they share. */
#include "sampler.h"

#include <string.h>

#define X(n) extern const gopt_sampler gopt_sampler_##n;
#include "samplers.def"
#undef X
#define X(n) &gopt_sampler_##n,
const gopt_sampler *const gopt_samplers[] = {
#include "samplers.def"
    NULL};
#undef X

const gopt_sampler *gopt_sampler_find(const char *name)
{
    for (int i = 0; gopt_samplers[i]; i++)
        if (!strcmp(gopt_samplers[i]->name, name))
            return gopt_samplers[i];
    return NULL;
}

double gopt_space_size(const gopt_space *s)
{
    double n = 1;
    for (int i = 0; i < s->n_rows; i++)
        n *= s->n_values[i];
    return n;
}

bool gopt_space_seen(const gopt_config *c, const gopt_observation *seen, int n)
{
    for (int i = 0; i < n; i++)
        if (gopt_config_equal(c, seen[i].config))
            return true;
    return false;
}

int gopt_space_best(const gopt_observation *seen, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (seen[i].ok && (best < 0 || seen[i].score < seen[best].score))
            best = i;
    return best;
}
