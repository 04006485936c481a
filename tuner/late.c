/* late.c: reading a plan's places and dimensions. */
#include "late.h"

static bool is_open(const gopt_plan *p, int v)
{
    if (v < 0)
        return false;
    bool open = p->values[v].rank < 0;
    for (int d = 0; d < p->values[v].rank; d++)
        open = open || p->values[v].dim[d] < 0;
    return open;
}

bool gopt_step_is_late(const gopt_plan *p, const gopt_step *s)
{
    bool late = false;
    for (int i = 0; i < s->group.n_in; i++)
        late = late || is_open(p, s->in[i]);
    for (int i = 0; i < s->group.n_out; i++)
        late = late || is_open(p, s->out[i]);
    return late;
}

int gopt_late_values(const gopt_plan *p)
{
    int n = 0;
    for (int v = 0; v < p->n_values; v++)
        n += p->values[v].place == GOPT_PLACE_DYNAMIC;
    for (int i = 0; i < p->n_steps; i++)
        for (int b = 0; b < p->steps[i].n_bodies; b++)
            n += gopt_late_values(p->steps[i].body[b]);
    return n;
}

void gopt_late_values_put(gopt_text *t, int n)
{
    if (n)
        gopt_text_add(t, " and those of %d value%s, known only at run time", n, n == 1 ? "" : "s");
}
