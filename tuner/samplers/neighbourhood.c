/* neighbourhood.c: local search: one change to the best so far, now and then two or more, so that it can leave a place
 * that no single change improves. */
#include "sampler.h"

enum { DRAWS_MAX = 1000 };
static const double ANOTHER_CHANGE = 0.35;

static void mutate(const gopt_space *s, gopt_random *r, gopt_config *c)
{
    int i = gopt_random_below(r, s->n_rows);
    if (s->n_values[i] < 2)
        return;
    int64_t old = c->v[s->row[i]];
    while (c->v[s->row[i]] == old)
        c->v[s->row[i]] = s->value[i][gopt_random_below(r, s->n_values[i])];
}

static bool next(const gopt_space *s, const gopt_observation *seen, int n, gopt_random *r, gopt_config *out)
{
    int best = gopt_space_best(seen, n);
    for (int draw = 0; s->n_rows && draw < DRAWS_MAX; draw++) {
        *out = best >= 0 ? *seen[best].config : s->start;
        do
            mutate(s, r, out);
        while (gopt_random_unit(r) < ANOTHER_CHANGE + 0.5 * draw / DRAWS_MAX);
        gopt_config_normalize(out);
        if (!gopt_space_seen(out, seen, n))
            return true;
    }
    return false;
}

const gopt_sampler gopt_sampler_neighbourhood = {
    .name = "neighbourhood", .doc = "one or a few changes to the best so far; auto takes it otherwise", .next = next};
